#!/usr/bin/env python3
"""Holds acre against what a user would pick instead, in one interleaved run.

Every round runs each workload under each allocator, in an order that rotates; ratios to glibc are taken
within a round, and their median over rounds is shown. The first round only warms up.

  bench/peers/compare.py --quick                    a first impression
  bench/peers/compare.py --rounds 7 --json run.jsonl
  bench/peers/compare.py --workload core --only acre --alloc old=/tmp/old/libacre.so
"""

import argparse
import dataclasses
import json
import os
import platform
import sys
import time

import allocators
import figures
import workloads


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="measured rounds, after the warm-up (5; with --quick 2)")
    parser.add_argument("--workload", action="append", default=[], help="name or group (core, extra); repeatable")
    parser.add_argument("--alloc", action="append", default=[], metavar="NAME=PATH", help="one more; repeatable")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="of the known, besides glibc; repeatable")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--percent", type=int, help="of the work (100; with --quick 20)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="one line a run")
    args = parser.parse_args(argv)
    args.rounds = args.rounds or (2 if args.quick else 5)
    args.percent = args.percent or (20 if args.quick else 100)
    return args


def rotated(names, number):
    at = number % len(names)
    return names[at:] + names[:at]


class Journal:
    """JSON lines: the machine and the command first, then a run a line."""

    def __init__(self, path, libs):
        self.file = open(path, "w") if path else None
        self.write(
            kind="machine",
            time=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            system=platform.platform(),
            processors=os.cpu_count(),
            libc=" ".join(platform.libc_ver()),
            command=sys.argv,
            allocators={name: str(path) for name, path in libs.items()},
        )

    def write(self, **fields):
        if self.file:
            print(json.dumps(fields), file=self.file, flush=True)


def one_run(results, journal, workload, name, lib, number, args):
    where = {"workload": workload.name, "allocator": name, "round": number}
    try:
        sample = workloads.run(workload, lib, args.threads, args.percent)
    except workloads.Failed as error:
        results.fail(workload.name, name, str(error))
        journal.write(kind="failure", **where, reason=str(error))
        return f"failed: {error}"
    if number > 0:
        results.add(workload.name, name, number, sample)
        work = {"threads": args.threads, "percent": args.percent}
        journal.write(kind="run", **where, **work, **dataclasses.asdict(sample))
    return sample


def compare_checksums(results, workload, sums):
    """All allocators must compute the same; who differs from glibc has failed."""
    for name, checksum in sums.items():
        if checksum != sums.get(results.base, checksum):
            results.fail(workload.name, name, f"checksum {checksum}, not {sums[results.base]}")


def measure(results, journal, chosen, libs, args):
    names = list(libs)
    for number in range(args.rounds + 1):
        for workload in chosen:
            sums = {}
            for name in rotated(names, number):
                said = one_run(results, journal, workload, name, libs[name], number, args)
                if isinstance(said, workloads.Sample):
                    sums[name] = said.checksum
                    said = f"{said.wall_s:.2f} s, {said.peak_kib / 1024:.1f} MiB"
                stage = f"round {number}/{args.rounds}" if number else "warm-up"
                print(f"{stage}: {workload.name}, {name}: {said}", file=sys.stderr, flush=True)
            compare_checksums(results, workload, sums)


def show(results, chosen, libs):
    groups = {}
    for workload in chosen:
        groups.setdefault(workload.group, []).append(workload.name)
    for field in figures.COLUMNS:
        print(f"\n{figures.table(results, groups, list(libs), field)}")
    for (workload, name), reason in results.failures.items():
        print(f"\nfailed: {workload} under {name}: {reason}")


def main(argv):
    args = parse(argv)
    try:
        libs, missing = allocators.find(args.alloc, args.only)
        chosen = workloads.select(args.workload)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if missing:
        print(f"not here, and left out: {', '.join(missing)}", file=sys.stderr)
    workloads.build(chosen)
    for name, lib in libs.items():
        try:
            workloads.prove(lib)
        except workloads.Failed as error:
            print(f"{name} ({lib}) is no allocator to preload: {error}", file=sys.stderr)
            return 2
    results = figures.Results(base="glibc")
    journal = Journal(args.json, libs)
    try:
        measure(results, journal, chosen, libs, args)
    except KeyboardInterrupt:
        print("\ninterrupted: this is what there is", file=sys.stderr)
    print(f"ratios to {results.base}, medians over {args.rounds} rounds, {args.threads} threads; less is better")
    show(results, chosen, libs)
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
