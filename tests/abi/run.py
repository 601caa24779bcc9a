#!/usr/bin/env python3
"""The interface of libacre.so.1 is the one that is written down in libacre.so.1.abi: run.py [--update]

abidiff compares names, and the types of the headers that programs hand over, with those of the library. A name that is
new, missing or of another type fails, and so does a member that moved. --update writes down what is new; what programs
may rely on (docs/abi.md) changes only with another SONAME, and --update refuses it.

Each run also tries files that say what the library has not, which have to be told apart. Exit code 77: there is no
abidiff, or this is no x86-64. ACRE_LIB names the library.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "package"))

from checks import Checks  # noqa: E402

WRITTEN = HERE / "libacre.so.1.abi"
LIBRARY = Path(os.environ.get("ACRE_LIB", ROOT / "build/release/libacre.so")).resolve()
HARDENED = LIBRARY.parent / "libacre-hardened.so"
HEADERS = ["--headers-dir", ROOT / "include"]
DIFFERS, BREAKS = 4, 8  # bits of abidiff's exit code
ADDED = re.compile(r"^  <elf-\w+-symbols>\n", re.M)
# What a library must not get away with: (what is said of it, in the file, in its place)
PLANTED = (
    ("a function that it has not", ADDED,
     lambda found, _: found[0] + "    <elf-symbol name='acre_gone' type='func-type' binding='global-binding' "
                              "visibility='default-visibility' is-defined='yes'/>\n"),
    ("a structure of another size", re.compile(r"(<class-decl name='mallinfo2' size-in-bits=)'(\d+)'"),
     lambda found, _: f"{found[1]}'{int(found[2]) - 64}'"),
    ("a parameter of another type", re.compile(r"(<function-decl name='acre_malloc' .*\n *<parameter type-id=)'[^']*'"),
     lambda found, pointer: f"{found[1]}'{pointer}'"),
)


def write(path):
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--exported-interfaces-only", "--no-show-locs",
                    "--drop-private-types", *HEADERS, "--out-file", path, LIBRARY], check=True)


def difference(written, now):
    """-> abidiff's exit code, what it said"""
    ended = subprocess.run(["abidiff", "--drop-private-types", written, now], capture_output=True, text=True)
    return ended.returncode, ended.stdout + ended.stderr


def breaks(code, said):
    """Beyond what is new."""
    return code & BREAKS or code & 3 or re.search(r"[1-9]\d* (Removed|Changed)", said)


def update(now):
    code, said = difference(WRITTEN, now) if WRITTEN.exists() else (0, "")
    print(said, end="")
    if breaks(code, said):
        print(f"run.py: {WRITTEN} is as it was: what programs rely on changes only with another SONAME (docs/abi.md)",
              file=sys.stderr)
        return 1
    shutil.copy(now, WRITTEN)
    return 0


def check_planted(checks, now, folder):
    text = now.read_text()
    pointer = re.search(r"<pointer-type-def .*id='([^']+)'", text)[1]
    for what, pattern, other in PLANTED:
        changed, count = pattern.subn(lambda found: other(found, pointer), text, count=1)
        path = folder / "planted.abi"
        path.write_text(changed)
        code, said = difference(path, now)
        checks.that(count == 1 and breaks(code, said), f"{what} is found", f"{count} places, exit code {code}\n{said}")


def names_in(library):
    said = subprocess.run(["nm", "-D", "--defined-only", "-P", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in said.splitlines()}


def main():
    if shutil.which("abidiff") is None:
        print("there is no abidiff (Debian: abigail-tools)")
        return 77
    if platform.machine() != "x86_64":
        print("what is written down is of x86-64")
        return 77
    with tempfile.TemporaryDirectory(prefix="acre-abi-") as folder:
        now = Path(folder, "now.abi")
        write(now)
        if sys.argv[1:] == ["--update"]:
            return update(now)
        checks = Checks()
        code, said = difference(WRITTEN, now)
        if breaks(code, said):
            checks.that(False, "programs find what they were linked with (docs/abi.md)", said)
        else:
            checks.that(code == 0, f"{WRITTEN.name} has all that libacre.so exports: tests/abi/run.py --update", said)
        if not HARDENED.exists():
            return f"run.py: {HARDENED} is not there: cmake --build {HARDENED.parent}"
        other = names_in(LIBRARY) ^ names_in(HARDENED)
        checks.that(not other, "libacre-hardened.so exports what libacre.so does", sorted(other))
        check_planted(checks, now, Path(folder))
        return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
