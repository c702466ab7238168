import pytest
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
from swoop.spark import topk_stream
from swoop.spark.sizing import BYTES, CELL_RATE, Machines, choose_cells

GIB = 1 << 30


def test_one_cell_as_long_as_it_fits() -> None:
    machines = Machines(driver_bytes=16 * GIB, cores=100, core_bytes=8 * GIB)
    fits = 8 * GIB / BYTES
    assert choose_cells(1000, fits / 1000, machines) == 1
    assert choose_cells(1000, 1.01 * fits / 1000, machines) == 6  # with two groups, one of the cells still has all sets
    assert choose_cells(2 * CELL_RATE, 1, machines) == 1
    assert choose_cells(5 * CELL_RATE, 1, machines) > 3


def test_a_core_never_gets_more_than_it_can_take() -> None:
    for cores in (1, 2, 7, 50, 400):
        for rate in (100, 10_000, 200_000):
            machines = Machines(driver_bytes=0, cores=cores, core_bytes=8 * GIB)
            try:
                cells = choose_cells(rate, 3600, machines)
            except InvalidArgument:
                assert rate > 100
                continue
            groups = int((2 * cells) ** 0.5)
            assert groups * (groups + 1) // 2 == cells
            each = 2 / groups * -(-cells // cores) * rate
            assert each <= CELL_RATE
            assert each * 3600 * BYTES <= 8 * GIB


def test_auto(spark: SparkSession) -> None:
    sets = spark.readStream.format("rate").load().selectExpr("value id", "timestamp time", "array(value) tokens")
    assert topk_stream(sets, 3, "1 hour", cells="auto", rate=100)._spec.cells == 1
    for rate in (None, 0, -5, "many", True):
        with pytest.raises(InvalidArgument, match="cells='auto' needs rate="):
            topk_stream(sets, 3, "1 hour", cells="auto", rate=rate)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="cores with .* GiB each can do; use more executors"):
        topk_stream(sets, 3, "1000 hours", cells="auto", rate=1e6)
    with pytest.raises(InvalidArgument, match="3, 6, 10"):
        topk_stream(sets, 3, "1 hour", cells=2)
    machines = Machines.of(spark)
    assert machines.cores == 2
    assert machines.driver_bytes > 0
