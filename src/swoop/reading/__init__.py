"""How rows are read: one description, for Arrow and for Spark. Nothing here knows Spark.

================  =======================================================================
``dates``         how strings and numbers become times: the definition, in plain Python
``patterns``      patterns of dates, as Java and strptime have them
``date_columns``  the same for columns of Arrow
``guesses``       how the times of a column are written, from a sample
``columns``       which column is which
``headers``       whether the first row of a CSV file names the columns
================  =======================================================================

What you may touch: what is recognised. What a value means changes in ``dates`` first; Arrow and Spark are compared with it.
"""
