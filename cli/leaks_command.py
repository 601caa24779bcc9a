"""acre leaks: reports of leaks, from files that the library wrote or from a process that runs."""

import json
import os
import sys

import live
from leak_report import Report, rules_from
from say import fail, usage_error

LEAKS = 23
WAIT_S = 60


class Options:
    form = "text"
    output = None
    suppressions = ()
    default = True
    what = ()


def parse(arguments):
    options = Options()
    options.suppressions, options.what = [], []
    words = iter(arguments)
    for word in words:
        if word == "--json":
            options.form = "json"
        elif word == "--pprof" or word.startswith("--pprof="):
            options.form = "pprof"
            options.output = word.partition("=")[2] or next(words, None) or usage_error("leaks: --pprof needs a file")
        elif word == "--suppressions" or word.startswith("--suppressions="):
            options.suppressions.append(word.partition("=")[2] or next(words, None) or
                                        usage_error("leaks: --suppressions needs a file"))
        elif word == "--no-default-suppressions":
            options.default = False
        elif word.startswith("-"):
            usage_error(f"leaks: unknown option '{word}'")
        else:
            options.what.append(word)
    if len(options.what) != 1:
        usage_error("leaks: give one report's file or one process's number")
    options.what = options.what[0]
    return options


def ask_process(pid):
    """A running process looks for leaks now. -> its report"""
    try:
        return live.ask(int(pid), "leaks", patience_s=WAIT_S, errors="surrogateescape")
    except live.LiveError as error:
        fail(f"leaks: {error}", 2)


def main(arguments):
    options = parse(arguments)
    sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be UTF-8
    what = options.what
    live = what.isdigit() and not os.path.exists(what)
    report = Report(what, rules_from(options.suppressions, options.default), ask_process(what) if live else None)
    if options.form == "json":
        json.dump(report.as_json(), sys.stdout, indent=1)
        print()
    elif options.form == "pprof":
        report.write_pprof(options.output)
    else:
        sys.stdout.write(report.as_text())
        if live:
            print(f"its {report.raw['threads']} threads were stopped for {report.raw['stopped_us'] / 1000:.1f} ms")
    return LEAKS if report.sites else 0
