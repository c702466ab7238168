import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from swoop.spark import session

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

collect_ignore = [] if "SWOOP_LARGE" in os.environ else ["spark/test_large.py"]  # 8 GB: make large

LONGEST = ("tests.test_exactness", "tests.spark.test_cluster", "tests.spark.test_kafka")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first, so that no worker is left with one of them in the end."""
    items.sort(key=lambda item: getattr(item, "module", None) is None or item.module.__name__ not in LONGEST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have to tell beyond that they passed."""
    for found in terminalreporter.getreports("passed"):
        for name, text in found.user_properties:
            if name == "report":
                terminalreporter.section(found.nodeid.split("::")[-1])
                terminalreporter.write_line(str(text))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests."""
    found = session("local[2]", spark_sql_shuffle_partitions=2, spark_sql_legacy_parquet_nanosAsLong="true")
    yield found
    found.stop()
