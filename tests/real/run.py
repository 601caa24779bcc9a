#!/usr/bin/python3
"""Run real programs with and without the preloaded allocator and compare what they compute.

    tests/real/run.py [--quick] [--list] [--lib PATH] [NAME...]

The library is the one that --lib or ACRE_LIB names, otherwise the release build. A case whose packages are not
installed is skipped. The exit code is 0 if every case that ran is well, 77 if none ran, 1 otherwise.
"""

import sys

sys.dont_write_bytecode = True  # leave the source tree as it is

import argparse
import os
import shutil
import tempfile
import time
import traceback
from pathlib import Path

import harness
import cases_cpython
import cases_scripts
import cases_data
import cases_servers
import cases_jemalloc
import cases_defrag
import cases_compilers
import cases_browser

TAIL_LINES = 25


def run_side(case, name, lib, tmp, options):
    """Run one side of a case in a fresh directory; return its results and the side."""
    directory, home = tmp / "work", tmp / "home"
    for path in (directory, home):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    side = harness.Side(name, directory, home, lib, case.timeout * options.patience, not options.quick, case.face)
    try:
        return case.body(side), side
    finally:
        harness.kill_everything()


def run_case(case, lib, options):
    """Run one case; return the word for its result line and what to add to it."""
    package = case.missing_package()
    if package:
        return "skip", f"package {package} missing", ""
    with tempfile.TemporaryDirectory(prefix="acre-real-", ignore_cleanup_errors=True) as tmp:
        tmp = Path(tmp)
        try:
            plain, _ = run_side(case, "plain", None, tmp, options)
        except harness.Failure as failure:
            return "FAIL", f"without the library already: {failure}", failure.tail
        try:
            for probe in case.probes:
                harness.prove_in_use(probe, lib, tmp / "home", case.own_malloc, case.face)
            preloaded, side = run_side(case, "preloaded", lib, tmp, options)
        except harness.Failure as failure:
            return "FAIL", str(failure), failure.tail
        except (OSError, ValueError, LookupError) as error:  # a program's output is not what the case expects
            return "FAIL", f"{type(error).__name__}: {error}", traceback.format_exc()
        difference = harness.compare(plain, preloaded)
        if difference:
            return "FAIL", difference, side.tail
        return "ok", ", ".join(side.notes), ""


def report(name, word, remark, tail, seconds):
    """Print one case's result line, and below it the end of what a failed program said."""
    if word == "ok":
        print(f"ok {name} {seconds:.1f}s" + (f" ({remark})" if remark else ""), flush=True)
        return
    print(f"{word} {name}: {remark}", flush=True)
    for line in tail.splitlines()[-TAIL_LINES:]:
        print(f"    {line}", flush=True)


def choose(options, parser):
    """Return the cases to run."""
    unknown = [name for name in options.names if name not in harness.CASES]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; --list shows them")
    if options.names:
        return [harness.CASES[name] for name in options.names]
    return [case for case in harness.CASES.values() if case.quick or not options.quick]


def main():
    parser = argparse.ArgumentParser(description="Compare real programs with and without the preloaded allocator.")
    parser.add_argument("--quick", action="store_true", help="the quick half: fewer cases, smaller inputs")
    parser.add_argument("--list", action="store_true", help="list the cases and their packages")
    parser.add_argument("--lib", default=os.environ.get("ACRE_LIB"), help="the library (default: ACRE_LIB)")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on every timeout, for slow builds")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to run")
    options = parser.parse_args()
    cases = choose(options, parser)
    if options.list:
        for case in cases:
            packages = " ".join(sorted(set(case.needs.values())))
            print(f"{case.name:12} {'quick' if case.quick else 'full':6} {packages}")
        return 0
    lib = Path(options.lib or harness.PROJECT / "build/release/libacre.so").resolve()
    if not lib.is_file():
        parser.error(f"no library at {lib}: build it, or name one with --lib or ACRE_LIB")

    harness.adopt_orphans()
    count = {"ok": 0, "FAIL": 0, "skip": 0}
    for case in cases:
        start = time.monotonic()
        word, remark, tail = run_case(case, lib, options)
        report(case.name, word, remark, tail, time.monotonic() - start)
        count[word] += 1
    print(f"real programs: {count['ok']} ok, {count['FAIL']} failed, {count['skip']} skipped", flush=True)
    if count["FAIL"]:
        return 1
    return 0 if count["ok"] else 77


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
