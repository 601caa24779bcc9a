"""acre replay: plays a recording on allocators, by the lab (bench/lab/replay.py) and acre-replay (trace/replay)."""

import glob
import os
import sys

import bench_command
from command_line import add_yes
from say import fail


def add_arguments(parser):
    parser.explain(
        """
        Plays the allocations of a recorded process on other allocators: the same threads, sizes and order, in a small
        program that does nothing else. Prints time and memory of each, as ratios to glibc in the same round, and
        writes a page with memory over time.
        """,
        (("{acre} replay redis-server.actrace --alloc jemalloc --alloc acre", "two allocators, besides glibc"),
         ("{acre} replay app.actrace --alloc all --latency", "all of the lab's, and how long single calls take"),
         ("{acre} replay app.actrace --alloc old=/path/to/libacre.so --alloc acre", "two builds of acre")),
        {1: "something could not be measured, or FILE cannot be read"})
    bench_command.arguments.replay(parser)
    add_yes(parser)


def main(options):
    path = options.recording
    if not os.path.exists(path) and not glob.glob(glob.escape(path) + ".[0-9]*"):
        fail(f"replay: there is no recording '{path}'")
    plain = all(name in ("acre", "glibc") or "=" in name for name in options.alloc)
    needed = ("build",) if plain else ("build", "bench")
    bench_command.become_lab(options.yes, ["replay", *sys.argv[3:]], needed, "replay")
