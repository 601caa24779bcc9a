"""Pages as tests read them: indented blocks of commands, and what the text says that they print.

Where the text behind a command begins with "prints", the next block has lines that it printed: but for numbers, which
may be others, and "…", which stands for any text. A command has to end with 0, with what a comment says
("# ends with 23"), or to show a Python program that gets no memory; and acre may not complain about what it was told.
"""

import re

INDENT = "    "
COMPLAINTS = ("is ignored", "cannot be preloaded", "not found", "No such file", "usage:", "Traceback")
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


def commands_of(text, command):
    """The blocks that begin with what `command` matches, each with the block of what it prints."""
    commands, last = [], None
    for block in blocks_of(text):
        if last is not None and re.match(r"prints\b(?!.*\n\n)", block.before, re.S):
            last.shown, last = block, None
            continue
        last = block if command.match(block.text) else None
        if last is not None:
            commands.append(block)
    return commands


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
        shown = block.shown is not None and complaint in block.shown.text
        if complaint in err and not shown and not (out_of_memory and complaint == "Traceback"):
            return err
    missing = not_printed(block, out + err) if block.shown else []
    return "not printed:\n" + "\n".join(missing) + f"\nbut:\n{out}{err}" if missing else None


def script_of(blocks, folder, times=1):
    """For bash: each block with what it says in files of a folder, and each sleep so many times as long."""
    script = f"sleep() {{ for _ in {{1..{times}}}; do command sleep $1; done; }}\n"
    script += "".join(f"{{\n{block.text}\n}} > {folder}/{at}.out 2> {folder}/{at}.err\n"
                      f"echo $? > {folder}/{at}.status\n" for at, block in enumerate(blocks))
    return script + "kill $(jobs -p) 2> /dev/null; wait"


def problems_in(blocks, folder):
    """-> (block, what is wrong) …, after the script has run. folder: a Path, as this process sees it"""
    for at, block in enumerate(blocks):
        told = [folder / f"{at}.{what}" for what in ("status", "out", "err")]
        status, out, err = (path.read_text(errors="replace") if path.exists() else "" for path in told)
        problem = problem_of(block, int(status or -1), out, err)
        if problem is not None:
            yield block, problem
