from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from swoop.spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests."""
    found = session("local[2]", spark_sql_shuffle_partitions=2, spark_sql_legacy_parquet_nanosAsLong="true")
    yield found
    found.stop()
