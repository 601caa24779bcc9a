#!/usr/bin/env python3
"""The program that is measured on musl counts and checks; what is shown of its figures. The program runs on glibc here."""

import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lab import musl  # noqa: E402
from lab.workload import Failed  # noqa: E402

BROKEN = """
#include <stdlib.h>
static char one[512];
void *malloc(size_t n) { return one + (n & 0); }
void free(void *p) { (void)p; }
"""

# The main thread sleeps once it has waited for others to begin, as one that gets no processor for a while.
LATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
int pthread_barrier_wait(pthread_barrier_t *gate) {
    int (*wait)(pthread_barrier_t *) = (int (*)(pthread_barrier_t *))dlsym(RTLD_NEXT, "pthread_barrier_wait");
    const int result = wait(gate);
    static int waits;
    if (getpid() == gettid() && waits++ == 0) usleep(200000);
    return result;
}
"""


class Pairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pairs.")
        cls.program = cls.build("pairs")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def build(cls, name, *more):
        program = Path(cls.folder.name) / name
        flags = ["-std=c11", "-O2", "-fno-builtin", "-Wall", "-Wextra", "-Werror", "-pthread"]
        subprocess.run(["gcc", *flags, ROOT / "bench/musl/pairs.c", *more, "-o", program], check=True)
        return program

    def test_runs(self):
        for mode in musl.MODES:
            for threads in (1, 3, 32):
                self.assertGreater(musl.run(self.program, mode, threads, 20_000), 0)

    def test_a_wrong_malloc_is_found(self):
        source = Path(self.folder.name) / "broken.c"
        source.write_text(BROKEN)
        with self.assertRaisesRegex(Failed, "a block was overwritten"):
            musl.run(self.build("broken", source), "own", 1, 20_000)

    def test_a_late_main_thread_shortens_no_time(self):
        source = Path(self.folder.name) / "late.c"
        source.write_text(LATE)
        self.assertGreater(musl.run(self.build("late", source), "own", 1, 200_000), 1)

    def test_wrong_words(self):
        with self.assertRaisesRegex(Failed, "1 to 64 threads"):
            musl.run(self.program, "own", 65, 20_000)

    def test_table(self):
        cases = musl.measure({name: self.program for name in musl.NAMES}, [2], 2, lambda text: None)
        self.assertEqual([len(case["ns"]["acre"]) for case in cases], [2, 2])
        for case in cases:
            case["ns"], case["ratio"] = {"acre": [10.0, 12.0], "musl": [20.0, 36.0]}, 0.4
        out = io.StringIO()
        musl.show(cases, Console(file=out, width=80))
        self.assertRegex(out.getvalue(), r"own +2 +28\.0 +11\.0 +2\.5\n")


if __name__ == "__main__":
    unittest.main()
