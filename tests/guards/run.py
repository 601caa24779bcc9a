"""Guarded blocks (option guard): what ends the program, with which line and which stacks, and that the program's own
handlers for SIGSEGV are called as before. Arguments: names of cases; none: all. ACRE_LIB names the library."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
sys.path.insert(0, str(HERE.parent / "package"))

from checks import Checks, clean_environment, run

LIB = os.environ.get("ACRE_LIB", str(SOURCE / "build/release/libacre.so"))
ABORT, FAULT = -signal.SIGABRT, -signal.SIGSEGV
BLOCK = r"a block of 112 bytes at 0x\w+"
FREED = r"a freed block of 112 bytes at 0x\w+"

# Name: how it ends, the line, the stacks behind it.
ALL, LIVE = ("access", "allocated", "freed"), ("access", "allocated")
AFTER_FREE = (FAULT, rf"write to 0x\w+: use after free: it is 0 bytes into {FREED}", ALL)
MISUSES = {
    "read after free": (FAULT, rf"read from 0x\w+: use after free: it is 8 bytes into {FREED}", ALL),
    "write after free": (FAULT, rf"write to 0x\w+: use after free: it is 8 bytes into {FREED}", ALL),
    "read over": (FAULT, rf"read from 0x\w+: overflow: it is 1 byte past the end of {BLOCK}", LIVE),
    "write over": (FAULT, rf"write to 0x\w+: overflow: it is 32 bytes past the end of {BLOCK}", LIVE),
    "copy over": (FAULT, rf"write to 0x\w+: overflow: it is \d+ bytes? past the end of {BLOCK}", LIVE),
    "read under": (FAULT, rf"read from 0x\w+: underflow: it is 1 byte before the start of {BLOCK}", LIVE),
    "write under": (FAULT, rf"write to 0x\w+: underflow: it is 32 bytes before the start of {BLOCK}", LIVE),
    "over and freed": (FAULT, rf"write to 0x\w+: overflow: it is 1 byte past the end of {FREED}", ALL),
    "double free": (ABORT, r"free\(0x\w+\): double free: the block of 112 bytes is free already", ALL[1:]),
    "delayed double free": (ABORT, r"free\(0x\w+\): double free: the block of 112 bytes is free already", ALL[1:]),
    "interior free": (ABORT, rf"free\(0x\w+\): interior pointer: it is 8 bytes into {BLOCK}", LIVE[1:]),
    "interior free of freed": (
        ABORT, r"free\(0x\w+\): interior pointer: it is 8 bytes into a free block of 112 bytes at 0x\w+", ALL[1:]),
    "free before": (ABORT, rf"free\(0x\w+\): not a block: it is 16 bytes before {BLOCK}", LIVE[1:]),
    "free of guard page": (ABORT, r"free\(0x\w+\): not a block: it is \d+ bytes (before|behind) a (free )?block of .*", None),
    "realloc of freed": (ABORT, r"realloc\(0x\w+\): double free: the block of 112 bytes is free already", ALL[1:]),
    "rest overwritten": (
        ABORT, r"free\(0x\w+\): overwritten: byte 1 behind the 100 bytes that were asked for", ALL[1:]),
    "page overwritten": (
        ABORT, r"free\(0x\w+\): overwritten: byte 1013 behind the 100 bytes that were asked for", ALL[1:]),
    "page overwritten before": (
        ABORT, r"free\(0x\w+\): overwritten: byte 3 before the 100 bytes that were asked for", ALL[1:]),
    "fork": (0, rf"read from 0x\w+: use after free: it is 0 bytes into {FREED}", ALL),
    "thread": (FAULT, rf"read from 0x\w+: use after free: it is 0 bytes into {FREED}", None),
}

# In the hardened mode. Name: the line.
HARDENED = {
    "large over": r"write to 0x\w+: overflow: it is 2401 bytes past the end of a block of 100000 bytes at 0x\w+",
    "large under": r"read from 0x\w+: underflow: it is 1 byte before the start of a block of 100000 bytes at 0x\w+",
    "large after free": r"write to 0x\w+: use after free: it is 50000 bytes into a freed block of 100000 bytes at 0x\w+",
    "over a run's end": r"read from 0x\w+: overflow: it is \d+ bytes? past the end of a block of (100|104) bytes at 0x\w+",
    "under a run's start":
        r"read from 0x\w+: underflow: it is 1 byte before the start of a block of (100|104) bytes at 0x\w+",
    "no bytes": r"read from (0x\w+): overflow: it is 1 byte past the end of a block of 0 bytes at \1",
}

# Name: how it ends, what the program's handler says, whether acre says a line.
HANDLERS = {
    "no handler": (FAULT, "", True),
    "siginfo": (7, "mine: fault\n", True),
    "plain": (7, "mine: plain\n", True),
    "mask": (7, "mine: fault\n", True),
    "nodefer": (7, "mine: fault\n", True),
    "own stack": (7, "mine: fault\n", True),
    "reset": (FAULT, "mine: fault\n", True),
    "returns": (FAULT, "mine: fault\n", True),
    "ignored": (FAULT, "", True),
    "later handler": (FAULT, "mine: fault\n", True),
    "set meanwhile": (7, "mine: fault\n", True),
    "chains": (7, "mine: fault\n", True),
    "never above": (7, "mine: fault\n", False),
    "restored": (FAULT, "", True),
    "sent": (FAULT, "", False),
    "sent and ignored": (0, "went on\n", False),
    "sent to handler": (0, "mine: sent\nwent on\n", False),
    "own fault": (FAULT, "", False),
    "protected by the program": (0, "mine: written\n" * 2, False),
    "own fault to handler": (7, "mine: fault\n", False),
}
HEADS = {"access": "this access by thread", "allocated": "allocated by thread", "freed": "freed by thread"}


def start(program, case, conf="guard:auto,guard_sample:0"):
    environment = clean_environment() | {"LD_PRELOAD": LIB, "ACRE_CONF": conf}
    return subprocess.run([program, case], env=environment, capture_output=True, text=True, timeout=60)


def stacks(text):
    """The stacks of a report: what it is headed by -> the functions' places in the program."""
    found, places = {}, None
    for line in text.splitlines():
        for name, head in HEADS.items():
            if re.fullmatch(rf"acre: {head} \d+:", line):
                places = found.setdefault(name, [])
        place = re.fullmatch(r"acre:   0x\w+  (.*)\+(0x\w+)", line)
        if place and places is not None and Path(place[1]).name == "program":
            places.append(place[2])
    return found


def functions(program, places):
    shown = run(["addr2line", "-f", "-e", program, *(hex(int(place, 16) - 1) for place in places)]).stdout
    return shown.split("\n")[::2]


def check_misuse(checks, program, name):
    code, line, expected = MISUSES[name]
    ended = start(program, name)
    first = ended.stderr.splitlines()[0] if ended.stderr else ""
    checks.that(ended.returncode == code, f"{name}: ends as it should", f"{ended.returncode}: {ended.stderr[:300]}")
    checks.that(re.fullmatch("acre: " + line, first) is not None, f"{name}: the line", first)
    if expected is None:
        return
    found = stacks(ended.stderr)
    checks.that(tuple(found) == tuple(expected), f"{name}: the stacks", str(found))
    for head, function in (("allocated", "make"), ("freed", "drop")):
        if head in found and head in expected:
            names = functions(program, found[head])
            checks.that(names[:1] == [function] and "main" in names, f"{name}: {head} in {function}", str(names))


def check_hardened(checks, program, name):
    ended = start(program, name, "hardened:true")
    lines = ended.stderr.splitlines() or [""]
    checks.that(ended.returncode == FAULT, f"{name}: ends by SIGSEGV", f"{ended.returncode}: {ended.stderr[:300]}")
    checks.that(re.fullmatch("acre: " + HARDENED[name], lines[0]) is not None, f"{name}: the line", lines[0])
    names = functions(program, stacks(ended.stderr).get("access", ()))
    checks.that("main" in names, f"{name}: the stack of the access", ended.stderr[:500])


def check_handler(checks, program, name):
    code, said, is_told = HANDLERS[name]
    ended = start(program, name)
    checks.that(ended.returncode == code, f"{name}: ends as it should", f"{ended.returncode}: {ended.stderr[:300]}")
    checks.that(ended.stdout == said, f"{name}: what the handler says", repr(ended.stdout))
    lines = len(re.findall(r"use after free", ended.stderr))
    checks.that(lines == is_told, f"{name}: acre's lines", ended.stderr[:300])


def check_others(checks, program):
    ended = start(program, "jumps")
    checks.that(ended.stderr.count("use after free") == 2 and ended.returncode == 0 and
                ended.stdout == "mine: fault\nback\n" * 2, "jumps: each access is told",
                f"{ended.returncode}: {ended.stdout} {ended.stderr[:300]}")
    ended = start(program, "thread")
    threads = re.findall(r"by thread (\d+):", ended.stderr)
    checks.that(len(threads) == 3 and threads[0] != threads[1] == threads[2], "thread: stacks name their threads",
                 str(threads))
    ended = start(program, "no handler", "guard:false")
    checks.that(ended.returncode in (0, 90) and not ended.stderr, "guard:false guards nothing", str(ended.returncode))


PLAIN = """
#include <stdlib.h>
static __attribute__((noinline)) char *make(void) { char *volatile p = malloc(100); return p; }
static __attribute__((noinline)) void drop(char *p) { free(p); __asm__ volatile(""); }
int main(int count, char **words) {
    (void)words;
    char *p = make();
    drop(count > 1 ? p + 8 : p);
    drop(p);
    return 0;
}
"""


def check_stacks_without_guards(checks, program):
    def ends(conf, *words):
        environment = clean_environment() | {"LD_PRELOAD": LIB, "ACRE_CONF": conf}
        return subprocess.run([program, *words], env=environment, capture_output=True, text=True).stderr

    def names_behind(text, head):
        places = text.split(f"acre: {head}")[1:]
        found = re.findall(r"program\+(0x\w+)", places[0]) if places else []
        return functions(program, found) if found else []

    checks.that(ends("").count("\n") == 1, "one line, as a rule", ends(""))
    text = ends("abort_backtrace:true")
    names = names_behind(text, "this call by thread")
    checks.that(names[:2] == ["drop", "main"] and text.startswith("acre: free("), "abort_backtrace: the call", text)
    text = ends("prof:true,prof_sample:0", "interior")
    names = names_behind(text, "allocated by:")
    checks.that(names[:2] == ["make", "main"], "where a sampled block was allocated", text)


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program"
        build = ["gcc", "-O1", "-g", "-fno-builtin", "-w", "-pthread"]
        subprocess.run([*build, "-rdynamic", str(HERE / "program.c"), "-o", program], check=True)
        for name in MISUSES:
            check_misuse(checks, program, name)
        for name in HARDENED:
            check_hardened(checks, program, name)
        for name in HANDLERS:
            check_handler(checks, program, name)
        check_others(checks, program)
        (Path(folder) / "plain.c").write_text(PLAIN)
        plain = f"{folder}/plain/program"
        os.mkdir(f"{folder}/plain")
        subprocess.run([*build, f"{folder}/plain.c", "-o", plain], check=True)
        check_stacks_without_guards(checks, plain)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
