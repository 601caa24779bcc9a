"""acre bench overhead: what heap profiling costs, as ratios to acre without it, paired within each round.

  acre bench overhead [--rounds N] …      measures redis and a C++ compiler, takes the other arguments of acre bench
  acre bench overhead --of RESULTS        the table again, from a folder or a file of results
"""

from pathlib import Path

from . import results
from .peers import OURS, PROFILED
from .ratios import Ratios

WORKLOADS = ("redis", "redis-mixed", "g++")
METRICS = ("time", "cpu_s", "peak_kib")


def words(given):
    """The run that this stands for."""
    chosen = [f"--workload={name}" for name in WORKLOADS]
    return [*chosen, *(f"--alloc={name}" for name in (OURS, *PROFILED)), *given]


def rows(found):
    """(workload, allocator, metric, Estimate) for each that was measured."""
    for metric in METRICS:
        ratios = Ratios(found, metric, base=OURS)
        for workload in found.workloads:
            for name in PROFILED:
                if name in found.allocators and ratios.cases(workload):
                    yield workload, name, metric, ratios.workload(workload, name)


def show(folder, console):
    path = Path(folder)
    found = results.read([path / "results.jsonl" if path.is_dir() else path])
    console.print("profiling against acre without it, 95 % intervals; ≈: no difference", highlight=False)
    for workload, name, metric, estimate in rows(found):
        console.print(f"{workload:<14}{name:<20}{metric:<8}{estimate.text:>8}  {estimate.interval}", highlight=False)
