#!/usr/bin/env python3
"""The commands that the documentation prints work as printed: run.py [--list] [PAGE…]

Each indented block of a page that begins with a command is run by a shell of its own, in the root of the repository. It
has to end with 0, or to show a Python program that gets no memory, and acre may not complain about what it was told. Pages:
those below, unless some are named. Blocks that need root to mount something are passed over where that is refused.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("memory.md", "sources.md", "tags.md", "options.md", "record.md", "plot.md")
COMMAND = re.compile(r"(ACRE_CONF=|\./acre |cc |c\+\+ |sh -c |mkdir |truncate |echo )")
INDENT = "    "
TIME_LIMIT_S = 400
COMPLAINTS = ("is ignored", "not found", "No such file", "usage:", "Traceback")


def blocks_of(text):
    """Indented blocks, with an empty line or a line of text before and after them."""
    block = []
    for line in text.splitlines() + [""]:
        if line.startswith(INDENT):
            block.append(line.removeprefix(INDENT))
            continue
        if block:
            yield "\n".join(block)
        block = []


def commands_of(page):
    return [block for block in blocks_of((ROOT / "docs" / page).read_text()) if COMMAND.match(block)]


def needs_root(block):
    return "mount " in block


def problem_of(block):
    """Runs it. None: all is well."""
    environment = {name: value for name, value in os.environ.items() if name not in ("ACRE_CONF", "LD_PRELOAD")}
    ended = subprocess.run(["bash", "-c", block], cwd=ROOT, env=environment, text=True, capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S, check=False)
    out_of_memory = "MemoryError" in ended.stderr
    if ended.returncode not in ((0, 1) if out_of_memory else (0,)):
        return f"status {ended.returncode}: {ended.stderr}"
    for complaint in COMPLAINTS:
        if complaint in ended.stderr and not (out_of_memory and complaint == "Traceback"):
            return ended.stderr
    return None


def may_mount():
    script = "d=$(mktemp -d) && mount -t tmpfs none $d && umount $d && rmdir $d && test -w /proc/sys/vm/nr_hugepages"
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False).returncode == 0


def main():
    words = sys.argv[1:]
    show = "--list" in words
    pages = [word for word in words if word != "--list"] or PAGES
    failures = count = 0
    for page in pages:
        for block in commands_of(page):
            if show:
                print(f"{page}:\n{block}\n")
                continue
            if needs_root(block) and not may_mount():
                print(f"{page}: passed over, needs root: {block.splitlines()[0]}")
                continue
            count += 1
            problem = problem_of(block)
            if problem is not None:
                failures += 1
                print(f"{page}: failed:\n{block}\n{problem}")
    if not show:
        print(f"{count} commands, {failures} failed")
    return 1 if failures or (count == 0 and not show) else 0


if __name__ == "__main__":
    sys.exit(main())
