"""Benchmarks. ``swoop bench`` measures Swoop on five stream shapes and on Spark and writes ``docs/performance.md``;
``swoop bench paper`` does the experiments of the paper and writes a report.
"""
