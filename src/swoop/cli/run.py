"""``swoop run``: the most similar pairs of a whole history."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swoop.cli.console import ORANGE, RED, info, name_of, print_json, results
from swoop.cli.guard import FAILURE, WrongUsage
from swoop.cli.inputs import InputFiles
from swoop.cli.output import check_out, write
from swoop.cli.progress import Steps
from swoop.cli.records import find_records
from swoop.cli.render import Pairs, ShownPair, Side
from swoop.cli.session import spark_session
from swoop.cli.sets import InputOptions, infer_columns, prepare
from swoop.errors import UnusableRows
from swoop.spec import JoinSpec
from swoop.times import find_window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_SHOWN = 1000
EQUAL = {"jaccard": 1.0, "cosine": 1.0, "dice": 1.0, "hamming": 0.0}  # the similarity of equal sets


@dataclass(frozen=True)
class JoinOptions:
    """The options that describe the join."""

    k: int
    window: Any
    similarity: str
    min_similarity: float | None

    def check(self) -> None:
        """Refuse wrong values before Spark is started."""
        if self.k < 1:
            raise WrongUsage(f"-k must be at least 1, not {self.k}")
        JoinSpec(self.k, self.window, self.similarity, min_similarity=self.min_similarity)


@dataclass(frozen=True)
class History:
    """The results, apart from the output file."""

    pairs: list[ShownPair]
    rows: int
    stays: int
    rejected: dict[str, int]
    seconds: float


def run(
    files: InputFiles,
    options: InputOptions,
    join: JoinOptions,
    *,
    out: str | None = None,
    show: int = 10,
    equal: bool = True,
    as_json: bool = False,
    master: str | None = None,
    memory: str = "2g",
) -> int:
    """Find the pairs and show them. Returns the exit code."""
    join.check()
    check_out(out)
    if not 0 <= show <= MOST_SHOWN:
        raise WrongUsage(f"--show must be from 0 to {MOST_SHOWN}, not {show}; --out writes all results")
    if not equal and join.similarity not in EQUAL:
        raise WrongUsage(f"--no-equal is not available for {join.similarity}, only for {', '.join(EQUAL)}")
    history = find(files, options, join, out, show, equal, master, memory)
    if as_json:
        print_json(_in_json(history, join), indent=2)
    elif history.pairs:
        results().print(Pairs(history.pairs, join.k, join.similarity))
    return _summarise(history, join, out)


def find(
    files: InputFiles,
    options: InputOptions,
    join: JoinOptions,
    out: str | None,
    show: int,
    equal: bool,
    master: str | None,
    memory: str,
) -> History:
    """The history of the top-k: its best pairs, with all stays written to ``out``."""
    began = time.monotonic()
    window = find_window(join.window)
    with Steps() as steps:
        steps.step("starting Spark")
        with spark_session(master, memory) as spark:
            from swoop.spark import topk_history

            steps.step("reading the input", spark)
            rows = files.read(spark)
            inferred = infer_columns(rows, options, window)
            sets = prepare(rows, inferred, window)
            steps.step("finding similar pairs", spark)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                stays = topk_history(
                    sets,
                    join.k,
                    join.window,
                    join.similarity,
                    min_similarity=join.min_similarity,
                    stream="stream" if options.columns.stream else None,
                ).persist()
            unusable = any(isinstance(warning.message, UnusableRows) for warning in warned)
            try:
                history = History(
                    pairs=best(_filter_equal(stays, join, equal), sets, show, words=bool(inferred.columns.text))
                    if show
                    else [],
                    rows=rows.count(),
                    stays=stays.count(),
                    rejected=_rejected(sets) if unusable else {},
                    seconds=0.0,
                )
                if out is not None:
                    steps.step(f"writing {out}", spark)
                    write(stays, out)
            finally:
                stays.unpersist()
            steps.step("stopping Spark")
    return History(history.pairs, history.rows, history.stays, history.rejected, time.monotonic() - began)


def _filter_equal(stays: DataFrame, join: JoinOptions, equal: bool) -> DataFrame:
    """The stays to show: all, or only those of pairs of different sets."""
    return stays if equal else stays.filter(stays["similarity"] < EQUAL[join.similarity])


def best(stays: DataFrame, sets: DataFrame, most: int, words: bool) -> list[ShownPair]:
    """The most similar distinct pairs over all stays; ties go to those that share more, then to the earlier ones."""
    from pyspark.sql import functions as F  # noqa: N812

    pairs = (
        stays.groupBy("newer", "older", "similarity", "overlap")
        .agg(
            F.min("enter").alias("enter"),
            F.max("leave").alias("leave"),
            F.max(F.col("leave").isNull()).alias("open"),
            F.count("*").alias("stays"),
        )
        .orderBy(F.desc("similarity"), F.desc("overlap"), "enter", "newer", "older")
        .limit(most)
        .toArrow()
        .to_pylist()
    )
    names = {name_of(pair[side]) for pair in pairs for side in ("newer", "older")}
    records = find_records(sets.filter(F.col("time").isNotNull()), names, words)
    return [
        ShownPair(
            *_sides(records, pair),
            pair["similarity"],
            pair["overlap"],
            pair["enter"],
            None if pair["open"] else pair["leave"],
            pair["stays"],
        )
        for pair in pairs
    ]


def _sides(records: dict[str, list[Side]], pair: dict[str, Any]) -> tuple[Side, Side]:
    """The two records of a pair. If an id is not unique, those that fit the pair."""
    all_newer, all_older = records[name_of(pair["newer"])], records[name_of(pair["older"])]
    candidates = [
        (newer, older)
        for newer in all_newer
        for older in all_older
        if newer is not older and older.time <= newer.time <= pair["enter"]
        if len(newer.tokens & older.tokens) == pair["overlap"]
    ]
    return candidates[-1] if candidates else (all_newer[-1], all_older[0])


def _rejected(sets: DataFrame) -> dict[str, int]:
    from swoop.spark import rejected

    stream = "stream" if "stream" in sets.columns else None
    counts = rejected(sets, stream=stream).groupBy("reason").count().orderBy("count", ascending=False).collect()
    return {row["reason"]: row["count"] for row in counts}


def _in_json(history: History, join: JoinOptions) -> dict[str, Any]:
    def side(of: Side) -> dict[str, Any]:
        return {"id": of.id, "time": of.time, **({"text": of.text} if of.words else {"tokens": sorted(of.tokens, key=str)})}

    return {
        "k": join.k,
        "window": join.window,
        "similarity": join.similarity,
        "rows": history.rows,
        "rejected": history.rejected,
        "stays": history.stays,
        "seconds": round(history.seconds, 3),
        "pairs": [
            {
                "similarity": pair.similarity,
                "overlap": pair.overlap,
                "newer": side(pair.newer),
                "older": side(pair.older),
                "enter": pair.enter,
                "leave": pair.leave,
                "stays": pair.stays,
            }
            for pair in history.pairs
        ],
    }


def _summarise(history: History, join: JoinOptions, out: str | None) -> int:
    """Print the last lines. Returns the exit code: it is a failure if all rows are rejected."""
    bad = sum(history.rejected.values())
    reasons = "; ".join(f"{count:,}: {reason}" for reason, count in history.rejected.items())
    if bad:
        info(f"{bad:,} of {history.rows:,} rows are unusable ({reasons})", style=ORANGE)
    written = f", written to {out}" if out else "; --out FILE writes them all"
    info(
        f"{history.rows:,} rows, {history.stays:,} stays in the top {join.k} of a window of {join.window}"
        f"{written} ({history.seconds:.1f} s)"
    )
    if len(history.pairs) > 1 and all(pair.similarity == EQUAL.get(join.similarity) for pair in history.pairs):
        info("all pairs shown are of equal sets; --no-equal leaves them out, and a larger -k finds more pairs")
    if not history.stays and not bad:
        info("no two records in a window share a token; try a longer --window or another --tokenizer")
    if bad and bad == history.rows:
        info("swoop: all rows are unusable; check --id, --time (--time-unit, --time-format) and --text or --tokens", style=RED)
        return FAILURE
    return 0
