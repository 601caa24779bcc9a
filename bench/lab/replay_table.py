"""What `acre replay` ends with: a table of its runs, or the same as JSON."""

import json
import math

import numpy
from rich.text import Text

from .ratios import METRICS, Ratios, figures
from .report.tables import absolute, duration
from .report.terminal import STYLES, plain_table
from .results import BASE

SHOWN = ("time", "peak_kib", "mean_kib")
ALL = (*SHOWN, "cpu_s", "minor_faults")
POINTS = ("p50", "p99", "max")
KINDS = ("malloc", "free")
OVER_LIVE = "extra.resident_over_live_ratio"


def medians(found, metric, case):
    own = figures(found, metric).get(case, {})
    return {name: float(numpy.median(list(values.values()))) for name, values in own.items()}


def latencies(found):
    """Allocator -> "malloc.p50" -> ns: the median over rounds, but the worst of all for max."""
    table = {}
    for entry in found.latencies:
        for point, value in entry["latency_ns"].items():
            table.setdefault(entry["allocator"], {}).setdefault(point, []).append(value)
    return {name: {point: max(values) if point.endswith("max") else float(numpy.median(values))
                   for point, values in own.items()} for name, own in table.items()}


def rows(found):
    """A dict an allocator: figures are medians over rounds, ratios those to glibc in the same round."""
    (case,), names = next(iter(found.cases.values())), list(found.allocators)
    over_live, calls = medians(found, OVER_LIVE, case), latencies(found)
    rows = {name: {"allocator": name} for name in names}
    for metric in ALL:
        ratios, own = Ratios(found, metric), medians(found, metric, case)
        for name in names:
            estimate = ratios.case(case, name)
            rows[name][metric] = {"median": own.get(name), "estimate": estimate}
    for name in names:
        rows[name] |= {"resident_over_live": over_live.get(name), "latency_ns": calls.get(name, {}),
                       "failed": found.failed.get((case, name))}
    return list(rows.values())


def curve_of(found, name):
    """Of the run whose peak is the middle one."""
    runs = sorted((run for run in found.runs if run["allocator"] == name), key=lambda run: run["peak_kib"])
    return runs[len(runs) // 2]["curve"] if runs else []


def as_json(row):
    def plain(value):
        return None if math.isnan(value) else value
    return row | {metric: {"median": row[metric]["median"], "ratio": plain(row[metric]["estimate"].value),
                           "low": plain(row[metric]["estimate"].low), "high": plain(row[metric]["estimate"].high)}
                  for metric in ALL}


def show_json(found, folder, workload):
    (name, about), = found.workloads.items()
    facts = workload.facts
    rounds = len({entry["round"] for entry in found.runs})
    print(json.dumps({"workload": name, "summary": about["summary"], "rounds": rounds, "time": about["time"],
                      "recorded": {"seconds": facts["seconds"], "peak_kib": facts["resident_peak"] / 1024,
                                   "mean_kib": facts["resident_mean"] / 1024},
                      "results": str(folder / "results.jsonl"), "live_kib": workload.live,
                      "allocators": [as_json(row) | {"resident_kib": curve_of(found, row["allocator"])}
                                     for row in rows(found)]}))


def show(found, console, facts):
    (name, about), = found.workloads.items()
    titles = [METRICS[metric] for metric in SHOWN]
    titles[0] = METRICS["cpu_s"] if about["time"] == "cpu_s" else titles[0]
    table = plain_table(name, [part for title in titles for part in (title, "")] + ["by live"])
    for row in rows(found):
        cells = []
        for metric in SHOWN:
            estimate = row[metric]["estimate"]
            cells += [absolute(row[metric]["median"], metric), Text(estimate.text, style=STYLES[estimate.verdict])]
        ratio = row["resident_over_live"]
        table.add_row(row["allocator"], *cells, "—" if ratio is None else f"{ratio:.2f}")
    own = (absolute(facts["seconds"], "time"), *(absolute(facts[name] / 1024, "_kib") if facts[name] else "—"
                                                 for name in ("resident_peak", "resident_mean")))
    table.add_row("the program", *(text for figure in own for text in (figure, "")), "", style="dim")
    console.print()
    console.print(table)
    console.print()
    timed = [row for row in rows(found) if row["latency_ns"]]
    if timed:
        table = plain_table("single calls", [f"{kind}\n{point}" for kind in KINDS for point in POINTS])
        for row in timed:
            own = row["latency_ns"]
            table.add_row(row["allocator"], *(duration(own[f"{kind}.{point}"]) for kind in KINDS for point in POINTS))
        console.print(table)
        console.print()
    console.print(f"Behind each figure its ratio to {BASE} in the same round: ≈ is no difference beyond the noise, ? "
                  "too few rounds to tell. Memory is the heap's; by live: over time, to the bytes that were asked for. "
                  "The program's are of the recording, with what it maps itself; time is its whole time.",
                  highlight=False, markup=False)
    for row in rows(found):
        if row["failed"]:
            console.print(f"failed: {row['allocator']}: {row['failed'].splitlines()[0]}", style="red", highlight=False,
                          markup=False)
