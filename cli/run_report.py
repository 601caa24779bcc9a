"""acre run --profile, --stats: runs PROGRAM to its end, as a child, and says what was written, also for processes that
could not write it themselves."""

import glob
import os
import shutil
import sys
import tempfile
import time

import child
from heap_profile.postmortem import ENDED, PROFILE_WRITTEN, STATISTICS_PRINTED, Postmortem
from heap_profile.protobuf import Malformed
from places import NAME
from say import say

MOST_NAMED = 5  # processes


class Kept:
    """The folder in which processes keep what they may not live to write; none where nothing is asked for."""

    def __init__(self, options):
        self.options = options
        self.folder = None

    def __enter__(self):
        if self.options.stats or self.options.profile is not None:
            try:
                self.folder = tempfile.mkdtemp(prefix="acre-run-")
            except OSError as error:
                say(f"run: what a process cannot write itself is lost, without a temporary folder: {error.strerror}")
        return self

    def __exit__(self, *_):
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def settings(self):
        return [f"postmortem:{self.folder}"] if self.folder else []

    def report(self, root, code):
        could_not_start = code in (child.NOT_EXECUTABLE, child.NOT_FOUND) and not os.listdir(self.folder or ".")
        if self.folder and not could_not_start:
            report(self.options, self.folder, root, code)


def run(options, start):
    """start(settings): becomes the program. -> its exit code"""
    with Kept(options) as kept:
        root, code = child.run(lambda: start(kept.settings()))
        kept.report(root, code)
    return child.end_as(code)


class Process:
    def __init__(self, kept, path, root, code):
        self.kept = kept
        self.pid = kept.pid
        self.name = os.path.basename(path).split(f".{kept.pid}.")[0]
        self.is_root = kept.pid == root
        self.code = code if self.is_root else None
        self.runs = self.is_replaced = False
        self.written = bool(kept.written & PROFILE_WRITTEN)
        self.printed = bool(kept.written & STATISTICS_PRINTED)

    def __str__(self):
        return f"{self.name} ({self.pid})"

    def how_it_ended(self):
        """For one that did not end as it should."""
        if self.is_replaced:
            return "exec replaced it"
        if self.code is not None and self.code < 0:
            return f"{child.signal_name(-self.code)} ended it"
        if self.code is not None:
            return f"it ended by _exit({self.code})"
        return "a signal or _exit ended it, or exec replaced it"


def has_only_begun(path, pid):
    """Whether the process is making the file, or ended before that was done."""
    with open(path, "rb") as file:
        return os.path.exists(f"/proc/{pid}") or not file.read(8).strip(b"\0")


def processes(folder, root, code):
    """In the order of their starts."""
    found = []
    for path in glob.glob(os.path.join(glob.escape(folder), "*.postmortem")):
        try:
            with open(path, "rb") as file:
                found.append(Process(Postmortem(file.read()), path, root, code))
        except (OSError, Malformed, ValueError):
            name, pid = os.path.basename(path).rsplit(".", 3)[:2]
            if not has_only_begun(path, pid):
                say(f"what {name} ({pid}) kept of its profile and statistics cannot be read")
    found.sort(key=lambda process: process.kept.start_ns)
    last = {process.pid: process for process in found}
    for process in found:
        if last[process.pid] is not process:
            process.is_replaced = True
        elif process.kept.state != ENDED and not process.is_root:
            process.runs = os.path.exists(f"/proc/{process.pid}")
    return found


def importance(process):
    """Of processes, the program's own: the one that crashed, else the last that ended as it should. A shell around it
    ends by _exit, and may keep newer statistics."""
    crashed = process.is_root and process.code < 0 and not process.is_replaced
    return crashed, process.kept.state == ENDED, process.kept.statistics_ns


def report(options, folder, root, code):
    found = processes(folder, root, code)
    if not found:
        return say(f"run: nothing to report: acre was not loaded in {os.path.basename(options.program[0])}")
    if options.stats == "main":
        print_statistics(max(found, key=importance))
    elif options.stats:
        silent = [process for process in found if not process.printed and not process.runs]
        for process in silent[-MOST_NAMED:]:
            print_statistics(process)
        if len(silent) > MOST_NAMED:
            say(f"{len(silent) - MOST_NAMED} earlier processes did not print their statistics either; "
                f"`{NAME} run --stats=main` prints those of the last process only")
    if options.profile is not None:
        report_profiles(options, found)


def print_statistics(process):
    kept = process.kept
    if not kept.statistics:
        why = "" if kept.state == ENDED else f", since {process.how_it_ended()}"
        return say(f"{process} left no statistics{why}")
    if kept.state != ENDED:
        say(f"{process} did not print its statistics, since {process.how_it_ended()}; the last ones, "
            f"{(time.time_ns() - kept.statistics_ns) / 1e9:.2f} s old:")
    sys.stderr.write(kept.statistics)
    sys.stderr.flush()


def save(options, process):
    """Writes the profiles that the process did not write. -> the path of the first"""
    from heap_profile import pprof  # not before the program starts
    folder = options.folder or "."
    name = f"{process.name}.{process.pid}"
    number = 0
    while os.path.exists(path := os.path.join(folder, f"{name}{f'.{number}' if number else ''}.live.pb.gz")):
        number += 1  # of a program that exec replaced
    for profile, end in ((process.kept.profile(), "live"), (process.kept.peak(), "peak")):
        with open(path.replace(".live.pb.gz", f".{end}.pb.gz"), "wb") as file:
            file.write(pprof.write(profile))
    return path


def report_profiles(options, found):
    paths = []
    for process in found:
        if process.runs:
            say(f"{process} still runs: `{NAME} heap {process.pid}` shows its profile")
        elif process.written:
            paths.append((process, os.path.join(options.folder or ".", f"{process.name}.{process.pid}.live.pb.gz"), ""))
        elif process.kept.is_sampled():
            try:
                paths.append((process, save(options, process), f", as it was when {process.how_it_ended()}"))
            except OSError as error:
                say(f"{process}: its profile cannot be written: {error.strerror}")
    with_samples = [entry for entry in paths if entry[0].kept.is_sampled()]
    if not with_samples:
        return say("nothing was sampled: too little was allocated for one sample in "
                   f"{options.profile or '512K'} bytes; `{NAME} run --profile=0` samples every block")
    for process, path, how in with_samples[:MOST_NAMED]:
        say(f"wrote {os.path.normpath(path)}, the profile of {process}{how}")
        if how and process.kept.left_out:
            say(f"{process}: {process.kept.incomplete()}")
    if len(with_samples) > MOST_NAMED:
        say(f"wrote as well the profiles of others, {len(with_samples) - MOST_NAMED} in all")
    largest = max(with_samples, key=lambda entry: entry[0].kept.live_bytes())
    say(f"next: {NAME} heap {os.path.normpath(largest[1])}")
