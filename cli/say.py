"""What acre says for itself goes to stderr: stdout is the program's, or the answer of a command."""

import os
import sys

from command_names import COMMANDS
from places import NAME


def write(line):
    """Where stderr is closed or full there is nobody to tell, and the exit code has to do."""
    if sys.stderr is None:
        return
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def say(text):
    """'heap: …' is said by acre heap, and all else by acre."""
    name = "acre " if text.partition(": ")[0] in COMMANDS else "acre: "
    write(name + text)


def fail(text, code=1):
    say(text)
    sys.exit(code)


def usage_error(command, text):
    """What is wrong on the command line of `acre COMMAND`; of acre itself, if it is empty."""
    words = f" {command}" if command else ""
    write(f"acre{words}: {text} ('{NAME}{words} --help' tells more)")
    sys.exit(2)


def count(number, word):
    """'1 block', '2 blocks'"""
    return f"{number} {word}" + ("" if number == 1 else "s")


class Progress:
    """One line that is written over again on a terminal, and an occasional line elsewhere."""

    INTERVAL_S = 15

    def __init__(self):
        import time
        self.now = time.monotonic
        self.stream = sys.stderr
        self.terminal = self.stream.isatty()
        self.last = self.now()
        self.shown = False

    def update(self, text):
        if self.terminal:
            self.stream.write(f"\r\033[K{text[:100]}")
            self.stream.flush()
            self.shown = True
        elif self.now() - self.last >= self.INTERVAL_S:
            self.last = self.now()
            print(text, file=self.stream, flush=True)

    def clear(self):
        if self.shown:
            self.stream.write("\r\033[K")
            self.stream.flush()
            self.shown = False
