"""acre leaks: reports of leaks, from files that the library wrote or from a process that runs."""

import json
import os
import sys

import live
from command_line import add_json
from leak_report import Report, rules_from
from say import fail

LEAKS = 23
WAIT_S = 60


def add_arguments(parser):
    parser.explain(
        """
        Prints the leaks of a report that the library has written (`acre run --leaks -o FOLDER`), or makes a running
        process look for its leaks now.
        """,
        (("{acre} leaks $(pidof redis-server)", "what is leaked by now; its threads stop for some milliseconds"),
         ("{acre} leaks --suppressions known.supp app.4711.leaks.json", "a report, without the leaks that are known")),
        {2: "the command line, the report or the suppressions are wrong, or the process cannot be asked",
         LEAKS: "there are leaks"})
    forms = parser.add_mutually_exclusive_group()
    add_json(forms)
    forms.add_argument("--pprof", metavar="FILE", help="write the leaks as a profile for pprof")
    parser.add_argument("--suppressions", action="append", default=[], metavar="FILE",
                        help="leaks that are known (docs/leaks.md); may be given again")
    parser.add_argument("--no-default-suppressions", dest="default", action="store_false",
                        help="not those that come with acre")
    parser.add_argument("what", metavar="REPORT|PID", help="the report's file, or the number of the process")


def ask_process(pid):
    """A running process looks for leaks now. -> its report"""
    try:
        return live.ask(int(pid), "leaks", patience_s=WAIT_S, errors="surrogateescape")
    except live.LiveError as error:
        fail(f"leaks: {error}", 2)


def main(options):
    what = options.what
    live = what.isdigit() and not os.path.exists(what)
    report = Report(what, rules_from(options.suppressions, options.default), ask_process(what) if live else None)
    if options.json:
        json.dump(report.as_json(), sys.stdout, indent=1)
        print()
    elif options.pprof is not None:
        try:
            report.write_pprof(options.pprof)
        except OSError as error:
            fail(f"leaks: cannot write '{options.pprof}': {error.strerror}", 2)
    else:
        sys.stdout.write(report.as_text())
        if live:
            number = report.raw["threads"]
            threads = "thread was" if number == 1 else f"{number} threads were"
            print(f"its {threads} stopped for {report.raw['stopped_us'] / 1000:.1f} ms")
    return LEAKS if report.sites else 0
