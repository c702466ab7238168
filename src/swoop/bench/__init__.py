"""Benchmarks. ``swoop bench`` measures Swoop on five stream shapes and on Spark and writes ``docs/performance.md``."""
