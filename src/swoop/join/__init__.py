"""The continuous top-k join for Python programs: checks, ids, times, results, change feed, saving and loading.

What is here: :class:`swoop.TopKJoin` (``topk_join``); what callers pass, checked and turned into flat arrays (``sets``,
``columns``, ``ids``); what the engine reports, turned into results (``feed``); saved joins (``storage``); compiling ahead
(``warmup``).

What you may touch: how people use a join. A refused call must change nothing, and what is exact is decided in the engine.
"""
