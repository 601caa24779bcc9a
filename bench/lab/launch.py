"""Starting programs under an allocator, and seeing what they cost and whose malloc they called."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .workload import Failed, Sample

TIME_LIMIT_S = 300
FOREIGN = ("LD_", "PYTHON", "MALLOC_", "GLIBC_TUNABLES", "ACRE_", "TCMALLOC_", "MIMALLOC_", "SCUDO_", "TBB_", "LAB_")


def clean_environment(settings=()):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**kept, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", **dict(settings)}


@dataclass(frozen=True)
class Allocator:
    name: str
    library: Path  # what is preloaded
    version: str = ""
    settings: tuple = ()  # environment, as (name, value) pairs


class Witness:
    """The file to which every process of a run says whose malloc it calls (probe/witness.c)."""

    def __init__(self, path):
        self.path = Path(path)

    def lines(self):
        try:
            return [line.split("\t") for line in self.path.read_text().splitlines()]
        except FileNotFoundError:
            return []

    def confirm(self, allocator):
        """Fails unless there was a process, and each called this allocator's malloc."""
        seen = self.lines()
        if not seen:
            raise Failed(f"no process said that it ran on {allocator.name}: is it linked statically?")
        for program, used in seen:
            if Path(used).resolve() != allocator.library.resolve():
                raise Failed(f"{program} ran on {used}, not on {allocator.library}")


def preload_text(lab, allocator):
    return f"{lab.witness} {allocator.library}"


def server_environment(lab, allocator, folder, settings=()):
    """For what a workload starts itself. -> (environment, Witness)"""
    path = Path(folder) / "witness"
    return {
        **clean_environment(settings),
        **dict(allocator.settings),
        "LD_PRELOAD": preload_text(lab, allocator),
        "LAB_WITNESS": str(path),
    }, Witness(path)


def run_measured(lab, allocator, command, *, settings=(), stdin=None, folder=None, limit_s=TIME_LIMIT_S):
    """Runs a command to its end. -> (the fields that probe/measure.c wrote, its stdout as bytes)"""
    with tempfile.TemporaryDirectory(prefix="lab.") as scratch:
        environment, witness = server_environment(lab, allocator, scratch, settings)
        del environment["LD_PRELOAD"]  # measure sets it for the program, not for itself
        out = f"{scratch}/costs"
        whole = [lab.measure, out, str(limit_s), preload_text(lab, allocator), *map(str, command)]
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(open(stdin, "rb")) if stdin else subprocess.DEVNULL
            done = subprocess.run(
                whole, env=environment, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
            )
        said = done.stderr.decode(errors="replace").strip()[-300:]
        if done.returncode != 0 or not os.path.exists(out):
            raise Failed(f"not measured: {said}")
        costs = json.loads(Path(out).read_text())
        if not costs["in_time"]:
            raise Failed(f"not done after {limit_s} s")
        if costs["status"] != 0:
            raise Failed(f"{describe(costs['status'])}: {said}")
        witness.confirm(allocator)
        return costs, done.stdout


def describe(status):
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def sample_from(costs, checksum, **more):
    return Sample(
        wall_s=costs["wall_s"],
        cpu_s=costs["user_s"] + costs["system_s"],
        peak_kib=costs["peak_kib"],
        mean_kib=costs["mean_kib"] or costs["peak_kib"],
        minor_faults=costs["minor_faults"],
        major_faults=costs["major_faults"],
        curve=costs["curve"],
        checksum=checksum,
        **more,
    )


def short_hash(data):
    return hashlib.sha256(data).hexdigest()[:16]


def parse_report(costs, text):
    """A Sample from the lines that bench/workloads/report.h prints."""
    fields, extras, latency = {}, {}, {}
    for line in text.splitlines():
        key, _, rest = line.partition(" ")
        if key == "extra":
            name, value = rest.split()
            extras[name] = float(value)
        elif key == "latency_ns":
            latency = {name: float(value) for name, value in re.findall(r"(\S+)=(\S+)", rest)}
        else:
            fields[key] = rest
    if "checksum" not in fields:
        raise Failed("it reported no checksum")
    sample = sample_from(costs, fields["checksum"], latency_ns=latency, extras=extras)
    if "operations" in fields:
        sample.operations = float(fields["operations"])
    if "seconds" in fields:
        sample.wall_s = float(fields["seconds"])
    return sample


class Watch:
    """Resident memory over time of processes that are not ours to wait for; a context."""

    def __init__(self, pids, interval_s=0.02):
        self.pids, self.interval_s = list(pids), interval_s
        self.curve, self.stopped = [], threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def resident_kib(self):
        page_kib, total = os.sysconf("SC_PAGESIZE") // 1024, 0
        for pid in self.pids:
            with contextlib.suppress(OSError):
                total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page_kib
        return total

    def follow(self):
        begin = time.monotonic()
        while not self.stopped.wait(self.interval_s):
            self.curve.append([round((time.monotonic() - begin) * 1000), self.resident_kib()])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    @property
    def mean_kib(self):
        return sum(kib for _, kib in self.curve) / max(1, len(self.curve))

    def thinned(self, points=400):
        return self.curve[:: max(1, len(self.curve) // points)]


def process_costs(pid):
    """CPU seconds, faults and peak of a living process so far."""
    proc = Path("/proc") / str(pid)
    # Behind the name in parentheses: fields 10 and 12 are minor and major faults, 14 and 15 ticks.
    fields = (proc / "stat").read_text().rpartition(")")[2].split()
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return {
        "cpu_s": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
        "minor_faults": int(fields[7]),
        "major_faults": int(fields[9]),
        "peak_kib": int(status["VmHWM"].split()[0]),
    }
