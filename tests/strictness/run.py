#!/usr/bin/env python3
"""The suite of misuse: which kinds an allocator stops.

    run.py                        acre, held against expected.txt and docs/strictness.md, as CI does
    run.py --alloc glibc          any allocator: acre, glibc, or the path of a library; a table
    run.py --kind 'double_free*'  some of the kinds; --json for programs, --list for what they do
    run.py --conf hardened:true --column hardened      acre with options, held against that column
    run.py --update [--conf …]    writes what acre does into expected.txt

A kind is a program that does one thing wrong (kinds.h), run at several places: with the lowest of many blocks, the
highest, one in their middle, and one between free blocks. What it comes to is the worst of them:

    stopped    the process ends by abort or a trap, or by SIGSEGV at a guard: while the program itself touches memory
    no-effect  nothing to stop: a null pointer, or a free block that is not handed out again
    passes     the misuse did what it wanted, or the process crashed later, or inside of the allocator, by luck
    absent     the allocator has no such function

Exit code 0: as expected, 1: not.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
LIBRARY = Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()
PROGRAM = LIBRARY.parent / "tests/strictness_kinds"
EXPECTED = HERE / "expected.txt"
PUBLIC_SUITE = HERE / "public_suite.txt"
PAGES = {"default": SOURCE / "docs/strictness.md", "hardened": SOURCE / "docs/hardened.md"}

COLUMNS = ("default", "hardened")
STOPPED, NO_EFFECT, PASSES, ABSENT = "stopped", "no-effect", "passes", "absent"
OUTCOMES = (STOPPED, NO_EFFECT, PASSES, ABSENT)
MEANT = ("always", "sampled", "hardened", "never")
EXIT_CODES = {10: PASSES, 11: NO_EFFECT, 77: ABSENT}
DELIBERATE = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL)
TIME_LIMIT_S = 60
# After such a write malloc may return a wrong pointer. If acre then refuses that one, the write itself went unnoticed.
WRITES = re.compile("overflow_write|underflow_write|write_after_free|forge_|double_free_after_write")
WRONG_POINTER = re.compile(r"\): (double free|interior pointer|not a live block|foreign pointer)")

Kind = collections.namedtuple("Kind", "name group places guard about")
Run = collections.namedtuple("Run", "outcome how line")
Result = collections.namedtuple("Result", "kind outcome how lines")


class Failed(Exception):
    pass


# --- running ---


class Suite:
    def __init__(self, library, conf):
        if not PROGRAM.exists():
            raise Failed(f"{PROGRAM} is not there: cmake --build {LIBRARY.parent} --target tests_strictness")
        self.environment = {name: value for name, value in os.environ.items()
                            if not re.match(r"LD_PRELOAD|ACRE_CONF|MALLOC_|GLIBC_TUNABLES", name)}
        self.is_acre = library is not None and Path(library).name.startswith("libacre")
        if library is not None:
            self.environment["LD_PRELOAD"] = str(library)
        if conf:
            self.environment["ACRE_CONF"] = conf
        self.is_hardened = self.is_acre and (conf == "hardened:true" or "hardened" in Path(library).name)

    def kinds(self):
        listed = subprocess.run([PROGRAM, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in listed.splitlines():
            name, group, places, guard, about = line.split("\t")
            yield Kind(name, group, places.split(), guard == "guard", about)

    def run(self, kind):
        lines, outcomes, how = [], [], ""
        for place in kind.places:
            ran = self.run_at(kind, place)
            outcomes.append(ran.outcome)
            if ran.outcome == PASSES:
                return Result(kind, PASSES, f"{place}: {ran.how}" if place != "-" else ran.how, [])
            if ran.line and ran.line not in lines:
                lines.append(ran.line)
            how = how or ran.how
        return Result(kind, next(outcome for outcome in (NO_EFFECT, ABSENT, STOPPED) if outcome in outcomes), how,
                      sorted(lines))

    def run_at(self, kind, place):
        ended = subprocess.run([PROGRAM, kind.name, place], env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace", close_fds=False,
                               timeout=TIME_LIMIT_S)
        said = ended.stderr.splitlines()
        if "begin" not in ended.stdout or ended.stderr.startswith("ERROR: ld.so"):
            raise Failed(f"{kind.name} at {place} ended before the misuse: {ended.returncode} {ended.stderr}")
        line = without_addresses(said[0]) if said else ""
        if ended.returncode in EXIT_CODES:
            return Run(EXIT_CODES[ended.returncode], "goes on", line)
        if ended.returncode >= 0:
            raise Failed(f"{kind.name} at {place} failed: exit code {ended.returncode}: {ended.stdout}{ended.stderr}")
        name = signal.Signals(-ended.returncode).name
        if -ended.returncode in DELIBERATE:
            if self.is_acre and (len(said) != 1 or not line.startswith("acre: ") or name != "SIGABRT"):
                return Run(PASSES, f"{name} without acre's one line and abort", line)
            if self.is_acre and WRITES.match(kind.name) and "done" in ended.stdout and WRONG_POINTER.search(line):
                return Run(PASSES, f"{name} for a wrong pointer that malloc returned", line)
            return Run(STOPPED, name, line)
        if kind.guard and "done" not in ended.stdout and name in ("SIGSEGV", "SIGBUS"):
            # A megabyte away is a guard whose block is not known, or code that acre does not know of.
            known = kind.group != "execute" and "_by_1m_" not in kind.name
            if self.is_hardened and known and not line.startswith("acre: "):
                return Run(PASSES, f"{name} without acre's line", line)
            if "_copy_" in kind.name:  # which byte memcpy comes to first is the processor's affair
                line = ""
            return Run(STOPPED, f"{name} at a guard", line)
        return Run(PASSES, name, line)


def without_addresses(line):
    line = re.sub(r"0x[0-9a-f]+", "P", line)
    return re.sub(r"freed by .*?\+P", "freed by FILE+P", line)


def run_all(suite, kinds, jobs):
    shows = sys.stderr.isatty()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for count, result in enumerate(pool.map(suite.run, kinds), 1):
            if shows:
                print(f"\r{count} of {len(kinds)} kinds", end="\r\n"[count == len(kinds)], file=sys.stderr, flush=True)
            yield result


# --- expected.txt ---


class Expectation:
    def __init__(self, meant, outcomes):
        self.meant = meant
        self.outcomes = dict(zip(COLUMNS, outcomes))
        self.lines = {column: [] for column in COLUMNS}


def read_expected():
    """-> the comment at the head, and name -> Expectation."""
    head, kinds, last = [], {}, None
    for number, line in enumerate(EXPECTED.read_text().splitlines() if EXPECTED.exists() else [], 1):
        words = line.split()
        if line.startswith("#") or not words:
            head.append(line)
        elif line.startswith(" "):
            column, _, text = line.strip().partition(": ")
            if column not in COLUMNS or last is None:
                raise Failed(f"{EXPECTED}:{number}: a line that is said begins with {': or '.join(COLUMNS)}:")
            last.lines[column].append(text)
        elif len(words) == 4 and words[1] in MEANT and {*words[2:]} <= {*OUTCOMES, "-"} and words[0] not in kinds:
            last = kinds[words[0]] = Expectation(words[1], words[2:])
        else:
            raise Failed(f"{EXPECTED}:{number}: not KIND {'|'.join(MEANT)} DEFAULT HARDENED, or a kind again")
    return head, kinds


def write_expected(head, expected, results, column, names):
    for result in results:
        if result.kind.name not in expected:
            print(f"{result.kind.name} is new: set by hand what is meant to stop it")
            expected[result.kind.name] = Expectation("never", ["-", "-"])
        one = expected[result.kind.name]
        if column == "default" or one.outcomes[column] != "-":
            one.outcomes[column] = result.outcome
        # In the hardened mode it is chance which blocks lie beside each other.
        one.lines[column] = sorted({*result.lines, *(one.lines[column] if column == "hardened" else ())})
    text = head
    for name in names:
        one = expected[name]
        text.append(f"{name:40}{one.meant:10}{one.outcomes['default']:11}{one.outcomes['hardened']}")
        text += [f"    {where}: {line}" for where in COLUMNS for line in one.lines[where]]
    EXPECTED.write_text("\n".join(text) + "\n")


def differences(results, expected, column):
    for result in results:
        name, one = result.kind.name, expected.get(result.kind.name)
        if one is None:
            yield f"{name} is not in {EXPECTED.name}"
        elif one.outcomes[column] == "-":
            continue
        elif one.outcomes[column] != result.outcome:
            yield f"{name}: {result.outcome} ({result.how}), where {EXPECTED.name} has {one.outcomes[column]}"
        elif not (set(result.lines) <= set(one.lines[column]) if column == "hardened" else one.lines[column] == result.lines):
            yield f"{name}: says {result.lines}, where {EXPECTED.name} has {one.lines[column]}"


# --- docs/strictness.md ---


def counted(outcomes):
    """(name, outcome)… -> rows of name, kinds, stopped, no effect, passes; absent kinds are left out."""
    rows = {}
    for group, outcome in outcomes:
        row = rows.setdefault(group, collections.Counter())
        if outcome == "-":  # it is chance
            outcome = PASSES
        if outcome != ABSENT:
            row.update({"kinds": 1, outcome: 1})
    total = sum(rows.values(), collections.Counter())
    for group, row in [*rows.items(), ("all", total)]:
        yield (group, *(row[column] for column in ("kinds", STOPPED, NO_EFFECT, PASSES)))


def page_differences(kinds, expected, column):
    path = PAGES[column]
    page = path.read_text()
    if f" {len(kinds)} kinds of misuse" not in page:
        yield f"docs/{path.name} does not speak of {len(kinds)} kinds of misuse"
    known = [kind for kind in kinds if kind.name in expected]
    for row in counted((kind.group, expected[kind.name].outcomes[column]) for kind in known):
        cells = f"| {row[0]} | {' | '.join(map(str, row[1:]))} |"
        if cells not in page:
            yield f"docs/{path.name} has no row that begins with: {cells}"


def by_mode(kinds, expected):
    """-> rows of group, kinds, and how many the weakest mode stops or leaves without effect: always, hardened, only guards if
    the block is one of theirs, never."""
    rows = {}
    for kind in kinds:
        one = expected[kind.name]
        held = [column for column in COLUMNS if one.outcomes[column] in (STOPPED, NO_EFFECT, ABSENT)]
        mode = held[0] if held else "sampled" if one.meant == "sampled" else "never"
        rows.setdefault(kind.group, collections.Counter()).update({"kinds": 1, mode: 1})
    total = sum(rows.values(), collections.Counter())
    for group, row in [*rows.items(), ("all", total)]:
        yield (group, *(row[column] for column in ("kinds", *COLUMNS, "sampled", "never")))


def mode_differences(kinds, expected):
    page = PAGES["default"].read_text()
    for row in by_mode([kind for kind in kinds if kind.name in expected], expected):
        cells = f"| {' | '.join(map(str, row))} |"
        if cells not in page:
            yield f"docs/{PAGES['default'].name} has no row, by mode: {cells}"


# --- public_suite.txt ---


def public_suite():
    """-> kinds, one for each of the programs."""
    kinds = [kind for line in PUBLIC_SUITE.read_text().splitlines() if not line.startswith("#") for kind in line.split()[1:]]
    if len(kinds) != 116:
        raise Failed(f"{PUBLIC_SUITE.name} has {len(kinds)} programs, not 116")
    return kinds


def held_of_public_suite(outcomes):
    """outcomes: kind -> outcome"""
    return sum(outcomes.get(kind) in (STOPPED, NO_EFFECT) for kind in public_suite())


def public_suite_differences(expected, column):
    held = held_of_public_suite({name: one.outcomes[column] for name, one in expected.items()})
    path = PAGES[column]
    if f"{held} of these 116" not in path.read_text():
        yield f"docs/{path.name} does not say that acre holds {held} of these 116"


def meant_differences(expected):
    """What a mode is meant to stop may not pass in it."""
    for name, one in expected.items():
        for mode, column in (("always", "default"), ("hardened", "hardened")):
            if one.meant == mode and one.outcomes[column] == PASSES:
                yield f"{name} is meant to be stopped {mode}, and passes"


# --- showing ---


def show_counts(title, outcomes):
    print(f"{title:20}{'kinds':>7}{'stopped':>9}{'no effect':>11}{'passes':>8}")
    for name, *numbers in counted(outcomes):
        print(f"{name:20}{numbers[0]:7}{numbers[1]:9}{numbers[2]:11}{numbers[3]:8}")


def show_table(results, expected):
    for result in results:
        one = expected.get(result.kind.name)
        meant = one.meant if one else "?"
        said = f"  {' | '.join(result.lines)}" if result.lines else ""
        print(f"{result.kind.name:40}{meant:10}{result.outcome:11}{result.how}{said}")
    print()
    show_counts("group", ((result.kind.group, result.outcome) for result in results))
    crashes = sum(result.outcome == PASSES and bool(re.search("SIGSEGV|SIGBUS", result.how)) for result in results)
    print(f"Of those that pass, {crashes} crash later, or inside of the allocator, where no guard is.\n")
    held = held_of_public_suite({result.kind.name: result.outcome for result in results})
    print(f"Of the 116 programs of {PUBLIC_SUITE.name}: {held} are stopped or have no effect.\n")
    show_counts("meant", ((expected[result.kind.name].meant, result.outcome) for result in results
                          if result.kind.name in expected))


def show_json(results, expected):
    json.dump([{"kind": result.kind.name, "group": result.kind.group, "about": result.kind.about,
                "meant": expected[result.kind.name].meant if result.kind.name in expected else None,
                "outcome": result.outcome, "how": result.how, "lines": result.lines} for result in results],
              sys.stdout, indent=1)
    print()


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alloc", metavar="NAME", help="acre, glibc, or the path of a library to preload; a table")
    parser.add_argument("--conf", default="", help="acre's options, as ACRE_CONF has them")
    parser.add_argument("--column", choices=COLUMNS, default="default", help="what of expected.txt holds")
    parser.add_argument("--kind", metavar="PATTERN", default="*")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="kinds, and what each does")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args(arguments)


def main(arguments):
    options = parsed(arguments)
    library = {None: LIBRARY, "acre": LIBRARY, "glibc": None}.get(options.alloc, options.alloc)
    if library is not None and not Path(library).exists():
        raise Failed(f"{library}: no such library; --alloc takes acre, glibc or a path")
    suite = Suite(library, options.conf)
    all_kinds = list(suite.kinds())
    kinds = [kind for kind in all_kinds if fnmatch.fnmatch(kind.name, options.kind)]
    if not kinds:
        raise Failed(f"no kind is named {options.kind}: --list has them")
    if options.list:
        print("\n".join(f"{kind.name:40}{kind.about}" for kind in kinds))
        return 0
    # Hundreds of deliberate aborts should leave no core files.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    head, expected = read_expected()
    results = list(run_all(suite, kinds, options.jobs))
    if options.json:
        show_json(results, expected)
        return 0
    if options.update:
        write_expected(head, expected, results, options.column, [kind.name for kind in all_kinds])
        return 0
    if options.alloc is not None:
        show_table(results, expected)
        return 0
    if options.column == "hardened":
        # A byte that is written may be the one that the canary has there: once in 256 times.
        results = [suite.run(result.kind) if [*differences([result], expected, options.column)] else result
                   for result in results]
    problems = list(differences(results, expected, options.column))
    problems += [f"{name} is no kind" for name in expected if name not in {kind.name for kind in all_kinds}]
    problems += page_differences(all_kinds, expected, options.column)
    problems += mode_differences(all_kinds, expected)
    problems += [*public_suite_differences(expected, options.column), *meant_differences(expected)]
    print("\n".join(problems + [f"{len(results)} kinds, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as failure:
        sys.exit(f"{Path(__file__).name}: {failure}")
