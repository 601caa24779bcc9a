#!/usr/bin/env python3
"""How long each step of CONTRIBUTING.md's inner loop takes after a change, in seconds: times.py [SOURCE]

Runs all commands once, so that what the first one builds is there. Then SOURCE (src/cache/large.cc) is as if changed,
and each command runs again, in the order of the page. Nothing is asserted: the machine may be busy.
"""

import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "docs"))

import run as docs  # noqa: E402

PAGE = "../CONTRIBUTING.md"


def timed(block):
    """-> seconds, what went wrong"""
    began = time.monotonic()
    problems = docs.run_blocks([block], 1)
    return time.monotonic() - began, [problem for _, problem in problems]


def main():
    source = docs.ROOT / (sys.argv[1] if len(sys.argv) > 1 else "src/cache/large.cc")
    blocks = [block for block in docs.commands_of(PAGE, docs.OF_BUILDS)
              if "--serve" not in block.text and "./acre test" not in block.text]
    failed = 0
    for turn in ("first", "after a change"):
        if turn != "first":
            os.utime(source)
        print(f"{turn}:")
        for block in blocks:
            seconds, problems = timed(block)
            failed += bool(problems)
            words = block.text.splitlines()[0].strip()
            print(f"{seconds:8.1f} s  {words}{' …' if len(block.text.splitlines()) > 1 else ''}"
                  + "".join(f"\n            failed: {problem}" for problem in problems), flush=True)
    return 1 if failed or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
