"""acre bench: measures acre against the allocators that a user would pick instead.

  acre bench --quick                        a first impression, in about ten minutes
  acre bench                                what this project judges itself by
  acre bench --full                         every case, every number of threads
  acre bench --workload redis --workload larson --alloc acre --alloc jemalloc
  acre bench --alloc old=/path/to/libacre.so --alloc acre --rounds 9
  acre bench --resume                       goes on where the last run stopped
  acre bench list                           the workloads and the allocators
  acre bench report RESULTS… [-o FOLDER]    the page again, from files of results
  acre bench overhead [--rounds N]          what heap profiling costs redis and a compiler, best with --beside acre
  acre bench --beside acre --alloc new=…    pairs of runs at the same time, on two processors: least noise for programs
  acre bench compare A B [--json]           what got better or worse from A to B
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from rich.console import Console

from . import beside, catalog, compare, overhead, peers, place, plan, progress, report, results, runner
from .workload import Failed

OUT = Console()
TALK = Console(stderr=True)


def say(text):
    TALK.print(f"acre: {text}", highlight=False, markup=False, soft_wrap=True)


def parse(words):
    parser = argparse.ArgumentParser(
        prog="acre bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", dest="extent", action="store_const", const="quick", default="normal")
    extent.add_argument("--full", dest="extent", action="store_const", const="full")
    parser.add_argument("--workload", action="append", default=[], metavar="NAME", help="or a group; repeatable")
    parser.add_argument("--alloc", action="append", default=[], metavar="NAME[=PATH]", help="these allocators only; `all` stands for all known; repeatable")
    parser.add_argument("--rounds", type=int, help="measured rounds, after a warm-up")
    parser.add_argument("--threads", metavar="N,N…", default="", help="only these points of the scaling lines")
    parser.add_argument("--percent", type=int, help="how much of the work is done")
    parser.add_argument("--beside", metavar="NAME", help="each run at the same time as one under this allocator, on another processor; they swap from round to round")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="for the results and the page")
    parser.add_argument("--resume", nargs="?", const="", metavar="FOLDER", help="go on with the last run, or this one")
    options = parser.parse_args(words)
    try:
        options.threads = [int(count) for count in options.threads.split(",") if count]
    except ValueError:
        parser.error(f"--threads {options.threads}: numbers with commas are wanted")
    options.rounds = options.rounds or plan.ROUNDS[options.extent]
    options.percent = options.percent or plan.PERCENT[options.extent]
    if options.rounds < 1 or not 1 <= options.percent <= 1000:
        parser.error("--rounds is at least 1, --percent from 1 to 1000")
    return options


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
        raise ValueError(f"{folder} holds results already: resume them (--resume {folder}) or name another folder")
    return folder


def resumed_words(folder):
    """The command of the run that is resumed: it is done again, and what is there is skipped."""
    sessions = results.read([folder / "results.jsonl"]).sessions
    return sessions[0]["command"] if sessions else []


def prepare(lab, workloads):
    """Builds what the workloads need. -> those that can run here"""
    ready = []
    for workload in workloads:
        try:
            workload.prepare(lab)
            ready.append(workload)
        except Failed as failure:
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
        return plan.steps(workloads, allocators, extent, options.rounds, options.threads)
    known = {allocator.name: allocator for allocator in allocators}
    if options.beside not in known:
        raise ValueError(f"--beside {options.beside}: none of the allocators of this run, {', '.join(known)}")
    base = known.pop(options.beside)
    if options.alloc and not {peers.BASE, peers.ALL} & set(options.alloc):
        known.pop(peers.BASE, None)  # which takes part in other runs unasked
    return plan.pairs(workloads, base, list(known.values()), extent, options.rounds, options.threads)


def measure(lab, options, words):
    folder = output_folder(lab, options)
    workloads = plan.choose(catalog.load(), options.workload)
    if options.beside is not None:
        check_pairs(workloads)
    with lab.alone():
        lab.prepare()
        allocators, missing = peers.ensure(lab, options.alloc, say)
        workloads = prepare(lab, workloads)
    for name, reason in missing.items():
        say(f"{name} is not here, and is left out: {reason}")
    steps = planned(workloads, allocators, options)
    if not steps:
        raise ValueError("no case matches")
    folder.mkdir(parents=True, exist_ok=True)
    journal = runner.Journal(folder / "results.jsonl")
    given = {"command": words, "extent": options.extent, "rounds": options.rounds, "percent": options.percent}
    journal.write("session", **runner.session(lab, allocators, workloads, **given))
    say(f"{len(workloads)} workloads, {len(allocators)} allocators, {len(steps)} runs; results in {folder}")
    interrupted = False
    with progress.Bar(TALK) as bar:
        work = runner.Runner(lab, journal, options.percent, bar)
        try:
            work.run(steps)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        say(f"interrupted; go on with: acre bench --resume {folder}")
    if options.beside is None:
        show(folder, [folder / "results.jsonl"])
    else:
        overhead.show(folder, OUT, options.beside, ())
    return 130 if interrupted else 1 if work.given_up else 0


def show(folder, files):
    found = results.read(files)
    if not found.runs:
        say("there is no result yet")
        return
    report.show(found, OUT)
    page = report.write(found, folder)
    say(f"the report: {page}")


def list_all():
    for workload in catalog.load().values():
        OUT.print(f"[bold]{workload.name}[/bold]  ({workload.group}) {workload.summary}", highlight=False, soft_wrap=True)
        cases = [case.label for case in workload.cases if case.label]
        if cases:
            OUT.print(f"    {'; '.join(cases)}", highlight=False, markup=False, soft_wrap=True)
    OUT.print(f"\n[bold]allocators[/bold]  {', '.join(peers.names())}", highlight=False, soft_wrap=True)
    return 0


def make_report(words):
    parser = argparse.ArgumentParser(prog="acre bench report")
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("."))
    options = parser.parse_args(words)
    show(options.output, [file / "results.jsonl" if file.is_dir() else file for file in options.results])
    return 0


def main(words):
    command = words[0] if words else ""
    try:
        if command == "list":
            return list_all()
        if command == "report":
            return make_report(words[1:])
        if command == "compare":
            return compare.main(words[1:], OUT)
        if command == "overhead" and words[1:2] == ["--of"]:
            overhead.show(words[2], OUT)
            return 0
        if command == "overhead":
            words = overhead.words(words[1:])
        lab = place.here()
        options = parse(words)
        if options.resume is not None:
            folder = output_folder(lab, options)
            words = [*resumed_words(folder), "--resume", str(folder)]
            options = parse(words)
        code = measure(lab, options, words)
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
