"""The statistics of several processes as one text of OpenMetrics, or of Prometheus' older format (0.0.4)."""

import re
from typing import NamedTuple

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
DETAILS = ("acre_arena_", "acre_class_", "acre_lock_")  # a process has over a thousand series of these

HEAD = re.compile(r"# (TYPE|UNIT|HELP) (\S+) ?(.*)")
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")


class Family(NamedTuple):
    about: dict      # TYPE, UNIT and HELP
    samples: list


def label(name, value):
    escaped = str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{name}="{escaped}"'


def add(families, text, labels=(), details=True):
    """labels: those that each sample gets, in front of its own."""
    for line in text.split("\n"):
        head, sample = HEAD.fullmatch(line), SAMPLE.fullmatch(line)
        if head:
            family = families.setdefault(head[2], Family({}, []))
            family.about.setdefault(head[1], head[3])
        elif sample and (details or not sample[1].startswith(DETAILS)):
            together = ",".join([*labels, *filter(None, [sample[2]])])
            family.samples.append(f"{sample[1]}{{{together}}} {sample[3]}" if together else line)


def gauge(families, name, meaning, value):
    add(families, f"# TYPE {name} gauge\n# HELP {name} {meaning}\n{name} {value}")


def text(families, openmetrics):
    lines = []
    for name, (about, samples) in families.items():
        if not samples:
            continue
        about = dict(about)
        if not openmetrics:  # which knows no units and no infos, and calls a counter as its samples
            about.pop("UNIT", None)
            name += {"counter": "_total", "info": "_info"}.get(about["TYPE"], "")
            about["TYPE"] = about["TYPE"].replace("info", "gauge")
        lines += [f"# {key} {name} {value}" for key, value in about.items()] + samples
    return "\n".join([*lines, *(["# EOF"] if openmetrics else [])]) + "\n"
