import functools
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from swoop.live import ahead
from swoop.spark import session
from tests.support import quick_java, table_formats

QUICK_JAVA = quick_java.options()
QUICK_SPARK = f"{QUICK_JAVA} -Dspark.python.daemon.module=tests.support.spark_daemon"
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_SPARK)
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", QUICK_JAVA)
# processes that tests start, and the daemon in theirs, find these tests
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

APART = {"SWOOP_LARGE": "spark/test_large.py", "SWOOP_EARLIER_PYTHON": "spark/test_upgrade.py"}  # make large, make test-upgrade
collect_ignore = [file for variable, file in APART.items() if variable not in os.environ]
if not table_formats.available():
    collect_ignore.append("spark/test_table_formats.py")

LONGEST = (
    "tests.spark.test_storage",
    "tests.spark.test_kafka",
    "tests.spark.test_connect",
    "tests.spark.test_burst",
    "tests.test_notebook",
    "tests.test_trials",
    "tests.test_exactness",
    "tests.live.test_live_join",
    "tests.join.test_crafted_files",
    "tests.join.test_families",
    "tests.paper.test_baselines",
)
WATCHED = 10  # examples of a property, by coverage


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--examples", type=int, default=1, help="how many times the usual number of examples properties get")
    parser.addoption("--kills", type=int, default=1, help="how many times a process is killed at each of its moments")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One worker begins with what needs a Spark session, the next with the longest of the rest; then come the short ones.

    So one session does for most of a run, and no worker is left with a long test in the end.
    """
    spark = [item for item in items if "spark" in getattr(item, "fixturenames", ()) or "/test_docs.py" in item.nodeid]
    longest = [item for item in items if item not in spark and _module(item) in LONGEST]
    longest.sort(key=lambda item: LONGEST.index(_module(item)))
    short = [item for item in items if item not in spark and item not in longest]
    share = max(0, len(items) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "2")) - len(spark))
    items[:] = [*spark, *short[:share], *longest, *short[share:]]
    if (times := config.getoption("--examples")) > 1:
        tests = {getattr(item, "cls", None) or getattr(item, "obj", None) for item in items}  # once, not for each parameter
        for test in tests:
            _multiply(test, times)


def _module(item: pytest.Item) -> str:
    return getattr(getattr(item, "module", None), "__name__", "")


def _multiply(test: Any, times: int) -> None:
    """Give a property, or a state machine, more examples than it says itself."""
    for name in ("_hypothesis_internal_use_settings", "settings"):  # the first is no public name; there is none
        if isinstance(known := getattr(test, name, None), settings):
            setattr(test, name, settings(known, max_examples=times * known.max_examples))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Coverage watches some examples of a property: the others show nothing new, and watched they take three times as long."""
    found = getattr(getattr(item, "obj", None), "hypothesis", None)
    coverage = Coverage.current()
    if found is None or coverage is None:
        return (yield)
    inner, seen = found.inner_test, 0

    @functools.wraps(inner)
    def watched(*arguments: Any, **named: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == WATCHED:
            coverage.stop()
        return inner(*arguments, **named)

    found.inner_test = watched
    try:
        return (yield)
    finally:
        found.inner_test = inner
        if seen >= WATCHED:
            coverage.start()


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
    dotted: dict[str, str] = {"spark.sql.catalog.not_used": "with an underscore"}
    found = session("local[2]", spark_sql_shuffle_partitions=2, spark_sql_legacy_parquet_nanosAsLong="true", **dotted)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def few_agree() -> Iterator[None]:
    """A silence is over sooner, so that many are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "AGREEING", 3)
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"
