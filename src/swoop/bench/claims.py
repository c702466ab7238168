"""What the paper says about its experiments, and whether it was seen here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from swoop.bench.experiments import STREAMS, Result, Run


class Seen:
    """Results by what was run."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._results = list(results)

    def of(self, algorithm: str, stream: str | None = None, k: int | None = None, window: int | None = None) -> list[Result]:
        """Results of an algorithm, by window, then k."""
        found = [
            r
            for r in self._results
            if r.algorithm == algorithm and stream in (None, r.stream) and k in (None, r.k) and window in (None, r.window)
        ]
        return sorted(found, key=lambda r: (r.stream, r.window, r.k))

    def like(self, result: Result, algorithm: str) -> Result | None:
        """The result of another algorithm on the same stream with the same parameters."""
        for other in self._results:
            if Run(other.stream, other.sets, other.window, other.k, other.algorithm) == Run(
                result.stream, result.sets, result.window, result.k, algorithm
            ):
                return other
        return None

    def ratios(self, algorithm: str, other: str, stream: str | None = None, k: int | None = 10) -> list[float]:
        """How many times faster an algorithm is than another one, by window."""
        found = ((r, self.like(r, other)) for r in self.of(algorithm, stream, k))
        return [r.rate / o.rate for r, o in found if o is not None]

    def steps(self, algorithm: str) -> list[float]:
        """By how much the rate falls per factor of ten in the window, on each stream, at k = 10."""
        found = []
        for stream in STREAMS:
            runs = self.of(algorithm, stream, 10)
            for small, large in pairwise(runs):
                tens = len(str(large.window // small.window)) - 1
                if tens >= 1:
                    found.append((small.rate / large.rate) ** (1 / tens))
        return found


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and a way to look: whether it holds here (None: nothing to look at), and what was seen."""

    figure: str
    says: str
    look: Callable[[Seen], tuple[bool | None, str]]


def _span(values: list[float], unit: str = "times") -> str:
    return f"{min(values):.1f} to {max(values):.1f} {unit}" if values else "nothing"


def _fastest(seen: Seen) -> tuple[bool | None, str]:
    others = [ratio for other in ("scase", "static", "base") for ratio in seen.ratios("swoop-minimal", other)]
    floor = [ratio for other in ("scase", "static", "base") for ratio in seen.ratios("swoop", other)]
    if not others:
        return None, "nothing"
    return min(others) > 1, f"the paper's SWOOP is {_span(others)} as fast as the others, with the floor {_span(floor)}"


def _flat(seen: Seen) -> tuple[bool | None, str]:
    falls = []
    for stream in STREAMS:
        runs = seen.of("swoop-minimal", stream, 10)
        if len(runs) > 1:
            falls.append(runs[0].rate / runs[-1].rate)
    return (max(falls) < 2 if falls else None), f"from the smallest to the largest window the rate falls {_span(falls)}"


def _falls(algorithm: str, low: float, high: float) -> Callable[[Seen], tuple[bool | None, str]]:
    def look(seen: Seen) -> tuple[bool | None, str]:
        steps = seen.steps(algorithm)
        return (low <= max(steps) and min(steps) <= high if steps else None), f"it falls {_span(steps)}"

    return look


def _dblp(seen: Seen) -> tuple[bool | None, str]:
    ratios = seen.ratios("swoop-minimal", "scase", "dblp")
    floor = seen.ratios("swoop", "scase", "dblp")
    return (max(ratios) >= 100 if ratios else None), f"slower by {_span(ratios)}, than with the floor by {_span(floor)}"


def _base_and_k(seen: Seen) -> tuple[bool | None, str]:
    rates = [r.rate for r in seen.of("base", "flickr", window=1000)]
    return (max(rates) < 2 * min(rates) if rates else None), f"{_span(rates, 'sets/s')}"


def _order_of_magnitude(seen: Seen) -> tuple[bool | None, str]:
    runs = seen.of("swoop-minimal", "flickr", window=1000)
    ratios = [r.rate / o.rate for r in runs for other in ("scase", "static") if (o := seen.like(r, other))]
    return (min(ratios) > 10 if ratios else None), f"faster by {_span(ratios)}"


def _small_fraction(seen: Seen) -> tuple[bool | None, str]:
    shares = [
        r.pre_candidates / o.pre_candidates
        for r in seen.of("swoop-minimal", "tweet", 10)
        if (o := seen.like(r, "scase")) and r.window >= 1000
    ]
    return (max(shares) < 0.25 if shares else None), f"{_span([100 * s for s in shares], '% of those of SCase')}"


def _increment(seen: Seen) -> tuple[bool | None, str]:
    runs = seen.of("swoop-minimal", "flickr", window=1000)
    ratios = [r.rate / o.rate for r in runs if (o := seen.like(r, "swoop-noincrement"))]
    return (
        ratios[-1] > ratios[0] > 1 if len(ratios) > 1 else None
    ), f"faster by {_span(ratios)}, from the smallest k to the largest"


def _index(seen: Seen) -> tuple[bool | None, str]:
    ratios = seen.ratios("swoop-minimal", "swoop-noindex", "tweet")
    return (ratios == sorted(ratios) and ratios[-1] > 2 if len(ratios) > 1 else None), f"faster by {_span(ratios)}"


def _order_on_dblp(seen: Seen) -> tuple[bool | None, str]:
    ratios = seen.ratios("swoop-minimal", "swoop-noopt", "dblp")
    return (max(ratios) >= 36 if ratios else None), f"faster by {_span(ratios)}"


def _order_elsewhere(seen: Seen) -> tuple[bool | None, str]:
    ratios = [r for stream in ("tweet", "flickr", "enron") for r in seen.ratios("swoop-minimal", "swoop-noopt", stream)]
    return (max(ratios) < 1.5 if ratios else None), f"{_span(ratios)}"


def _stock(seen: Seen) -> tuple[bool | None, str]:
    runs = {r.k: r for r in seen.of("swoop-minimal", "flickr", window=1000)}
    said = {10: 1.5e2, 1000: 6e3}
    found = {k: runs[k].largest_stock for k in said if k in runs}
    holds = all(said[k] / 3 < size < 3 * said[k] for k, size in found.items()) if found else None
    return holds, ", ".join(f"{size:,} at k = {k:,}" for k, size in found.items()) or "nothing"


CLAIMS = (
    Claim("set-rate", "SWOOP clearly outperforms all other approaches.", _fastest),
    Claim("set-rate", "For k = 10, the rate falls by less than a factor of two from windows of 10^2 to the largest.", _flat),
    Claim(
        "set-rate", "With ten times the window, the rate of SCase falls by a factor of 3.1 to 8.7.", _falls("scase", 3.1, 8.7)
    ),
    Claim("set-rate", "That of Base falls by a factor of 15 to 76.", _falls("base", 15, 76)),
    Claim("set-rate", "That of Static falls by a factor of up to 6.7.", _falls("static", 1, 6.7)),
    Claim("set-rate", "On DBLP, SCase is slower by two to three orders of magnitude.", _dblp),
    Claim(
        "pre-candidates",
        "SWOOP considers only a small fraction of the pairs that its competitors must process.",
        _small_fraction,
    ),
    Claim("result-size", "The rate of Base is low, but does not depend on k.", _base_and_k),
    Claim("result-size", "SWOOP is faster than SCase and Static by more than an order of magnitude.", _order_of_magnitude),
    Claim("ablations", "The incremental stock gains more for larger k, up to an order of magnitude.", _increment),
    Claim("ablations", "When the window grows, removing the candidate index leads to poor performance.", _index),
    Claim("token-order", "On DBLP, SWOOP is 36 to 83 times faster than without the order of lists.", _order_on_dblp),
    Claim("token-order", "On TWEET, FLICKR and ENRON there is almost no difference.", _order_elsewhere),
    Claim("stock", "The largest stock has 150 pairs at k = 10 and 6,000 at k = 1000 (FLICKR).", _stock),
)
