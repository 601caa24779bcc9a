"""acre run --leaks: runs PROGRAM to its end, as a child, and says what it has leaked."""

import contextlib
import glob
import os
import shutil
import sys
import tempfile

import child
from leak_report import Report, rules_from
from run_report import Kept
from say import count, fail, say

LEAKS = 23
NOT_CHECKED = 24


def settings(options, folder):
    """The process is named: other programs that it starts are not asked."""
    yield f"leaks:{options.leaks}"
    yield f"leaks_process:{os.getpid()}"
    yield "leaks_exit_code:0"  # what counts is what is left after suppressions
    yield f"leaks_folder:{folder}"


def run(options, start):
    """start(settings): becomes the program. -> its exit code, 23 with leaks, or 24 if it ended without a check"""
    try:
        folder = tempfile.mkdtemp(prefix="acre-leaks-") if options.folder is None else os.path.abspath(options.folder)
    except OSError as error:
        fail(f"run: there is no temporary folder for the report of leaks, and -o names none: {error.strerror}")
    try:
        return run_in(options, start, folder)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def how_it_ended(code):
    if code < 0:
        return f"{child.signal_name(-code)} ended it"
    return (f"it ended with exit code {code} and not by exit() or a return from main: by _exit(), by exec of a program "
            "without acre, or it runs without acre itself")


def reports(folder, pid="*"):
    """-> path of each report -> when it was written, and its file's number"""
    found = {}
    for path in glob.glob(os.path.join(glob.escape(folder), f"*.{pid}.*leaks.json")):
        with contextlib.suppress(OSError):  # somebody removes it
            status = os.stat(path)
            found[path] = status.st_mtime_ns, status.st_ino
    return found


def run_in(options, start, folder):
    rules = rules_from(options.suppressions)
    before = reports(folder)  # perhaps of an earlier process with the number that the program gets
    with Kept(options) as kept:
        root, code = child.run(lambda: start([*settings(options, folder), *kept.settings()]))
        kept.report(root, code)
    leaks = checked = False
    found = reports(folder, root)
    for path in sorted((path for path in found if found[path] != before.get(path)), key=found.get):
        report = Report(path, rules)
        leaks |= bool(report.sites)
        checked |= report.raw["moment"] == "exit"
        if report.sites or not path.endswith(f".{root}.leaks.json"):
            print(report.as_text(), end="", file=sys.stderr)
        else:
            say(report.title() + "no leaks" + (f", but {count(report.suppressed_blocks, 'suppressed block')}"
                                              if report.suppressed_blocks else ""))
    if not checked and options.leaks != "local":
        if code in (child.NOT_EXECUTABLE, child.NOT_FOUND):
            return code  # the reason was said before
        say(f"{os.path.basename(options.program[0])} was not checked for leaks, since {how_it_ended(code)}")
        return LEAKS if leaks else NOT_CHECKED
    return LEAKS if leaks else child.end_as(code)
