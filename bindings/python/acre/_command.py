"""The tools in the wheel."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

HOME = os.path.join(os.path.dirname(os.path.realpath(__file__)), "_home")
NOT_IGNORED = "0"  # signals: Python ignores SIGPIPE and SIGXFSZ at its start, and cannot tell whether others did before


def version() -> str:
    """The version of the package."""
    from ._home.cli import installed
    return installed.VERSION


def environment() -> dict[bytes, bytes]:
    """As this process was given it: in the C locale Python puts an LC_CTYPE into its own."""
    with open("/proc/self/environ", "rb") as file:
        return dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)


def become(words: list[str]) -> NoReturn:
    """Replaces this process by the command acre with these arguments."""
    command = os.path.join(HOME, "cli", "acre.py")
    os.execve(sys.executable, [sys.executable, "-I", "-S", command, NOT_IGNORED, *words], environment())
