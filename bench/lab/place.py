"""Where the lab's things lie, and the two small programs that it measures with."""

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from .native import build_if_older


@dataclass(frozen=True)
class Lab:
    root: Path  # the repository, or where acre is installed

    @property
    def bench(self):
        return self.root / "bench"

    @property
    def built(self):
        """Programs, inputs, allocators: made once, all of it may be deleted."""
        return Path(os.environ.get("ACRE_BENCH_MADE") or self.root / "build" / "bench")

    @property
    def inputs(self):
        return self.built / "inputs"

    @property
    def measure(self):
        return self.built / "measure"

    @property
    def witness(self):
        return self.built / "witness.so"

    @property
    def trace_tools(self):
        """The folder of acre-trace and acre-replay."""
        return Path(os.environ.get("ACRE_TRACE_TOOLS") or self.root / "build" / "release")

    @property
    def player(self):
        return self.trace_tools / "acre-replay"

    @contextlib.contextmanager
    def alone(self):
        """While things are made: two labs at once, or tests side by side, make them one after the other."""
        self.built.mkdir(parents=True, exist_ok=True)
        with open(self.built / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def prepare(self):
        probe = self.bench / "lab" / "probe"
        common = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror"]
        for source, target, flags in (
            (probe / "measure.c", self.measure, []),
            (probe / "witness.c", self.witness, ["-shared", "-fPIC"]),
        ):
            build_if_older(target, [source], [*common, *flags, source, "-o", target])


def here():
    return Lab(Path(__file__).resolve().parents[2])
