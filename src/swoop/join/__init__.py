"""The continuous top-k join for Python programs: checks, ids, times, results, change feed, saving and loading.

What is here: :class:`swoop.TopKJoin` (``topk_join``) and :class:`swoop.Families` (``families``, ``family_feed``,
``family_storage``), and how sets arrive at both (``arrivals``); what callers pass, checked and turned into flat arrays
(``sets``, ``columns``, ``ids``); what the engine reports, turned into results (``feed``, ``ranks``); what is known of sets
besides their tokens (``payloads``), and columns of it that results show (``kept``); whole histories (``history``,
``family_history``) and what they need: all rows (``inputs``, ``rows``), which of them are unusable (``unusable``), in which
order they enter (``row_order``), slices of time (``slices``; of families: ``links``) on threads (``parallel``); saved joins
(``storage``, ``kept_storage``, ``ipc``, ``restoring``); compiling ahead (``warmup``).

What you may touch: how people use a join. A refused call must change nothing, and what is exact is decided in the engine.
"""
