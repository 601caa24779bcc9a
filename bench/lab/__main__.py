"""The lab: what `acre bench` becomes. The words are those of lab/arguments.py."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from rich.console import Console

from . import (
    arguments,
    beside,
    budget,
    catalog,
    compare,
    contention,
    musl,
    overhead,
    peers,
    place,
    plan,
    progress,
    replay,
    replay_table,
    report,
    results,
    runner,
    traces,
)
from .workload import Failed

OUT = Console()
TALK = Console(stderr=True)


def count(things, word):
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def say(text):
    TALK.print(f"acre: {text}", highlight=False, markup=False, soft_wrap=True)


def parse(words):
    parser = argparse.ArgumentParser(prog="acre bench")
    arguments.measure(parser)
    options = parser.parse_args(words)
    options.rounds = options.rounds or plan.ROUNDS[options.extent]
    options.percent = options.percent or plan.PERCENT[options.extent]
    return options


def parse_overhead(words):
    parser = argparse.ArgumentParser(prog="acre bench overhead")
    arguments.overhead(parser)
    return parser.parse_args(words)


def parse_own(command, words, add):
    """Of a command with arguments of its own, which add() adds."""
    parser = argparse.ArgumentParser(prog=f"acre bench {command}")
    add(parser)
    return parser.parse_args(words)


def parse_replay(lab, words):
    """-> what to measure, and the one workload"""
    parser = argparse.ArgumentParser(prog="acre replay")
    arguments.replay(parser)
    asked = parser.parse_args(words)
    workload = replay.Replay(asked.recording, asked.process, asked.touch, asked.pace)
    workload.latency = asked.latency
    words = [f"--workload={replay.PREFIX}{workload.recording}", f"--rounds={asked.rounds}",
             *(f"--alloc={name}" for name in asked.alloc or [peers.OURS]),
             f"--output={asked.output or lab.built / 'replays' / time.strftime('%Y-%m-%d-%H%M%S')}"]
    return asked, parse(words), workload


def output_folder(lab, options):
    """Where this run writes; an earlier run's folder if it is to be resumed."""
    all_results = lab.built / "results"
    if options.resume is not None:
        if options.resume:
            folder = Path(options.resume)
        else:
            earlier = sorted(all_results.glob("*/results.jsonl"))
            if not earlier:
                raise ValueError("--resume: there is no earlier run")
            folder = earlier[-1].parent
        if not (folder / "results.jsonl").exists():
            raise ValueError(f"--resume: {folder} holds no results.jsonl")
        return folder
    folder = Path(options.output) if options.output else all_results / time.strftime("%Y-%m-%d-%H%M%S")
    if (folder / "results.jsonl").exists():
        raise ValueError(f"{folder} holds results already: resume them (--resume={folder}) or name another folder")
    return folder


def resumed_words(folder):
    """The command of the run that is resumed: it is done again, and what is there is skipped."""
    sessions = results.read([folder / "results.jsonl"]).sessions
    words = sessions[0]["command"] if sessions else []
    if words[:1] == ["replay"]:
        raise ValueError(f"{folder} is of acre replay, which is not resumed")
    return words


def prepare(lab, workloads, can_do_without):
    """Builds what the workloads need. -> those that can run here"""
    ready = []
    for workload in workloads:
        try:
            workload.prepare(lab)
            ready.append(workload)
            for line in workload.notes:
                TALK.print(line, highlight=False, markup=False, soft_wrap=True)
        except Failed as failure:
            if not can_do_without:
                raise
            say(f"{workload.name} cannot run here, and is left out: {failure}")
    return ready


def check_pairs(workloads):
    """Can they run at the same time as another? ValueError if not."""
    beside.processors()
    alone = [workload.name for workload in workloads if not workload.at_once]
    if alone:
        raise ValueError(f"--beside is not for servers of many processes, {', '.join(alone)}: choose by --workload")


def planned(workloads, allocators, options):
    extent = plan.EXTENTS[options.extent]
    if options.beside is None:
        steps = plan.steps(workloads, allocators, extent, options.rounds, options.threads)
        return plan.breadth_first(steps) if options.extent in plan.MOST_S else steps
    known = {allocator.name: allocator for allocator in allocators}
    if options.beside not in known:
        raise ValueError(f"--beside {options.beside}: none of the allocators of this run, {', '.join(known)}")
    base = known.pop(options.beside)
    if options.alloc and not {peers.BASE, peers.ALL} & set(options.alloc):
        known.pop(peers.BASE, None)  # which takes part in other runs unasked
    return plan.pairs(workloads, base, list(known.values()), extent, options.rounds, options.threads)


def measure(lab, options, words, workloads=None):
    """-> (exit code, the folder of the results)"""
    folder = output_folder(lab, options)
    can_do_without = False
    if workloads is None:
        workloads = plan.choose(catalog.load() | replay.named(lab, options.workload), options.workload)
        can_do_without = True
    if options.beside is not None:
        check_pairs(workloads)
    with lab.alone():
        lab.prepare()
        allocators, missing = peers.ensure(lab, options.alloc, say)
        workloads = prepare(lab, workloads, can_do_without)
    for name, reason in missing.items():
        say(f"{name} is not here, and is left out: {reason}")
    steps = planned(workloads, allocators, options)
    if not steps:
        raise ValueError("no case matches")
    folder.mkdir(parents=True, exist_ok=True)
    journal = runner.Journal(folder / "results.jsonl")
    given = {"command": words, "extent": options.extent, "rounds": options.rounds, "percent": options.percent}
    journal.write("session", **runner.session(lab, allocators, workloads, **given))
    say(f"{count(workloads, 'workload')}, {count(allocators, 'allocator')}, {count(steps, 'run')}; results in {folder}")
    interrupted = False
    with progress.Bar(TALK) as bar:
        limited = budget.Budget(plan.MOST_S.get(options.extent))
        work = runner.Runner(lab, journal, options.percent, bar, limited)
        try:
            work.run(steps)
        except KeyboardInterrupt:
            interrupted = True
    if limited.left_out:
        say(f"{limited.summary()}; take them too with: acre bench --resume={folder}")
    if interrupted:
        say(f"interrupted; go on with: acre bench --resume={folder}")
    return 130 if interrupted else 1 if work.given_up else 0, folder


def run_replay(lab, words):
    try:
        asked, options, workload = parse_replay(lab, words)
        code, folder = measure(lab, options, ["replay", *words], [workload])
    except Failed as failure:
        TALK.print(f"acre replay: {failure}", highlight=False, markup=False, soft_wrap=True)
        return 1
    found = results.read([folder / "results.jsonl"])
    if not found.runs:
        say("there is no result yet")
    elif asked.json:
        replay_table.show_json(found, folder, workload)
    else:
        replay_table.show(found, OUT, workload.facts)
        say(f"the report: {report.write(found, folder)}")
    return code


def show(folder, files):
    found = results.read(files)
    if not found.runs:
        say("there is no result yet")
        return
    report.show(found, OUT)
    page = report.write(found, folder)
    say(f"the report: {page}")


def make_report(words):
    parser = argparse.ArgumentParser(prog="acre bench report")
    arguments.report(parser)
    options = parser.parse_args(words)
    files = [file / "results.jsonl" if file.is_dir() else file for file in options.results]
    if options.json:
        report.show_json(results.read(files), OUT)
    else:
        show(options.output, files)
    return 0


def main(words):
    command = words[0] if words else ""
    try:
        if command == "report":
            return make_report(words[1:])
        if command == "compare":
            return compare.main(words[1:], OUT)
        if command == "overhead":
            asked = parse_overhead(words[1:])
            if asked.of is not None:
                overhead.show(asked.of, OUT, as_json=asked.json)
                return 0
            words = overhead.words(words[1:], asked.record)
        lab = place.here()
        if command == "replay":
            return run_replay(lab, words[1:])
        if command == "contention":
            return contention.main(lab, parse_own(command, words[1:], arguments.contention), say, OUT)
        if command == "musl":
            return musl.main(lab, parse_own(command, words[1:], arguments.musl), say, OUT)
        if command == "traces":
            return traces.main(lab, words[1:], say)
        options = parse(words)
        if options.resume is not None:
            folder = output_folder(lab, options)
            words = [*resumed_words(folder), "--resume", str(folder)]
            options = parse(words)
        code, folder = measure(lab, options, words)
        if options.beside is None:
            show(folder, [folder / "results.jsonl"])
        else:
            overhead.show(folder, OUT, options.beside, ())
        if command == "overhead" and options.beside is None:
            overhead.show(max((lab.built / "results").glob("*/results.jsonl")) if options.output is None
                          else options.output, OUT)
        return code
    except (ValueError, FileNotFoundError, Failed) as error:
        say(str(error))
        return 2


def interrupt(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)  # so that servers end and folders go
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
