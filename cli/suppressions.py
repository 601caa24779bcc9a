"""Leaks that are known: docs/leaks.md has the form of the file."""

import fnmatch
import os

from places import ROOT
from say import fail

DEFAULT = os.path.join(ROOT, "share", "leaks.supp")
KINDS = ("function", "object", "file")


class Rule:
    """Holds for a stack if for each of its parts there is a frame that fits."""

    def __init__(self, text, parts):
        self.text = text
        self.parts = parts
        self.blocks = self.bytes = 0

    def fits(self, frames):
        return all(any(fits(kind, pattern, frame) for frame in frames) for kind, pattern in self.parts)


def fits(kind, pattern, frame):
    if kind == "function":
        return frame.function is not None and fnmatch.fnmatchcase(frame.function, pattern)
    path = frame.object if kind == "object" else frame.file
    return path is not None and (fnmatch.fnmatchcase(path, pattern) or
                                 fnmatch.fnmatchcase(os.path.basename(path), pattern))


def read(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError as error:
        fail(f"leaks: the suppressions '{path}' cannot be read: {error.strerror}", 2)
    rules = []
    for number, line in enumerate(lines, 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        parts = [word.partition(":") for word in line.split()]
        for kind, _, pattern in parts:
            if kind not in KINDS or not pattern:
                fail(f"leaks: {path}:{number}: '{kind}' is not one of {', '.join(KIND + ':' for KIND in KINDS)}", 2)
        rules.append(Rule(line, [(kind, pattern) for kind, _, pattern in parts]))
    return rules
