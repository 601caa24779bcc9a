"""Shapes that are hard on an allocator: many threads, blocks that change hands, memory that comes back."""

from ..native import Native
from ..workload import FULL, NORMAL, QUICK, STRESS, Case


def line(quick, normal=(), full=(), variant="", arguments=()):
    """Cases along a line of thread counts; one of them, at most, is the quick run's."""
    extents = {count: FULL for count in full} | {count: NORMAL for count in normal}
    if quick:
        extents[quick] = QUICK
    return [Case(variant, count, tuple(arguments), extent) for count, extent in sorted(extents.items())]


SMALL = ("min=16", "max=1000")
FEW = ("loops=600", "blocks=25000", "ops=5000")  # a thread's, where there are few
MANY = ("loops=600", "blocks=800", "ops=160")
SWARM = ("loops=20", "blocks=20", "ops=10")


def rpmalloc_cases():
    """4, 128 and 16384 threads as in the study of rpmalloc; each parameter is varied once."""
    medium = ("loops=2000", "blocks=4000", "ops=1000", "min=16", "max=16000", "distribution=exponential")
    cases = line(4, full=[1, 2, 8], variant="16–1000 B", arguments=[*FEW, *SMALL])
    cases += line(None, [128], variant="16–1000 B", arguments=[*MANY, *SMALL])
    cases += line(None, full=[16384], variant="16–1000 B", arguments=[*SWARM, *SMALL])
    cases += line(None, [4], variant="16–16000 B, exponential", arguments=medium)
    for variant, argument in (
        ("16–1000 B, exponential", "distribution=exponential"),
        ("16–1000 B, gaussian", "distribution=gaussian"),
        ("one size a thread", "mode=fixed"),
        ("nothing handed over", "cross=0"),
        ("every loop handed over", "cross=1"),
    ):
        cases += line(None, full=[4], variant=variant, arguments=[*FEW, *SMALL, argument])
    heavy = ("loops=600", "blocks=200000", "ops=20000")
    cases += line(None, full=[1], variant="16–1000 B, 200 000 blocks", arguments=[*heavy, *SMALL])
    fifth = ("loops=3000", "blocks=1000", "ops=1000", "min=16", "max=16000", "cross=5")
    cases += line(2, full=[8], variant="16–16000 B, a fifth handed over", arguments=fifth)
    return cases


TWO_BYTES = ("replacements=500000", "touch=two")
HUGE_BUFFERS = ("buffers=600", "alive=20", "smallest=5", "largest=25")


def sides(ratio, quick, normal=(), full=()):
    return line(quick, normal, full, variant=ratio, arguments=[f"ratio={ratio}"])


def heaps_cases():
    """In full runs alone: only acre has heaps, and what others do in their place says little of them."""
    counts = (1, 10, 100, 1000, 10_000, 100_000)
    return [Case(f"{count} heap{'s' * (count != 1)}", 0, (f"heaps={count}",), FULL) for count in counts]


def workload(name, summary, cases, *, latency=False):
    return Native(name, STRESS, summary, cases, f"{name.replace('-', '_')}.cc", latency=latency)


WORKLOADS = [
    workload(
        "rpmalloc-benchmark",
        "random blocks replaced, some handed to the next thread; memory overhead",
        rpmalloc_cases(),
        latency=True,
    ),
    workload(
        "threadtest",
        "each thread allocates many small objects, and frees them",
        line(2, [1, 8], [4, 16, 32])
        + line(None, full=[2, 8], variant="64 B, with work", arguments=["size=64", "work=50"]),
        latency=True,
    ),
    workload(
        "larson",
        "random blocks replaced, the array handed to a fresh thread again and again",
        line(2, [1, 8], [4, 16, 32])
        + line(2, [1], [8, 32], variant="500 000 a thread, two bytes touched", arguments=TWO_BYTES),
        latency=True,
    ),
    workload(
        "survivors",
        "threads that come and go, and blocks that outlive them for long",
        line(2, [1, 8], [4, 16]),
        latency=True,
    ),
    workload(
        "producer-consumer",
        "some threads allocate, others free",
        sides("1:1", 2, full=[8]) + sides("3:1", None, [4], [8, 16]) + sides("1:3", None, [4], [8, 16]),
        latency=True,
    ),
    workload(
        "cache-scratch",
        "objects allocated together and dealt to threads that free, allocate and write",
        line(2, [8], [1, 4, 16]),
    ),
    workload(
        "cache-thrash",
        "threads allocate small objects at the same time, and write them",
        line(2, [8], [1, 4, 16]),
    ),
    workload(
        "random-mix",
        "all sizes, blocks freed by other threads, threads that live only for a while",
        line(2, [8], [1, 4, 16]),
        latency=True,
    ),
    workload("shuffled", "many small blocks, freed in random order", line(2, [1], [4, 8, 16]), latency=True),
    workload(
        "large",
        "buffers of 256 KiB to 8 MiB, or of 5 to 25 MiB, written and replaced",
        line(2, [1], [4, 8]) + line(1, full=[2], variant="5–25 MiB", arguments=HUGE_BUFFERS),
        latency=True,
    ),
    workload(
        "wasteland",
        "a pool of threads builds a large structure and idles, one thread works on",
        line(8, full=[2, 32], variant="freed by one", arguments=["freed=one"])
        + line(None, [8], [32], variant="freed by the pool", arguments=["freed=pool"]),
    ),
    workload(
        "idle-server",
        "load, idle, load again: how fast and how far memory comes back",
        line(2, full=[8], variant="timer") + line(None, [2], [8], variant="quiet", arguments=["quiet=1"])
        + line(None, [2], [8], variant="quiet, all closed", arguments=["quiet=1", "data=256"]),
    ),
    workload("heaps", "a heap a request: what those that were destroyed leave, and a fork", heaps_cases()),
]
