"""Workloads that are recordings (`acre record`): acre-replay plays what a program allocated on each allocator."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

from . import launch
from .workload import QUICK, REPLAYS, Case, Failed, Sample, Workload

PREFIX = "replay:"
SUFFIX = ".actrace"
LEAST_LIMIT_S = 300
PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "max")


def files_of(recording):
    """The recording's file, or its segments."""
    return [recording] if recording.exists() else sorted(recording.parent.glob(f"{recording.name}.[0-9]*"))


class Replay(Workload):
    """All of a recording, whatever percent of the work is asked for. Memory is that of the heap: neither of files nor
    shared, and without the player's own tables. Memory over time is over the time of the recording."""

    latency = True

    def __init__(self, recording, process=None, touch="all", pace=False):
        recording = Path(recording).expanduser().resolve()
        if not files_of(recording):
            raise Failed(f"there is no recording {recording}")
        settings = [f"process {process}"] * (process is not None)
        settings += [f"touch {touch}"] * (touch != "all") + ["paced"] * pace
        name = PREFIX + recording.name.removesuffix(SUFFIX)
        super().__init__(name, REPLAYS, f"the allocations of {recording}", [Case(", ".join(settings), extent=QUICK)])
        self.recording, self.process, self.touch, self.pace = recording, process, touch, pace
        if pace:
            self.time = "cpu_s"  # the recording says how long it takes
        self.schedule, self.facts = None, {}
        self.live = []  # as a sample's curve: what lived, under each allocator the same

    def prepare(self, lab):
        """The schedule is kept as long as recording and tool are the same."""
        tool = lab.trace_tools / "acre-trace"
        for program in (tool, lab.player):
            if not program.exists():
                raise Failed(f"there is no {program}: `acre replay` makes it")
        texts = [str(self.recording), str(self.process)]
        for file in (*files_of(self.recording), tool):
            texts.append(f"{file.stat().st_size} {file.stat().st_mtime_ns}")
        folder = lab.built / "schedules"
        folder.mkdir(parents=True, exist_ok=True)
        place = hashlib.sha256(str(self.recording).encode()).hexdigest()[:10]
        self.schedule = folder / f"{place}-{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:10]}.schedule"
        facts = self.schedule.with_suffix(".json")
        if not (self.schedule.exists() and facts.exists()):
            for older in folder.glob(f"{place}-*"):
                older.unlink()
            part = self.schedule.with_suffix(".part")
            words = [tool, "schedule", self.recording, "-o", part, "--json"]
            words += ["--process", self.process] if self.process is not None else []
            done = subprocess.run([*map(str, words)], stdout=subprocess.PIPE, text=True)  # stderr has its progress
            said = json.loads(done.stdout) if done.stdout else {"error": f"acre-trace ended with {done.returncode}"}
            if done.returncode != 0:
                raise Failed(said["error"])
            facts.write_text(done.stdout)
            part.rename(self.schedule)
        self.facts = json.loads(facts.read_text())
        self.notes = [f"acre replay: {note}" for note in self.facts["notes"]]

    def played(self, lab, allocator, timed=False):
        """-> what the player says, as main.cc writes it"""
        words = [lab.player, "--touch", self.touch, *["--pace"] * self.pace, *["--latency"] * timed, self.schedule]
        limit_s = max(LEAST_LIMIT_S, 5 * self.facts["seconds"])
        _, said = launch.run_measured(lab, allocator, words, limit_s=limit_s)
        return json.loads(said)

    def run(self, lab, case, allocator, percent, timed=False):
        found = self.played(lab, allocator, timed)
        self.live = [[round(then * 1000, 3), live // 1024] for _, live, _, then, _ in found["samples"]]
        return Sample(
            wall_s=found["seconds"],
            cpu_s=found["cpu_seconds"],
            peak_kib=found["peak_resident_bytes"] / 1024,
            mean_kib=found["mean_resident_bytes"] / 1024,
            minor_faults=found["minor_faults"],
            major_faults=found["major_faults"],
            checksum=found["checksum"],
            operations=found["operations"],
            latency_ns=flat(found.get("latency_ns", {})),
            extras={"resident_over_live_ratio": found["mean_resident_bytes"] / max(1, found["mean_live_bytes"])},
            curve=[[round(then * 1000, 3), resident // 1024] for _, _, resident, then, _ in found["samples"]],
        )


def flat(latency):
    """p50 … of all calls, and of each kind as "malloc.p50"."""
    kinds = {f"{kind}.{point}": own[point] for kind, own in latency.items() for point in PERCENTILES}
    return {point: kinds.pop(f"all.{point}") for point in PERCENTILES} | kinds if kinds else {}


def recorded(lab):
    """The recordings of `acre bench traces`."""
    return [Replay(path) for path in sorted((lab.built / "traces").glob(f"*{SUFFIX}"))]


def named(lab, names):
    """The recordings that --workload names, by their paths or as `acre bench traces` calls them. -> {name: Replay}"""
    found = {}
    for name in names:
        if name == REPLAYS:
            found.update({replay.name: replay for replay in recorded(lab)})
        elif name.startswith(PREFIX):
            path = name.removeprefix(PREFIX)
            own = lab.built / "traces" / f"{path}{SUFFIX}"
            found[name] = Replay(own if own.exists() and os.sep not in path else path)
    names_of = [replay.name for replay in found.values()]
    twice = {name for name in names_of if names_of.count(name) > 1}
    if twice:
        raise ValueError(f"two recordings are called {', '.join(sorted(twice))}: give them other names")
    return found
