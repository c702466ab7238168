"""The other algorithms of the paper's evaluation, compiled like the engine and behind the same interface.

They are here to be measured against, and as further judges of exactness; nobody runs a stream on them. Each is the engine with
other candidates, another stock, or none:

==================  ===================================================  ======================================================
algorithm           candidates of a new set                              stock
==================  ===================================================  ======================================================
base                all sets of the window (section 3)                   all pairs with a common token
scase               all sets of the window, by the skyband lower bound   minimal, its skyband made anew for each arrival
static              of all sets again for each arrival (Xiao et al.)     none: the top-k only
swoop-noindex       all sets of the window, by the skyband lower bound   the engine's, incremental
swoop-noincrement   the engine's, from the candidate index               minimal, its skyband made anew for each arrival
swoop-noopt         from the index, lists in the order of tokens         the engine's, incremental
==================  ===================================================  ======================================================
"""
