#!/usr/bin/env python3
"""Searches the interleavings of the ownership protocol and of the page map, as src/ has them; README.md says how.

Every scenario must pass. Every planted bug must be found, and every memory order that is weakened: a search that cannot
fail says nothing.

  run.py                  the engine's own tests, all scenarios, each memory order weakened, the first planted bugs
  run.py --more           also the other planted bugs, and the large scenarios with three preemptions more
  run.py --show NAME      the interleaving that a planted bug fails with
  run.py --scenario NAME  one scenario

Exit status: 0 all as expected, 1 not, 77 no compiler for this machine.
"""

import argparse
import collections
import concurrent.futures
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from planted import BUGS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CODE = ("slab/holder.cc", "slab/transitions.cc", "slab/reclaim.cc", "slab/bin.cc", "slab/purge.cc",
        "pages/page_map.cc")
SCENARIOS = ("world.cc", "scenarios.cc", "page_map_scenarios.cc")
ENGINE = ("engine.cc", "fiber.cc", "tsan_runtime.cc")
ALWAYS_PLANTED = 5
SKIPPED = 77
TIME_LIMIT_S = 600

COMPILER = os.environ.get("CXX", "g++")
SEEN = ["-std=c++20", "-O1", "-g", "-fno-exceptions", "-fno-rtti", "-fsanitize=thread", "-Wno-tsan",
        f"-I{ROOT / 'include'}", f"-I{HERE}"]
UNSEEN = ["-std=c++20", "-O2", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HERE}"]

# What a weaker order of each kind is.
WEAKER = {"acq_rel": ("acquire", "release"), "acquire": ("relaxed",), "release": ("relaxed",), "seq_cst": ("relaxed",)}


class Failed(Exception):
    pass


def compile_file(source, target, flags):
    done = subprocess.run([COMPILER, *flags, "-c", str(source), "-o", str(target)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{source}: does not compile\n{done.stderr}")


def link(objects, target):
    done = subprocess.run([COMPILER, "-no-pie", *map(str, objects), "-o", str(target)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{target.name}: does not link\n{done.stderr}")


def compile_all(jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: compile_file(*job), jobs))


class Search:
    """The search program over one copy of src/."""

    def __init__(self, folder):
        self.folder = folder
        self.objects = {}

    def build(self, name, source_root=ROOT / "src", again=None):
        """again: the files of the code under test that differ from the first build's; None: all are built."""
        place = self.folder / name
        place.mkdir()
        flags = [f"-I{source_root}", *SEEN]
        seen = {**{file: source_root / file for file in CODE}, **{file: HERE / file for file in SCENARIOS}}
        jobs = [(source, place / (source.stem + ".o"), flags) for file, source in seen.items()
                if again is None or file in again]
        if again is None:
            jobs += [(HERE / file, place / (Path(file).stem + ".o"), UNSEEN) for file in (*ENGINE, "main.cc")]
            jobs.append((HERE / "litmus.cc", place / "litmus.o", SEEN))
        compile_all(jobs)
        built = {target.name: target for _, target, _ in jobs}
        if again is None:
            self.objects = built
            link([built[Path(file).stem + ".o"] for file in ENGINE] + [built["litmus.o"]], place / "litmus")
        chosen = {**self.objects, **built}
        chosen.pop("litmus.o")
        link(chosen.values(), place / "search")
        return place / "search"


def run(program, *arguments):
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=TIME_LIMIT_S)


def plant(search, bug, folder):
    """The search program over a copy of src/ that has this bug."""
    copy = folder / ("src-" + bug.name)
    shutil.copytree(ROOT / "src", copy)
    file = copy / bug.file
    text = file.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise Failed(f"{bug.name}: its text is {text.count(bug.old)} times in src/{bug.file}; mend planted.py")
    file.write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    again = (bug.file,) if bug.file.endswith(".cc") else CODE + SCENARIOS
    return search.build(bug.name, copy, again)


def failure(text):
    """The scenario that failed, and its message."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if "FAILED" in line:
            return line.split()[0], lines[i + 1] if i + 1 < len(lines) else ""
    return "", ""


def with_places(program, text):
    """The interleaving with names of functions and lines for addresses in the program."""
    def place(match):
        frames = frames_of(program, match.group(1))
        return "at " + (" in ".join(f"{line} {function}" for function, line in frames[:2]) or match.group(1))
    return re.sub(r"at (0x[0-9a-f]+)$", place, text, flags=re.MULTILINE)


def frames_of(program, address):
    """(function, file:line) of a call that returns to this address, innermost first, the library's own left out."""
    call = hex(int(address, 16) - 1)
    lines = subprocess.run(["addr2line", "-i", "-f", "-C", "-e", str(program), call], capture_output=True,
                           text=True).stdout.splitlines()
    frames = []
    for function, line in zip(lines[::2], lines[1::2]):
        line = line.split(" ")[0]
        if "/c++/" not in line:
            frames.append((function.split("(")[0], re.sub(r"^.*/(src|interleave)/", "", line)))
    return frames


def orders(program, arguments):
    """Places in the source with an order stronger than relaxed: {(line, function, kind, order): addresses}."""
    places = collections.defaultdict(list)
    for line in run(program, *arguments, "--sites").stdout.splitlines():
        if not line.startswith("site "):
            continue
        _, address, kind, order = line.split()
        frames = [frame for frame in frames_of(program, address) if not frame[1].startswith("base/atomics.h")]
        function, where = frames[0]
        if not where.startswith("world.cc"):  # the stand-in for the lock's slow path
            places[where, function, kind, order].append(address)
    return places


class Report:
    def __init__(self):
        self.wrong = 0

    def say(self, right, name, text):
        self.wrong += not right
        print(f"  {'ok   ' if right else 'WRONG'} {name:32} {text}", flush=True)


def check_orders(program, report, arguments):
    print("each memory order, weakened:")
    places = orders(program, arguments)
    if not places:
        report.say(False, "memory orders", "none were met")
    for (where, function, kind, order), addresses in sorted(places.items()):
        for weaker in WEAKER[order]:
            done = run(program, *arguments, "--stop", "--weaken", ",".join(addresses), "--to", weaker)
            scenario, _ = failure(done.stdout)
            name = f"{where} {order} to {weaker}"
            report.say(done.returncode == 1, name, f"found by {scenario}" if scenario else
                       f"not found: {function}'s {kind} needs no {order}, or a scenario is missing")


def check_bugs(search, folder, report, bugs):
    print("planted bugs:")
    for bug in bugs:
        done = run(plant(search, bug, folder), "--stop")
        scenario, message = failure(done.stdout)
        if done.returncode < 0:
            found = f"found: the search ends by signal {-done.returncode}"
        else:
            found = f"found by {scenario}: {message}" if done.returncode == 1 else ""
        report.say(found != "", bug.name, found or f"not found: {bug.what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--show", metavar="NAME", choices=[bug.name for bug in BUGS])
    parser.add_argument("--scenario", metavar="NAME")
    arguments = parser.parse_args()
    if platform.machine() != "x86_64" or shutil.which(COMPILER) is None or shutil.which("addr2line") is None:
        print("skipped: needs g++ and addr2line, on x86-64")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="acre-interleave-") as name:
        folder = Path(name)
        search = Search(folder)
        program = search.build("as-it-is")
        if arguments.show:
            bug = next(bug for bug in BUGS if bug.name == arguments.show)
            planted = plant(search, bug, folder)
            done = run(planted, "--stop")
            print(f"{bug.what}:\n{with_places(planted, done.stdout)}", end="")
            return 0
        if arguments.scenario:
            done = run(program, arguments.scenario)
            print(with_places(program, done.stdout), end="")
            return done.returncode
        report = Report()
        print("the engine:")
        done = run(folder / "as-it-is" / "litmus")
        print("".join(f"  {line}\n" for line in done.stdout.splitlines()), end="")
        report.wrong += done.returncode != 0
        print("scenarios:")
        done = run(program, *(["--all"] if arguments.more else []))
        print("".join(f"  {line}\n" for line in with_places(program, done.stdout).splitlines()), end="", flush=True)
        report.wrong += done.returncode != 0
        if done.returncode == 0:
            check_orders(program, report, [])
            check_bugs(search, folder, report, BUGS if arguments.more else BUGS[:ALWAYS_PLANTED])
        print("all as expected" if report.wrong == 0 else f"{report.wrong} not as expected")
        return 1 if report.wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        print(error)
        sys.exit(1)
