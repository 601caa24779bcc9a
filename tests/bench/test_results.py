#!/usr/bin/env python3
"""Files of results: read as they were written, cut short, resumed, several together."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench"), str(Path(__file__).resolve().parent)]

import made_up  # noqa: E402
from lab import results  # noqa: E402

CASE = results.CaseKey("larson", "", 2)


class Reading(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def read(self, *files):
        paths = []
        for number, (entries, tail) in enumerate(files):
            paths.append(made_up.write(self.folder / f"{number}.jsonl", entries, tail))
        return results.read(paths)

    def test_a_run_is_a_row(self):
        run = made_up.run("larson", "acre", 3, 1.5, 2048, threads=2, operations=3e6, extras={"left_kib": 7})
        found = self.read(([made_up.session(), run], ""))
        (row,) = found.frame.to_dict("records")
        self.assertEqual((row["case"], row["allocator"], row["round"]), (CASE, "acre", 3))
        self.assertEqual((row["time"], row["peak_kib"], row["operations_per_s"]), (1.5, 2048, 2e6))
        self.assertEqual((found.extras, row["extra.left_kib"]), (["extra.left_kib"], 7))
        self.assertEqual(CASE.title, "larson (2 threads)")

    def test_a_cut_last_line_is_passed_over(self):
        run = made_up.run("larson", "acre", 1, 1.5, 2048)
        found = self.read(([made_up.session(), run], '{"kind": "run", "workload": "lars'))
        self.assertEqual((len(found.runs), found.damaged), (1, 1))

    def test_the_time_of_a_workload_may_be_its_cpu_time(self):
        runs = [made_up.run("php", "acre", 1, 2.0, 1), made_up.run("redis", "acre", 1, 2.0, 1)]
        found = self.read(([made_up.session(), *runs], ""))
        self.assertEqual([round(t, 6) for t in found.frame["time"]], [2.2, 2.0])

    def test_the_warm_up_does_not_count_but_its_failure_does(self):
        entries = [
            made_up.session(),
            made_up.run("larson", "glibc", 0, 9, 9, threads=2),
            made_up.run("larson", "acre", 1, 1, 1, threads=2),
            made_up.failure("larson", "acre", 0, "signal 6", threads=2),
        ]
        found = self.read((entries, ""))
        self.assertEqual(len(found.frame), 1)
        self.assertEqual(found.failed, {(CASE, "acre"): "signal 6"})

    def test_a_failed_timing_of_calls_spoils_no_other_figure(self):
        found = self.read(([made_up.session(), made_up.failure("larson", "acre", 1, "no", timed=True)], ""))
        self.assertEqual(found.failed, {})

    def test_a_run_done_twice_counts_once_and_the_last_counts(self):
        runs = [made_up.run("larson", "acre", 1, seconds, 1) for seconds in (5, 6)]
        found = self.read(([made_up.session(), runs[0], made_up.session(), runs[1]], ""))
        self.assertEqual(list(found.frame["time"]), [6])

    def test_rounds_of_two_files_stay_apart(self):
        entries = [made_up.session(), made_up.run("larson", "acre", 1, 5, 1)]
        found = self.read((entries, ""), (entries, ""))
        self.assertEqual(list(found.frame["source"]), [0, 1])
        self.assertEqual(found.contradictions(), [])

    def test_what_does_not_fit_together_is_said(self):
        other = made_up.session(allocators={"acre": ("1.0", 1, 1)}, acre="v1.0")
        found = self.read(([made_up.session()], ""), ([other], ""))
        said = "; ".join(found.contradictions())
        self.assertIn("acre stands for 0.9 and 1.0", said)
        self.assertIn("v1.0", said)

    def test_builds_of_acre_are_no_peers(self):
        session = made_up.session(allocators={name: ("1", 1, 1) for name in ("mimalloc", "old", "acre", "glibc")})
        session["allocators"]["old"]["library"] = "libacre.so"
        found = self.read(([session], ""))
        self.assertEqual(list(found.allocators), ["glibc", "old", "acre", "mimalloc"])
        self.assertEqual((found.ours, found.peers), (["old", "acre"], ["glibc", "mimalloc"]))

    def test_another_format_is_refused(self):
        with self.assertRaisesRegex(ValueError, "format 2"):
            self.read(([made_up.session(format=2)], ""))


if __name__ == "__main__":
    unittest.main()
