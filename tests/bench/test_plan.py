#!/usr/bin/env python3
"""In which order the lab runs what it compares."""

import collections
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench")]

from lab import plan  # noqa: E402
from lab.workload import FULL, STRESS, Case, Workload  # noqa: E402

ALLOCATORS = [SimpleNamespace(name=name) for name in "abcdefghijkl"]


def orders(rounds=4, cases=25):
    workload = Workload("w", STRESS, "", [Case(threads=number + 1) for number in range(cases)])
    taken = collections.defaultdict(list)
    for step in plan.steps([workload], ALLOCATORS, FULL, rounds):
        taken[step.case.threads, step.round].append(step.allocator.name)
    return taken


class Order(unittest.TestCase):
    def test_each_case_runs_under_all_in_each_round(self):
        for taken in orders().values():
            self.assertEqual(sorted(taken), sorted(a.name for a in ALLOCATORS))

    def test_only_one_case_is_warmed_up(self):
        taken = orders(rounds=1, cases=3)
        self.assertEqual(sorted(taken), [(1, 0), (1, 1), (2, 1), (3, 1)])

    def test_it_is_the_same_in_each_run(self):
        self.assertEqual(orders(), orders())

    def test_none_has_a_place_or_a_neighbour_as_a_rule(self):
        """Where each has the one before it in a list for its neighbour, and one of few places, what these do to it does
        not average out."""
        taken = orders()
        places, before = collections.defaultdict(list), collections.Counter()
        for order in taken.values():
            for place, name in enumerate(order):
                places[name].append(place)
            before.update(zip(order, order[1:]))
        middle = (len(ALLOCATORS) - 1) / 2
        for name, seen in places.items():
            self.assertLess(abs(sum(seen) / len(seen) - middle), 1.2, name)  # 0.31 is one standard deviation
        self.assertLess(max(before.values()), len(taken) / 4)  # 10 of 125 are to be expected


if __name__ == "__main__":
    unittest.main()
