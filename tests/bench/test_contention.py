#!/usr/bin/env python3
"""The simulation of caches counts what is known: lines that two threads write in turns move, others do not. Exit status
77: there is no qemu-user, and this is no CI."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lab import contention, contention_table, objects, peers, place, workload  # noqa: E402

LAB = place.here()
ROUNDS = 2000
PROGRAM = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static struct { _Alignas(128) long count; } counters[2];
static pthread_barrier_t gate;
static void *blocks[ROUNDS];
static int mode;  /* s: both threads write one counter; p: each its own; m: blocks of their own; h: one frees the other's */
static void *work(void *argument) {
  const long number = (long)argument;
  pthread_barrier_wait(&gate);
  if (mode == 'h' && number == 0) for (int i = 0; i < ROUNDS; ++i) blocks[i] = malloc(64);
  if (mode == 'h') pthread_barrier_wait(&gate);
  for (int i = 0; i < ROUNDS; ++i) {
    if (mode == 's' || mode == 'p') __atomic_fetch_add(&counters[mode == 's' ? 0 : number].count, 1, __ATOMIC_RELAXED);
    if (mode == 'm') free(malloc(64));
    if (mode == 'h' && number == 1) free(blocks[i]);
  }
  return NULL;
}
int main(int argc, char **argv) {
  mode = argc > 1 ? argv[1][0] : 's';
  pthread_t threads[2];
  pthread_barrier_init(&gate, NULL, 2);
  for (long t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, work, (void *)t);
  for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  printf("processors %d\\n", CPU_COUNT(&set));
  return 0;
}
"""


class Known(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.simulator = contention.Simulator(LAB)
        with LAB.alone():
            LAB.prepare()
            cls.simulator.prepare()
            found, _ = peers.ensure(LAB, ["acre"], print)
        cls.allocators = {allocator.name: allocator for allocator in found}
        cls.folder = tempfile.TemporaryDirectory(prefix="contention.")
        cls.program = Path(cls.folder.name) / "known"
        words = ["gcc", "-O1", "-fno-builtin", "-pthread", f"-DROUNDS={ROUNDS}", "-x", "c", "-", "-o", cls.program]
        subprocess.run(words, input=PROGRAM.encode(), check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_in(self, mode, name="acre", processors=2):
        return self.simulator.run(self.program, [mode], self.allocators[name], processors, limit_s=100)

    def moves(self, mode, whose, name="acre"):
        counted, _ = self.run_in(mode, name)
        return sum(counted[whose].values())

    def test_a_line_that_two_write_moves_and_lines_of_their_own_do_not(self):
        self.assertGreater(self.moves("s", "program"), ROUNDS // 10)
        self.assertLess(self.moves("p", "program"), 100)

    def test_what_belongs_to_the_allocator(self):
        for name in ("acre", "glibc"):
            alone, handed = (self.moves(mode, "allocator", name) for mode in ("m", "h"))
            self.assertGreater(handed, ROUNDS // 2, name)
            self.assertLess(alone, ROUNDS // 10, name)
        self.assertLess(self.moves("s", "allocator"), 500)

    def test_places_and_lines_have_names(self):
        counted, _ = self.run_in("h")
        names = objects.Names(ROOT, counted["ranges"])
        places = names.places(counted["sites"])
        self.assertGreater(sum("acre::" in place["function"] for place in places), len(places) // 2, places)
        moved = [place["loads"] + place["stores"] for place in places]
        self.assertEqual(moved, sorted(moved, reverse=True))

    def test_static_data_has_its_symbol(self):
        names = objects.Names(ROOT, [[0x10000, 0x20000, 0, str(self.program)]])
        said = subprocess.run(["nm", self.program], capture_output=True, text=True).stdout
        address = next(int(line.split()[0], 16) for line in said.splitlines() if line.endswith(" counters"))
        self.assertEqual(names.data_name(0x10000 + address + 128), "counters+128")
        self.assertEqual(names.data_name(5), "anonymous memory")

    def test_the_process_sees_as_many_processors_as_are_simulated(self):
        for processors in (1, 64):
            self.assertEqual(self.run_in("p", processors=processors)[1], f"processors {processors}\n")

    def test_one_processor_has_nothing_to_move(self):
        counted, _ = self.run_in("h", processors=1)
        self.assertEqual(counted["allocator"], {"loads": 0, "stores": 0})


class Names(unittest.TestCase):
    def test_frames(self):
        said = "0x0000000000000010\nadd\n/usr/include/x.h:3\nouter(int)\n/a/b.cc:9\n0x0000000000000020\n??\n??:0\n"
        self.assertEqual(objects.frames_of(said), [[("add", "/usr/include/x.h:3"), ("outer(int)", "/a/b.cc:9")],
                                                   [("??", "??:0")]])

    def test_functions_lose_their_arguments(self):
        for given, wanted in (("void* a::b<void* (*)(int)>(long)", "a::b"), ("a::c(int) const", "a::c"), ("main", "main"),
                              ("a::B<c, d<e> >::f(g)", "a::B::f"), ("a::(anonymous namespace)::h()", "a::h")):
            self.assertEqual(objects.function_name(given), wanted)

    def test_a_failed_run_leaves_a_hole(self):
        self.assertEqual(contention_table.figure({"failed": "it crashed"}), "—")


if __name__ == "__main__":
    try:
        contention.Simulator(LAB).prepare()
    except workload.Missing as missing:
        print(missing)
        sys.exit(1 if os.environ.get("CI") else 77)
    unittest.main()
