"""The engine: Numba kernels on flat arrays, one module per structure of the paper.

================= ======================================================================
``vocabulary``    tokens to dense ids, recycled
``interning``     the same as Python sees it: how large, and when
``window``        the valid sets (W)
``index``         the candidate index (I)
``stock``         the stock in both orders (S, E), its bounds and its clean-up
``candidates``    candidate generation (Algorithm 1)
``floor``         below which no pair is kept, and completions of the stock
``all_pairs``     all pairs above a threshold, instead of a stock: ``pair_pool`` keeps them, ``all_pairs_search`` finds them
``feed``          the change feed
``arrival``       the kernels that move the engine forward
``families``      the same for families: who is in which, and what becomes of links; ``kinship`` has their structure
``family_search`` which families a set is linked with
``rank``          ranking keys and bounds of similarities
``forest``        links put together to families, whoever found them
``sorting``       sorting of integers
``layout``        the state: each structure, declared once
``structures``    how such declarations are seen by Python and by kernels
``compile``       how kernels are compiled
``machine_code``  where their machine code is kept, or comes from
``thresholds``    when the seldom things happen
``tokens``        tokens as columns
``memory``        the arrays, and how they are replaced; ``room``: which grow together, and by how much
``settings``      what an engine is asked to do; ``algorithm``: by which kernels
``contents``      what enters an engine, checked
``engine``        what others call, in Python; ``family_engine`` for families, ``all_pairs_engine`` for all pairs
``check``         verification of every invariant
================= ======================================================================

Importing this package imports Numba; ``swoop`` does so at first use.

What you may touch: speed, as long as every invariant in ``check`` and every comparison with the oracle holds.
"""
