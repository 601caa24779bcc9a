#!/usr/bin/env python3
"""The lab reports what it should not trust as failed: a crash, an allocator that was not in use, another
result, a run without end. And it goes on where it stopped."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lab import launch, peers, place, plan, runner, workload  # noqa: E402

LAB = place.here()
PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  void *p = malloc(100);
  if (p == NULL || argc < 2) return 2;
  memset(p, 1, 100);
  if (strcmp(argv[1], "crash") == 0) abort();
  if (strcmp(argv[1], "fail") == 0) return 3;
  if (strcmp(argv[1], "hang") == 0) sleep(1000);
  if (strcmp(argv[1], "silent") == 0) return 0;
  Dl_info info;
  dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info);
  /* Another result under another allocator than glibc. */
  printf("checksum %s\\n", strcmp(argv[1], "differ") == 0 && strstr(info.dli_fname, "libc.so") == NULL ? "2" : "1");
  free(p);
  return 0;
}
"""


class Silent:
    def update(self, *_):
        pass


class Toy(workload.Workload):
    """Runs the program above; counts its runs."""

    def __init__(self, program, word, limit_s=20):
        super().__init__("toy", workload.STRESS, "", [workload.Case(extent=workload.QUICK)])
        self.program, self.word, self.limit_s, self.runs = program, word, limit_s, 0

    def run(self, lab, case, allocator, percent):
        self.runs += 1
        costs, said = launch.run_measured(lab, allocator, [self.program, self.word], limit_s=self.limit_s)
        return launch.parse_report(costs, said.decode())


class Honesty(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with LAB.alone():
            LAB.prepare()
            cls.allocators, _ = peers.ensure(LAB, ["acre"], print)
        cls.folder = tempfile.TemporaryDirectory(prefix="honesty.")
        cls.program = Path(cls.folder.name) / "toy"
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-x", "c", "-", "-o", cls.program], input=PROGRAM.encode(),
                       check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def entries(self, toy, rounds=1, allocators=None, name="results.jsonl", fresh=True):
        path = Path(self.folder.name) / name
        if fresh:
            path.unlink(missing_ok=True)
        steps = plan.steps([toy], allocators or self.allocators, workload.QUICK, rounds)
        runner.Runner(LAB, runner.Journal(path), 100, Silent()).run(steps)
        return [json.loads(line) for line in path.read_text().splitlines()]

    def failures(self, toy, **more):
        found = self.entries(toy, **more)
        return {entry["allocator"]: entry["reason"] for entry in found if entry["kind"] == "failure"}

    def test_a_good_run_yields_numbers(self):
        found = self.entries(Toy(self.program, "work"), rounds=2)
        self.assertEqual({entry["kind"] for entry in found}, {"run"})
        self.assertEqual(len(found), 4)
        for entry in found:
            self.assertGreater(entry["wall_s"], 0)
            self.assertGreater(entry["peak_kib"], 100)

    def test_a_crash_is_a_failure(self):
        self.assertIn("signal 6", self.failures(Toy(self.program, "crash"))["acre"])

    def test_an_exit_code_is_a_failure(self):
        self.assertIn("exit code 3", self.failures(Toy(self.program, "fail"))["glibc"])

    def test_a_run_without_end_is_a_failure(self):
        self.assertIn("not done after", self.failures(Toy(self.program, "hang", limit_s=0.2))["acre"])

    def test_a_run_without_result_is_a_failure(self):
        self.assertIn("no checksum", self.failures(Toy(self.program, "silent"))["acre"])

    def test_another_result_than_glibc_is_a_failure_whoever_is_first(self):
        for order in (self.allocators, self.allocators[::-1]):
            found = self.failures(Toy(self.program, "differ"), allocators=order)
            self.assertEqual(list(found), ["acre"])
            self.assertIn("computed 2", found["acre"])

    def test_an_object_without_malloc_is_a_failure(self):
        impostor = launch.Allocator("impostor", LAB.witness)
        found = self.failures(Toy(self.program, "work"), allocators=[*self.allocators, impostor])
        self.assertEqual(list(found), ["impostor"])
        self.assertIn("not on", found["impostor"])

    def test_an_object_that_is_not_there_is_a_failure(self):
        absent = launch.Allocator("absent", Path("/nowhere/libabsent.so"))
        self.assertIn("absent", self.failures(Toy(self.program, "work"), allocators=[*self.allocators, absent]))

    def test_a_failure_is_not_tried_again(self):
        toy = Toy(self.program, "crash")
        self.entries(toy, rounds=5)
        self.assertEqual(toy.runs, 2, "one for each allocator")

    def test_a_run_goes_on_where_it_stopped(self):
        first = Toy(self.program, "work")
        self.entries(first, rounds=1)
        path = Path(self.folder.name) / "results.jsonl"
        path.write_text(path.read_text() + '{"kind": "run", "workl')  # killed in the midst of a line
        with open(path, "a") as file:
            file.write("\n")
        second = Toy(self.program, "work")
        steps = plan.steps([second], self.allocators, workload.QUICK, 2)
        runner.Runner(LAB, runner.Journal(path), 100, Silent()).run(steps)
        # Rounds 0 and 2 of both allocators: the warm-up leaves no trace.
        self.assertEqual(second.runs, 4)


if __name__ == "__main__":
    unittest.main()
