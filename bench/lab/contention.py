"""acre bench contention: cache lines that move between processors, counted by a simulation (probe/contention.c)."""

import json
import os
import platform
import queue
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import catalog, contention_table, launch, objects, peers, plan
from .native import Native, build_if_older
from .workload import Case, Failed, Missing

QEMU = "qemu-x86_64"
STEP = 50  # instructions that a thread may be ahead of another
ENTRIES = ("malloc", "free", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc")
USUAL_THREADS = (2, 8, 16)


def larson(threads):
    return 100, ("touch=two", "all=100000", "replacements=1000", "slots=1000")


def handed_over(threads):
    return 100, (f"loops={max(10, 500 // threads)}", "blocks=500", "ops=200", "min=16", "max=16000", "cross=5")


# Short runs of the lab's programs: (threads) -> (percent, arguments). Some hundred thousand blocks and no more.
SHORT = {
    "larson": larson,
    "survivors": lambda threads: (100, ("operations=250", "table=5000")),
    "rpmalloc-benchmark": handed_over,
    "producer-consumer": lambda threads: (5, ()),
    "t-test1": lambda threads: (100, (f"operations={200_000 // max(20, threads)}",)),
    "large": lambda threads: (10, ()),
}


def short_run(workload, threads):
    if workload.name in SHORT:
        return SHORT[workload.name](threads)
    usual = next((case for case in workload.cases if case.threads), None)
    return 1, usual.arguments if usual else ()


class Simulator:
    """Runs programs under qemu-user with the plugin, so many at a time as there are processors."""

    def __init__(self, lab):
        self.lab = lab
        self.plugin, self.starter = lab.built / "contention.so", lab.built / "contention-start.so"
        self.processors = queue.SimpleQueue()
        self.count = 0
        for processor in sorted(os.sched_getaffinity(0)):
            self.processors.put(processor)
            self.count += 1

    def prepare(self):
        if platform.machine() != "x86_64":
            raise Failed("the simulation is for x86-64")
        if not shutil.which(QEMU):
            raise Missing(f"there is no {QEMU}: install Debian's qemu-user")
        said = subprocess.run([QEMU, "--version"], capture_output=True, text=True).stdout
        major = int((re.search(r"version (\d+)", said) or [0, 0])[1])
        probe = self.lab.bench / "lab" / "probe"
        flags = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]
        for source, target, more in (
            (probe / "contention.c", self.plugin, [f"-DPLUGIN_VERSION={2 if major >= 9 else 1}"]),
            (probe / "contention_start.c", self.starter, []),
        ):
            build_if_older(target, [source], [*flags, *more, source, "-o", target])

    def fixed_addresses(self):
        """Where the kernel lets us, so that two runs are more alike."""
        tried = subprocess.run(["setarch", "-R", "true"], capture_output=True)
        return ["setarch", "-R"] if tried.returncode == 0 else []

    def run(self, program, words, allocator, processors, limit_s=launch.TIME_LIMIT_S):
        """-> (what the plugin counted, what the program said)"""
        processor = self.processors.get()
        try:
            with tempfile.TemporaryDirectory(prefix="lab.") as folder:
                return self.run_in(Path(folder), processor, program, words, allocator, processors, limit_s)
        finally:
            self.processors.put(processor)

    def run_in(self, folder, processor, program, words, allocator, processors, limit_s):
        out, witness = folder / "counts", launch.Witness(folder / "witness")
        libraries = [allocator.library.resolve(), *beside(allocator.library)]
        given = [f"out={out}", f"processors={processors}", f"step={STEP}"]
        if allocator.name == peers.BASE:
            given.append("enter=" + ":".join(f"{offset:x}" for offset in objects.functions(libraries[0], ENTRIES)))
        else:
            given.append("library=" + ":".join(map(str, libraries)))
        preload = f"{self.lab.witness} {self.starter} {allocator.library}"
        settings = {**dict(allocator.settings), "LD_PRELOAD": preload, "LAB_WITNESS": witness.path}
        command = ["taskset", "-c", str(processor), *self.fixed_addresses(), QEMU]
        for name, value in settings.items():
            command += ["-E", f"{name}={value}"]
        command += ["-plugin", ",".join([str(self.plugin), *given]), str(program), *map(str, words)]
        try:
            done = subprocess.run(command, env=launch.clean_environment(), stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"the simulation was not done after {limit_s} s") from None
        if done.returncode != 0 or not out.exists():
            said = done.stderr.decode(errors="replace").strip()[-300:]
            raise Failed(f"the simulation ended with {describe(done.returncode)}: {said}")
        witness.confirm(allocator)
        return json.loads(out.read_text()), done.stdout.decode()


def describe(code):
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def beside(library):
    """TBB's malloc is in a second library."""
    return sorted(library.parent.glob("libtbbmalloc.so*")) if "tbbmalloc" in library.name else []


def operations_of(said):
    found = re.search(r"^operations (\d+)$", said, re.M)
    if not found or int(found[1]) == 0:
        raise Failed("it did not say how many operations it made")
    return int(found[1])


def measure(simulator, lab, workload, threads, allocator):
    """-> the figures of one simulation, or why there are none"""
    percent, arguments = short_run(workload, threads)
    case = Case(threads=threads, arguments=arguments)
    about = {"workload": workload.name, "threads": threads, "allocator": allocator.name}
    try:
        words = [case.threads, percent, *case.arguments]
        counted, said = simulator.run(workload.program(lab), words, allocator, threads)
        operations = operations_of(said)
    except Failed as failure:
        return {**about, "failed": str(failure)}
    own, all_moves = sum(counted["allocator"].values()), sum(counted["program"].values())
    names = objects.Names(lab.root, counted["ranges"])
    return {
        **about, "percent": percent, "arguments": list(arguments), "operations": operations,
        "transfers_per_operation": own / operations, "program_transfers_per_operation": all_moves / operations,
        "transfers": {"allocator": counted["allocator"], "program": counted["program"]},
        "instructions": counted["instructions"],
        "places": names.places(counted["sites"]), "lines": names.lines(counted["lines"]),
        "lines_moved": counted["lines_moved"],
    }


def chosen(words):
    workloads = plan.choose(catalog.load(), words or list(SHORT))
    fitting = [w for w in workloads if isinstance(w, Native) and any(case.threads for case in w.cases)]
    others = [w.name for w in workloads if w not in fitting]
    if words and others:
        raise ValueError(f"--workload: the simulation is for the lab's own programs with threads, not {', '.join(others)}")
    return fitting


def main(lab, options, say, console):
    workloads, threads = chosen(options.workload), options.threads or USUAL_THREADS
    if not all(1 <= count <= 64 for count in threads):
        raise ValueError("--threads: the simulation has 1 to 64 processors")
    simulator = Simulator(lab)
    with lab.alone():
        lab.prepare()
        simulator.prepare()
        allocators, missing = peers.ensure(lab, options.alloc, say)
        for workload in workloads:
            workload.prepare(lab)
    for name, reason in missing.items():
        say(f"{name} is not here, and is left out: {reason}")
    jobs = [(w, count, a) for w in workloads for count in threads for a in allocators]
    say(f"{len(jobs)} simulations of {', '.join(w.name for w in workloads)}")
    with ThreadPoolExecutor(simulator.count) as pool:
        pending = [pool.submit(measure, simulator, lab, *job) for job in jobs]
        runs = []
        for (workload, count, allocator), one in zip(jobs, pending, strict=True):
            runs.append(one.result())
            said = contention_table.outcome(runs[-1])
            say(f"{len(runs)}/{len(jobs)}: {workload.name}, {count} threads, {allocator.name}: {said}")
    if options.json:
        print(json.dumps({"step": STEP, "runs": runs}, indent=1))
    else:
        contention_table.show(runs, [a.name for a in allocators], console)
    return 1 if any("failed" in run for run in runs) else 0
