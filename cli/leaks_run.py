"""acre run --leaks: runs PROGRAM to its end, as a child, and says what it has leaked."""

import glob
import os
import shutil
import signal
import sys
import tempfile

from leak_report import Report, rules_from
from say import count, say

LEAKS = 23
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # which the program gets, too


def settings(options, folder):
    """The process is named: other programs that it starts are not asked."""
    yield f"leaks:{options.leaks}"
    yield f"leaks_process:{os.getpid()}"
    yield "leaks_exit_code:0"  # what counts is what is left after suppressions
    yield f"leaks_folder:{folder}"


def run(options, start):
    """start(settings): becomes the program. -> its exit code, or 23"""
    folder = os.path.abspath(options.folder) if options.folder is not None else tempfile.mkdtemp(prefix="acre-leaks-")
    try:
        return run_in(options, start, folder)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def run_in(options, start, folder):
    rules = rules_from(options.suppressions)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON + FROM_TERMINAL)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        try:
            start(list(settings(options, folder)))
        finally:
            os._exit(126)
    for number in FROM_TERMINAL:
        signal.signal(number, lambda *_: None)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(child, number))
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    leaks = False
    pattern = os.path.join(glob.escape(folder), f"*.{child}.*leaks.json")
    paths = sorted(glob.glob(pattern), key=os.path.getmtime)
    for path in paths:
        report = Report(path, rules)
        leaks |= bool(report.sites)
        if report.sites or not path.endswith(f".{child}.leaks.json"):
            print(report.as_text(), end="", file=sys.stderr)
        else:
            say(report.title() + "no leaks" + (f", but {count(report.suppressed_blocks, 'suppressed block')}"
                                              if report.suppressed_blocks else ""))
    if not paths and options.leaks != "local":
        say("the program ended without a check for leaks: by a signal, _exit, or since acre was not loaded")
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        return 128 - code
    return LEAKS if leaks else code
