"""The report for programs: a line of JSON a ratio."""

import json

from ..compare import latencies
from ..ratios import METRICS, YARDSTICKS, Estimate, Oracle, Ratios
from ..results import BASE
from ..workload import GROUPS
from .tables import POINTS

BEST = "best peers"


def show(results, file):
    """Writes the lines of all metrics, then those of single calls' latencies."""
    for metric in METRICS:
        write(Lines(results, metric).all(), file)
    for point in POINTS:
        found = Lines(results, f"latency.{point}", latencies(results, point))
        for workload in found.ratios.workloads(GROUPS):
            write(found.of_cases(workload), file)


def write(lines, file):
    for line in lines:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def estimate_of(spread, case):
    return spread.estimate() if spread else Estimate(missing=(case.title,))


class Lines:
    """The ratios of one metric: to the base, and to the peer that is best in each case."""

    def __init__(self, results, metric, own=None):
        self.results, self.metric = results, metric
        self.ratios = Ratios(results, metric, own=own)
        self.oracle = Oracle(self.ratios)

    def line(self, of, allocator, against, estimate, **more):
        found = {**of, "metric": self.metric, "allocator": allocator, "against": against}
        if estimate.missing:
            return {**found, "verdict": estimate.verdict, "missing": estimate.missing, **more}
        return {
            **found,
            "ratio": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "pairs": estimate.pairs,
            "verdict": estimate.verdict,
            **more,
        }

    def of_groups(self):
        for title, groups in YARDSTICKS.items():
            if self.ratios.workloads(groups):
                of = {"groups": title}
                yield self.line(of, BEST, BASE, self.oracle.mean(groups))
                for name in self.results.allocators:
                    yield self.line(of, name, BASE, self.ratios.mean(groups, name))
                    yield self.line(of, name, BEST, self.oracle.against(groups, name))

    def of_workload(self, workload):
        of = {"workload": workload}
        yield self.line(of, BEST, BASE, self.oracle.workload(workload), best=self.oracle.picks(workload))
        for name in self.results.allocators:
            yield self.line(of, name, BASE, self.ratios.workload(workload, name))
            yield self.line(of, name, BEST, self.oracle.workload_against(workload, name))

    def of_case(self, case):
        of = case._asdict()
        yield self.line(of, BEST, BASE, estimate_of(self.oracle.spread(case), case), best=self.oracle.best(case))
        for name in self.results.allocators:
            value = self.ratios.median(case, name)
            yield self.line(of, name, BASE, self.ratios.case(case, name), value=value)
            yield self.line(of, name, BEST, estimate_of(self.oracle.versus(case, name), case), value=value)

    def of_cases(self, workload):
        for case in self.ratios.cases(workload):
            yield from self.of_case(case)

    def all(self):
        yield from self.of_groups()
        for workload in self.ratios.workloads(GROUPS):
            yield from self.of_workload(workload)
            yield from self.of_cases(workload)
