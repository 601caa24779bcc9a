"""acre bench: becomes the lab (bench/lab), in a private environment with the libraries that it pins."""

import json
import os
import sys

import environment
from command_line import add_json, add_yes
from places import MADE, ROOT, build_folder
from say import usage_error

BENCH = os.path.dirname(environment.REQUIREMENTS)
sys.path.append(BENCH)
from lab import arguments  # noqa: E402


def add_arguments(parser):
    parser.explain(
        """
        Measures acre against the allocators that a user would pick instead, over programs, servers and stress, and
        writes a page of tables and pictures. Without an option, measures what acre judges itself by.
        """,
        (("{acre} bench --quick", "a first impression, in ten minutes by the clock"),
         ("{acre} bench --workload redis --alloc acre --alloc jemalloc", "one workload, two allocators"),
         ("{acre} bench --alloc old=/path/to/libacre.so --alloc acre --rounds 9", "two builds of acre")),
        {1: "something could not be measured; the report says what"})
    parser.add_argument("--list", action="store_true",
                        help="print the workloads and the allocators, and measure nothing")
    add_json(parser, "with --list: as JSON")
    arguments.measure(parser)
    add_yes(parser)
    more = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_report(more.add_parser("report", help="the page again, from results"))
    add_overhead(more.add_parser("overhead", help="what heap profiling and recording cost"))
    add_traces(more.add_parser("traces", help="record workloads, for replays"))
    add_contention(more.add_parser("contention", help="cache lines that move between processors, by a simulation"))
    add_musl(more.add_parser("musl", help="acre on musl beside musl's own malloc"))
    add_compare(more.add_parser("compare", help="what got better or worse from one file of results to another"))


def add_report(parser):
    parser.explain(
        "Writes the page of a run again, from its results; of several runs as of one.",
        (("{acre} bench report build/bench/results/2026-01-31-120000", "the page, in this folder"),
         ("{acre} bench report first.jsonl second.jsonl -o page", "of two files, in the folder page"),
         ("{acre} bench report first.jsonl --json", "its ratios, for programs")))
    arguments.report(parser)
    parser.set_defaults(reads_only=True)


def add_overhead(parser):
    parser.explain(
        """
        Measures what heap profiling costs redis and a C++ compiler, as ratios to acre without it, paired within each
        round; with --record, what recording costs these, sqlite and python. Takes the arguments of `acre bench`, too.
        """,
        (("{acre} bench overhead --beside acre --rounds 9", "each run beside one without profiling: least noise"),
         ("{acre} bench overhead --record", "the recorder's cost, without stacks and with all"),
         ("{acre} bench overhead --of build/bench/results/2026-01-31-120000", "the table again")))
    arguments.overhead(parser)
    add_yes(parser)


def add_traces(parser):
    parser.explain(
        """
        Records redis, sqlite, python, g++, z3, node, a browser's page and mariadb as the lab runs them, each once, for
        `acre replay` and `acre bench --workload replay:NAME`. What was recorded before is kept.
        """,
        (("{acre} bench traces", "the usual ones"),
         ("{acre} bench traces redis lua --percent 20", "two workloads, a fifth of their work"),
         ("{acre} bench --workload replays --alloc acre --alloc jemalloc", "plays them all")),
        {1: "one could not be recorded"})
    arguments.traces(parser)
    add_yes(parser)


def add_contention(parser):
    parser.explain(
        """
        Counts the cache lines that move between processors while programs of the lab run, by a simulation of N
        processors (qemu-user): transfers an allocation for acre and the peers, and what of acre moves most. No quiet
        machine and no second processor is needed. Says nothing of time.
        """,
        (("{acre} bench contention --alloc acre --alloc mimalloc2", "two allocators and glibc, 2 to 16 processors"),
         ("{acre} bench contention --workload larson --alloc acre --threads 64", "one program on 64 processors")),
        {1: "a simulation failed; the table says why"})
    arguments.contention(parser)
    add_yes(parser)
    parser.set_defaults(simulates=True)


def add_musl(parser):
    parser.explain(
        """
        Measures pairs of malloc and free in static programs on musl, with acre and with musl's own malloc: for blocks
        that stay in a thread, and for blocks that go from thread to thread.
        """,
        (("{acre} bench musl", "1 to 32 threads, five rounds: some minutes"),
         ("{acre} bench musl --threads 1,8 --rounds 3 --json", "two points, for a program")))
    arguments.musl(parser)
    add_yes(parser)
    parser.set_defaults(is_on_musl=True)


def add_compare(parser):
    parser.explain(
        """
        Says what got better or worse from one file of results to another. Rounds of two files have nothing to do with
        each other: a change is the ratio of the medians, B to A, and its 95 % interval comes from drawing the rounds of
        each file again (percentile bootstrap). Less is better in every metric.
        """,
        (("{acre} bench compare A B", "acre in both, and how far glibc itself moved"),
         ("{acre} bench compare A B --alloc old=acre", "what is called old in A and acre in B")))
    arguments.compare(parser)
    parser.set_defaults(reads_only=True)


def print_list(as_json):
    from lab import catalog, peers
    workloads = [{"name": workload.name, "group": workload.group, "summary": workload.summary,
                  "cases": [case.label for case in workload.cases if case.label]}
                 for workload in catalog.load().values()]
    if as_json:
        print(json.dumps({"workloads": workloads, "allocators": peers.names()}, indent=1, ensure_ascii=False))
        return 0
    for workload in workloads:
        print(f"{workload['name']}  ({workload['group']}) {workload['summary']}")
        if workload["cases"]:
            print(f"    {'; '.join(workload['cases'])}")
    print(f"\nallocators  {', '.join(peers.names())}")
    return 0


def main(options):
    if options.json and not (options.list or getattr(options, "of", None) or getattr(options, "reads_only", False)
                             or hasattr(options, "simulates") or hasattr(options, "is_on_musl")):
        usage_error("bench", "--json goes with --list, report, overhead --of, compare, contention and musl")
    if options.list:
        return print_list(options.json)
    if getattr(options, "reads_only", False) or getattr(options, "of", None):
        become_lab(options.yes, sys.argv[3:], ())
    if hasattr(options, "is_on_musl"):
        if not os.path.exists(os.path.join(ROOT, "CMakePresets.json")):
            usage_error("bench", "musl needs acre's source: an installed acre has no library for musl")
        become_lab(options.yes, sys.argv[3:], ("build", "bench", "musl"), preset="musl")
    plays = (hasattr(options, "names") or getattr(options, "record", False)
             or any(name.startswith("replay") for name in getattr(options, "workload", ()))
             or any(name.startswith("acre-record") for name in getattr(options, "alloc", ())))
    needed = ("build", "bench", "contention") if hasattr(options, "simulates") else ("build", "bench")
    become_lab(options.yes, sys.argv[3:], needed, "bench" if plays else None)


def become_lab(yes, words, needed, plays=None, preset=None):
    """needed: groups of packages; none: the lab only reads. plays: the command, if that needs acre-trace and
    acre-replay. preset: another one whose archive the lab links."""
    import library
    import packages
    import steps
    from steps import clean_environment
    places = {"PYTHONPATH": BENCH, "ACRE_BENCH_MADE": os.path.join(MADE, "bench")}
    if needed:
        packages.ensure([*needed], yes)
        places["ACRE_LIB"] = library.ensure(yes)
    if preset:
        with library.one_builder(build_folder(preset)):
            steps.configure(preset)
            steps.build(preset, ["acre_static"])
    if plays:
        import trace_tool
        places["ACRE_TRACE_TOOLS"] = os.path.dirname(trace_tool.ensure(plays, yes))
    python = environment.ensure(yes)
    words = [word for word in words if word not in ("-y", "--yes")]
    os.execve(python, [python, "-m", "lab", *words], {**clean_environment(), **places})
