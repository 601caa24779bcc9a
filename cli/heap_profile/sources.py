"""Where profiles come from. A source is a function from what was written on the command line to bytes, or None if that
is none of its words; the first that gives some counts."""

import os
import sys

import live

from . import legacy, postmortem, pprof


def standard_input(word):
    return sys.stdin.buffer.read() if word == "-" else None


def is_process(word):
    return word.isdecimal() and not os.path.exists(word)


def process(word):
    """A running one, which makes its profile now."""
    return live.heap_profile(int(word)) if is_process(word) else None


def file(word):
    with open(word, "rb") as opened:
        return opened.read()


SOURCES = (standard_input, process, file)


def read(word):
    """The profile; raises OSError, Malformed or live.LiveError."""
    data = next(data for data in (source(word) for source in SOURCES) if data is not None)
    if postmortem.is_postmortem(data):
        return postmortem.Postmortem(data).profile()
    profile = legacy.read(data) if legacy.is_legacy(data) else pprof.read(data)
    if is_process(word):
        profile.pid = int(word)  # as we see it, also of one in a container
        if not profile.samples:
            profile.active = live.ask_json(profile.pid, "ctl", "prof.active")["value"]
    return profile
