"""The paper's evaluation, reproduced, and measurements of Swoop. ``swoop bench`` runs it.

================== ===========================================================================================
``data_sets``      synthetic data sets, shaped like the five of the paper
``loaders``        the real data sets as sets on Spark, with ``xml_files`` and ``mails`` for their formats
``profiles``       what data sets are like: sizes, vocabularies, the bursts of DBLP
``baselines``      the paper's other algorithms and its ablations, behind the interface of the engine
``other_tools``    what people would use instead of Swoop, and how it compares
``nine_million``   a worked example: all near copies among nine million posts, within an hour
``experiments``    the runs of the paper's section 7; ``batches`` and ``latency`` are two experiments of their own
``claims``         what the paper says about its experiments, and whether it holds here
``evaluation``     all experiments by one command, with ``charts``, ``report`` and ``result_store``
``measure``        rates, memory and pauses of Swoop; ``in_process`` from text to result, ``spark`` and ``cells`` the same on
                   Spark, ``standalone`` a cluster; ``posts`` are what they read
================== ===========================================================================================

What you may touch: everything, as long as measurements stay comparable with each other and with the paper. The product never
imports this package, except that :class:`swoop.TopKJoin` loads a baseline when asked for it by name.
"""
