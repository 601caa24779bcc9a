#!/usr/bin/env python3
"""acre bench compare: what moved from one file of results to another, and what only seems to."""

import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench"), str(Path(__file__).resolve().parent)]

import made_up  # noqa: E402
from lab import compare  # noqa: E402
from rich.console import Console  # noqa: E402


def rounds(workload, allocator, times, peaks=None, **more):
    peaks = peaks or [1000] * len(times)
    return [made_up.run(workload, allocator, at, t, p, **more) for at, (t, p) in enumerate(zip(times, peaks), 1)]


NOISY = [1.00, 1.02, 0.98, 1.03, 0.97, 1.01, 0.99]


class Comparing(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def compare(self, before, after, *words):
        for name, entries in (("A", before), ("B", after)):
            (self.folder / name).mkdir(exist_ok=True)
            made_up.write(self.folder / name / "results.jsonl", [made_up.session(), *entries])
        out = io.StringIO()
        # A folder stands for the file in it.
        arguments = [str(self.folder / "A"), str(self.folder / "B" / "results.jsonl"), *words]
        self.assertEqual(compare.main(arguments, Console(file=out, width=160)), 0)
        return out.getvalue()

    def verdicts(self, before, after, *words):
        lines = map(json.loads, self.compare(before, after, "--json", *words).splitlines())
        return {(line["workload"], line["allocator"], line.get("metric")): line for line in lines}

    def test_better_worse_and_noise(self):
        before = rounds("larson", "acre", NOISY) + rounds("large", "acre", NOISY) + rounds("gs", "acre", NOISY)
        after = rounds("larson", "acre", [t * 0.8 for t in NOISY], [1500] * 7) + rounds("large", "acre", NOISY[::-1])
        after += rounds("gs", "acre", [t * 1.01 for t in NOISY])
        found = self.verdicts(before, after)
        time = found["larson", "acre", "time"]
        self.assertEqual(time["verdict"], "better")
        self.assertAlmostEqual(time["ratio"], 0.8)
        self.assertLess(time["low"], 0.8)
        self.assertLess(time["high"], 1)
        self.assertEqual((time["before"], time["rounds"]), (1.0, 7))
        memory = found["larson", "acre", "peak_kib"]
        self.assertEqual((memory["verdict"], memory["ratio"]), ("worse", memory["low"]))
        self.assertAlmostEqual(memory["ratio"], 1.5)
        for workload in ("large", "gs"):
            self.assertEqual(found[workload, "acre", "time"]["verdict"], "none")

    def test_few_rounds_tell_nothing(self):
        found = self.verdicts(rounds("gs", "acre", [1, 1]), rounds("gs", "acre", [2, 2]))
        self.assertEqual(found["gs", "acre", "time"]["verdict"], "too few rounds")

    def test_names_that_differ(self):
        found = self.verdicts(rounds("gs", "mimalloc", NOISY), rounds("gs", "acre", NOISY), "--alloc", "mimalloc=acre")
        self.assertEqual(found["gs", "mimalloc → acre", "time"]["verdict"], "none")
        with self.assertRaisesRegex(ValueError, "B has no dlmalloc"):
            self.verdicts([], [], "--alloc", "acre=dlmalloc")

    def test_relative_to_glibc(self):
        before = rounds("gs", "acre", NOISY) + rounds("gs", "glibc", NOISY)
        after = rounds("gs", "acre", [t * 3 for t in NOISY]) + rounds("gs", "glibc", [t * 3 for t in NOISY])
        self.assertEqual(self.verdicts(before, after)["gs", "acre", "time"]["verdict"], "worse")
        self.assertAlmostEqual(self.verdicts(before, after, "--relative")["gs", "acre", "time"]["ratio"], 1)
        self.assertIn("the machine was not the same", self.compare(before, after))

    def test_failed_or_absent_is_no_number(self):
        before = rounds("gs", "acre", NOISY) + rounds("lua", "acre", NOISY) + rounds("z3", "acre", NOISY)
        after = rounds("gs", "acre", NOISY) + [made_up.failure("gs", "acre", 3, "signal 11")]
        after += rounds("z3", "acre", NOISY, percent=15)
        found = self.verdicts(before, after)
        reasons = {name: found[name, "acre", None]["reason"] for name in ("gs", "lua", "z3")}
        self.assertEqual(reasons, {"gs": "failed in B", "lua": "not there in B", "z3": "the amounts of work differ"})

    def test_latencies_and_own_figures(self):
        def entries(ns, left):
            runs = rounds("larson", "acre", NOISY, extras={"left_kib": left})
            place = {"workload": "larson", "variant": "", "threads": 0, "allocator": "acre", "percent": 25}
            timed = [{"kind": "latency", **place, "round": r, "latency_ns": {"p99": ns + r}} for r in range(1, 8)]
            return runs + timed

        found = self.verdicts(entries(100, 7), entries(200, 5))
        self.assertEqual(found["larson", "acre", "latency.p99"]["verdict"], "worse")
        self.assertEqual(found["larson", "acre", "extra.left_kib"]["verdict"], "better")

    def test_the_text(self):
        before = rounds("larson", "acre", NOISY) + rounds("gs", "acre", NOISY)
        after = rounds("larson", "acre", [t / 2 for t in NOISY]) + rounds("gs", "acre", NOISY)
        text = self.compare(before, after)
        self.assertRegex(text, r"stress +0\.500 ")
        self.assertRegex(text, r"programs and servers +1\b|programs and servers +≈1\.000")
        self.assertRegex(text, r"better:\n( +0\.500 \[.*\]  larson: (CPU )?time\n){2}")
        self.assertNotIn("worse:", text)


if __name__ == "__main__":
    unittest.main()
