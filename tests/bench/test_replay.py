#!/usr/bin/env python3
"""Recordings as workloads of the lab, and what `acre replay` prints of them."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench")]

from lab import __main__ as lab_main  # noqa: E402
from lab import catalog, launch, peers, place, plan, replay, traces  # noqa: E402
from lab.workload import PROGRAMS, REPLAYS, Case, Failed, Workload  # noqa: E402

PROGRAM = "held = [bytes(n) for n in range(3000)]; held += [str(n) * 20 for n in range(3000)]"


class Python(Workload):
    def run(self, lab, case, allocator, percent):
        costs, _ = launch.run_measured(lab, allocator, ["/usr/bin/python3", "-c", PROGRAM])
        return launch.sample_from(costs, "none")


class Replays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="acre-lab-")
        os.environ["ACRE_BENCH_MADE"] = cls.folder.name
        cls.lab = place.here()
        cls.lab.prepare()
        cls.path = cls.lab.built / "traces" / "python.actrace"
        cls.path.parent.mkdir()
        cls.said = traces.record(cls.lab, Python("python", PROGRAMS, "", [Case()]), 100, cls.path)
        cls.allocators = [launch.Allocator(peers.BASE, peers.libc()),
                          launch.Allocator(peers.OURS, peers.acre_library(cls.lab))]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_workload_is_recorded(self):
        self.assertRegex(self.said, rf"^wrote {self.path}: \d+ events of 1 process")
        self.assertEqual([workload.name for workload in replay.recorded(self.lab)], ["replay:python"])

    def test_it_does_the_same_on_each_allocator(self):
        workload = replay.Replay(self.path)
        workload.prepare(self.lab)
        samples = [workload.run(self.lab, workload.cases[0], allocator, 100) for allocator in self.allocators]
        self.assertEqual(len({sample.checksum for sample in samples}), 1)
        for sample in samples:
            self.assertEqual(sample.operations, workload.facts["operations"])
            self.assertGreater(sample.peak_kib, 3000 * 1500 / 1024)  # what the program held
            self.assertGreaterEqual(sample.peak_kib, max(kib for _, kib in sample.curve))
            self.assertGreater(sample.extras["resident_over_live_ratio"], 1)
        timed = workload.run(self.lab, workload.cases[0], self.allocators[0], 100, timed=True).latency_ns
        self.assertTrue({"p50", "max", "malloc.p99", "free.p99.9"} <= set(timed))

    def test_a_schedule_is_kept_while_the_recording_is_the_same(self):
        workload = replay.Replay(self.path, touch="none")
        workload.prepare(self.lab)
        before = workload.schedule.stat().st_ino
        workload.prepare(self.lab)
        self.assertEqual(workload.schedule.stat().st_ino, before)
        os.utime(self.path)
        first = workload.schedule
        workload.prepare(self.lab)
        self.assertNotEqual(workload.schedule, first)
        self.assertFalse(first.exists())

    def test_settings_are_cases(self):
        self.assertEqual(replay.Replay(self.path).cases[0].label, "")
        paced = replay.Replay(self.path, process=3, touch="ends", pace=True)
        self.assertEqual((paced.cases[0].label, paced.time), ("process 3, touch ends, paced", "cpu_s"))
        with self.assertRaisesRegex(Failed, "no events in it"):
            paced.prepare(self.lab)

    def test_names(self):
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder) / "python.actrace"
            other.write_bytes(self.path.read_bytes())
            found = replay.named(self.lab, ["sqlite", "replay:python", "replays"])
            self.assertEqual([workload.recording for workload in found.values()], [self.path])
            found = replay.named(self.lab, [f"replay:{other}"])
            chosen = plan.choose(catalog.load() | found, list(found))
            self.assertEqual([workload.recording for workload in chosen], [other])
            with self.assertRaisesRegex(ValueError, "two recordings are called replay:python"):
                replay.named(self.lab, ["replays", f"replay:{other}"])
        known = catalog.load() | replay.named(self.lab, ["replays"])
        self.assertFalse([workload for workload in plan.choose(known, []) if workload.group == REPLAYS])
        self.assertTrue([workload for workload in plan.choose(known, ["replays"]) if workload.group == REPLAYS])
        with self.assertRaisesRegex(Failed, "there is no recording"):
            replay.named(self.lab, ["replay:/no/such/file"])

    def lab_says(self, *words):
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "bench"), COLUMNS="80")
        done = subprocess.run([sys.executable, "-m", "lab", *map(str, words)], capture_output=True, text=True,
                              env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_command(self):
        folder = self.lab.built / "out"
        table = self.lab_says("replay", self.path, "--rounds", 1, "--latency", "-o", folder)
        self.assertTrue((folder / "report.html").is_file())
        lines = table.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        for text in ("replay:python", "peak memory", "by live", "single calls", "malloc"):
            self.assertIn(text, table)
        self.assertEqual(sorted({line.split()[0] for line in lines if line.startswith(("acre ", "glibc "))}),
                         ["acre", "glibc"])
        found = json.loads(self.lab_says("replay", self.path, "--rounds", 1, "--json", "--touch", "none", "-o",
                                         self.lab.built / "json"))
        base, ours = found["allocators"]
        self.assertEqual((base["allocator"], base["time"]["ratio"], ours["allocator"]), ("glibc", 1, "acre"))
        self.assertEqual(base["latency_ns"], {})
        self.assertGreater(ours["peak_kib"]["median"], 0)
        self.assertEqual([time for time, _ in found["live_kib"]], [time for time, _ in ours["resident_kib"]])
        self.assertGreater(max(kib for _, kib in found["live_kib"]), 3000 * 1500 / 1024)

    def test_it_is_not_resumed(self):
        folder = self.lab.built / "resumed"
        folder.mkdir()
        (folder / "results.jsonl").write_text(json.dumps({"kind": "session", "format": 1, "command": ["replay"]}))
        with self.assertRaisesRegex(ValueError, "not resumed"):
            lab_main.resumed_words(folder)


if __name__ == "__main__":
    unittest.main()
