"""What the page's tables say: plain values that the template only has to set."""

import math
from dataclasses import dataclass

import numpy

from ..compare import latencies
from ..ratios import METRICS, MISSING, MORE, UNSURE, YARDSTICKS, Estimate, Oracle, Ratios, figures, number
from ..results import BASE, case_of
from ..workload import GROUPS

POINTS = ("p50", "p90", "p99", "p99.9", "p99.99", "max")
MEANS = ("time", "peak_kib", "mean_kib")  # of the first table
BEHIND = 12  # cases shown before the fold


def absolute(value, metric):
    """A figure for people: 1.23 s, 45.6 MiB, 12 300."""
    if value is None:
        return "—"
    if metric.endswith("_kib"):
        return f"{value / 1024:.1f} MiB" if value < 10240e3 else f"{value / 1048576:.1f} GiB"
    if metric == "time" or metric.endswith("_s"):
        return f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"
    return thousands(value)


def thousands(value):
    return f"{value:,.0f}".replace(",", "\u202f")


def duration(ns):
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


@dataclass
class Cell:
    estimate: Estimate
    best: bool = False

    @property
    def hint(self):
        estimate = self.estimate
        if estimate.verdict == MISSING:
            return f"missing: {some(estimate.missing)}" if estimate.missing else "missing"
        return f"95 % interval {estimate.interval}, {estimate.pairs} pair{'s' * (estimate.pairs != 1)} of runs"


def cells(estimates, base=math.inf):
    """With the least of them marked, unless the base, in a column of its own, is less."""
    least = min([base, *(e.value for e in estimates if not math.isnan(e.value))])
    return [Cell(e, e.value == least) for e in estimates]


class Tables:
    def __init__(self, results):
        self.results = results
        self.names = list(results.allocators)
        self.others = [name for name in self.names if name != BASE]
        self.ratios = {metric: Ratios(results, metric) for metric in METRICS}
        self.oracles = {metric: Oracle(ratios) for metric, ratios in self.ratios.items()}
        self.yardsticks = {t: g for t, g in YARDSTICKS.items() if self.ratios["time"].workloads(g)}

    def sorted_names(self):
        """By time on the first yardstick; those without a mean last."""
        groups = next(iter(self.yardsticks.values()), GROUPS)
        mean = {name: self.ratios["time"].mean(groups, name).value for name in self.names}
        return sorted(self.names, key=lambda name: (math.isnan(mean[name]), mean[name]))

    def means(self, metrics=MEANS):
        """A row an allocator, then the oracle, then acre's builds against it."""
        columns = [(metric, title, groups) for metric in metrics for title, groups in self.yardsticks.items()]
        names = self.sorted_names()
        by_column = [cells([self.ratios[m].mean(g, name) for name in names]) for m, _, g in columns]
        rows = [{"name": name, "cells": list(row)} for name, row in zip(names, zip(*by_column))]
        oracle = [Cell(self.oracles[m].mean(g)) for m, _, g in columns]
        against = [
            {"name": name, "cells": [Cell(self.oracles[m].against(g, name)) for m, _, g in columns]}
            for name in self.results.ours
        ]
        return {"columns": columns, "rows": rows, "oracle": oracle, "against": against}

    def missing_means(self):
        """Which allocator has no mean on what, and for which cases: "rpmalloc, stress" -> titles."""
        found = {}
        for metric in MEANS:
            for title, groups in self.yardsticks.items():
                for name in self.names:
                    for case in self.ratios[metric].mean(groups, name).missing:
                        found.setdefault(f"{name}, {title}", {})[case] = None
        return {where: list(titles) for where, titles in found.items()}

    def cards(self, name):
        """What an allocator's means are, and where that puts it."""
        found = []
        for metric in ("time", "peak_kib"):
            for title, groups in self.yardsticks.items():
                means = {other: self.ratios[metric].mean(groups, other).value for other in self.names}
                there = sorted((value, other) for other, value in means.items() if not math.isnan(value))
                place = next((at for at, (_, other) in enumerate(there, 1) if other == name), None)
                best = next(((value, other) for value, other in there if other in self.results.peers), None)
                found.append(
                    {
                        "metric": METRICS[metric],
                        "yardstick": title,
                        "mean": Cell(self.ratios[metric].mean(groups, name)),
                        "place": place,
                        "of": len(there),
                        "best_peer": best and f"{best[1]}, {number(best[0])}",
                        "oracle": Cell(self.oracles[metric].against(groups, name)),
                    }
                )
        return found

    def ratio_table(self, metric):
        """By group: rows of workloads, each with the base's figure, ratios and the best peers."""
        ratios, oracle = self.ratios[metric], self.oracles[metric]
        sections = []
        for group in GROUPS:
            rows = [self.ratio_row(metric, name) for name in ratios.workloads((group,))]
            if rows:
                means = [ratios.mean((group,), name) for name in self.others]
                mean = {
                    "name": f"mean of {group}",
                    "cells": cells(means, base=1),
                    "oracle": Cell(oracle.mean((group,))),
                }
                sections.append({"group": group, "rows": rows, "mean": mean})
        return {"metric": metric, "title": METRICS[metric], "sections": sections}

    def ratio_row(self, metric, name):
        ratios, oracle, cases = self.ratios[metric], self.oracles[metric], self.ratios[metric].cases(name)
        scale = absolute(ratios.median(cases[0], BASE), metric) if len(cases) == 1 else f"{len(cases)} cases"
        return {
            "name": name,
            "summary": self.results.workloads[name]["summary"],
            "scale": scale,
            "cells": cells([ratios.workload(name, other) for other in self.others], base=1),
            "oracle": Cell(oracle.workload(name)),
            "picks": oracle.picks(name),
        }

    def case_table(self, metric):
        """Every case of the workloads that have several."""
        ratios = self.ratios[metric]
        rows = []
        for name in self.results.workloads:
            for case in ratios.cases(name) if len(ratios.cases(name)) > 1 else ():
                own = cells([ratios.case(case, other) for other in self.others], base=1)
                rows.append({"name": case.title, "scale": absolute(ratios.median(case, BASE), metric), "cells": own})
        return rows

    def behind(self, name):
        """The cases in which a peer is better beyond the noise, or would be with more rounds, the worst first."""
        rows = []
        for metric in ("time", "peak_kib"):
            ratios, oracle = self.ratios[metric], self.oracles[metric]
            for workload in self.results.workloads:
                for case in ratios.cases(workload):
                    spread = oracle.versus(case, name)
                    estimate = spread.estimate() if spread else Estimate()
                    if estimate.verdict in (MORE, UNSURE) and estimate.low > 1:
                        rows.append(
                            {
                                "case": case.title,
                                "metric": METRICS[metric],
                                "peer": oracle.best(case),
                                "against": Cell(estimate),
                                "base": Cell(ratios.case(case, name)),
                            }
                        )
        return sorted(rows, key=lambda row: -row["against"].estimate.value)

    def cases_in_all(self, name):
        """How many comparisons behind() chooses from."""
        return sum(
            self.oracles[m].versus(case, name) is not None
            for m in ("time", "peak_kib")
            for w in self.results.workloads
            for case in self.ratios[m].cases(w)
        )

    def latencies(self):
        """CaseKey -> allocator -> percentile -> ns: medians over the rounds, but the worst of all for max."""
        found = {}
        for point in POINTS:
            for case, own in latencies(self.results, point).items():
                for name in (n for n in self.names if n in own):
                    value = (max if point == "max" else numpy.median)(list(own[name].values()))
                    found.setdefault(case, {}).setdefault(name, {})[point] = float(value)
        return found

    def latency_rows(self, own):
        least = {p: min(values.get(p, math.inf) for values in own.values()) for p in POINTS}
        rows = []
        for name in sorted(own, key=lambda name: own[name].get("p99", math.inf)):
            values = [
                (duration(own[name][p]), own[name][p] == least[p]) if p in own[name] else ("—", False) for p in POINTS
            ]
            rows.append({"name": name, "values": values})
        return rows

    def extras(self):
        """The workloads' own figures by workload: medians over rounds."""
        rows = {}
        for column in self.results.extras:
            title, unit = named_with_unit(column.removeprefix("extra."))
            for case, own in figures(self.results, column).items():
                medians = [
                    float(numpy.median(list(own[name].values()))) if name in own else None for name in self.names
                ]
                known = [value for value in medians if value is not None]
                values = [(own_figure(v, unit), v == min(known) < max(known)) for v in medians]
                rows.setdefault(case.workload, []).append({"case": case.title, "title": title, "values": values})
        return rows

    def failures(self):
        rows = []
        for entry in self.results.failures:
            what = case_of(entry).title + (", single calls timed" if entry.get("timed") else "")
            rows.append(
                {
                    "allocator": entry["allocator"],
                    "case": what,
                    "round": entry["round"] or "warm-up",
                    "reason": entry["reason"],
                }
            )
        return rows


def some(texts, most=8):
    """The first of them, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


UNITS = {"us": "µs", "ms": "ms", "s": "s", "kib": "KiB", "mib": "MiB", "ratio": ""}


def named_with_unit(name):
    """resident_after_mib -> resident after, MiB"""
    words = name.split("_")
    unit = UNITS.get(words[-1]) if len(words) > 1 else None
    return " ".join(words if unit is None else words[:-1]), unit or ""


def own_figure(value, unit):
    if value is None:
        return "—"
    if unit == "KiB":
        return absolute(value, "_kib")
    return (f"{value:.3g}" if abs(value) < 1000 else thousands(value)) + (f" {unit}" if unit else "")
