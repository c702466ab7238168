"""Benchmarks. ``swoop bench`` does the experiments of the paper and writes a report; ``swoop bench performance`` measures
Swoop on five stream shapes and on Spark and writes ``docs/performance.md``.
"""
