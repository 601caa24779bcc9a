#!/usr/bin/env python3
"""A workload of the lab at a tiny size, under glibc and under acre: both must compute the same.

usage: workload.py NAME | --list
Every case of a normal run is tried; of a full run's others the first. Exit status 77: a program that the
workload needs is not installed, and this is no CI.
"""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lab import catalog, peers, place, workload  # noqa: E402

PERCENT = 1
MOST_S = 60  # no further case is begun after this


def tried(cases):
    usual = [case for case in cases if case.extent <= workload.NORMAL]
    return usual + [case for case in cases if case.extent > workload.NORMAL][:1]


def expect_same(checked, case, allocators, lab):
    sums = {}
    for allocator in allocators:
        sample = checked.run(lab, case, allocator, PERCENT)
        if min(sample.wall_s, sample.peak_kib) <= 0:
            raise workload.Failed(f"no figures under {allocator.name}: {sample}")
        sums[allocator.name] = sample.checksum
    if len(set(sums.values())) != 1:
        raise workload.Failed(f"{case.label}: different results: {sums}")
    print(f"{checked.name} {case.label}: {sums}", flush=True)


def expect_latencies(checked, case, allocator, lab):
    latency = checked.run(lab, case, allocator, PERCENT, timed=True).latency_ns
    points = [latency[name] for name in ("p50", "p90", "p99", "p99.9", "p99.99", "max")]
    if points != sorted(points) or points[0] <= 0:
        raise workload.Failed(f"latencies do not rise: {latency}")


def main(name):
    lab = place.here()
    checked = catalog.load()[name]
    with lab.alone():
        lab.prepare()
        allocators, missing = peers.ensure(lab, ["acre"], print)
        checked.prepare(lab)
    if {a.name for a in allocators} != {"glibc", "acre"}:
        raise workload.Failed(f"glibc and acre are wanted: {missing}")
    begin = time.monotonic()
    for case in tried(checked.cases):
        if time.monotonic() - begin < MOST_S:
            expect_same(checked, case, allocators, lab)
    if checked.latency:
        expect_latencies(checked, checked.cases[0], allocators[-1], lab)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(catalog.load()))
        sys.exit(0)
    try:
        main(sys.argv[1])
    except workload.Missing as missing:
        print(missing)
        sys.exit(1 if os.environ.get("CI") else 77)
    except workload.Failed as failure:
        print(f"failed: {failure}")
        sys.exit(1)
