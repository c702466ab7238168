"""A join that goes from batch to batch and survives its process. Nothing here knows Spark.

=================== ============================================================================================
``resumable``       a stream: resuming from a checkpoint, one step after the other, sending results out
``live_stream``     one that finds pairs; ``live_families``: one that finds families
``stream_spec``     what it is asked for
``engines``         what it needs of its engines
``single_engine``   one of them, in the process that takes the batches: ``one_engine``, ``one_family_engine``
``ranked_engine``   the same with the ranks of changes; ``embedded``: a stream whose state somebody else keeps
``cell_engines``    one in each cell of a grid; what the process does that merges what they report
``cell``, ``grid``  one cell, and how sets are spread over several; ``merge`` puts their changes together
``unions``          whether what a merge knew, as a checkpoint has it, can be right
``watermark``       which rows may enter, and which are late; ``ahead``: rows from the future
``row_order``       in which order rows enter
``pieces``          rows piece by piece, so that what is handled at once stays small
``checkpoint``      what is kept of a stream: parameters, states, and the rows of the window in ``chunks``
``lease``           one process at a time uses a checkpoint
``files``           folders on this machine's disks, or on a file system that somebody brings
``outputs``         where results go; ``folders`` and ``manifest`` for folders of Parquet files
``alerts``          who is told of what; ``alert_queue``: what is to be told, beside the checkpoint; ``alert_delivery`` and
                    ``alert_targets``: how it is delivered, and to whom
``metrics``         numbers for Prometheus
=================== ============================================================================================

What you may touch: how a stream survives a crash, and where results go. Results must be the same however rows are cut into
batches and wherever the process dies; the tests kill it at every step.
"""
