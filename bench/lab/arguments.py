"""The arguments of `acre bench` and of what it does besides measuring. Both the command and the lab parse by them: the
command before there is an environment for the lab, so this needs Python alone."""

import argparse
from pathlib import Path


def whole_number(least, most):
    def number(text):
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most}")
        return int(text)
    return number


def numbers(text):
    try:
        return [int(count) for count in text.split(",") if count]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}': numbers with commas are wanted") from None


def measure(parser):
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", dest="extent", action="store_const", const="quick", default="normal",
                        help="a first impression, in ten minutes by the clock")
    extent.add_argument("--full", dest="extent", action="store_const", const="full",
                        help="every case, every number of threads")
    parser.add_argument("--workload", action="append", default=[], metavar="NAME",
                        help="this workload or group of --list; may be given again")
    parser.add_argument("--alloc", action="append", default=[], metavar="NAME[=PATH]",
                        help="this allocator of --list, or a library under that name; 'all': all; may be given again")
    parser.add_argument("--rounds", type=whole_number(1, 1000), metavar="N", help="measured rounds, after a warm-up")
    parser.add_argument("--threads", type=numbers, default=[], metavar="N,N…",
                        help="only these points of the scaling lines")
    parser.add_argument("--percent", type=whole_number(1, 1000), metavar="N", help="how much of the work is done")
    parser.add_argument("--beside", metavar="NAME", help="each run at the same time as one under this allocator, on "
                        "another processor; they swap from round to round: least noise for programs")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="for the results and the page")
    parser.add_argument("--resume", nargs="?", const="", metavar="FOLDER", help="go on with the last run, or this one")


def replay(parser):
    parser.add_argument("--alloc", action="append", default=[], metavar="NAME[=PATH]",
                        help="an allocator of `acre bench --list`, or a library under that name; 'all': all; may be "
                        "given again (acre); glibc always takes part")
    parser.add_argument("--rounds", type=whole_number(1, 1000), default=5, metavar="N",
                        help="measured rounds, after a warm-up (5)")
    parser.add_argument("--process", type=whole_number(0, 10**9), metavar="N",
                        help="this process, as `acre trace --info` numbers them, and not that with the most events")
    parser.add_argument("--touch", choices=("none", "ends", "all"), default="all", metavar="WHAT",
                        help="what is written of each block: all (each cache line), ends, none (all)")
    parser.add_argument("--pace", action="store_true", help="keep the recorded times; CPU time is judged then")
    parser.add_argument("--latency", action="store_true", help="time single calls too, in runs of their own")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="for the results and the page")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("recording", metavar="FILE", help="a recording of `acre record`")


def traces(parser):
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these workloads; any of the lab's")
    parser.add_argument("--percent", type=whole_number(1, 1000), default=100, metavar="N",
                        help="how much of the work is recorded (100)")


def overhead(parser):
    parser.add_argument("--record", action="store_true",
                        help="what `acre record` costs, without stacks and with all, and not what profiling costs")
    parser.add_argument("--of", metavar="RESULTS", help="print the table again, from a folder or a file of results")
    parser.add_argument("--json", action="store_true", help="with --of: print JSON, for programs")
    measure(parser)


def contention(parser):
    parser.add_argument("--workload", action="append", default=[], metavar="NAME",
                        help="this program of the lab, with threads; may be given again (six that hand blocks on)")
    parser.add_argument("--alloc", action="append", default=[], metavar="NAME[=PATH]",
                        help="this allocator of `acre bench --list`, or a library under that name; may be given again")
    parser.add_argument("--threads", type=numbers, default=[], metavar="N,N…",
                        help="so many threads, each on a processor of its own: 1 to 64 (2,8,16)")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def musl(parser):
    parser.add_argument("--threads", type=numbers, default=[], metavar="N,N…",
                        help="so many threads, 1 to 64 (1,2,4,8,16,32)")
    parser.add_argument("--rounds", type=whole_number(1, 1000), default=5, metavar="N", help="measured rounds (5)")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def report(parser):
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="files of results, or their folders")
    parser.add_argument("-o", "--output", type=Path, default=Path("."), metavar="FOLDER", help="for the page (.)")
    parser.add_argument("--json", action="store_true", help="no page: a line of JSON a ratio")


def compare(parser):
    parser.add_argument("before", metavar="A", type=Path, help="a file of results, or its folder")
    parser.add_argument("after", metavar="B", type=Path, help="the same")
    parser.add_argument("--alloc", action="append", default=[], metavar="NAME[=NAME]",
                        help="this one in A, and in B if it is called otherwise; may be given again")
    parser.add_argument("--relative", action="store_true",
                        help="compare ratios to glibc and not the figures: for different machines")
    parser.add_argument("--json", action="store_true", help="a line of JSON a comparison")
