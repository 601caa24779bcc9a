"""acre test: builds what the suites need, runs them, counts.

Every test is a CTest test (tests/CMakeLists.txt); a suite is a build tree and a choice of labels.
"""

import argparse
import concurrent.futures
import json
import os
import sys
import time

import ctest
import environment
import library
import packages
import steps
from command_line import add_json, add_yes, at_least, nearest
from places import build_folder
from say import Progress, say, usage_error

LABELS = ("unit", "fake_os", "stress", "fuzz", "trace")


class Suite:
    def __init__(self, name, preset, targets, choice, about, sections=(), verbose=False, waits=False):
        self.name = name
        self.preset = preset
        self.targets = targets
        self.choice = choice      # ctest's arguments
        self.about = about
        self.sections = sections  # of packages.txt, besides build and test
        self.verbose = verbose
        self.waits = waits        # most of the time: its tests leave room for as many again


def tests(*labels):
    return [f"tests_{label}" for label in labels]


def labelled(*labels):
    return ["-L", f"^({'|'.join(labels)})$"]


SUITES = (
    Suite("release", "release", ["all"], ["-LE", "^(real-quick|bench|prometheus|viewers|site|wheel|rust|packaging|recipes|compilers)$"],
          "every test on the library as it is used"),
    Suite("clang", "clang-release", ["acre", *tests("surface_linked", "faces")],
          [*labelled("surface", "faces"), "-E", r"\.(static|preload|hardened)$"],
          "the same library built by clang 19, linked"),
    Suite("debug", "debug", tests(*LABELS), labelled(*LABELS), "with internal checks, by gcc; only by name"),
    Suite("asan", "asan", tests(*LABELS), labelled(*LABELS),
          "with internal checks, under AddressSanitizer and UndefinedBehaviorSanitizer"),
    Suite("ubsan", "ubsan", tests(*LABELS), labelled(*LABELS), "under the second of these alone; only by name"),
    Suite("fuzz", "asan", ["tests_libfuzzer"], labelled("libfuzzer"),
          "libFuzzer on the API, containers, mallctl, options and requests, against plain models"),
    Suite("tsan", "tsan", tests("unit", "stress"), labelled("unit", "stress"), "under ThreadSanitizer"),
    Suite("aarch64", "aarch64", ["acre", "acre_static", *tests("unit", "fake_os", "fuzz", "surface", "misuse")],
          labelled("unit", "fake_os", "fuzz", "surface", "misuse", "pages", "golden"),
          "built for 64-bit ARM, run by QEMU, with pages of 4, 16 and 64 KiB; only by name", ("aarch64",)),
    Suite("riscv64", "riscv64", ["acre", "acre_static", *tests("unit")], labelled("unit"),
          "built for 64-bit RISC-V, internals under QEMU; only by name", ("riscv64",)),
    Suite("musl", "musl", ["acre", "acre_static", *tests("surface", "misuse")], labelled("surface", "misuse"),
          "built for musl: C programs, linked, static and preloaded; only by name", ("musl",)),
    Suite("compilers", "release", ["acre"], labelled("compilers"),
          "built and tested by each gcc from 12 and clang from 16 of Debian 12 and 13; by name only", ("compilers",),
          verbose=True),
    Suite("bench", "release", ["acre", "acre_trace", "acre_replay"], labelled("bench"),
          "the lab: each workload at a tiny size, its statistics", ("bench", "environment", "contention"), waits=True),
    Suite("prometheus", "release", ["acre"], labelled("prometheus"),
          "a Prometheus that scrapes acre exporter; only by name", ("prometheus",)),
    Suite("viewers", "release", ["acre", "acre_trace"], labelled("viewers"),
          "Perfetto's page and the Firefox Profiler's command open exports; by name only", ("record", "viewers")),
    Suite("rust", "release", ["acre"], labelled("rust"),
          "the Rust crates, ripgrep and a tokio server on acre; by name only", ("rust",)),
    Suite("site", "release", ["acre", "tests_surface"], labelled("site"),
          "the documentation as a site, every page in a browser, versions; by name only", ("bench", "environment", "site")),
    Suite("wheel", "release", ["acre"], labelled("wheel"),
          "the Python package, built, and installed for each Python 3 that is here; by name only", ("record", "wheel")),
    Suite("packaging", "release", ["acre"], labelled("packaging"),
          "Debian, RPM and Conan packages: made, installed in a bare Debian, used, removed; by name only",
          ("package", "deb", "rpm", "packaging"), verbose=True),
    Suite("recipes", "release", ["acre"], labelled("recipes"),
          "the recipes of docs/recipes on a Debian that is installed and booted in a folder; by name only",
          ("package", "deb", "recipes"), verbose=True),
    Suite("real", "release", ["acre", "acre_tcmalloc_minimal"], ["-C", "real-full", *labelled("real-full")],
          "all real programs, which takes long (the default is its quick half)",
          ("real-quick", "real"), verbose=True),
    Suite("soak", "release", ["acre"], ["-C", "soak", *labelled("soak")],
          "an hour of mixed load, or --minutes: purges, profiles, forks at once; by name only", verbose=True),
)
ONLY_BY_NAME = ("debug", "ubsan", "aarch64", "riscv64", "musl", "prometheus", "viewers", "site", "wheel", "rust",
                "packaging", "recipes", "compilers", "soak")
REAL_QUICK = Suite("real", "release", ["acre", "acre_tcmalloc_minimal"], labelled("real-quick"), "", ("real-quick",),
                   verbose=True)


def suite_name(text):
    names = [suite.name for suite in SUITES]
    if text not in names:
        raise argparse.ArgumentTypeError(f"there is no suite '{text}'{nearest(text, names)}")
    return text


def add_arguments(parser):
    parser.explain(
        "Builds what the suites of tests need, runs them and counts. Without a name: all but those that are only run "
        "by name.",
        (("{acre} test --list", "the suites"),
         ("{acre} test asan tsan -j 2", "two of them, two tests at a time"),
         ("{acre} test fuzz --seconds 3600", "an hour of other inputs each time"),
         ("{acre} test soak --minutes 10", "ten minutes of load, and memory must not grow")),
        {1: "a test has failed, or something could not be built"})
    parser.add_argument("-j", "--jobs", type=at_least(1), default=len(os.sched_getaffinity(0)), metavar="N",
                        help="run so many tests at a time (as many as there are processors)")
    parser.add_argument("--seconds", type=at_least(1), metavar="N",
                        help="suite fuzz: look for new inputs so long, in place of a number of inputs that are always the same")
    parser.add_argument("--minutes", type=at_least(0.1, float), metavar="N", help="how long the suite soak runs (60)")
    parser.add_argument("--list", action="store_true", help="print the names of the suites, and run none")
    add_json(parser, "with --list: as JSON")
    add_yes(parser)
    parser.add_argument("suites", nargs="*", type=suite_name, metavar="SUITE", help="a name that --list prints")


def print_suites(as_json):
    if as_json:
        print(json.dumps([{"name": suite.name, "about": suite.about, "only_by_name": suite.name in ONLY_BY_NAME}
                          for suite in SUITES], indent=1))
    else:
        print("\n".join(f"{suite.name:12}{suite.about}" for suite in SUITES))
    return 0


def chosen(names):
    if names:
        return [suite for suite in SUITES if suite.name in names]
    return [REAL_QUICK if suite.name == "real" else suite for suite in SUITES if suite.name not in ONLY_BY_NAME]


class Awaited(Progress):
    """Shown only while the tests wait for it."""

    awaited = False

    def update(self, text):
        if self.awaited:
            super().update(text)


class Builds:
    """Builds what the suites need, one preset after the other, beside the tests on those that are built."""

    def __init__(self, suites, jobs):
        self.jobs = jobs
        self.progress = Awaited()
        self.targets = {}  # by preset, all at once: nothing is built where tests run
        self.first = {}    # the first suite of each preset
        for suite in suites:
            self.first.setdefault(suite.preset, suite)
            self.targets.setdefault(suite.preset, []).extend(suite.targets)
        self.worker = concurrent.futures.ThreadPoolExecutor(1)
        self.made = {preset: self.worker.submit(self.build, preset) for preset in self.targets}

    def build(self, preset):
        """-> seconds"""
        started = time.monotonic()
        beside = None if preset == next(iter(self.targets)) else self.progress
        with library.one_builder(build_folder(preset)):
            before = library.fingerprint()
            steps.configure(preset, beside)
            steps.build(preset, list(dict.fromkeys(self.targets[preset])), self.jobs, beside)
            if preset == "release":
                library.write_stamp(before)
        return time.monotonic() - started

    def wait(self, suite):
        """-> seconds that it took, 0 where an earlier suite has the same preset. Raises StepFailed."""
        made = self.made[suite.preset]
        if not made.done():
            say(f"{suite.name}: building")
        self.progress.awaited = True
        try:
            build_s = made.result()
        finally:
            self.progress.clear()
            self.progress.awaited = False
        return 0.0 if suite is not self.first[suite.preset] else build_s


def run_suite(suite, builds, jobs):
    """-> (counts, seconds to build, seconds to test)"""
    try:
        build_s = builds.wait(suite)
    except steps.StepFailed as failure:
        say(f"{suite.name}: {failure}")
        return ctest.Counts(failed=[f"building {suite.name}"]), 0.0, 0.0
    started = time.monotonic()
    say(f"{suite.name}: testing")
    counts = ctest.run(suite, 2 * jobs if suite.waits and jobs > 1 else jobs)
    if not counts.passed and not counts.failed and not counts.skipped:
        say(f"{suite.name}: no test was found, and a suite that runs nothing proves nothing")
        counts.failed.append(f"{suite.name} has no tests")
    return counts, build_s, time.monotonic() - started


def print_summary(results, total_s):
    print(f"\n{'suite':10}{'passed':>8}{'failed':>8}{'skipped':>9}{'build s':>9}{'test s':>8}")
    for suite, (counts, build_s, test_s) in results:
        print(f"{suite.name:10}{counts.passed:8}{len(counts.failed):8}{len(counts.skipped):9}"
              f"{build_s:9.0f}{test_s:8.0f}")
    print(f"in {total_s / 60:.1f} minutes")
    for title in ("skipped", "failed"):
        names = [(suite, counts, name) for suite, (counts, *_) in results for name in getattr(counts, title)]
        if names:
            print(f"\n{title}:")
        for suite, counts, name in names:
            print("\n      ".join([f"  {suite.name}: {name}", *counts.digests.get(name, ())]))


def main(options):
    if options.list:
        return print_suites(options.json)
    if options.json:
        usage_error("test", "--json goes with --list")
    if options.minutes is not None:
        if "soak" not in options.suites:
            usage_error("test", "--minutes goes with the suite soak")
        os.environ["ACRE_SOAK_MINUTES"] = str(options.minutes)
    suites = chosen(options.suites)
    if options.seconds:
        if options.suites != ["fuzz"]:
            usage_error("test", "--seconds goes with the suite fuzz alone")
        os.environ.update(ACRE_FUZZ_SECONDS=str(options.seconds), ACRE_FUZZ_JOBS=str(options.jobs))  # tests/libfuzzer/run.py
    started = time.monotonic()
    sections = ["build", "test"]
    for suite in suites:
        sections += suite.sections
    packages.ensure(sections, options.yes)
    # What tests say is one stream: failures belong between the lines that tell how it goes.
    sys.stderr = sys.stdout
    builds = Builds(suites, options.jobs)
    try:
        if "environment" in sections:
            environment.ensure(options.yes)
        results = [(suite, run_suite(suite, builds, options.jobs)) for suite in suites]
    finally:
        builds.worker.shutdown(cancel_futures=True)
    print_summary(results, time.monotonic() - started)
    passed = sum(counts.passed for _, (counts, *_) in results)
    failed = sum(len(counts.failed) for _, (counts, *_) in results)
    skipped = sum(len(counts.skipped) for _, (counts, *_) in results)
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1
