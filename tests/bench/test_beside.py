#!/usr/bin/env python3
"""Pairs of runs at the same time: where they run, in which rounds, and what becomes of them."""

import json
import os
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench"), str(Path(__file__).resolve().parent)]

from lab import beside, plan, runner  # noqa: E402
from lab.__main__ import planned  # noqa: E402
from lab.catalog import programs  # noqa: E402
from lab.workload import NORMAL, STRESS, Case, Failed, Sample, Workload  # noqa: E402

OURS, OTHER, THIRD = (SimpleNamespace(name=name) for name in ("acre", "other", "third"))
ENOUGH = len(os.sched_getaffinity(0)) >= beside.PAIR


def sample(checksum="1", seconds=1.0):
    return Sample(seconds, seconds, 100, 100, 1, 0, checksum)


class Made(Workload):
    """Says what it is told to; waits until the run beside it has begun, so that two that do not overlap hang."""

    def __init__(self, checksums):
        super().__init__("made", STRESS, "", [Case()])
        self.checksums, self.both, self.seen = checksums, threading.Barrier(2, timeout=20), []

    def run(self, lab, case, allocator, percent):
        self.both.wait()
        self.seen.append((allocator.name, *os.sched_getaffinity(0)))
        return sample(self.checksums[allocator.name])


@unittest.skipUnless(ENOUGH, "there is one processor")
class Beside(unittest.TestCase):
    def run_steps(self, steps, path):
        journal = runner.Journal(path)
        runner.Runner(None, journal, 100, SimpleNamespace(update=lambda *_: None)).run(steps)
        journal.file.close()

    def taken(self, workload, rounds, resumed=False):
        steps = plan.pairs([workload], OURS, [OTHER], NORMAL, rounds)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.jsonl"
            self.run_steps(steps, path)
            if resumed:
                before = len(workload.seen)
                self.run_steps(steps[1:], path)
                self.assertEqual(len(workload.seen), before, "what is there is not measured again")
            return [json.loads(line) for line in path.read_text().splitlines()]

    def test_both_at_once_on_processors_that_they_swap(self):
        allowed = os.sched_getaffinity(0)
        workload = Made({"acre": "7", "other": "7"})
        entries = self.taken(workload, 2, resumed=True)
        self.assertEqual([(e["kind"], e["allocator"], e["round"]) for e in entries],
                         [("run", "acre", 1), ("run", "other", 1), ("run", "acre", 2), ("run", "other", 2)])
        first, second = beside.processors()
        ours = [place for name, place in workload.seen if name == "acre"]
        other = [place for name, place in workload.seen if name == "other"]
        self.assertEqual(ours, [first, second, first])  # the warm-up, and two rounds
        self.assertEqual(other, [second, first, second])
        self.assertEqual(os.sched_getaffinity(0), allowed)

    def test_another_checksum_is_a_failure_and_no_number(self):
        entries = self.taken(Made({"acre": "7", "other": "8"}), 2)
        self.assertEqual([e["kind"] for e in entries], ["failure"])
        self.assertEqual(entries[0]["allocator"], "other")

    def test_a_failure_of_either_is_one(self):
        def fails(allocator):
            if allocator is OTHER:
                raise Failed("crashed")
            return sample()

        with self.assertRaisesRegex(Failed, "crashed"):
            beside.run(fails, (OURS, OTHER), False)

    def test_both_may_need_the_same_input(self):
        both, made = threading.Barrier(2, timeout=20), []

        def write(scratch):
            made.append(scratch)
            scratch.write_text("whole")
            time.sleep(0.1)  # meanwhile the other one comes, and finds it missing

        def run_one(_):
            both.wait()
            return programs.made(lab, "input", generator, write)

        with tempfile.TemporaryDirectory() as folder:
            lab = SimpleNamespace(inputs=Path(folder))
            generator = SimpleNamespace(__file__=__file__)
            paths = beside.run(run_one, (OURS, OTHER), False)
            self.assertEqual(len(made), 1)
            self.assertEqual([path.read_text() for path in paths], ["whole", "whole"])
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["input"])

    def test_a_failure_names_whose_it_is(self):
        class Crashes(Made):
            def run(self, lab, case, allocator, percent):
                super().run(lab, case, allocator, percent)
                if allocator is OURS:
                    raise Failed("crashed")
                return sample()

        entries = self.taken(Crashes({"acre": "7", "other": "7"}), 2)
        self.assertEqual([(e["kind"], e["reason"]) for e in entries], [("failure", "acre: crashed")])


class Rounds(unittest.TestCase):
    def others(self, *named):
        glibc = SimpleNamespace(name="glibc")
        options = SimpleNamespace(extent="normal", beside="acre", alloc=list(named), rounds=1, threads=[])
        steps = planned([Workload("w", STRESS, "", [Case()])], [glibc, OURS, OTHER, THIRD], options)
        return {step.allocator.name for step in steps}

    def test_glibc_takes_part_where_it_is_asked_for(self):
        self.assertEqual(self.others(), {"glibc", "other", "third"})
        self.assertEqual(self.others("all"), {"glibc", "other", "third"})
        self.assertEqual(self.others("glibc", "acre"), {"glibc", "other", "third"})
        self.assertEqual(self.others("acre", "other", "third=/lib.so"), {"other", "third"})
        with self.assertRaisesRegex(ValueError, "acer"):
            options = SimpleNamespace(extent="normal", beside="acer", alloc=[], rounds=1, threads=[])
            planned([], [OURS], options)

    def test_each_pair_has_its_own(self):
        steps = plan.pairs([Workload("w", STRESS, "", [Case()])], OURS, [OTHER, THIRD], NORMAL, 3)
        measured = [step for step in steps if step.round != plan.WARM_UP]
        self.assertEqual(sorted(step.round for step in measured), [1, 2, 3, 4, 5, 6])
        self.assertEqual({step.beside.name for step in steps}, {"acre"})
        for name in ("other", "third"):
            self.assertEqual([s.swapped for s in measured if s.allocator.name == name], [True, False, True])


if __name__ == "__main__":
    unittest.main()
