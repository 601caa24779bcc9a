"""Workloads that are programs: our own in C++, and other people's on fixed inputs."""

import subprocess
from pathlib import Path

from . import launch
from .workload import Failed, Workload

FLAGS = ("-std=c++20", "-O2", "-g", "-fno-builtin", "-pthread", "-Wall", "-Wextra", "-Werror")


def build_if_older(target, sources, command):
    """Runs the command unless target is newer than every source."""
    newest = max(Path(source).stat().st_mtime_ns for source in sources)
    if target.exists() and target.stat().st_mtime_ns > newest:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{target.name} does not build:\n{done.stderr}")
    return target


class Native(Workload):
    """A program in bench/workloads, started as: PROGRAM THREADS PERCENT ARGUMENTS…"""

    def __init__(self, name, group, summary, cases, source, *, latency=False, fixed_checksum=True):
        super().__init__(name, group, summary, cases)
        self.source, self.latency, self.fixed_checksum = source, latency, fixed_checksum

    def program(self, lab, timed=False):
        return lab.built / "workloads" / (Path(self.source).stem + (".latency" if timed else ""))

    def prepare(self, lab):
        folder = lab.bench / "workloads"
        sources = [folder / self.source, *folder.glob("*.h")]
        for timed in (False, True) if self.latency else (False,):
            flags = [*FLAGS, *(["-DBENCH_LATENCY"] if timed else [])]
            target = self.program(lab, timed)
            build_if_older(target, sources, ["g++", *flags, folder / self.source, "-o", target])

    def run(self, lab, case, allocator, percent, timed=False):
        command = [self.program(lab, timed), max(1, case.threads), percent, *case.arguments]
        costs, said = launch.run_measured(lab, allocator, command)
        return launch.parse_report(costs, said.decode())


class Command(Workload):
    """Somebody else's program on an input of ours. command: (lab, case, percent) -> words; stdin likewise
    -> path or None; check: (stdout bytes, percent) -> checksum, or raises Failed."""

    def __init__(self, name, group, summary, cases, *, command, check, make=None, stdin=None, settings=(), packages=()):
        super().__init__(name, group, summary, cases)
        self.command, self.check, self.make, self.stdin = command, check, make, stdin
        self.settings, self.packages = tuple(settings), tuple(packages)

    def prepare(self, lab):
        if self.make:
            self.make(lab)

    def run(self, lab, case, allocator, percent):
        words = self.command(lab, case, percent)
        stdin = self.stdin(lab, case, percent) if self.stdin else None
        costs, said = launch.run_measured(lab, allocator, words, settings=self.settings, stdin=stdin)
        return launch.sample_from(costs, self.check(said, percent))
