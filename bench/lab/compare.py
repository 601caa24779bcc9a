"""acre bench compare A B: what got better or worse from one file of results to another.

A and B are files of results, or the folders they lie in. Rounds of two files have nothing to do with each
other, so nothing is paired: a change is the ratio of the medians, B to A, and its 95 % interval comes from
drawing the rounds of each file again (percentile bootstrap). Less is better in every metric.
"""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy

from . import arguments, results
from .ratios import (
    LESS,
    METRICS,
    MISSING,
    MORE,
    NONE,
    UNSURE,
    YARDSTICKS,
    Estimate,
    Spread,
    figures,
    mean_of,
    number,
    spread_of,
)
from .results import BASE, CaseKey, case_of

WORDS = {LESS: "better", MORE: "worse", NONE: "none", UNSURE: "too few rounds", MISSING: "missing"}
STYLES = {LESS: "green", MORE: "bold red", NONE: "dim", UNSURE: "dim", MISSING: "dim"}
SHOWN = ("time", "peak_kib", "mean_kib", "cpu_s")  # in the table; what moved is listed in all metrics
POINTS = ("p50", "p99", "p99.9", "p99.99")


@dataclass(frozen=True)
class Change:
    case: CaseKey
    names: tuple  # the allocator in A and in B
    metric: str
    before: float  # medians
    after: float
    spread: Spread

    @property
    def estimate(self):
        return self.spread.estimate()

    def as_json(self):
        estimate = self.estimate
        return {
            **self.case._asdict(),
            "allocator": arrow(self.names),
            "metric": self.metric,
            "before": self.before,
            "after": self.after,
            "ratio": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "rounds": estimate.pairs,
            "verdict": WORDS[estimate.verdict],
        }


def arrow(names):
    return names[0] if names[0] == names[1] else f"{names[0]} → {names[1]}"


def title_of(metric):
    if metric.startswith("latency."):
        return f"latency {metric.removeprefix('latency.')}"
    return METRICS.get(metric, metric.removeprefix("extra."))


def latencies(found, point):
    """As ratios.figures, of one percentile of the latencies of single calls."""
    table = {}
    for entry in found.latencies:
        value = entry["latency_ns"].get(point)
        if value:
            place = (entry["source"], entry["percent"], entry["round"])
            table.setdefault(case_of(entry), {}).setdefault(entry["allocator"], {})[place] = value
    return table


def all_figures(found):
    """Metric -> its figures: those that reports compare, the workloads' own, latencies."""
    tables = {metric: figures(found, metric) for metric in (*METRICS, *found.extras)}
    return tables | {f"latency.{point}": latencies(found, point) for point in POINTS}


def logs(rounds, percent, base_rounds):
    """Logarithms of the rounds that did this much work; over the base's of the same round, if wanted."""
    chosen = {place: value for place, value in rounds.items() if place[1] == percent}
    if base_rounds is None:
        return [math.log(value) for value in chosen.values()]
    return [math.log(value / base_rounds[place]) for place, value in chosen.items() if place in base_rounds]


class Comparison:
    def __init__(self, before, after, pairs, relative=False):
        """before, after: Results; pairs: (name in A, name in B)."""
        self.before, self.after, self.relative = before, after, relative
        self.changes, self.unmatched = [], {}  # (case, names) -> why there is nothing to compare
        tables = all_figures(before), all_figures(after)
        for names in pairs:
            for case in self.all_cases():
                self.compare(case, names, tables)

    def all_cases(self):
        return list(
            dict.fromkeys(c for found in (self.before, self.after) for cases in found.cases.values() for c in cases)
        )

    def compare(self, case, names, tables):
        for which, found, name in zip("AB", (self.before, self.after), names):
            reason = found.failed.get((case, name))
            if reason or (name not in tables[which == "B"].get("time", {}).get(case, {})):
                self.unmatched[case, names] = f"{'failed' if reason else 'not there'} in {which}"
                return
        for metric in tables[0]:
            if metric in tables[1]:
                self.add(case, names, metric, [table[metric].get(case, {}) for table in tables])

    def add(self, case, names, metric, sides):
        rounds = [side.get(name, {}) for side, name in zip(sides, names)]
        percents = {p for _, p, _ in rounds[0]} & {p for _, p, _ in rounds[1]}
        if not percents:
            if metric == "time":
                self.unmatched[case, names] = "the amounts of work differ"
            return
        percent = max(percents)
        bases = [side.get(BASE, {}) if self.relative else None for side in sides]
        values = [logs(own, percent, base) for own, base in zip(rounds, bases)]
        if all(values):
            first, second = (spread_of(v, (case, names, metric, which)) for v, which in zip(values, "AB"))
            fewer = min(first.pairs, second.pairs)
            spread = Spread(second.center - first.center, second.draws - first.draws, fewer, fewer)
            medians = [float(numpy.median([v for p, v in own.items() if p[1] == percent])) for own in rounds]
            self.changes.append(Change(case, names, metric, *medians, spread))

    def mean(self, metric, names, groups=None, workload=None):
        """The geometric mean over the cases that both have, each workload counting once."""
        by_workload = {}
        for change in self.changes:
            inside = change.case.workload == workload if workload else self.group(change.case.workload) in groups
            if inside and (change.metric, change.names) == (metric, names):
                by_workload.setdefault(change.case.workload, []).append(change.spread)
        if not by_workload:
            return Estimate()
        return mean_of([mean_of(spreads) for spreads in by_workload.values()]).estimate()

    def group(self, workload):
        return (self.after.workloads.get(workload) or self.before.workloads[workload])["group"]

    def workloads(self):
        return list(dict.fromkeys(change.case.workload for change in self.changes))


def parse(words):
    parser = argparse.ArgumentParser(prog="acre bench compare")
    arguments.compare(parser)
    return parser.parse_args(words)


def chosen_pairs(before, after, wanted):
    """The allocators to compare, as (name in A, name in B): acre's builds unless others are named."""
    if not wanted:
        both = [name for name in before.allocators if name in after.allocators]
        ours = [name for name in both if name in before.ours]
        if not both:
            raise ValueError("no allocator is in both: name some, as --alloc NAME-IN-A=NAME-IN-B")
        return [(name, name) for name in ours or both]
    pairs = [(first, second or first) for first, _, second in (text.partition("=") for text in wanted)]
    for pair in pairs:
        for name, found, which in zip(pair, (before, after), "AB"):
            if name not in found.allocators:
                raise ValueError(f"--alloc: {which} has no {name}; it has {', '.join(found.allocators)}")
    return pairs


def main(words, console):
    options = parse(words)
    files = [path / "results.jsonl" if path.is_dir() else path for path in (options.before, options.after)]
    before, after = (results.read([path]) for path in files)
    pairs = chosen_pairs(before, after, options.alloc)
    comparison = Comparison(before, after, pairs, options.relative)
    if options.json:
        lines = [change.as_json() for change in comparison.changes]
        for (case, names), reason in comparison.unmatched.items():
            lines.append({**case._asdict(), "allocator": arrow(names), "verdict": "missing", "reason": reason})
        for line in lines:
            console.file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return 0
    Text(comparison, pairs, console).show(*files)
    return 0


class Text:
    """A comparison on a terminal."""

    def __init__(self, comparison, pairs, console):
        self.comparison, self.pairs, self.console = comparison, pairs, console

    def say(self, text="", style=None):
        self.console.print(text, style=style, highlight=False, markup=False)

    def show(self, first, second):
        self.say(f"A: {first}\nB: {second}")
        self.say("B to A, less is better; ≈ is no difference beyond the noise, ? too few rounds to tell\n")
        for names in self.pairs:
            self.console.print(self.summary(names))
            self.changed(names)
        self.say_base()
        for (case, names), reason in self.comparison.unmatched.items():
            self.say(f"not compared: {case.title}, {arrow(names)}: {reason}", "yellow")

    def summary(self, names):
        from rich.table import Table

        table = Table(title=arrow(names), title_justify="left", title_style="bold", box=None, pad_edge=False)
        table.add_column("", no_wrap=True)
        for metric in SHOWN:
            table.add_column(METRICS[metric], justify="right")
        for title, groups in YARDSTICKS.items():
            self.row(table, title, "bold", [self.comparison.mean(m, names, groups) for m in SHOWN], interval=True)
        for name in self.comparison.workloads():
            self.row(table, f"  {name}", "", [self.comparison.mean(m, names, workload=name) for m in SHOWN])
        return table

    def row(self, table, title, style, estimates, interval=False):
        from rich.text import Text as Words

        if all(estimate.verdict == MISSING for estimate in estimates):
            return
        cells = []
        for estimate in estimates:
            range_ = f"\n{estimate.interval}" if interval and estimate.interval else ""
            cells.append(Words(estimate.text + range_, style=STYLES[estimate.verdict]))
        table.add_row(Words(title, style=style), *cells)

    def changed(self, names):
        changes = [change for change in self.comparison.changes if change.names == names]
        moved = [(change, change.estimate) for change in changes]
        for verdict, title in ((MORE, "worse"), (LESS, "better")):
            some = [(c, e) for c, e in moved if e.verdict == verdict]
            if some:
                self.say(f"\n{title}:", STYLES[verdict])
            for change, e in sorted(some, key=lambda pair: -abs(math.log(pair[1].value))):
                self.say(f"  {number(e.value):>5} [{e.interval}]  {change.case.title}: {title_of(change.metric)}")
        self.say(
            f"\n{len(changes)} comparisons of cases; of so many, about {len(changes) * 0.05:.0f} differ by chance\n"
        )

    def say_base(self):
        """What glibc itself did: it is the same in both, if the machine is."""
        if self.comparison.relative or (BASE, BASE) in self.pairs:
            return
        base = Comparison(self.comparison.before, self.comparison.after, [(BASE, BASE)])
        overall = [base.mean("time", (BASE, BASE), groups) for groups in YARDSTICKS.values()]
        texts = [f"{e.text} [{e.interval}] on {title}" for e, title in zip(overall, YARDSTICKS) if e.interval]
        if texts:
            self.say(f"glibc's own time, B to A: {', '.join(texts)}")
        if any(estimate.verdict in (LESS, MORE) for estimate in overall):
            self.say("so the machine was not the same: --relative compares ratios to glibc", "yellow")
