"""Benchmarks. ``python -m swoop.bench`` measures Swoop on five stream shapes and writes ``docs/performance.md``."""
