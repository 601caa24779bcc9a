"""acre bench traces: records workloads of the lab once, for replays of them."""

import argparse

from . import arguments, catalog, collect, peers
from .launch import Allocator
from .replay import PREFIX, SUFFIX
from .workload import Failed

USUAL = ("redis", "sqlite", "python", "g++", "z3", "node", "page", "mariadb")


def record(lab, workload, percent, path):
    """One run on acre, of the case of quick runs, into path. -> the line that the collector ends with"""
    part = path.with_suffix(".part")
    allocator = Allocator(peers.OURS, peers.acre_library(lab))
    case = min(workload.cases, key=lambda case: case.extent)  # of a quick run
    try:
        _, said = collect.run(lab, workload, case, allocator, percent, part)
        part.rename(path)
        return said.removeprefix("acre record: ").replace(str(part), str(path))
    finally:
        part.unlink(missing_ok=True)


def main(lab, words, say):
    parser = argparse.ArgumentParser(prog="acre bench traces")
    arguments.traces(parser)
    options = parser.parse_args(words)
    known = catalog.load()
    unknown = [name for name in options.names if name not in known]
    if unknown:
        raise ValueError(f"there is no workload {', '.join(unknown)}; `acre bench --list` shows what there is")
    folder = lab.built / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    code = 0
    with lab.alone():
        lab.prepare()
        for name in options.names or USUAL:
            path = folder / f"{name}{SUFFIX}"
            if path.exists():
                say(f"{PREFIX}{name} is there: {path}; remove it to record it again")
                continue
            try:
                say(f"recording {name}")
                known[name].prepare(lab)
                say(record(lab, known[name], options.percent, path))
            except Failed as failure:
                say(f"{name} could not be recorded: {failure}")
                code = 1
    return code
