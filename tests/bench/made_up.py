"""Made-up results with known answers: each allocator has a true ratio, and rounds have noise in common.

made_up.py FOLDER [ROUNDS]    writes FOLDER/results.jsonl as of a whole run, to look at a page of it
"""

import json
import math
import random
import sys
from pathlib import Path

ALLOCATORS = {
    # name: version, time, memory against glibc
    "glibc": ("2.36", 1.0, 1.0),
    "acre": ("0.9", 0.70, 1.04),
    "jemalloc": ("5.3.0", 0.80, 1.22),
    "jemalloc-new": ("5.4", 0.79, 1.18),
    "mimalloc": ("2.0.9", 0.76, 1.38),
    "mimalloc-3": ("3.1", 0.77, 1.60),
    "tcmalloc": ("2026-05", 0.75, 1.95),
    "gperftools": ("2.10", 0.82, 1.69),
    "snmalloc": ("0.7.1", 0.74, 1.19),
    "rpmalloc": ("2.0.1", 0.87, 1.08),
    "hardened": ("13", 2.4, 1.5),
}
PROGRAMS = ("cfrac", "cca", "gs", "smlng", "lua", "z3", "sqlite", "compile", "python", "node")
SERVERS = ("mariadb", "redis", "redis-fragmented", "php", "rocksdb")
STRESS = (
    "wasteland",
    "idle-server",
    "malloc-test",
    "t-test1",
    "sh6bench",
    "sh8bench",
    "larson",
    "producer-consumer",
    "random-mix",
    "shuffled",
    "large",
    "two-halves",
    "malloc-benchmark",
    "phonebook",
    "rpmalloc-benchmark",
    "threadtest",
    "cache-scratch",
    "cache-thrash",
    "hand-over",
    "short-threads",
)
SCALING = {
    "malloc-test": (1, 2, 4, 8, 16, 32),
    "t-test1": (1, 2, 8, 20),
    "larson": (1, 2, 8, 16),
    "mariadb": (1, 10, 50, 100),
    "phonebook": (1, 4, 32),
    "threadtest": (1, 2, 8),
}
VARIANTS = {"t-test1": ("64 B", "4 KiB", "128 KiB"), "malloc-benchmark": ("100 objects", "1000 objects")}
POINTS = {"p50": 20, "p90": 35, "p99": 120, "p99.9": 900, "p99.99": 9000, "max": 400000}


def group_of(name):
    return "programs" if name in PROGRAMS else "servers" if name in SERVERS else "stress"


def session(allocators=ALLOCATORS, workloads=(*PROGRAMS, *SERVERS, *STRESS), **more):
    return {
        "kind": "session",
        "format": 1,
        "started": "2026-11-21T10:00:00Z",
        "machine": {
            "system": "Debian GNU/Linux 12",
            "kernel": "6.18",
            "processors": 2,
            "cpu": "Made-up CPU",
            "memory_kib": 25165824,
            "libc": "glibc 2.36",
            "huge_pages": "madvise",
        },
        "command": ["--rounds", "5"],
        "acre": "v0.9-3-gabcdef0",
        "extent": "normal",
        "rounds": 5,
        "percent": 100,
        "allocators": {n: {"library": f"lib{n}.so", "version": about[0]} for n, about in allocators.items()},
        "workloads": {
            n: {
                "group": group_of(n),
                "summary": f"what {n} does, in a line",
                "time": "cpu_s" if n == "php" else "wall_s",
            }
            for n in workloads
        },
        **more,
    }


def run(workload, allocator, round_, wall_s, peak_kib, *, threads=0, variant="", percent=100, **more):
    return {
        "kind": "run",
        "workload": workload,
        "variant": variant,
        "threads": threads,
        "allocator": allocator,
        "round": round_,
        "percent": percent,
        "wall_s": wall_s,
        "cpu_s": wall_s * 1.1,
        "peak_kib": peak_kib,
        "mean_kib": peak_kib * 0.8,
        "minor_faults": max(1, peak_kib // 4),
        "major_faults": 0,
        "checksum": "00",
        "operations": None,
        "latency_ns": {},
        "extras": {},
        "curve": [],
        **more,
    }


def failure(workload, allocator, round_, reason, *, threads=0, variant="", **more):
    return {
        "kind": "failure",
        "workload": workload,
        "variant": variant,
        "threads": threads,
        "allocator": allocator,
        "round": round_,
        "percent": 100,
        "timed": False,
        "reason": reason,
        **more,
    }


def curve(workload, wall_s, peak_kib, leftover):
    """A plateau; the wasteland's and the idle server's fall after two thirds, to what is left over."""
    points = []
    for at in range(240):
        share = at / 239
        level = min(1, share * 4)
        if workload in ("wasteland", "idle-server") and share > 0.4:
            level = leftover + (1 - leftover) * math.exp(-(share - 0.4) * 12)
        points.append([round(share * wall_s * 1000), round(peak_kib * max(0.05, level))])
    return points


def cases():
    for name in (*PROGRAMS, *SERVERS, *STRESS):
        for variant in VARIANTS.get(name, ("",)):
            for threads in SCALING.get(name, (2 if name in STRESS else 0,)):
                yield name, variant, threads


def whole_run(rounds=5, seed=1):
    """Entries as of a whole run: 11 allocators, 35 workloads, some cases failed."""
    dice = random.Random(seed)
    yield session(rounds=rounds)
    for number in range(1, rounds + 1):
        for name, variant, threads in cases():
            shared = dice.lognormvariate(0, 0.05)
            nature = random.Random(name)  # the same in every run
            length, size = nature.uniform(0.5, 2.5), nature.uniform(3e3, 3e5)
            for allocator, (_, time, memory) in ALLOCATORS.items():
                yield from one(dice, number, (name, variant, threads), allocator, shared * length, size, time, memory)


def one(dice, number, case, allocator, length, size, time, memory):
    name, variant, threads = case
    if allocator == "rpmalloc" and name == "mariadb":
        if number == 1:
            yield failure(name, allocator, 1, "signal 11", threads=threads)
        return
    if allocator == "hardened" and (name, threads) == ("malloc-test", 32):
        if number == 2:
            yield failure(name, allocator, 2, "not done after 300 s", threads=threads)
        if number >= 2:
            return
    nature = random.Random(f"{name} {allocator}")
    bend = nature.lognormvariate(0, 0.12), nature.lognormvariate(0, 0.1)
    weight = {"programs": 0.35, "servers": 0.25, "stress": 1.3}[group_of(name)]
    scale = (1 + 0.03 * threads if allocator == "glibc" else 1 + 0.004 * threads) if name in SCALING else 1
    truth = (time * bend[0]) ** weight if allocator != "glibc" else 1
    wall = length * truth * scale * dice.lognormvariate(0, 0.015)
    peak = int(size * (memory * bend[1] if allocator != "glibc" else 1) * dice.lognormvariate(0, 0.004))
    more = {"curve": curve(name, wall, peak, 0.1 * memory**2)}
    if name in SCALING or name in ("shuffled", "random-mix"):
        more["operations"] = 2e7
    if name in ("wasteland", "idle-server"):
        more["extras"] = {"left_kib": peak * 0.1 * memory**2}
    yield run(name, allocator, number, wall, peak, threads=threads, variant=variant, **more)
    if name in ("larson", "malloc-test", "random-mix", "shuffled") and threads in (0, 2):
        points = {p: ns * time * dice.lognormvariate(0, 0.1) for p, ns in POINTS.items()}
        yield {
            "kind": "latency",
            "workload": name,
            "variant": variant,
            "threads": threads,
            "allocator": allocator,
            "round": number,
            "percent": 25,
            "latency_ns": points,
        }


def write(path, entries, tail=""):
    """-> path, with an entry a line and, as after a kill, what the tail says."""
    path = Path(path)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + tail)
    return path


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print(write(folder / "results.jsonl", whole_run(int(sys.argv[2]) if len(sys.argv) > 2 else 5)))
