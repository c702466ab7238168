"""Other tools on the same data set: what people would use instead of Swoop.

``adapters`` uses each tool as a competent user would, ``comparison`` measures rate, recall and memory, ``experiment`` makes
this a part of the evaluation. ``python -m swoop.paper.other_tools`` prints the table of ``docs/comparison.md``.
"""
