"""A join that goes from batch to batch and survives its process. Nothing here knows Spark.

=================== ============================================================================================
``live_join``       with one engine, in the process that takes the batches
``live_cells``      with engines in the cells of a grid; what the process does that merges what they report
``base``            what both have in common: resuming from a checkpoint, sending results out
``cell``, ``grid``  one cell, and how sets are spread over several; ``merge`` puts their changes together
``ahead``           rows from the future
``pieces``          rows piece by piece, so that what is handled at once stays small
``checkpoint``      what is kept of a stream: parameters, states, and the rows of the window in ``chunks``
``lease``           one process at a time uses a checkpoint
``outputs``         where results go; ``folders`` and ``manifest`` for folders of Parquet files, on ``files``
``metrics``         numbers for Prometheus
=================== ============================================================================================

What you may touch: how a stream survives a crash, and where results go. Results must be the same however rows are cut into
batches and wherever the process dies; the tests kill it at every step.
"""
