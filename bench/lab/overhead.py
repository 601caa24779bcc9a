"""acre bench overhead: what heap profiling or recording costs, as ratios to acre without it, paired within each round."""

import json
import math
from pathlib import Path

from . import results
from .peers import GUARDED, OURS, PROFILED, RECORDED
from .ratios import Ratios

SERVERS = ("redis", "redis-mixed")
PROGRAMS = ("g++",)
RECORDED_WORKLOADS = ("redis", "sqlite", "g++", "python")
METRICS = ("time", "cpu_s", "peak_kib")


def words(given, is_recorded=False):
    """The run that this stands for. Workloads that are named are taken in place of its own."""
    named = any(word.partition("=")[0] == "--workload" for word in given)
    own = RECORDED_WORKLOADS if is_recorded else SERVERS + PROGRAMS
    chosen = [] if named else [f"--workload={name}" for name in own]
    names = RECORDED if is_recorded else PROFILED
    return [*chosen, *(f"--alloc={name}" for name in (OURS, *names)), *(word for word in given if word != "--record")]


def rows(found, base, names):
    """(workload, allocator, metric, Estimate) for each that was measured."""
    for metric in METRICS:
        ratios = Ratios(found, metric, base=base)
        for workload in found.workloads:
            for name in names:
                if name in found.allocators and ratios.cases(workload):
                    yield workload, name, metric, ratios.workload(workload, name)


def as_row(workload, allocator, metric, base, estimate):
    def number(value):
        return None if math.isnan(value) else value
    return {"workload": workload, "allocator": allocator, "metric": metric, "base": base,
            "ratio": number(estimate.value), "low": number(estimate.low), "high": number(estimate.high)}


def show(folder, console, base=OURS, names=(*PROFILED, *RECORDED, *GUARDED), as_json=False):
    """names: none stand for all but base."""
    path = Path(folder)
    found = results.read([path / "results.jsonl" if path.is_dir() else path])
    names = names or sorted({entry["allocator"] for entry in found.runs} - {base})
    if as_json:
        print(json.dumps([as_row(workload, name, metric, base, estimate)
                          for workload, name, metric, estimate in rows(found, base, names)], indent=1))
        return
    console.print(f"ratios to {base} in the same round, 95 % intervals; ≈: no difference", highlight=False)
    for workload, name, metric, estimate in rows(found, base, names):
        console.print(f"{workload:<14}{name:<20}{metric:<8}{estimate.text:>8}  {estimate.interval}", highlight=False)
