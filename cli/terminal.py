"""What the terminal can show, and text that fits it."""

import os
import re
import shutil
import sys
import textwrap


def is_dumb():
    return os.environ.get("TERM", "dumb") in ("dumb", "")


def has_input():
    return sys.stdin.isatty()


def width():
    """Columns of the terminal on stdout; None: stdout is none, and lines are left whole."""
    return max(40, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None


def in_colour():
    """https://no-color.org/"""
    return sys.stdout.isatty() and not is_dumb() and not os.environ.get("NO_COLOR")


def wrapped(lead, text, columns, plain_lead=None):
    """The lines of a text behind its lead, under which it goes on. plain_lead: the lead without colours."""
    indent = len(lead if plain_lead is None else plain_lead)
    if columns is None:
        return [lead + text]
    first, *more = textwrap.wrap(text, max(20, columns - indent), break_on_hyphens=False) or [""]
    return [lead + first] + [" " * indent + line for line in more]


def cut(text, columns):
    return text if columns is None or len(text) <= columns else text[:columns - 1] + "…"


def folded(name):
    """A C++ function's name without the arguments of templates and functions."""
    before, name = None, name.replace("(anonymous namespace)", "{anonymous}")
    while before != name:
        before, name = name, re.sub(r"(?<!operator)<[^<>]+>", "", name)
    while before != (name := re.sub(r"(?<!operator)\([^()]*\)( const)?", "", name)):
        before = name
    return name or before
