"""What the paper says about its experiments, and whether it holds here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10

from swoop.paper.batches import Batches
from swoop.paper.experiments import DATA_SETS, Result
from swoop.paper.latency import Latency
from swoop.paper.profiles import Bursts

PAPER = "swoop-minimal"  # the paper's own algorithm
OTHERS = ("scase", "static", "base")
Verdict = tuple[bool | None, str]  # whether it holds (None: not measured), and what was measured


class Seen:
    """Results, by run."""

    def __init__(
        self,
        results: Iterable[Result],
        bursts: Bursts | None = None,
        batches: Batches | None = None,
        latencies: Sequence[Latency] = (),
    ) -> None:
        self._results = list(results)
        self._by_case = {result.case: result for result in self._results}
        self.bursts = bursts
        self.batches = batches
        self.latencies = latencies

    def of(self, algorithm: str, data_set: str | None = None, k: int | None = None, window: int | None = None) -> list[Result]:
        """Results of an algorithm, by data set, window and k."""
        found = [
            r
            for r in self._results
            if r.algorithm == algorithm and data_set in (None, r.data_set) and k in (None, r.k) and window in (None, r.window)
        ]
        return sorted(found, key=lambda r: (DATA_SETS.index(r.data_set), r.window, r.k))

    def like(self, r: Result, algorithm: str) -> Result | None:
        """The result of another algorithm on the same data set with the same parameters."""
        return self._by_case.get((r.data_set, r.source, r.sets, r.window, r.k, algorithm))

    def pairs(self, one: str, other: str, data_set: str | None = None, k: int | None = 10) -> list[tuple[Result, Result]]:
        """Results of two algorithms in the same case."""
        return [(r, o) for r in self.of(one, data_set, k) if (o := self.like(r, other)) is not None]

    def ratios(self, one: str, other: str, data_set: str | None = None, k: int | None = 10) -> list[float]:
        """How many times faster one algorithm is than another."""
        return [r.rate / o.rate for r, o in self.pairs(one, other, data_set, k)]

    def by_k(self, algorithm: str) -> list[Result]:
        """Results of the experiment that varies k."""
        return self.of(algorithm, "flickr", window=1000)

    def steps(self, algorithm: str) -> list[float]:
        """The factors by which the rate falls with ten times the window at k = 10, where windows are in sets and were full."""
        found = []
        for data_set in DATA_SETS:
            runs = [r for r in self.of(algorithm, data_set, 10) if r.has_filled_windows]
            for small, large in pairwise(runs if data_set != "dblp" else []):
                found.append((small.rate / large.rate) ** (1 / log10(large.window / small.window)))
        return found


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, a check of it, and the reason if it does not hold here."""

    chart: str
    says: str
    look: Callable[[Seen], Verdict]
    why: str = ""


def _span(values: Sequence[float], unit: str = "times") -> str:
    if not values:
        return "nothing"
    low, high = (f"{x:,.0f}" if x >= 100 else f"{x:.1f}" for x in (min(values), max(values)))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


# set rate


def _fastest(seen: Seen) -> Verdict:
    paper, floor = ([ratio for other in OTHERS for ratio in seen.ratios(one, other)] for one in (PAPER, "swoop"))
    if not paper:
        return None, "nothing"
    return min(paper) > 1, f"the paper's SWOOP is {_span(paper)} as fast as the others, Swoop with its floor {_span(floor)}"


def _small_windows(seen: Seen) -> Verdict:
    shares = [b.rate / p.rate for p, b in seen.pairs(PAPER, "base") if p.window == 100]
    return (
        max(shares) > 0.2 if shares else None
    ), f"at windows of 100, {_span([100 * s for s in shares], '%')} of SWOOP's rate"


def _flat(algorithm: str, k: int, data_sets: tuple[str, ...], least: int) -> Callable[[Seen], Verdict]:
    def look(seen: Seen) -> Verdict:
        falls = []
        for data_set in data_sets:
            rates = [r.rate for r in seen.of(algorithm, data_set, k) if r.window >= least or data_set == "dblp"]
            if len(rates) > 1:
                falls.append(rates[0] / min(rates[1:]))
        return (max(falls) < 2 if falls else None), f"it falls by a factor of {_span(falls, '').strip()}"

    return look


def _falls(algorithm: str, low: float, high: float) -> Callable[[Seen], Verdict]:
    def look(seen: Seen) -> Verdict:
        steps = seen.steps(algorithm)
        near = [low / 1.5 <= step <= high * 1.5 for step in steps]
        return (all(near) if near else None), f"by a factor of {_span(steps, '').strip()}"

    return look


def _dblp_timeouts(seen: Seen) -> Verdict:
    runs = [r for other in ("base", "static") for r in seen.of(other, "dblp", 10)]
    stopped = [r for r in runs if r.stopped]
    return (len(stopped) == len(runs) if runs else None), f"{len(stopped)} of {len(runs)} runs were stopped at their limit"


def _dblp(seen: Seen) -> Verdict:
    paper, floor = seen.ratios(PAPER, "scase", "dblp"), seen.ratios("swoop", "scase", "dblp")
    return (max(paper) >= 100 if paper else None), f"slower by {_span(paper)}; than Swoop with its floor by {_span(floor)}"


# k


def _base_and_k(seen: Seen) -> Verdict:
    rates = [r.rate for r in seen.by_k("base")]
    return (max(rates) < 2 * min(rates) if len(rates) > 1 else None), _span(rates, "sets/s")


def _faster_for_small_k(seen: Seen) -> Verdict:
    gains = [runs[0].rate / runs[-1].rate for one in (PAPER, "scase", "static") if len(runs := seen.by_k(one)) > 1]
    return (min(gains) > 1 if gains else None), f"from the largest k to the smallest the rate rises by {_span(gains)}"


def _order_of_magnitude(seen: Seen) -> Verdict:
    ratios, floor = (
        [r.rate / o.rate for r in seen.by_k(one) for other in ("scase", "static") if (o := seen.like(r, other))]
        for one in (PAPER, "swoop")
    )
    return (min(ratios) > 10 if ratios else None), f"faster by {_span(ratios)}; Swoop with its floor by {_span(floor)}"


# candidates


def _small_fraction(seen: Seen) -> Verdict:
    shares = [100 * r.pre_candidates / o.pre_candidates for r, o in seen.pairs(PAPER, "scase", "tweet")]
    return (shares[-1] < 10 if shares else None), ", ".join(f"{s:.0f} %" for s in shares) + " of those of SCase, by window"


def _slow_growth(seen: Seen) -> Verdict:
    runs = seen.of(PAPER, "tweet", 10)
    growth = [(b.pre_candidates / a.pre_candidates) ** (1 / log10(b.window / a.window)) for a, b in pairwise(runs)]
    return (max(growth) < 10 if growth else None), f"with ten times the window, {_span(growth)} as many"


def _same_candidates(seen: Seen) -> Verdict:
    ratios = [r.candidates / o.candidates for r, o in seen.pairs(PAPER, "scase", "tweet") if not o.stopped and o.candidates]
    return (all(0.9 < r < 1.1 for r in ratios) if ratios else None), f"SWOOP has {_span(ratios)} as many"


# ablations


def _increment(seen: Seen) -> Verdict:
    ratios = [r.rate / o.rate for r in seen.by_k(PAPER) if (o := seen.like(r, "swoop-noincrement"))]
    if len(ratios) < 2:
        return None, "nothing"
    return ratios[-1] > ratios[
        0
    ], f"faster by {ratios[0]:.1f} times at the smallest k, by {ratios[-1]:.1f} times at the largest"


def _looser(seen: Seen) -> Verdict:
    ratios = [r.rate / o.rate for r in seen.by_k(PAPER) if (o := seen.like(r, "swoop-noindex"))]
    if len(ratios) < 2:
        return None, "nothing"
    return ratios[-1] < ratios[0], f"it gains {ratios[0]:.1f} times at the smallest k, {ratios[-1]:.1f} times at the largest"


def _index(seen: Seen) -> Verdict:
    ratios = seen.ratios(PAPER, "swoop-noindex", "tweet")
    return (ratios == sorted(ratios) and ratios[-1] > 2 if len(ratios) > 1 else None), f"SWOOP is faster by {_span(ratios)}"


def _independent(seen: Seen) -> Verdict:
    ratios = seen.ratios(PAPER, "swoop-noincrement", "tweet")
    return (
        min(ratios) > 1 and max(ratios) < 2 * min(ratios) if len(ratios) > 1 else None
    ), f"SWOOP is faster by {_span(ratios)}"


def _batches(seen: Seen) -> Verdict:
    if seen.batches is None:
        return None, "nothing"
    wrong, far = seen.batches.wrong, seen.batches.by_more_than_one
    return wrong > 0.4, f"{wrong:.0%} of the windows are wrong, {far:.0%} of those by more than one pair"


# latency


def _small_latency(seen: Seen) -> Verdict:
    longest = [1000 * x.longest for x in seen.latencies]
    return (max(longest) <= 250 if longest else None), f"at most {_span(longest, 'ms')}"


def _lower_for_large(seen: Seen) -> Verdict:
    if len(seen.latencies) < 2:
        return None, "nothing"
    first, last = seen.latencies[0], seen.latencies[-1]
    found = (f"{1000 * x.longest:.1f} ms in windows of {x.window:,}" for x in (first, last))
    return last.longest < first.longest, ", ".join(found)


# token order


def _late_tokens(seen: Seen) -> Verdict:
    if seen.bursts is None:
        return None, "nothing"
    at, share, top = seen.bursts.firsts, sorted(seen.bursts.shares)[len(seen.bursts.shares) // 2], seen.bursts.share_in_spikes
    text = (
        f"positions {at[0]:,} and {at[1]:,}; in {share:.0%} of the sets of a window at the median, in {top:.0%} in the spikes"
    )
    return 0.1 <= share <= 0.5 and top > 0.9, text


def _windows_of_a_day(seen: Seen) -> Verdict:
    if seen.bursts is None:
        return None, "nothing"
    share = seen.bursts.largest / seen.bursts.sets
    return share > 0.03, f"up to {seen.bursts.largest:,} of {seen.bursts.sets:,} sets"


def _order_on_dblp(seen: Seen) -> Verdict:
    ratios = seen.ratios(PAPER, "swoop-noopt", "dblp")
    return (max(ratios) >= 36 if ratios else None), f"SWOOP is faster by {_span(ratios)}"


def _order_elsewhere(seen: Seen) -> Verdict:
    ratios = [r for data_set in ("tweet", "flickr", "enron") for r in seen.ratios(PAPER, "swoop-noopt", data_set)]
    return (max(ratios) < 1.5 if ratios else None), f"SWOOP is {_span(ratios)} as fast"


# stock


def _stock(seen: Seen) -> Verdict:
    said = {10: 1.5e2, 1000: 6e3}
    found = {r.k: r.largest_stock for r in seen.by_k(PAPER) if r.k in said}
    holds = all(said[k] / 3 < size < 3 * said[k] for k, size in found.items()) if found else None
    return holds, ", ".join(f"{size:,} at k = {k:,}" for k, size in found.items()) or "nothing"


def _below_worst(seen: Seen) -> Verdict:
    shares = [100 * r.largest_stock / (r.k * r.window) for r in seen.of(PAPER, "flickr") if r.window > r.k]
    return (min(shares) < 10 if shares else None), f"{_span(shares, '% of k times the window')}"


def _base_stock(seen: Seen) -> Verdict:
    runs = [r for r in seen.of("base", "flickr", 10) if r.has_filled_windows]
    if len(runs) < 2:
        return None, "nothing"
    return runs[-1].largest_stock > 10 * runs[0].largest_stock, ", ".join(
        f"{r.largest_stock:,} pairs in windows of {r.window:,}" for r in runs
    )


# why something does not hold

SHORT = "Bounds depend on the number of near-duplicates in a window, and there generated data sets differ from the paper's."
ENGINE = "SCase benefits from the engine here: its sets are in flat arrays, too, and are compared through marked tokens."
BURSTS = "The factor grows with the lists, which are as long as the bursts, and those of a small data set are short."
SETTLING = "Swoop merges candidates into its stock in batches; until then its bound is slightly lower than possible."
EARLY = "Small data sets: before the vocabulary is warm, the first appearance of a token says little about its frequency."
LIMIT = "With a few seconds per run, most slow runs are stopped before the windows are full; --full gives them an hour."
PAUSES = "The longest latencies follow single slow insertions, and a pause of the machine or of Python can be as long."
STOCK = "The stock depends on how similar the best pairs are, and those of the generated data set are not FLICKR's."
CHANGES = "How often the top-k changes depends on the number of near-duplicates, which is not ENRON's."

CLAIMS = (
    Claim("set-rate", "For a small window size close to k, even Base performs well.", _small_windows, SHORT),
    Claim("set-rate", "SWOOP clearly outperforms all other approaches.", _fastest, ENGINE),
    Claim("set-rate", "For k = 10, SWOOP's rate falls by less than a factor of two from windows of 10² to the largest.",
          _flat(PAPER, 10, ("tweet", "flickr", "enron", "industry"), 100), SHORT),
    Claim("set-rate", "With ten times the window, the rate of SCase falls by a factor of 3.1 to 8.7.",
          _falls("scase", 3.1, 8.7), LIMIT),
    Claim("set-rate", "That of Base falls by a factor of 15 to 76.", _falls("base", 15, 76), LIMIT),
    Claim("set-rate", "That of Static falls by a factor of up to 6.7.", _falls("static", 1, 6.7), SHORT),
    Claim("set-rate", "On DBLP, Base and Static run into a timeout even for a window of one day.", _dblp_timeouts, LIMIT),
    Claim("set-rate", "On DBLP, SCase is slower by two to three orders of magnitude.", _dblp, BURSTS),
    Claim("set-rate", "On DBLP, the rate of SWOOP is affected little by the window.", _flat(PAPER, 10, ("dblp",), 1), BURSTS),
    Claim("large-k", "For k = 1000, SWOOP's rate falls by less than a factor of two from windows of 10³ on.",
          _flat(PAPER, 1000, ("flickr",), 1000), SHORT),
    Claim("result-size", "The rate of Base is low, but does not depend on k.", _base_and_k, LIMIT),
    Claim("result-size", "SCase, Static and SWOOP run faster for smaller k.", _faster_for_small_k, LIMIT),
    Claim("result-size", "SWOOP is faster than SCase and Static by more than an order of magnitude.", _order_of_magnitude,
          ENGINE),
    Claim("pre-candidates", "SWOOP considers only a small fraction of the pairs that its competitors must process.",
          _small_fraction, SHORT),
    Claim("pre-candidates", "The number of pre-candidates of SWOOP grows slowly with the window size.", _slow_growth, SHORT),
    Claim("pre-candidates", "SCase and SWOOP have the same number of candidates.", _same_candidates, SETTLING),
    Claim("ablations", "For large k the candidate index is less effective, as bounds are looser.", _looser, LIMIT),
    Claim("ablations", "The incremental stock gains more for larger k, up to an order of magnitude.", _increment, LIMIT),
    Claim("ablations", "When the window grows, removing the candidate index leads to poor performance.", _index, SHORT),
    Claim("ablations", "The gain of the incremental stock is almost independent of the window.", _independent, SHORT),
    Claim("ablations", "Static in batches of 100 is wrong in 65 % of the windows (ENRON), in most by more than one pair.",
          _batches, CHANGES),
    Claim("token-order", "On TWEET, FLICKR and ENRON there is almost no difference.", _order_elsewhere, EARLY),
    Claim("token-order", "On DBLP, SWOOP is 36 to 83 times faster than without the order of lists.", _order_on_dblp, BURSTS),
    Claim("dblp", "The window of a day holds between 0 and 338,199 of 5.5 million sets.", _windows_of_a_day),
    Claim("dblp", "Two tokens first appear at positions 2,018 and 9,764, are then in 10 % to 50 % of the sets, and in "
          "almost all in the spikes.", _late_tokens),
    Claim("latency", "Latencies are small: at most 0.25 s.", _small_latency, PAUSES),
    Claim("latency", "The longest latency is lower for larger windows.", _lower_for_large, PAUSES),
    Claim("stock", "The stock of Base grows fast with the window.", _base_stock, LIMIT),
    Claim("stock", "The stock of SWOOP is well below the worst case.", _below_worst, STOCK),
    Claim("stock", "It has at most 150 pairs at k = 10 and 6,000 at k = 1000.", _stock, STOCK),
)  # fmt: skip
