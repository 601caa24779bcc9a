"""The benchmarks of the documents that acre was founded on: jemalloc's first paper, TCMalloc's design
document, the article on jemalloc with the two halves, and the study of SuperMalloc and lockfree-malloc."""

from ..native import Native
from ..workload import FULL, NORMAL, QUICK, STRESS, Case

T_TEST_SIZES = {64: "64 B", 512: "512 B", 4096: "4 KiB", 32768: "32 KiB", 131072: "128 KiB"}
T_TEST_EXTENTS = {(4096, 2): QUICK, (64, 2): NORMAL, (32768, 8): NORMAL}  # else FULL


def scaling(threads, quick=None, normal=(), variant="", arguments=()):
    """A case for each number of threads: one may be quick, some normal, the others are for a full run."""
    extents = {**dict.fromkeys(normal, NORMAL), quick: QUICK}
    return [Case(variant, count, arguments, extents.get(count, FULL)) for count in threads]


def t_test_cases():
    cases = []
    for size, name in T_TEST_SIZES.items():
        arguments = [f"largest={size}"]
        if size > 65536:  # where an operation may cost many page faults: a fifth of them
            arguments.append("operations=200000")
        for threads in (1, 2, 4, 8, 20):
            extent = T_TEST_EXTENTS.get((size, threads), FULL)
            cases.append(Case(f"to {name}", threads, tuple(arguments), extent))
    return cases


def malloc_benchmark_cases():
    threads = (1, 2, 4, 8, 16, 32, 64)
    return [
        *scaling(threads, quick=2, normal=(8,), variant="100 objects", arguments=("objects=100",)),
        *scaling(threads, normal=(2,), variant="1000 objects", arguments=("objects=1000",)),
    ]


def phonebook_cases():
    return [
        *scaling((1, 2, 4, 8, 16, 32), quick=2, normal=(8,)),
        *scaling((2, 8, 32), normal=(2,), variant="shared", arguments=("shared=1",)),
    ]


WORKLOADS = [
    Native(
        "malloc-test",
        STRESS,
        "512 bytes allocated, written and freed, 40 million times",
        scaling((1, 2, 4, 8, 16, 32), quick=2, normal=(1, 8)),
        "malloc_test.cc",
        latency=True,
    ),
    Native(
        "t-test1",
        STRESS,
        "threads that live a million operations among their own blocks, and are replaced",
        t_test_cases(),
        "t_test.cc",
        latency=True,
    ),
    Native(
        "sh6bench",
        STRESS,
        "groups of blocks of each size from 1 to 1000, an eighth kept, freed in several orders",
        scaling((1, 2, 4, 8, 16), quick=1, normal=(2, 8)),
        "sh_bench.cc",
        latency=True,
    ),
    Native(
        "sh8bench",
        STRESS,
        "as sh6bench, but every second block is freed by whichever thread comes by",
        scaling((2, 4, 8, 16), quick=2, normal=(8,), arguments=("handover=1",)),
        "sh_bench.cc",
        latency=True,
    ),
    Native(
        "two-halves",
        STRESS,
        "1024 buffers, half of them freed and made again a little smaller, from 100 KiB down",
        [Case(extent=QUICK), Case("16 bytes a round", arguments=("step=16",), extent=FULL)],
        "two_halves.cc",
        latency=True,
    ),
    Native(
        "malloc-benchmark",
        STRESS,
        "each size from 4 bytes to 4 MiB asked for by fresh threads, a first and a second time",
        malloc_benchmark_cases(),
        "malloc_benchmark.cc",
        latency=True,
    ),
    Native(
        "phonebook",
        STRESS,
        "350 000 names appended to lists by threads that end; then one reads and frees them",
        phonebook_cases(),
        "phonebook.cc",
        latency=True,
    ),
]
