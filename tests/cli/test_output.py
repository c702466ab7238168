"""Where results can go, and where streams come from.

Tests of swoop.addresses, swoop.cli.output, swoop.cli.sources, swoop.spreadsheets.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from swoop.cli.guard import WrongUsage
from swoop.cli.output import check_out, write_file, write_table
from swoop.cli.sources import FolderSource, TopicSource, settings_for


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/x.parquet").write_text("")
    Path("empty").mkdir()


@pytest.mark.parametrize(
    "out", ["results.txt", "none/results.csv", "s3://b/r.parquet", "dbfs:/r.csv", "s3a:r.csv", "in/", "in"]
)
def test_out_refused(out: str) -> None:
    with pytest.raises(WrongUsage):
        check_out(out)


@pytest.mark.parametrize(
    "out", [None, "r.csv", "r.PARQUET", "in/r.jsonl", "new/", "empty/", "./r:1.csv", "s3://b/r/", "dbfs:/r/"]
)
def test_out(out: str | None) -> None:
    check_out(out)


def test_addresses_of_this_machine(tmp_path: Path) -> None:
    table = pa.table({"newer": [1]})
    for scheme in ("file:", "file://"):
        with pytest.raises(WrongUsage, match="not empty"):
            check_out(f"{scheme}{tmp_path}/in/")
        for name in (f"r{len(scheme)}.csv", f"new{len(scheme)}/"):
            check_out(f"{scheme}{tmp_path}/{name}")
            write_table(table, f"{scheme}{tmp_path}/{name}")
            assert Path(name).exists()
    assert not Path("file:").exists()


def test_times_in_csv(tmp_path: Path) -> None:
    """As many digits as they need, the same with a zone and without one."""
    noon = dt.datetime(2024, 5, 1, 12)
    for times, kind, shown in (
        ([noon, None], pa.timestamp("us", "UTC"), "2024-05-01 12:00:00"),
        ([noon], pa.timestamp("us"), "2024-05-01 12:00:00"),
        ([noon, noon + dt.timedelta(milliseconds=5)], pa.timestamp("us", "UTC"), "2024-05-01 12:00:00.000"),
        ([noon, noon + dt.timedelta(microseconds=5)], pa.timestamp("us", "Europe/Vienna"), "2024-05-01 12:00:00.000000"),
    ):
        write_file(pa.table({"enter": pa.array(times, kind), "raw": [b"\xff"] * len(times)}), str(tmp_path / "out.csv"))
        assert (tmp_path / "out.csv").read_text().splitlines()[1] == f'"{shown}","ff"'


def test_sources() -> None:
    assert FolderSource.find("in", None, None).files.paths == ("in/x.parquet",)
    assert FolderSource.find("empty", "json", "id long").files.paths == ()
    assert TopicSource.find("kafka://host:1/posts", "latest") == TopicSource("host:1", "posts", "latest")
    assert list(settings_for(["kafka://h:1/t"], None)) == ["spark_jars_packages", "spark_sql_redaction_options_regex"]
    assert settings_for(["kafka://h:1/t"], "in/x.parquet")["spark_jars"] == "in/x.parquet"
    assert settings_for([], None) == {}
    for call in (
        lambda: settings_for(["kafka://h:1/t"], "none.jar"),
        lambda: FolderSource.find("none", None, None),
        lambda: FolderSource.find("empty", None, None),
        lambda: FolderSource.find("s3a://bucket/in", None, None),
        lambda: FolderSource.find("dbfs:/in", None, None),
        lambda: TopicSource.find("kafka://host", "latest"),
        lambda: TopicSource.find("kafka://host/t", "middle"),
    ):
        with pytest.raises(WrongUsage):
            call()
