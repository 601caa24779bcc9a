#!/usr/bin/env python3
"""Checks the models of the ownership protocol of slab runs with SPIN; see README.md.

Every configuration must verify exhaustively without an error, and every statement of a model must be reached in one of
them. Every mutation, a bug switched on in the model, must be found: a model that cannot fail says nothing.

  run.py                 all configurations and mutations, half a minute of processor time
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
OWNERSHIP = "ownership.pml"
IDLE = "idle_reclaim.pml"
MEMORY_LIMIT_MIB = 2048
TIME_LIMIT_S = 600
COMPILER = shutil.which("clang-19") or "cc"     # clang is twice as fast where it does not optimise
SKIPPED = 77


@dataclasses.dataclass
class Case:
    name: str
    macros: dict = dataclasses.field(default_factory=dict)
    model: str = OWNERSHIP
    is_mutation: bool = False


def shape(mallocs, looks=(0, 0, 0), fork=False, classes=((3, 2),), start="NO_RUN", **more):
    """mallocs, looks: how often each thread may call malloc, and look at another's heap; classes: (capacity, enough) of
    each; fork: the first thread may; more: macros of run.pml by their names in small letters."""
    macros = {"THREADS": len(mallocs), "CLASSES": len(classes), "FORKS_1": int(fork), "START": start,
              "CUT": classes[0][0], "OUTBOXES": 0, "OWN_RUNS": 1, "TAKE_BLOCKS": 0, "PURGES": 0, "PLANTED": "NO_BUG"}
    for i in range(3):
        macros[f"MALLOCS_{i + 1}"] = mallocs[i] if i < len(mallocs) else 0
        macros[f"LOOKS_{i + 1}"] = looks[i] if i < len(looks) else 0
    for i, (capacity, enough) in enumerate((classes[0], classes[-1])):
        macros[f"CAPACITY_{i}"] = capacity
        macros[f"ENOUGH_{i}"] = enough
    return {**macros, **{name.upper(): int(value) for name, value in more.items()}}


EARLY = ((3, 1),)
TWO_BLOCKS = ((2, 1),)
TWO_CLASSES = ((2, 1), (3, 2))      # the header may serve a run of the other class, with another bin

CONFIGURATIONS = [
    Case("small-runs",       shape([2, 2], classes=((1, 1), (2, 2)))),
    Case("three-threads",    shape([2, 1, 1], classes=TWO_BLOCKS)),
    Case("block-by-block",   shape([1, 1, 0], classes=EARLY, start="FULL", own_runs=0, take_blocks=1)),
    Case("blocks-and-runs",  shape([3, 2], take_blocks=1)),
    Case("reclaim",          shape([1, 1], looks=(1, 2), start="KEPT", outboxes=1)),
    Case("reclaim-three",    shape([0, 1, 0], looks=(0, 0, 2), start="KEPT", classes=EARLY, cut=2)),
    Case("reclaim-reuse",    shape([2, 2], looks=(0, 2), classes=TWO_CLASSES)),
    Case("fork",             shape([0, 1], looks=(1, 1), fork=True, start="KEPT", outboxes=1)),
    Case("fork-blocks",      shape([0, 2], fork=True, start="KEPT", classes=EARLY, cut=2, take_blocks=1)),
    Case("purge",            shape([0, 1], start="FULL", take_blocks=1, purges=1)),
    Case("purge-blocks",     shape([0, 1], classes=EARLY, start="FULL", own_runs=0, take_blocks=1, purges=1)),
    Case("purge-shared",     shape([0, 1], looks=(0, 2), start="KEPT", classes=EARLY, cut=2, purges=1)),
    Case("purge-fork",       shape([0, 1], fork=True, start="KEPT", classes=TWO_BLOCKS, purges=1)),
    Case("idle",             model=IDLE),
]

MORE = [
    Case("three-threads-more",  shape([3, 2, 1])),
    Case("two-classes",         shape([4, 3], classes=TWO_CLASSES)),
    Case("two-classes-three",   shape([2, 1, 1], classes=TWO_CLASSES)),
    Case("block-by-block-more", shape([2, 2, 1], classes=EARLY, own_runs=0, take_blocks=1)),
    Case("blocks-three",        shape([2, 1, 1], take_blocks=1)),
    Case("reclaim-more",        shape([2, 2], looks=(2, 2), start="KEPT", outboxes=1, take_blocks=1)),
    Case("reclaim-three-more",  shape([0, 1, 1], looks=(0, 1, 1), start="KEPT")),
    Case("fork-three",          shape([0, 1, 1], looks=(0, 1, 0), fork=True, start="KEPT", classes=EARLY)),
    Case("purge-shared-more",   shape([1, 1], looks=(0, 2), start="KEPT", classes=EARLY, purges=1)),
    Case("purge-fork-more",     shape([0, 1], fork=True, start="KEPT", classes=EARLY, take_blocks=1, purges=1)),
    Case("purge-more",          shape([2, 2], start="FULL", take_blocks=1, purges=2)),
    Case("purge-reuse",         shape([2, 2], classes=TWO_CLASSES, purges=1)),
    Case("purge-shared-three",  shape([0, 1, 1], looks=(0, 1, 0), start="KEPT", classes=EARLY, purges=1)),
    Case("fork-reuse",          shape([2, 2], looks=(0, 1), fork=True, classes=TWO_CLASSES)),
]

SMALL = shape([3, 1])
REUSE = shape([2, 2], classes=TWO_CLASSES)
BLOCKS = shape([1, 2, 1], classes=EARLY, own_runs=0, take_blocks=1)
ADOPTED = shape([2, 1], take_blocks=1)
SHARED = shape([0, 1], looks=(0, 2), start="KEPT", classes=EARLY)
SHARED_FULL = shape([0, 0], looks=(0, 2), start="KEPT")
SHARED_UNCUT = shape([0, 1], looks=(0, 2), start="KEPT", classes=EARLY, cut=2)
ENDED_EARLY = shape([0, 1, 0], classes=TWO_BLOCKS, start="KEPT", cut=2)
ENDED = shape([1, 1], looks=(0, 1), outboxes=1)
PURGED = shape([0, 1], start="FULL", classes=EARLY, purges=1)
PURGED_SHARED = shape([0, 1], looks=(0, 2), start="KEPT", classes=EARLY, purges=1)
FORKED = shape([0, 1], looks=(0, 1), fork=True, start="KEPT", classes=EARLY)
FORKED_SHARED = shape([0, 3], looks=(1, 0), fork=True, classes=EARLY)
FORKED_UNCUT = shape([0, 1], fork=True, start="KEPT", classes=EARLY, cut=2, take_blocks=1)


def mutation(name, macros=None, model=OWNERSHIP):
    planted = name.upper().replace("-", "_")
    return Case(name, {**(macros or {}), "PLANTED": planted}, model, True)


MUTATIONS = [
    mutation("adopt-beside-share", SHARED_FULL),
    mutation("adopt-binned", SMALL),
    mutation("adopt-forgets-deferred", SMALL),
    mutation("adopt-without-heap", SMALL),
    mutation("inherit-unbinned", ENDED_EARLY),
    mutation("inherit-shared", FORKED_SHARED),
    mutation("make-keeps-word", SMALL),
    mutation("release-stores-word", SMALL),
    mutation("release-clears-owner-late", SMALL),
    mutation("give-back-stores-word", SMALL),
    mutation("give-back-reads-bin-late", REUSE),
    mutation("offer-without-look", SMALL),
    mutation("reclaim-unbinned", SMALL),
    mutation("take-counts-local", SMALL),
    mutation("take-unlocked", SMALL),
    mutation("take-shared-as-owner", SHARED),
    mutation("take-block-unlocked", BLOCKS),
    mutation("take-block-stores-word", BLOCKS),
    mutation("take-block-stays-binned", BLOCKS),
    mutation("take-block-of-owner", SHARED_UNCUT),
    mutation("take-local-late", ADOPTED),
    mutation("take-block-leaves-bin-late", ADOPTED),
    mutation("share-without-hostage", SHARED),
    mutation("share-uncounted-hostage", SHARED),
    mutation("share-stores-head", SHARED),
    mutation("unshare-early", SHARED),
    mutation("unshare-keeps-shared", SHARED),
    mutation("defer-counts-first", SHARED),
    mutation("event-of-a-lost-run", SHARED),
    mutation("end-keeps-outbox", ENDED),
    mutation("end-keeps-run", SMALL),
    mutation("end-keeps-shared-run", SHARED),
    mutation("fork-without-bin-lock", FORKED_UNCUT),
    mutation("fork-beside-emptying", FORKED),
    mutation("fork-without-disown", FORKED),
    mutation("purge-in-the-bin", PURGED),
    mutation("purge-stores-head", PURGED),
    mutation("purge-takes-hostage", PURGED_SHARED),
    mutation("own-without-restore", PURGED),
    mutation("idle-without-wait", model=IDLE),
    mutation("idle-without-look", model=IDLE),
    mutation("idle-stale-event", model=IDLE),
    mutation("idle-counts-first", model=IDLE),
    mutation("idle-takes-any-run", model=IDLE),
    mutation("idle-goes-on-withdrawn", model=IDLE),
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


def lines_of(model):
    """The lines of a model and of the files that it includes: (file, number, text). For spin they are one file: it
    gives the lines of an included inline under the name of the including file."""
    lines = []
    with open(os.path.join(HERE, model), encoding="utf-8") as file:
        for number_in_file, text in enumerate(file, 1):
            included = re.match(r'#include "(.*)"', text)
            lines += lines_of(included.group(1)) if included else [(model, number_in_file, text)]
    return lines


def verify(case, directory, shortest=False):
    """Generates, compiles and runs the verifier; returns its report."""
    with open(os.path.join(directory, case.model), "w", encoding="utf-8") as whole:
        whole.writelines(text for _, _, text in lines_of(case.model))
    must_execute(["spin", *macro_flags(case), "-a", case.model], directory)
    # A small search takes less time than an optimising compiler. COLLAPSE takes less memory, and loses no state.
    options = ["-O1", "-DCOLLAPSE"] if case in MORE else ["-O0"]
    must_execute([COMPILER, *options, "-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={MEMORY_LIMIT_MIB}",
                  *(["-DBFS"] if shortest else []), "-o", "pan", "pan.c"], directory)
    return execute(["./pan", "-m20000"], directory)[1]


def macro_flags(case):
    return [f"-D{name}={value}" for name, value in case.macros.items()]


def number(pattern, report):
    found = re.search(pattern, report)
    if not found:
        raise CheckFailed("cannot read the verifier's report:\n" + report)
    return int(float(found.group(1)))


def must_hold(case, directory):
    """Returns what to say, and the statements that were not reached: (line, state)."""
    report = verify(case, directory)
    states = number(r"(\S+) states, stored", report)
    # An incomplete search reports no errors either.
    for incomplete in ("Search not completed", "search depth too small", "out of memory", "MEMLIM"):
        if incomplete in report:
            raise CheckFailed(f"search incomplete: {incomplete}\n{report}")
    if number(r"errors: (\d+)", report) != 0:
        raise CheckFailed(report)
    unreached = set(re.findall(r"^\t\w+\.pml:(\d+), state (\d+), (?!\"-end-\")", report, re.M))
    return f"holds in {states:,} states", unreached


def must_fail(case, directory):
    report = verify(case, directory)
    found = re.search(r"assertion violated (.*) \(at depth", report)
    if not found:
        raise CheckFailed("the mutation was not found:\n" + report)
    return f"found: {failing_line(case, directory)}"


def failing_line(case, directory):
    """The line of the model with the violated assertion."""
    _, replay = execute(["spin", *macro_flags(case), "-t", case.model], directory)
    found = re.search(case.model + r":(\d+), Error: assertion violated", replay)
    return named(case.model, found.group(1)) if found else replay


def named(model, line):
    file, number_in_file, text = lines_of(model)[int(line) - 1]
    return f"{file}:{number_in_file}: {text.strip()}"


def never_reached(model, unreached):
    """Statements that no configuration of the model has reached; those of planted bugs are not to be."""
    lines = sorted({int(line) for line, _ in set.intersection(*unreached)})
    return [named(model, line) for line in lines if "bug(" not in named(model, line)]


def show(case, directory):
    """Prints the shortest way to fail, one line a step."""
    shown = dataclasses.replace(case, macros={**case.macros, "SHOW": 1})
    report = verify(shown, directory, shortest=True)
    if "errors: 0" in report:
        print(report)
        return
    each_step = ["-p"] if case.model == IDLE else []  # the other model prints its steps itself
    _, replay = execute(["spin", *macro_flags(shown), *each_step, "-t", case.model], directory)
    if case.model == OWNERSHIP:
        print("states: 0 owned, 1 full, 2 binned, 4 more if shared; "
              "blocks at: 0 uncut, 1 with the program, 2 held, 3 deferred, 4 remote, 5 purged, 6 detached")
    for line in replay.splitlines():
        if "thread" in line or "proc " in line and "[" in line:
            # spin indents by process, within lines too
            print(re.sub(r" {2,}", " ", line.strip()).replace(" ,", ",").replace(" :", ":"))
    print(f"violated: {failing_line(shown, directory)}")


def main():
    parser = argparse.ArgumentParser(description="check the models of the ownership protocol")
    parser.add_argument("--more", action="store_true", help="also the larger configurations")
    parser.add_argument("--show", metavar="NAME", help="print how a mutation fails")
    arguments = parser.parse_args()

    for tool in ("spin", COMPILER):
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
    unreached = {OWNERSHIP: [], IDLE: []}
    started = time.monotonic()
    for case in CONFIGURATIONS + (MORE if arguments.more else []) + MUTATIONS:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            try:
                if case.is_mutation:
                    outcome = must_fail(case, directory)
                else:
                    outcome, missed = must_hold(case, directory)
                    unreached[case.model].append(missed)
            except CheckFailed as failure:
                failures += 1
                outcome = f"FAILED: {failure}"
        print(f"{case.name:28} {time.monotonic() - begun:6.1f} s  {outcome}", flush=True)
    for model, of_cases in unreached.items():
        lines = never_reached(model, of_cases) if of_cases else []
        failures += len(lines) != 0
        print(f"FAILED: {model}: never reached:" if lines else f"{model}: every statement is reached", *lines, sep="\n")
    print(f"{failures} failed, {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
