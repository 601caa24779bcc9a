"""Two runs at once, each on a processor of its own: what neighbours and clock rates do to one they do to the other."""

import os
from concurrent.futures import ThreadPoolExecutor

PAIR = 2


def processors():
    """Two that this process may use. ValueError: there are none."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < PAIR:
        raise ValueError("--beside needs two processors")
    return allowed[:PAIR]


def run(run_one, allocators, swapped):
    """-> what run_one(allocator) gives for both, or what it raises. The first gets the first processor, unless swapped."""
    places = processors()
    if swapped:
        places.reverse()

    def start(allocator, processor):
        os.sched_setaffinity(0, {processor})  # this thread's, and so that of what it starts
        return run_one(allocator)

    with ThreadPoolExecutor(PAIR) as threads:
        return list(threads.map(start, allocators, places))
