"""From samples to ratios, means and the table."""

import math
import statistics


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


class Results:
    """Samples by workload, allocator and round; ratios are taken to the base within a round."""

    def __init__(self, base):
        self.base = base
        self.samples = {}  # workload -> allocator -> round -> Sample
        self.failures = {}  # (workload, allocator) -> what went wrong

    def add(self, workload, allocator, number, sample):
        self.samples.setdefault(workload, {}).setdefault(allocator, {})[number] = sample

    def fail(self, workload, allocator, reason):
        self.failures.setdefault((workload, allocator), reason)

    def of(self, workload, allocator, field):
        """The median of the base's own values, for scale."""
        rounds = self.samples.get(workload, {}).get(allocator, {})
        values = [getattr(sample, field) for sample in rounds.values()]
        return statistics.median(values) if values else None

    def ratio(self, workload, allocator, field):
        """The median over rounds of allocator / base, or None where there is none."""
        if (workload, allocator) in self.failures:
            return None
        by_allocator = self.samples.get(workload, {})
        base, own = by_allocator.get(self.base, {}), by_allocator.get(allocator, {})
        pairs = [(getattr(own[n], field), getattr(base[n], field)) for n in own if n in base]
        ratios = [value / reference for value, reference in pairs if reference > 0]
        return statistics.median(ratios) if ratios else None

    def mean(self, workloads, allocator, field):
        """None unless every workload that has a base has a ratio: a failure must not flatter a mean."""
        ratios = [self.ratio(w, allocator, field) for w in workloads if self.base in self.samples.get(w, {})]
        return geometric_mean(ratios) if ratios and None not in ratios else None


COLUMNS = {"wall_s": "time", "cpu_s": "CPU time", "peak_kib": "peak memory", "minor_faults": "minor faults"}


def absolute(value, field):
    if value is None:
        return "-"
    if field == "peak_kib":
        return f"{value / 1024:.1f} MiB"
    return f"{value:.2f} s" if field.endswith("_s") else f"{value:.0f}"


def table(results, groups, allocators, field):
    """groups: name -> workload names."""
    others = [name for name in allocators if name != results.base]
    width = max([12] + [len(name) + 2 for name in others])
    lines = [f"{COLUMNS[field]:<20}{results.base:>12}" + "".join(f"{name:>{width}}" for name in others)]

    def row(title, scale, ratios):
        cells = "".join(f"{'-' if r is None else format(r, '.3f'):>{width}}" for r in ratios)
        lines.append(f"{title:<20}{scale:>12}{cells}")

    for group, workloads in groups.items():
        for workload in workloads:
            scale = absolute(results.of(workload, results.base, field), field)
            row(workload, scale, [results.ratio(workload, name, field) for name in others])
        row(f"= {group}", "", [results.mean(workloads, name, field) for name in others])
    return "\n".join(lines)
