"""``swoop run``: the most similar pairs of a whole history."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swoop.cli.console import ORANGE, RED, name_of, print_json, results, say
from swoop.cli.guard import FAILURE, WrongUsage
from swoop.cli.inputs import Source
from swoop.cli.output import check_out, write
from swoop.cli.progress import Steps
from swoop.cli.records import find_records
from swoop.cli.render import Found, Pairs, Side
from swoop.cli.session import spark_session
from swoop.cli.sets import Reading, learn, prepare
from swoop.errors import UnusableRows
from swoop.similarity import check_min_similarity, find_similarity
from swoop.times import find_window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_SHOWN = 1000
EQUAL = {"jaccard": 1.0, "cosine": 1.0, "dice": 1.0, "hamming": 0.0}  # the similarity of equal sets


@dataclass(frozen=True)
class Question:
    """What is looked for."""

    k: int
    window: Any
    similarity: str
    min_similarity: float | None

    def check(self) -> None:
        """Refuse what cannot be before Spark is started."""
        if self.k < 1:
            raise WrongUsage(f"-k must be at least 1, not {self.k}")
        find_window(self.window)
        check_min_similarity(find_similarity(self.similarity), self.min_similarity)


@dataclass(frozen=True)
class History:
    """What came out, apart from the files."""

    found: list[Found]
    rows: int
    stays: int
    rejected: dict[str, int]
    seconds: float


def run(
    source: Source,
    reading: Reading,
    question: Question,
    *,
    out: str | None = None,
    show: int = 10,
    equal: bool = True,
    as_json: bool = False,
    master: str | None = None,
    memory: str = "2g",
) -> int:
    """Do it, and show it. Returns the exit code."""
    question.check()
    check_out(out)
    if not 0 <= show <= MOST_SHOWN:
        raise WrongUsage(f"--show must be from 0 to {MOST_SHOWN}, not {show}; --out takes all results")
    history = find(source, reading, question, out, show, equal, master, memory)
    if as_json:
        print_json(_in_json(history, question), indent=2)
    elif history.found:
        results().print(Pairs(history.found, question.k, question.similarity))
    return _close(history, question, out)


def find(
    source: Source,
    reading: Reading,
    question: Question,
    out: str | None,
    show: int,
    equal: bool,
    master: str | None,
    memory: str,
) -> History:
    """The history of the top-k: its best pairs, and everything to a file."""
    began = time.monotonic()
    window = find_window(question.window)
    with Steps() as steps:
        steps.step("starting Spark")
        with spark_session(master, memory) as spark:
            from swoop.spark import topk_history

            steps.step("looking at the input", spark)
            rows = source.read(spark)
            learned = learn(rows, reading, window)
            sets = prepare(rows, learned, window)
            steps.step("finding similar pairs", spark)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                stays = topk_history(
                    sets,
                    question.k,
                    question.window,
                    question.similarity,
                    min_similarity=question.min_similarity,
                    stream="stream" if reading.columns.stream else None,
                ).persist()
            unusable = any(isinstance(warning.message, UnusableRows) for warning in warned)
            try:
                history = History(
                    found=best(_shown(stays, question, equal), sets, show, words=bool(learned.columns.text)) if show else [],
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
    return History(history.found, history.rows, history.stays, history.rejected, time.monotonic() - began)


def _shown(stays: DataFrame, question: Question, equal: bool) -> DataFrame:
    """The stays that are shown: all, or those of pairs of different sets."""
    if equal:
        return stays
    if question.similarity not in EQUAL:
        raise WrongUsage(f"--no-equal goes with {', '.join(EQUAL)}; by {question.similarity} equal sets cannot be told")
    return stays.filter(stays["similarity"] < EQUAL[question.similarity])


def best(stays: DataFrame, sets: DataFrame, most: int, words: bool) -> list[Found]:
    """The most similar distinct pairs over all stays; among equals, those that share more and were there earlier."""
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
        Found(
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
    """The two records of a pair. Where an id is there several times, those that the pair can have been made of."""
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
    counted = rejected(sets, stream=stream).groupBy("reason").count().orderBy("count", ascending=False).collect()
    return {row["reason"]: row["count"] for row in counted}


def _in_json(history: History, question: Question) -> dict[str, Any]:
    def side(of: Side) -> dict[str, Any]:
        return {"id": of.id, "time": of.time, **({"text": of.text} if of.words else {"tokens": sorted(of.tokens, key=str)})}

    return {
        "k": question.k,
        "window": question.window,
        "similarity": question.similarity,
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
            for pair in history.found
        ],
    }


def _close(history: History, question: Question, out: str | None) -> int:
    """The last lines, and the exit code: all rows rejected is a failure."""
    bad = sum(history.rejected.values())
    reasons = "; ".join(f"{count:,}: {reason}" for reason, count in history.rejected.items())
    if bad:
        say(f"{bad:,} of {history.rows:,} rows cannot be used ({reasons})", style=ORANGE)
    written = f", written to {out}" if out else "; --out FILE keeps them all"
    say(
        f"{history.rows:,} rows, {history.stays:,} stays of pairs in the top {question.k} of a window of {question.window}"
        f"{written} ({history.seconds:.1f} s)"
    )
    if len(history.found) > 1 and all(pair.similarity == EQUAL.get(question.similarity) for pair in history.found):
        say("all pairs shown are of equal sets; --no-equal leaves them out, and a larger -k finds more")
    if not history.stays and not bad:
        say("no two records of a window share a token; try a longer --window or another --tokenizer")
    if bad and bad == history.rows:
        say("swoop: no row can be used; check --id, --time (--time-unit, --time-format) and --text or --tokens", style=RED)
        return FAILURE
    return 0
