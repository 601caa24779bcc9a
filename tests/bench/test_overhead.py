#!/usr/bin/env python3
"""The overhead of profiling: ratios to acre of the same round."""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench"), str(Path(__file__).resolve().parent)]

from lab import catalog, overhead, peers, ratios  # noqa: E402
from lab.workload import PROGRAMS  # noqa: E402
from test_ratios import loaded, rounds  # noqa: E402


class Overhead(unittest.TestCase):
    def test_ratios_are_to_acre_in_the_same_round(self):
        noise = [1, 10, 1, 10, 3, 5]
        found = loaded(rounds("redis", {"glibc": [2 * t for t in noise], "acre": noise,
                                        "acre-profile": [1.05 * t for t in noise]}))
        said = {(workload, name, metric): estimate for workload, name, metric, estimate in overhead.rows(found, peers.OURS, peers.PROFILED)}
        self.assertAlmostEqual(said["redis", "acre-profile", "time"].value, 1.05)
        self.assertAlmostEqual(said["redis", "acre-profile", "peak_kib"].value, 1)

    def test_json_has_no_number_where_there_is_none(self):
        found = loaded(rounds("redis", {"acre": [1, 2], "acre-profile": [2, 4]}))
        rows = [overhead.as_row(workload, name, metric, peers.OURS, estimate)
                for workload, name, metric, estimate in overhead.rows(found, peers.OURS, ["acre-profile"])]
        self.assertEqual({row["ratio"] for row in rows if row["metric"] == "time"}, {2})
        self.assertIsNone(overhead.as_row("redis", "none", "time", peers.OURS, ratios.Estimate())["ratio"])

    def test_what_it_measures_is_there(self):
        for name in overhead.PROGRAMS + overhead.SERVERS:
            self.assertIn(name, catalog.load())
        for name in overhead.PROGRAMS:
            self.assertEqual(catalog.load()[name].group, PROGRAMS)
        self.assertLessEqual(set(peers.PROFILED), set(peers.names()))
        self.assertLessEqual(set(peers.RECORDED), set(peers.names()))
        for name in overhead.RECORDED_WORKLOADS:
            self.assertIn(name, catalog.load())
        recorded = overhead.words(["--record", "--rounds", "9"], is_recorded=True)
        self.assertIn("--alloc=acre-record-stacks", recorded)
        self.assertNotIn("--record", recorded)
        self.assertIn("--rounds", overhead.words(["--rounds", "9"]))
        self.assertIn("--workload=redis", overhead.words([]))
        self.assertNotIn("--workload=redis", overhead.words(["--workload", "g++"]))
        for name in overhead.PROGRAMS + overhead.SERVERS:
            self.assertTrue(catalog.load()[name].at_once)


if __name__ == "__main__":
    unittest.main()
