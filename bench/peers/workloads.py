"""The workloads: how each is built and run under an allocator, and what came out."""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import redis_server

BENCH = Path(__file__).resolve().parents[1]
BUILT = BENCH.parent / "build" / "workloads"
CORE = "core"  # what acre is judged by
EXTRA = "extra"  # what helps to tune it
TIME_LIMIT = 300
PROOF = "malloc_test.cc"


class Failed(Exception):
    """A run that yields no number: it crashed, took too long, or ran on another allocator."""


@dataclass
class Sample:
    wall_s: float
    cpu_s: float
    peak_kib: int
    minor_faults: int
    checksum: str


@dataclass
class Workload:
    name: str
    group: str
    source: str  # in bench/workloads, or "" for redis
    settings: dict  # environment
    fragmenting: bool = False  # redis only: deletes most keys, then stores values of another size


WORKLOADS = [
    Workload("redis", CORE, "", {}),
    Workload("python", CORE, "interpreter.py", {}),
    Workload("cfrac", CORE, "cfrac.cc", {}),
    Workload("larson", CORE, "larson.cc", {}),
    Workload("random-mix", CORE, "random_mix.cc", {}),
    Workload("producer-consumer", CORE, "producer_consumer.cc", {}),
    Workload("redis-fragmented", EXTRA, "", {}, fragmenting=True),
    # CPython's own small-object allocator off: every object is a malloc.
    Workload("python-malloc", EXTRA, "interpreter.py", {"PYTHONMALLOC": "malloc"}),
    Workload("malloc-test", EXTRA, "malloc_test.cc", {}),
    Workload("shuffled", EXTRA, "shuffled.cc", {}),
    Workload("large", EXTRA, "large.cc", {}),
]


def select(names):
    """Workloads by name or by group; all of them if nothing is named."""
    chosen = [w for w in WORKLOADS if not names or w.name in names or w.group in names]
    unknown = set(names) - {w.name for w in WORKLOADS} - {CORE, EXTRA}
    if unknown:
        raise ValueError(f"--workload: unknown {', '.join(sorted(unknown))}")
    return chosen


def compile_if_older(source, command):
    """Builds into build/workloads unless what lies there is newer than every source."""
    target = BUILT / source.stem
    sources = [source, *source.parent.glob("*.h")]
    if not target.exists() or target.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        BUILT.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, str(source), "-o", str(target)], check=True)
    return target


def build(workloads):
    compile_if_older(BENCH / "peers" / "measure.c", ["gcc", "-O2", "-Wall"])
    for source in sorted({PROOF, *(w.source for w in workloads if w.source.endswith(".cc"))}):
        flags = ["-std=c++20", "-O2", "-g", "-fno-builtin", "-pthread"]
        compile_if_older(BENCH / "workloads" / source, ["g++", *flags])


def command_of(workload, threads, percent):
    if workload.source.endswith(".py"):
        system = "/usr/bin/python3"  # Debian's, whichever python runs this
        program = [system if os.path.exists(system) else "python3", str(BENCH / "workloads" / workload.source)]
    else:
        program = [str(BUILT / Path(workload.source).stem)]
    return [*program, str(threads), str(percent)]


def clean_environment(workload):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON", "MALLOC_"))}
    return {**kept, "PYTHONHASHSEED": "0", **workload.settings}


def run_program(workload, lib, threads, percent):
    with tempfile.NamedTemporaryFile(prefix="measure.", mode="r") as out:
        command = [str(BUILT / "measure"), out.name, str(lib), *command_of(workload, threads, percent)]
        try:
            done = subprocess.run(
                command, env=clean_environment(workload), capture_output=True, text=True, timeout=TIME_LIMIT
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {TIME_LIMIT} s") from None
        fields = [int(field) for field in out.read().split()]
    if len(fields) != 5:
        raise Failed(f"not measured: {done.stderr.strip()}")
    wall_ns, cpu_us, peak_kib, faults, status = fields
    if status != 0:
        raise Failed(f"status {os.waitstatus_to_exitcode(status)}: {done.stderr.strip()[-200:]}")
    said = dict(re.findall(r"^(checksum|malloc) (.+)$", done.stdout, re.M))
    used = said.get("malloc", "?")
    if Path(used).resolve() != lib:
        raise Failed(f"ran on {used}")
    return Sample(wall_ns / 1e9, cpu_us / 1e6, peak_kib, faults, said.get("checksum", "?"))


def prove(lib):
    """Fails unless preloading the object replaces malloc; its being mapped alone would prove nothing."""
    run_program(next(w for w in WORKLOADS if w.source == PROOF), lib, threads=1, percent=1)


def run(workload, lib, threads, percent):
    if workload.source:
        return run_program(workload, lib, threads, percent)
    try:
        return Sample(**redis_server.measure(lib, percent, clean_environment(workload), workload.fragmenting))
    except redis_server.ServerFailed as error:
        raise Failed(str(error)) from None
