#!/usr/bin/env python3
"""A quick run ends in time: which runs it takes and which it leaves out, by a clock that the runs themselves move."""

import json
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench")]

from lab import budget, plan, runner  # noqa: E402
from lab.__main__ import parse, planned  # noqa: E402
from lab.workload import PROGRAMS, QUICK, SERVERS, STRESS, Case, Sample, Workload  # noqa: E402

ALLOCATORS = [SimpleNamespace(name=name) for name in ("glibc", "acre", "other")]
ROUNDS = 2


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Slow(Workload):
    """Takes so many seconds of the clock for all of its work, and one to start."""

    def __init__(self, name, group, clock, seconds):
        super().__init__(name, group, "", [Case(extent=QUICK)])
        self.clock, self.seconds = clock, seconds

    def run(self, lab, case, allocator, percent):
        self.clock.now += 1 + self.seconds * percent / 100
        return Sample(1, 1, 100, 100, 1, 0, "1")


class Silent:
    def update(self, step, position, count, left, text):
        assert left is None or left >= 0


def taken(lengths, seconds, path=None):
    """lengths: {name: (group, seconds of a run)}. -> ({(name, round): allocators that ran}, seconds it took, Budget)"""
    clock = Clock()
    workloads = [Slow(name, group, clock, length) for name, (group, length) in lengths.items()]
    steps = planned(workloads, ALLOCATORS, parse(["--quick", f"--rounds={ROUNDS}"]))
    limited = budget.Budget(seconds, clock)
    with tempfile.TemporaryDirectory() as folder:
        path = path or Path(folder) / "results.jsonl"
        journal = runner.Journal(path)
        runner.Runner(None, journal, 100, Silent(), limited).run(steps)
        journal.file.close()
        entries = [json.loads(line) for line in path.read_text().splitlines()]
    found = {}
    for entry in entries:
        found.setdefault((entry["workload"], entry["round"]), set()).add(entry["allocator"])
    return found, clock.now - Clock.now, limited


EVEN = {f"{group} {number}": (group, 10) for group in (PROGRAMS, SERVERS, STRESS) for number in range(3)}
A_BLOCK = 3 * 11
A_WARM_UP = 3 * 3


class Quick(unittest.TestCase):
    def test_all_is_taken_where_there_is_time(self):
        found, _, limited = taken(EVEN, 9 * (A_BLOCK * ROUNDS + A_WARM_UP) + 1)
        self.assertEqual(len(found), len(EVEN) * ROUNDS)
        self.assertIsNone(limited.summary())

    def test_it_ends_in_time_and_what_it_took_is_whole(self):
        for seconds in range(50, 700, 37):
            found, took, limited = taken(EVEN, seconds)
            self.assertLessEqual(took, seconds + 11)  # a run that was begun is ended
            for case, names in found.items():
                self.assertEqual(len(names), len(ALLOCATORS), case)
            left_out = {(block[0], block[-1]) for block in limited.left_out}
            self.assertEqual(left_out | set(found), {(name, number) for name in EVEN for number in (1, 2)})
            self.assertFalse(left_out & set(found))

    def test_a_case_that_takes_longer_than_was_known_is_cut(self):
        """What is known of "long" before its first run is how long others take."""
        _, took, limited = taken({"short": (PROGRAMS, 1), "long": (SERVERS, 100)}, 100)
        self.assertLessEqual(took, 100 + 101)
        self.assertIn("long, rounds 1, 2", limited.summary())

    def test_second_rounds_go_before_cases_do(self):
        found, _, limited = taken(EVEN, 9 * (A_BLOCK + A_WARM_UP) + 2 * A_BLOCK)
        self.assertEqual({name for name, _ in found}, set(EVEN))
        self.assertEqual(sum(number == 2 for _, number in found), 2)
        self.assertIn("programs 1, round 2", limited.summary())

    def test_cases_of_all_groups_are_left_out_alike(self):
        found, _, _ = taken(EVEN, 3 * (A_BLOCK + A_WARM_UP))
        self.assertEqual({EVEN[name][0] for name, _ in found}, {PROGRAMS, SERVERS, STRESS})

    def test_what_is_shorter_still_fits(self):
        lengths = {"short": (PROGRAMS, 1), "long": (SERVERS, 100), "other": (STRESS, 1)}
        found, _, limited = taken(lengths, 3 * (21 + 101) + 210)  # the long one's first round, and less than its second
        self.assertEqual(set(found), {(name, number) for name in lengths for number in (1, 2)} - {("long", 2)})
        self.assertIn("long, round 2", limited.summary())

    def test_nothing_is_left_out_without_a_limit(self):
        found, _, limited = taken(EVEN, None)
        self.assertEqual(len(found), len(EVEN) * ROUNDS)
        self.assertIsNone(limited.left)

    def test_a_second_run_takes_what_the_first_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.jsonl"
            first, _, limited = taken(EVEN, 200, path)
            both, _, _ = taken(EVEN, None, path)
            self.assertTrue(limited.left_out)
            self.assertLess(len(first), len(both))
            self.assertEqual(len(path.read_text().splitlines()), len(EVEN) * ROUNDS * len(ALLOCATORS))

    def test_only_quick_runs_have_a_limit(self):
        self.assertEqual(set(plan.MOST_S), {"quick"})
        self.assertLess(plan.MOST_S["quick"], 600)


if __name__ == "__main__":
    unittest.main()
