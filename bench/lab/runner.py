"""Takes the steps of a plan, writes what came out as JSON lines, and goes on where an earlier run stopped."""

import dataclasses
import json
import time
from collections import defaultdict

from . import beside, machine
from .budget import Budget
from .collect import run_as_named
from .plan import LATENCY_PERCENT, WARM_UP
from .workload import Failed

WARM_UP_PERCENT = 20  # of what a measured run does
BASE = "glibc"


class Journal:
    """The file of results: one JSON object a line, each written at once."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "a", encoding="utf-8")

    def write(self, kind, **fields):
        print(json.dumps({"kind": kind, **fields}), file=self.file, flush=True)


def done_before(path):
    """The keys of the steps that a file has results or failures for."""
    keys = set()
    if not path.exists():
        return keys
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # cut short when an earlier run was killed
        if entry["kind"] in ("run", "latency", "failure"):
            timed = entry["kind"] == "latency" or entry.get("timed", False)
            place = (entry["workload"], entry["variant"], entry["threads"])
            keys.add((*place, entry["allocator"], entry["round"], timed))
    return keys


def session(lab, allocators, workloads, **fields):
    return {
        "format": 1,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine.describe(),
        "acre": machine.commit(lab.root),
        **fields,
        "allocators": {a.name: {"library": a.library.name, "version": a.version} for a in allocators},
        "workloads": {w.name: {"group": w.group, "summary": w.summary, "time": w.time} for w in workloads},
    }


class Forecast:
    """How long the remaining steps will take, from those of the same case so far."""

    def __init__(self):
        self.seconds = defaultdict(list)

    def add(self, step, seconds):
        if step.round != WARM_UP:
            self.seconds[step.place, step.timed].append(seconds)

    def remaining(self, steps):
        """-> seconds, or None where nothing is known yet"""
        all_seconds = [s for case in self.seconds.values() for s in case]
        if not all_seconds:
            return None
        usual = sum(all_seconds) / len(all_seconds)
        total = 0.0
        for step in steps:
            known = self.seconds.get((step.place, step.timed))
            expected = sum(known) / len(known) if known else usual
            total += expected * (WARM_UP_PERCENT / 100 if step.round == WARM_UP else 1)
        return total


class Runner:
    def __init__(self, lab, journal, percent, watcher, budget=None):
        """watcher.update(step, position, count, seconds left or None, text or None) is told of progress."""
        self.lab, self.journal, self.percent, self.watcher = lab, journal, percent, watcher
        self.budget = budget or Budget()
        self.forecast = Forecast()
        self.sums = {}  # (case, percent) -> {allocator: the checksum of its run}
        self.given_up = {}  # (case, allocator) -> reason: a failure is not repeated every round

    def run(self, plan):
        done = done_before(self.journal.path)
        steps = [step for step in plan if step.key not in done]
        for position, step in enumerate(steps):
            self.watcher.update(step, position, len(steps), self.seconds_left(steps[position:]), None)
            if (step.place, step.allocator.name) in self.given_up:
                continue
            if not self.budget.allows(step, steps[position:], self.forecast.remaining):
                continue
            begin = self.budget.clock()
            try:
                text = self.take(step)
            except Failed as failure:
                text = f"failed: {failure}"
                self.give_up(step, step.allocator.name, self.percent, str(failure))
            self.forecast.add(step, self.budget.clock() - begin)
            self.watcher.update(step, position + 1, len(steps), self.seconds_left(steps[position + 1 :]), text)

    def seconds_left(self, steps):
        known = [left for left in (self.forecast.remaining(steps), self.budget.left) if left is not None]
        return max(0, min(known)) if known else None

    def take(self, step):
        percent = self.percent
        if step.round == WARM_UP:
            percent = max(1, percent * WARM_UP_PERCENT // 100)
        if step.beside:
            return self.take_both(step, percent)
        if step.timed:
            percent = max(1, percent * LATENCY_PERCENT // 100)
            sample = run_as_named(self.lab, step.workload, step.case, step.allocator, percent, timed=True)
        else:
            sample = run_as_named(self.lab, step.workload, step.case, step.allocator, percent)
        self.check(step, percent, sample)
        self.keep(step, percent, sample)
        return f"{getattr(sample, step.workload.time):.3f} s, {sample.peak_kib / 1024:.1f} MiB"

    def take_both(self, step, percent):
        def run_one(allocator):
            try:
                return run_as_named(self.lab, step.workload, step.case, allocator, percent)
            except Failed as failure:  # may be that of the other one
                raise Failed(f"{allocator.name}: {failure}") from None

        both = (step.beside, step.allocator)
        samples = beside.run(run_one, both, step.swapped)
        if samples[0].checksum != samples[1].checksum:
            raise Failed(f"it computed {samples[1].checksum}, {step.beside.name} {samples[0].checksum}")
        for allocator, sample in zip(both, samples, strict=True):
            self.keep(dataclasses.replace(step, allocator=allocator), percent, sample)
        return " beside ".join(f"{sample.cpu_s:.3f} s" for sample in reversed(samples))

    def check(self, step, percent, sample):
        """Every allocator must compute what glibc does, whichever of them ran first."""
        sums = self.sums.setdefault((step.place, percent), {})
        sums[step.allocator.name] = sample.checksum
        expected = sums.get(BASE)
        if expected is None:
            return
        if step.allocator.name == BASE:
            for name, checksum in sums.items():
                if checksum != expected:
                    self.give_up(step, name, percent, f"it computed {checksum}, {BASE} {expected}")
        elif sample.checksum != expected:
            raise Failed(f"it computed {sample.checksum}, {BASE} {expected}")

    def where(self, step, percent, allocator=None):
        workload, variant, threads = step.place
        return {
            "workload": workload,
            "variant": variant,
            "threads": threads,
            "allocator": allocator or step.allocator.name,
            "round": step.round,
            "percent": percent,
        }

    def keep(self, step, percent, sample):
        if step.round == WARM_UP:
            return
        if step.timed:
            self.journal.write("latency", **self.where(step, percent), latency_ns=sample.latency_ns)
        else:
            self.journal.write("run", **self.where(step, percent), **dataclasses.asdict(sample))

    def give_up(self, step, allocator, percent, reason):
        self.given_up[step.place, allocator] = reason
        self.journal.write("failure", **self.where(step, percent, allocator), timed=step.timed, reason=reason)
