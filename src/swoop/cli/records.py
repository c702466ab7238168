"""Looking records up by their ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from swoop.cli.console import name_of
from swoop.cli.render import Side

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def find_records(sets: DataFrame, names: Iterable[str], words: bool) -> dict[str, list[Side]]:
    """The records with these ids, sorted by time; those without a time come first."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    binary = isinstance(sets.schema["id"].dataType, T.BinaryType)
    name = F.lower(F.hex("id")) if binary else F.col("id").cast("string")
    rows = sets.filter(name.isin(list(names))).select("id", "time", "text", "tokens").toArrow().to_pylist()
    records: dict[str, list[Side]] = {}
    for row in sorted(rows, key=lambda row: (row["time"] is not None, row["time"])):
        tokens = frozenset(token for token in row["tokens"] or () if token is not None)
        records.setdefault(name_of(row["id"]), []).append(Side(row["id"], row["time"], row["text"] or "", tokens, words))
    return records
