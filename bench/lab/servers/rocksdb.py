"""rocksdb's own db_bench: a store filled in random order, read, and overwritten, by two threads."""

import os
import re
import tempfile
from pathlib import Path

from .. import launch
from ..workload import Failed
from .processes import ServerWorkload, failures

PHASES = ("fillrandom", "readrandom", "overwrite")
THREADS, OPERATIONS = 2, 60_000  # operations: of each thread in each phase
VALUE = 400
NEEDED_BYTES = 1 << 30


def fast_folder():
    """Memory, if there is room in it: the allocator is to be measured, not a disk."""
    memory = Path("/dev/shm")
    try:
        free = os.statvfs(memory)
    except OSError:
        return None
    roomy = free.f_bavail * free.f_frsize >= NEEDED_BYTES and os.access(memory, os.W_OK)
    return memory if roomy else None


class RocksDb(ServerWorkload):
    programs = {"db_bench": "rocksdb-tools"}

    def run(self, lab, case, allocator, percent):
        with tempfile.TemporaryDirectory(prefix="lab.", dir=fast_folder()) as folder, failures():
            return self.drive(lab, case, allocator, percent, folder)

    def drive(self, lab, case, allocator, percent, folder):
        count = max(500, OPERATIONS * percent // 100)
        command = ["db_bench", f"--db={folder}/db", f"--benchmarks={','.join(PHASES)}", f"--num={count}"]
        command += [f"--threads={THREADS}", "--seed=2013", f"--value_size={VALUE}"]
        # Small enough that there are flushes, compactions and evictions.
        command += [f"--write_buffer_size={4 << 20}", f"--cache_size={8 << 20}"]
        costs, said = launch.run_measured(lab, allocator, command)
        times, found = phases_of(said.decode(errors="replace"))
        operations = float(count * THREADS * len(PHASES))
        return launch.sample_from(costs, launch.short_hash(found.encode()), operations=operations, extras=times)


def phases_of(said):
    """-> ({"fillrandom_us": microseconds a call, …}, how many of the keys were found)"""
    times = {f"{name}_us": float(us) for name, us in re.findall(r"^(\w+)\s+:\s+([0-9.]+) micros/op", said, re.M)}
    found = re.search(r"\((\d+) of (\d+) found\)", said)
    if set(times) != {f"{name}_us" for name in PHASES} or not found or found[1] == "0":
        raise Failed(f"db_bench did not do all its phases: {said.strip()[-300:]}")
    return times, found[0]
