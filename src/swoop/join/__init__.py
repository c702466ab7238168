"""The continuous top-k join for Python programs: checks, ids, times, results, change feed, saving and loading.

What is here: :class:`swoop.TopKJoin` (``topk_join``); what callers pass, checked and turned into flat arrays (``sets``,
``columns``, ``ids``); what the engine reports, turned into results (``feed``); what is known of sets besides their
tokens (``payloads``); saved joins (``storage``, ``ipc``, ``restoring``); compiling ahead (``warmup``).

What you may touch: how people use a join. A refused call must change nothing, and what is exact is decided in the engine.
"""
