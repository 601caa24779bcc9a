"""Heap profiles of the package acre."""

import gzip
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import acre

SAMPLE = 4096  # all blocks of 100 KB are sampled, but for one in 10^10
KNOWS_PYTHON = sys.version_info >= (3, 11)  # the profiler knows functions of these


def hoard(blocks, size=100_000):
    return [bytearray(size) for _ in range(blocks)]


class Profiles(unittest.TestCase):
    def total_of(self, profile, by=None):
        rows = {row["function"]: row["total"] for row in profile.functions(by)}
        return rows.get("hoard (test_profile.py)", 0) if KNOWS_PYTHON else max(rows.values(), default=0)

    def about(self, value, wanted):
        self.assertGreater(value, 0.95 * wanted)
        if KNOWS_PYTHON:  # in native functions is what others allocate, too
            self.assertLess(value, 1.05 * wanted)

    def test_block(self):
        with acre.profile(sample=SAMPLE) as profile:
            kept = hoard(50)
            hoard(20)
        self.about(self.total_of(profile), 5_000_000)
        self.about(self.total_of(profile, "alloc_space"), 7_000_000)
        kept += hoard(50)  # which is after it
        self.about(self.total_of(profile), 5_000_000)
        self.assertFalse(acre.ctl["prof.active"])
        if KNOWS_PYTHON:  # not who has called this function
            names = [row["function"] for row in profile.functions()]
            self.assertTrue(all(name.endswith("(test_profile.py)") for name in names), names)
        self.assertIn("hoard" if KNOWS_PYTHON else "inuse", str(profile))
        with self.assertRaises(ValueError):
            profile.functions("no_such_kind")

    def test_while_it_runs(self):
        profile = acre.profile(sample=SAMPLE).start()
        kept = hoard(50)
        self.about(self.total_of(profile), 5_000_000)
        kept += hoard(50)
        self.about(self.total_of(profile), 10_000_000)
        profile.stop()
        with self.assertRaises(RuntimeError):
            profile.stop()
        with self.assertRaises(RuntimeError):
            profile.start()

    def test_one_in_another(self):
        outer = acre.profile(sample=SAMPLE).start()
        first = hoard(50)
        with acre.profile() as inner:
            second = hoard(20)
            del first
        self.about(self.total_of(inner, "alloc_space"), 2_000_000)
        self.assertLess(self.total_of(inner), 0 if KNOWS_PYTHON else 10**9)  # more was freed
        self.assertTrue(acre.ctl["prof.active"])
        self.about(self.total_of(outer.stop()), 2_000_000)
        self.assertFalse(acre.ctl["prof.active"])
        del second

    def test_all_threads(self):
        kept = []
        with acre.profile(sample=SAMPLE) as profile:
            thread = threading.Thread(target=lambda: kept.extend(hoard(50)))
            thread.start()
            thread.join()
        self.about(self.total_of(profile), 5_000_000)

    def test_files(self):
        from acre._home.cli.heap_profile import pprof
        with acre.profile(sample=SAMPLE) as profile:
            kept = hoard(50)
        with tempfile.TemporaryDirectory() as folder:
            file, page = Path(folder, "a.pb.gz"), Path(folder, "a.html")
            profile.save(file)
            profile.save(str(page))
            again = pprof.read(file.read_bytes())
            self.assertIn(b"inuse_space", gzip.decompress(file.read_bytes()))
            self.about(again.total(again.index("inuse_space")), 5_000_000)
            self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))
            with self.assertRaises(OSError):
                profile.save(Path(folder, "no such folder", "a.pb.gz"))
        if KNOWS_PYTHON:
            self.assertIn("hoard (test_profile.py)", profile.html())
            self.assertNotIn("bytearray", profile.html())
        native = {row["function"] for row in profile.functions(native=True)}
        self.assertTrue(any("PyByteArray" in name or "ython" in name for name in native), native)
        self.assertTrue(profile._repr_html_().startswith("<iframe"))
        del kept

    def test_not_started(self):
        profile = acre.profile()
        self.assertIsNone(profile._repr_html_())
        self.assertIn("not started", str(profile))
        for what in (profile.stop, profile.table, lambda: profile.save("/nowhere/a.pb.gz")):
            with self.assertRaises(RuntimeError):
                what()
        with self.assertRaises(ValueError):
            acre.profile(sample=-1)
