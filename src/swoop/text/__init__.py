"""From texts to tokens.

==============  =========================================================================
``functions``   token functions as values: ``words``, ``word_ngrams``, ``char_ngrams``
``reference``   the definition of a word, in plain Python; nothing else decides
``characters``  classes of characters
``kernels``     the same, compiled, on Arrow's buffers
``columns``     columns of texts as columns of tokens
==============  =========================================================================

A faster way may be added here, if it gives what the reference gives.
"""
