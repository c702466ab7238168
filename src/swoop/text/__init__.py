"""From texts to tokens: what a word is, and how words are found fast.

==============  =========================================================================
``functions``   token functions as values: ``words``, ``word_ngrams``, ``char_ngrams``
``parsing``     the same from a string, for SQL
``reference``   the definition of a word, in plain Python; nothing else decides
``characters``  classes of characters
``kernels``     the same, compiled, on Arrow's buffers
``columns``     columns of texts as columns of tokens, in ``blocks`` of rows
==============  =========================================================================

What you may touch: speed. What a word is changes in ``reference`` first, and with it every saved result of texts.
"""
