"""Which blocks of commands no test runs: none that not_run.txt does not name, with the reason."""

import fnmatch
import re
from pathlib import Path

import blocks

HERE = Path(__file__).resolve().parent
NOT_RUN = HERE / "not_run.txt"
BESIDE = ("../README.md", "../CONTRIBUTING.md", "../bench/README.md")
WORDS = ("sudo", r"\./acre", r"acre(?= [a-z])", "cmake", "ctest", r"tests/\S+", r"build/\S+", "cc", r"(clang|g|c)\+\+", "gcc", "musl-gcc",
         "sh -c", "mkdir", "truncate", "echo", "apt", "apt-get", "pip", r"python3(?! \()", "docker", "podman", "RUN", "tar", "make",
         "git", "cargo", "bpftrace", "go", "node", "printf", "kill", "systemctl", "curl", "redis-cli", "sed", "export")
COMMAND = re.compile(rf"(\w+=\S* +)*({'|'.join(WORDS)})(?: |$)", re.M)


def entries():
    """-> (page's pattern, start of the block, whole line) …"""
    for line in NOT_RUN.read_text().splitlines():
        if line and not line.startswith("#"):
            page, start, reason = (part.strip() for part in line.split("|", 2))
            assert reason, line
            yield page, start, line


def is_left_out(page, block, known):
    """Which lines of not_run.txt name the block."""
    return [line for pattern, start, line in known
            if fnmatch.fnmatch(page, pattern) and (start == "*" or block.text.startswith(start))]


def pages_of(docs):
    for path in sorted(docs.glob("**/*.md")):
        if path.relative_to(docs).parts[0] != "decisions":
            yield str(path.relative_to(docs))
    yield from BESIDE


def problems(docs, running):
    """running: page -> blocks that are run."""
    known, used = list(entries()), set()
    for page in pages_of(docs):
        run = {block.text for block in running.get(page, ())}
        for block in blocks.blocks_of((docs / page).read_text()):
            lines = is_left_out(page, block, known)
            used.update(lines)
            if COMMAND.match(block.text) and block.text not in run and not lines:
                yield f"{page}: no test runs this, and {NOT_RUN.name} does not say why:\n{block.text}"
    yield from (f"{NOT_RUN.name}: no page has such a block: {line}" for _, _, line in known if line not in used)
