"""Ratios to a base, their noise, and their means.

A ratio is taken pair by pair: an allocator's figure over the base's figure of the same case in the same
round of the same file, so that what made a whole round slow cancels out. Ratios live as logarithms.

- A case's ratio is the median over its pairs.
- A workload's is the geometric mean over its cases: one with many cases counts no more than another.
- A group's is the geometric mean over its workloads.

Each comes with a 95 % interval by the percentile bootstrap: the pairs of each case are drawn again with
replacement, cases independently of each other, and the whole calculation is done on each of the draws.
The draws are seeded by case, so that the same results give the same interval. Draws from n pairs vary too
little, by the root of (n - 1) / n: where a case has fewer than NEEDED_PAIRS, they are stretched by that.
"""

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy

from .results import BASE
from .workload import PROGRAMS, REPLAYS, SERVERS, STRESS

DRAWS = 2000
CONFIDENCE = 0.95
# With 5 pairs the interval of a median reaches from the lowest pair to the highest. By chance alone all
# of them lie on one side of 1 in a sixteenth of all cases; with fewer, too often to speak of a difference.
NEEDED_PAIRS = 5

METRICS = {
    "time": "time",
    "peak_kib": "peak memory",
    "mean_kib": "memory over time",
    "cpu_s": "CPU time",
    "minor_faults": "minor faults",
}
YARDSTICKS = {"programs and servers": (PROGRAMS, SERVERS), "stress": (STRESS,), "replays": (REPLAYS,)}

LESS, MORE, NONE, UNSURE, MISSING = "less", "more", "none", "unsure", "missing"


@dataclass(frozen=True)
class Estimate:
    """A ratio, or the lack of one."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    pairs: int = 0
    fewest: int = 0  # pairs in any of the cases that it is a mean of
    missing: tuple = ()  # the cases without which there is no mean, as texts

    @property
    def verdict(self):
        if math.isnan(self.value):
            return MISSING
        if self.pairs < NEEDED_PAIRS or self.fewest < 2:
            return UNSURE
        if self.low <= 1 <= self.high:
            return NONE
        return LESS if self.value < 1 else MORE

    @property
    def text(self):
        """0.832; ≈1.010 where that is no difference; 0.971? where there are too few pairs to tell; 1 of the base."""
        if self.low == self.high == 1:
            return "1"
        form = {MISSING: "—", NONE: "≈{}", UNSURE: "{}?"}.get(self.verdict, "{}")
        return form.format(number(self.value))

    @property
    def interval(self):
        return "" if math.isnan(self.value) else f"{number(self.low)}–{number(self.high)}"


def number(value):
    """Three places behind the point for a ratio about 1, three digits for others."""
    if value >= 2:
        return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
    return f"{value:.3f}" if value >= 0.1 else f"{value:.2g}"


@dataclass(frozen=True)
class Spread:
    """A ratio's logarithm, and what the draws made of it."""

    center: float
    draws: numpy.ndarray
    pairs: int
    fewest: int

    def estimate(self):
        tail = 50 * (1 - CONFIDENCE)
        low, high = numpy.percentile(self.draws, [tail, 100 - tail])
        return Estimate(*(math.exp(x) for x in (self.center, low, high)), self.pairs, self.fewest)


def drawn_medians(logs, seed):
    """The median of each of the draws from these logarithms."""
    values = numpy.asarray(logs, dtype=float)
    generator = numpy.random.default_rng(zlib.crc32(repr(seed).encode()))
    chosen = generator.integers(0, len(values), (DRAWS, len(values)))
    return numpy.median(values[chosen], axis=1)


def spread_of(logs, seed):
    center, draws, pairs = float(numpy.median(logs)), drawn_medians(logs, seed), len(logs)
    if 1 < pairs < NEEDED_PAIRS:
        draws = center + (draws - center) * math.sqrt(pairs / (pairs - 1))
    return Spread(center, draws, pairs, pairs)


def mean_of(spreads):
    """The geometric mean: of logarithms, the mean."""
    return Spread(
        sum(s.center for s in spreads) / len(spreads),
        sum(s.draws for s in spreads) / len(spreads),
        sum(s.pairs for s in spreads),
        min(s.fewest for s in spreads),
    )


def figures(results, metric):
    """CaseKey -> allocator -> (source, percent, round) -> the metric, where it is a positive number."""
    found = {}
    if metric not in results.frame:
        return found
    columns = ["case", "allocator", "source", "percent", "round", metric]
    for case, allocator, *place, value in results.frame[columns].itertuples(index=False, name=None):
        if value is not None and value > 0 and (case, allocator) not in results.failed:
            found.setdefault(case, {}).setdefault(allocator, {})[tuple(place)] = float(value)
    return found


class Ratios:
    """The ratios of one metric. own: its figures, if they are not those of the runs."""

    def __init__(self, results, metric, base=BASE, own=None):
        self.results, self.metric, self.base = results, metric, base
        self.figures = figures(results, metric) if own is None else own
        self.spread = lru_cache(maxsize=None)(self.spread)

    def pairs(self, case, allocator):
        """-> round -> the logarithm of the ratio to the base"""
        own, others = (self.figures.get(case, {}).get(name, {}) for name in (allocator, self.base))
        return {place: math.log(own[place] / others[place]) for place in sorted(own) if place in others}

    def spread(self, case, allocator):
        """-> Spread; None where there is no pair."""
        logs = list(self.pairs(case, allocator).values())
        return spread_of(logs, (case, allocator, None, self.metric)) if logs else None

    def cases(self, workload):
        """Those that the base has: without it nobody has a ratio, so that nobody gains by it."""
        return [case for case in self.results.cases[workload] if self.base in self.figures.get(case, {})]

    def without_base(self):
        """Failed or never finished under the base, and so in no mean."""
        return [c for w in self.results.workloads for c in self.results.cases[w] if c not in self.cases(w)]

    def workloads(self, groups):
        chosen = [name for name, about in self.results.workloads.items() if about["group"] in groups]
        return [name for name in chosen if self.cases(name)]

    def case(self, case, allocator):
        found = self.spread(case, allocator)
        return found.estimate() if found else Estimate(missing=(case.title,))

    def workload(self, name, allocator):
        return self.over([name], lambda case: self.spread(case, allocator))

    def mean(self, groups, allocator):
        return self.over(self.workloads(groups), lambda case: self.spread(case, allocator))

    def over(self, names, spread):
        """The mean over workloads, spread: CaseKey -> Spread or None. A failure must not flatter a mean:
        one member missing, and there is none."""
        each = {name: {case: spread(case) for case in self.cases(name)} for name in names}
        missing = tuple(case.title for cases in each.values() for case, found in cases.items() if found is None)
        if missing or not any(each.values()):
            return Estimate(missing=missing)
        return mean_of([mean_of(list(cases.values())) for cases in each.values() if cases]).estimate()

    def median(self, case, allocator):
        """The metric itself, or None."""
        values = list(self.figures.get(case, {}).get(allocator, {}).values())
        return float(numpy.median(values)) if values else None


class Oracle:
    """Who picks, for every case, the peer that is best there in this metric: for each round by what all other
    rounds say (leave-one-out cross-validation, Stone 1974).

    To pick by the round that is judged, too, would favour the oracle: of a dozen peers that are equally fast one is
    fastest by chance, and the more so the noisier the machine. With a single round there is no other way.
    """

    def __init__(self, ratios):
        self.ratios = ratios
        self.picks_by_round = lru_cache(maxsize=None)(self.picks_by_round)

    def best(self, case):
        """-> the name of the peer that all rounds together say is best, or None"""
        return self.best_without(self.peers_pairs(case), None)

    def peers_pairs(self, case):
        return {name: self.ratios.pairs(case, name) for name in self.ratios.results.peers}

    @staticmethod
    def best_without(pairs, left_out):
        logs = {name: [log for place, log in own.items() if place != left_out] for name, own in pairs.items()}
        centers = {name: numpy.median(own) for name, own in logs.items() if own}
        return min(centers, key=centers.get) if centers else None

    def picks_by_round(self, case):
        """-> round -> the logarithm of the pick's ratio to the base; a round that the pick lacks is left out"""
        pairs, found = self.peers_pairs(case), {}
        for place in sorted({place for own in pairs.values() for place in own}):
            pick = self.best_without(pairs, place) or self.best_without(pairs, None)
            if place in pairs[pick]:
                found[place] = pairs[pick][place]
        return found

    def spread(self, case):
        logs = list(self.picks_by_round(case).values())
        return spread_of(logs, (case, "oracle", None, self.ratios.metric)) if logs else None

    def mean(self, groups):
        """The oracle's own ratio to the base."""
        return self.ratios.over(self.ratios.workloads(groups), self.spread)

    def workload(self, name):
        return self.ratios.over([name], self.spread)

    def against(self, groups, allocator):
        """An allocator's ratio to the oracle."""
        return self.ratios.over(self.ratios.workloads(groups), lambda case: self.versus(case, allocator))

    def workload_against(self, name, allocator):
        return self.ratios.over([name], lambda case: self.versus(case, allocator))

    def versus(self, case, allocator):
        own, picks = self.ratios.pairs(case, allocator), self.picks_by_round(case)
        logs = [own[place] - picks[place] for place in own if place in picks]
        return spread_of(logs, (case, allocator, "oracle", self.ratios.metric)) if logs else None

    def picks(self, name):
        """The peers it picks for a workload's cases, the most frequent first; of these the one picked first."""
        best = [self.best(case) for case in self.ratios.cases(name)]
        return sorted(dict.fromkeys(filter(None, best)), key=lambda name: -best.count(name))
