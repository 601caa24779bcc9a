"""Runs a program of another processor by QEMU's user mode: run.py MACHINE PROGRAM ARGS…

Exits with 77, after the reason, if a line of not_emulated.txt concerns the program. What of the program's environment
is not for this script (LD_PRELOAD) is handed on.
"""

import os
import re
import sys

SKIPPED = 77
CPU = {"aarch64": ("-cpu", "max,sve=off")}  # QEMU 7.2 lets no SVE instruction read where pages were moved away
HERE = os.path.dirname(os.path.abspath(__file__))


def reasons():
    """[(regular expression of a test, why)]"""
    why, found = "", []
    with open(os.path.join(HERE, "not_emulated.txt"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                why = line[1:].strip()
            elif line.strip():
                found.append((re.compile(line.strip()), why))
    return found


def name_of(program, arguments):
    """surface_basic_linked, fuzz_heaps, acre_unit:Suite.Test"""
    name = os.path.basename(program)
    for argument in arguments:
        if argument.startswith("--gtest_filter="):
            name += ":" + argument.split("=", 1)[1]
    return name


def main(machine, program, *arguments):
    name = name_of(program, arguments)
    for test, why in reasons():
        if test.search(name):
            print(f"QEMU: {why}")
            return SKIPPED
    emulator = [f"qemu-{machine}", *CPU.get(machine, ()), "-L", f"/usr/{machine}-linux-gnu"]
    environment = dict(os.environ, ACRE_EMULATOR=" ".join(emulator))
    if preload := environment.pop("LD_PRELOAD", None):
        emulator += ["-E", f"LD_PRELOAD={preload}"]
    os.execvpe(emulator[0], [*emulator, program, *arguments], environment)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
