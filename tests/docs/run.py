#!/usr/bin/env python3
"""The commands that the documentation prints work as printed: run.py [--list] [PAGE…]

Each indented block of a page that begins with a command is run, those of a page in one shell, in the root of the
repository; blocks.py says how. Pages: those below, unless some are named. Blocks that need root to mount something are
passed over where that is refused.

A block of commands that no test runs is named in not_run.txt, with the reason (coverage.py).

All pages are in the site's navigation, and links from page to page lead somewhere (links.py). The tests that
docs/standards.md names exist (standards.py).
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import blocks
import coverage
import links
import standards

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("memory.md", "sources.md", "tags.md", "options.md", "record.md", "plot.md", "quickstart.md", "hardened.md",
         "../README.md",
         *sorted(f"symptoms/{page.name}" for page in (DOCS / "symptoms").glob("*.md")))
COMMAND = re.compile(r"((LD_PRELOAD|PYTHONMALLOC|\w*MALLOC\w*|ACRE_CONF)=|\./acre |cc |c\+\+ |sh -c |mkdir |truncate |echo )")
OF_BUILDS = re.compile(r"\./acre |cmake |ctest |tests/|LD_PRELOAD=")  # of CONTRIBUTING.md, by tests/site
TIME_LIMIT_S = 400
LONGER = 8


def commands_of(page, command=COMMAND):
    return blocks.commands_of((DOCS / page).read_text(), command)


def run_here(page):
    left_out = list(coverage.entries())
    return [block for block in commands_of(page) if not coverage.is_left_out(page, block, left_out)]


def needs_root(block):
    return "mount " in block.text


def problems_of(known):
    """-> (block, what is wrong) …; a machine may be too busy for a page's waits, so that these are longer then."""
    return run_blocks(known, 1) and run_blocks(known, LONGER)


def run_blocks(known, times):
    """Runs the blocks of a page in one shell, each sleep so many times as long. -> (block, what is wrong) …"""
    environment = {name: value for name, value in os.environ.items() if name not in ("ACRE_CONF", "LD_PRELOAD")}
    # Python itself: pyenv's is a script.
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:{environment['PATH']}"
    with tempfile.TemporaryDirectory(prefix="acre-docs-") as folder:
        subprocess.run(["bash", "-c", blocks.script_of(known, folder, times)], cwd=ROOT, env=environment,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=TIME_LIMIT_S, check=False)
        return list(blocks.problems_in(known, Path(folder)))


def may_mount():
    script = "d=$(mktemp -d) && mount -t tmpfs none $d && umount $d && rmdir $d && test -w /proc/sys/vm/nr_hugepages"
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False).returncode == 0


def main():
    words = sys.argv[1:]
    pages = {page: run_here(page) for page in [word for word in words if word != "--list"] or PAGES}
    if "--list" in words:
        for page, known in pages.items():
            for block in known:
                print(f"{page}:\n{block.text}\n" + (f"prints\n{block.shown.text}\n" if block.shown else ""))
        return 0
    failures = [*links.problems(ROOT), *standards.problems(ROOT)]
    if len(pages) == len(PAGES):
        failures += coverage.problems(DOCS, pages)
    if not may_mount():
        for page, known in pages.items():
            for block in filter(needs_root, known):
                print(f"{page}: passed over, needs root: {block.text.splitlines()[0]}")
            pages[page] = [block for block in known if not needs_root(block)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {page: pool.submit(problems_of, known) for page, known in pages.items()}
        for page, found in running.items():
            failures += [f"{page}: failed:\n{block.text}\n{problem}" for block, problem in found.result()]
    print("\n".join(failures))
    count = sum(map(len, pages.values()))
    print(f"{count} commands, {len(failures)} problems")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
