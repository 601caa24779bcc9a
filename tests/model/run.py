#!/usr/bin/env python3
"""Checks the models of run ownership, remote frees, visits to idle heaps and common runs with SPIN; see README.md.

Every configuration must verify exhaustively without an error, and one of them must reach every statement
of the model. Every mutation, a bug switched on in the model, must be found: a model that cannot fail
says nothing.

  run.py                 all configurations and mutations, under two minutes
  run.py --more          also the larger configurations (some minutes, up to 2 GiB)
  run.py --show NAME     the shortest interleaving that a mutation fails with

Exit status: 0 all as expected, 1 not, 77 spin or the C compiler is missing.
"""

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = "run_protocol.pml"
VISITS = "visit_protocol.pml"
SHARED = "shared_run.pml"
COMMON = "common_run.pml"
MEMORY_LIMIT_MIB = 2048
TIME_LIMIT_S = 300
SKIPPED = 77


@dataclasses.dataclass
class Case:
    name: str
    shape: dict           # macros of the model
    whole: bool = False   # every statement of the thread must be reached
    bitstate: bool = False
    mutation: str = ""
    model: str = RUNS


def shape(mallocs, runs=1, prefilled=False, classes=((2, 1),), tagged=False):
    """mallocs: how many calls each thread may make; classes: (capacity, threshold) of each."""
    macros = {"RUNS": runs, "CLASSES": len(classes)}
    if not tagged:
        macros["LOCAL_IN_WORD"] = 1
    for i, calls in enumerate(mallocs):
        macros[f"MALLOCS_{i + 1}"] = calls
    for i, (capacity, threshold) in enumerate(classes):
        macros[f"CAPACITY_{i}"] = capacity
        macros[f"THRESHOLD_{i}"] = threshold
    if prefilled:
        macros["PREFILLED"] = 1
    return macros


CAP_3 = ((3, 2),)
CAP_4 = ((4, 3),)
CAP_4_EARLY = ((4, 2),)
TWO_CLASSES = ((2, 1), (3, 2))      # a run may come back as one of the other class, with another bin

CONFIGURATIONS = [
    Case("one-block",        shape([2, 2, 2], classes=((1, 1),))),
    Case("only-when-empty",  shape([2, 1, 1], classes=((2, 2),))),
    Case("two-threads",      shape([4, 2], classes=CAP_4_EARLY), whole=True),
    Case("three-threads",    shape([3, 1, 0], classes=CAP_3)),
    Case("recycled",         shape([4, 4], classes=TWO_CLASSES)),
    Case("recycled-three",   shape([2, 1, 1], classes=TWO_CLASSES)),
    Case("two-runs",         shape([3, 2], runs=2)),
    Case("two-runs-classes", shape([2, 1], runs=2, classes=TWO_CLASSES)),
    Case("adopt",            shape([0, 4], prefilled=True, classes=CAP_4)),
    Case("tagged",           shape([4, 2], tagged=True, classes=CAP_4_EARLY), whole=True),
    Case("tagged-recycled",  shape([4, 4], tagged=True, classes=TWO_CLASSES)),
    Case("tagged-adopt",     shape([0, 4], tagged=True, prefilled=True, classes=CAP_4)),
    Case("visits",           {}, model=VISITS),
    Case("shared-run",       {}, model=SHARED),
    Case("common-run",       {}, model=COMMON, whole=True),
]

MORE = [
    Case("two-runs-three",        shape([0, 2, 0], runs=2, prefilled=True)),
    Case("tagged-three",          shape([3, 1, 0], tagged=True, classes=CAP_3)),
    Case("adopt-three",           shape([0, 2, 0], prefilled=True, classes=CAP_4)),
    Case("three-threads-more",    shape([3, 2, 1], classes=CAP_3)),
    Case("recycled-more",         shape([3, 2, 1], classes=TWO_CLASSES)),
    Case("two-runs-more",         shape([4, 4], runs=2)),
    Case("two-runs-recycled",     shape([2, 2], runs=2, classes=TWO_CLASSES)),
    Case("tagged-adopt-three",    shape([0, 2, 0], tagged=True, prefilled=True, classes=CAP_4)),
    Case("tagged-recycled-more",  shape([3, 2, 1], tagged=True, classes=TWO_CLASSES)),
    Case("tagged-two-runs",       shape([3, 3], tagged=True, runs=2)),
    # Too large to be exhaustive: a sample of the states.
    Case("sampled",               shape([3, 2, 2], runs=2, classes=TWO_CLASSES), bitstate=True),
]

SMALL = shape([3, 1], classes=CAP_3)
SMALL_TAGGED = shape([3, 1], tagged=True, classes=CAP_3)
SMALL_COMMON = {"RUNS": 1, "MALLOCS_1": 2}

MUTATIONS = [
    Case("bin-read-after-cas",      shape([2, 2], classes=TWO_CLASSES), mutation="BIN_READ_AFTER_CAS"),
    Case("capacity-read-after-cas", shape([3, 3], classes=TWO_CLASSES), mutation="CAPACITY_READ_AFTER_CAS"),
    Case("owner-cleared-after",     SMALL, mutation="OWNER_CLEARED_AFTER"),
    Case("offer-without-recheck",   SMALL, mutation="OFFER_WITHOUT_RECHECK"),
    Case("reclaim-unbinned",        SMALL, mutation="RECLAIM_UNBINNED"),
    Case("collect-changes-used",    SMALL, mutation="COLLECT_CHANGES_USED"),
    Case("release-by-store",        SMALL, mutation="RELEASE_BY_STORE"),
    Case("return-under-lock",       SMALL, mutation="RETURN_UNDER_LOCK"),
    Case("dead-thread-adopts",      SMALL, mutation="DEAD_THREAD_ADOPTS"),
    Case("no-tag",                  shape([0, 3], tagged=True, prefilled=True), mutation="NO_TAG"),
    Case("used-read-after-cas",     SMALL_TAGGED, mutation="USED_READ_AFTER_CAS"),
    Case("used-read-before-word",   SMALL_TAGGED, mutation="USED_READ_BEFORE_WORD"),
    Case("visit-without-wait",      {}, mutation="NO_WAIT", model=VISITS),
    Case("visit-not-looked-for",    {}, mutation="NO_LOOK", model=VISITS),
    Case("visit-stale-event",       {}, mutation="STALE_EVENT", model=VISITS),
    Case("visit-count-first",       {}, mutation="COUNT_FIRST", model=VISITS),
    Case("visit-takes-any-run",     {}, mutation="ANY_RUN", model=VISITS),
    Case("shared-no-hostage",       {}, mutation="NO_HOSTAGE", model=SHARED),
    Case("shared-hostage-not-counted", {}, mutation="HOSTAGE_NOT_COUNTED", model=SHARED),
    Case("shared-ended-early",      {}, mutation="UNSHARE_EARLY", model=SHARED),
    Case("shared-taken-as-owner",   {}, mutation="TAKES_AS_OWNER", model=SHARED),
    Case("shared-head-stored",      {}, mutation="HEAD_STORED", model=SHARED),
    Case("shared-by-countdown",     {}, mutation="SHARE_BY_COUNTDOWN", model=SHARED),
    Case("common-cut-unlocked",     SMALL_COMMON, mutation="CUT_UNLOCKED", model=COMMON),
    Case("common-pop-unlocked",     SMALL_COMMON, mutation="POP_UNLOCKED", model=COMMON),
    Case("common-word-stored",      SMALL_COMMON, mutation="WORD_STORED", model=COMMON),
    Case("common-reclaim-unbinned", SMALL_COMMON, mutation="RECLAIM_UNBINNED", model=COMMON),
    Case("common-last-stays-binned", SMALL_COMMON, mutation="LAST_STAYS_BINNED", model=COMMON),
]


class CheckFailed(Exception):
    pass


def execute(command, directory):
    try:
        done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise CheckFailed(f"{command[0]} ran past {TIME_LIMIT_S} s") from None
    return done.returncode, done.stdout


def must_execute(command, directory):
    status, output = execute(command, directory)
    if status != 0:
        raise CheckFailed(f"{' '.join(command)}: exit status {status}\n{output}")
    return output


def macro_flags(case):
    macros = dict(case.shape)
    if case.mutation:
        macros["MUT_" + case.mutation] = 1
    return [f"-D{name}={value}" for name, value in macros.items()]


def verify(case, directory, shortest=False):
    """Generates, compiles and runs the verifier; returns its report."""
    shutil.copy(os.path.join(HERE, case.model), directory)
    must_execute(["spin", *macro_flags(case), "-a", case.model], directory)
    # COLLAPSE stores states in less memory without losing any; BITSTATE does lose some.
    storage = "-DBITSTATE" if case.bitstate else "-DCOLLAPSE"
    # A mutation fails early: there, compiling is what takes time.
    optimization = "-O0" if case.mutation else "-O1"
    must_execute(["cc", optimization, "-w", "-DSAFETY", storage, f"-DMEMLIM={MEMORY_LIMIT_MIB}",
                  *(["-DBFS"] if shortest else []), "-o", "pan", "pan.c"], directory)
    options = ["-m10000"] + (["-w31", "-k3", "-Q2"] if case.bitstate else [])
    return execute(["./pan", *options], directory)[1]


def number(pattern, report):
    found = re.search(pattern, report)
    if not found:
        raise CheckFailed("cannot read the verifier's report:\n" + report)
    return int(float(found.group(1)))


def must_hold(case, directory):
    report = verify(case, directory)
    states = number(r"(\S+) states, stored", report)
    # An incomplete search reports no errors either; a sample is incomplete, and stops after two minutes.
    for incomplete in () if case.bitstate else ("Search not completed", "search depth too small", "out of memory", "MEMLIM"):
        if incomplete in report:
            raise CheckFailed(f"search incomplete: {incomplete}\n{report}")
    if number(r"errors: (\d+)", report) != 0:
        raise CheckFailed(report + failing_line(case, directory))
    unreached = re.search(r"unreached in proctype Thread\n(.*?)\((\d+) of (\d+) states\)", report, re.S)
    if case.whole and (not unreached or int(unreached.group(2)) != 0):
        raise CheckFailed("statements never reached:\n" + report)
    return f"holds in {states:,} states" + (" (a sample)" if case.bitstate else "")


def must_fail(case, directory):
    report = verify(case, directory)
    if "assertion violated" not in report:
        raise CheckFailed("the mutation was not found:\n" + report)
    return f"found: {failing_line(case, directory)}"


def failing_line(case, directory):
    """The line of the model with the violated assertion."""
    _, replay = execute(["spin", *macro_flags(case), "-t", case.model], directory)
    found = re.search(case.model + r":(\d+), Error: assertion violated", replay)
    if not found:
        return replay
    line = int(found.group(1))
    with open(os.path.join(HERE, case.model), encoding="utf-8") as model:
        return f"line {line}: {model.readlines()[line - 1].strip()}"


def show(case, directory):
    """Prints the shortest way to fail, one line a step."""
    shown = dataclasses.replace(case, shape={**case.shape, "SHOW": 1})
    report = verify(shown, directory, shortest=True)
    _, replay = execute(["spin", *macro_flags(shown), "-t", case.model], directory)
    if "errors: 0" in report:
        print(report)
        return
    print("states: 0 owned, 1 full, 2 binned; lists are bit masks of blocks; head is a block + 1")
    for line in replay.splitlines():
        if "thread" in line or "Error" in line:
            # spin indents by process, within lines too
            print(re.sub(r" {2,}", " ", line.strip()).replace(" ,", ",").replace(" :", ":"))


def main():
    parser = argparse.ArgumentParser(description="check the model of run ownership and remote frees")
    parser.add_argument("--more", action="store_true", help="also the larger configurations")
    parser.add_argument("--show", metavar="NAME", help="print how a mutation fails")
    arguments = parser.parse_args()

    for tool in ("spin", "cc"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            return SKIPPED

    if arguments.show:
        chosen = [case for case in CONFIGURATIONS + MORE + MUTATIONS if case.name == arguments.show]
        if not chosen:
            parser.error(f"no case is named {arguments.show}")
        with tempfile.TemporaryDirectory() as directory:
            show(chosen[0], directory)
        return 0

    failures = 0
    started = time.monotonic()
    for case in CONFIGURATIONS + (MORE if arguments.more else []) + MUTATIONS:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            try:
                outcome = must_fail(case, directory) if case.mutation else must_hold(case, directory)
            except CheckFailed as failure:
                failures += 1
                outcome = f"FAILED: {failure}"
        print(f"{case.name:24} {time.monotonic() - begun:6.1f} s  {outcome}", flush=True)
    print(f"{failures} failed, {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
