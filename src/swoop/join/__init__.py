"""The continuous top-k join for Python programs: checks, ids, times, results, change feed, saving and loading."""
