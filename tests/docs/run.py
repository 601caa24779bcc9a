#!/usr/bin/env python3
"""The commands that the documentation prints work as printed: run.py [--list] [PAGE…]

Each indented block of a page that begins with a command is run; those of a page in one shell, in the root of the
repository. It has to end with 0, with what a comment says ("# ends with 23"), or to show a Python program that gets no
memory; and acre may not complain about what it was told. Where the text behind it begins with "prints", the next block
has lines that it printed: but for numbers, which may be others, and "…", which stands for any text. Pages: those
below, unless some are named. Blocks that need root to mount something are passed over where that is refused.

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

import links
import standards

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("memory.md", "sources.md", "tags.md", "options.md", "record.md", "plot.md", "quickstart.md",
         *sorted(f"symptoms/{page.name}" for page in (DOCS / "symptoms").glob("*.md")))
COMMAND = re.compile(r"((PYTHONMALLOC|\w*MALLOC\w*|ACRE_CONF)=|\./acre |cc |c\+\+ |sh -c |mkdir |truncate |echo )")
OF_BUILDS = re.compile(r"\./acre |cmake |ctest |tests/|LD_PRELOAD=")  # of CONTRIBUTING.md, by tests/site
INDENT = "    "
TIME_LIMIT_S = 400
LONGER = 8
COMPLAINTS = ("is ignored", "not found", "No such file", "usage:", "Traceback")
NUMBERS = ((r"0x[0-9a-f]+", "NUMBER"), (r"[-+]?\d[\d.]*(?: (?:B|[KMGT]iB)\b)?", "NUMBER"), (r"\[[\w.]{20,}\]", "BAR"))


class Block:
    def __init__(self, text, before):
        self.text = text
        self.before = before  # the text between the last block and this one
        self.shown = None     # the block of what it prints


def blocks_of(text):
    """Indented blocks, with an empty line or a line of text before and after them."""
    block, between = [], []
    for line in text.splitlines() + [""]:
        if line.startswith(INDENT):
            block.append(line.removeprefix(INDENT))
            continue
        if block:
            yield Block("\n".join(block), "\n".join(between).strip())
            block, between = [], []
        between.append(line)


def commands_of(page, command=COMMAND):
    commands, last = [], None
    for block in blocks_of((DOCS / page).read_text()):
        if last is not None and re.match(r"prints\b(?!.*\n\n)", block.before, re.S):
            last.shown = block
        last = block if command.match(block.text) else None
        if last is not None:
            commands.append(block)
    return commands


def needs_root(block):
    return "mount " in block.text


def pattern(line):
    """A regular expression for a line with other numbers."""
    parts = [re.escape(shape(part)).replace(r"\ ", " ") for part in line.split("…")]
    return ".*".join(part if at == 0 else part.lstrip() for at, part in enumerate(parts))


def shape(line):
    for known, name in NUMBERS:
        line = re.sub(known, name, line)
    return " ".join(line.split())


def not_printed(block, said):
    """Lines that are shown and were not printed."""
    lines = [shape(line) for line in said.splitlines()]
    return [line for line in block.shown.text.splitlines()
            if not any(re.fullmatch(pattern(line), printed) for printed in lines)]


def problem_of(block, status, out, err):
    """None: all is well."""
    out_of_memory = "MemoryError" in err
    wanted = re.search(r"# ends with (\d+)", block.text)
    allowed = (int(wanted[1]),) if wanted else (0, 1) if out_of_memory else (0,)
    if status not in allowed:
        return f"status {status}: {err}"
    for complaint in COMPLAINTS:
        if complaint in err and not (out_of_memory and complaint == "Traceback"):
            return err
    missing = not_printed(block, out + err) if block.shown else []
    return "not printed:\n" + "\n".join(missing) + f"\nbut:\n{out}{err}" if missing else None


def problems_of(blocks):
    """-> (block, what is wrong) …; a machine may be too busy for a page's waits, so that these are longer then."""
    return run_blocks(blocks, 1) and run_blocks(blocks, LONGER)


def run_blocks(blocks, times):
    """Runs the blocks of a page in one shell, each sleep so many times as long. -> (block, what is wrong) …"""
    found = []
    environment = {name: value for name, value in os.environ.items() if name not in ("ACRE_CONF", "LD_PRELOAD")}
    # Python itself: pyenv's is a script.
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:{environment['PATH']}"
    with tempfile.TemporaryDirectory(prefix="acre-docs-") as folder:
        script = f"sleep() {{ for _ in {{1..{times}}}; do command sleep $1; done; }}\n"
        script += "".join(f"{{\n{block.text}\n}} > {folder}/{at}.out 2> {folder}/{at}.err\n"
                          f"echo $? > {folder}/{at}.status\n" for at, block in enumerate(blocks))
        subprocess.run(["bash", "-c", script + "kill $(jobs -p) 2> /dev/null; wait"], cwd=ROOT, env=environment,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=TIME_LIMIT_S, check=False)
        for at, block in enumerate(blocks):
            told = [Path(folder, f"{at}.{what}") for what in ("status", "out", "err")]
            status, out, err = (path.read_text(errors="replace") if path.exists() else "" for path in told)
            problem = problem_of(block, int(status or -1), out, err)
            if problem is not None:
                found.append((block, problem))
    return found


def may_mount():
    script = "d=$(mktemp -d) && mount -t tmpfs none $d && umount $d && rmdir $d && test -w /proc/sys/vm/nr_hugepages"
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False).returncode == 0


def main():
    words = sys.argv[1:]
    blocks = {page: commands_of(page) for page in [word for word in words if word != "--list"] or PAGES}
    if "--list" in words:
        for page, known in blocks.items():
            for block in known:
                print(f"{page}:\n{block.text}\n" + (f"prints\n{block.shown.text}\n" if block.shown else ""))
        return 0
    if not may_mount():
        for page, known in blocks.items():
            for block in filter(needs_root, known):
                print(f"{page}: passed over, needs root: {block.text.splitlines()[0]}")
            blocks[page] = [block for block in known if not needs_root(block)]
    failures = [*links.problems(ROOT), *standards.problems(ROOT)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        pages = {page: pool.submit(problems_of, known) for page, known in blocks.items()}
        for page, found in pages.items():
            failures += [f"{page}: failed:\n{block.text}\n{problem}" for block, problem in found.result()]
    print("\n".join(failures))
    count = sum(map(len, blocks.values()))
    print(f"{count} commands, {len(failures)} problems")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
