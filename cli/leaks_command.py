"""acre leaks: reports of leaks, from files that the library wrote or from a process that runs."""

import glob
import json
import os
import re
import sys
import time

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


def setting_of(pid, name):
    """What a process was started with, as the last ACRE_CONF of its environment says."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError as error:
        fail(f"leaks: process {pid}: {error.strerror}", 2)
    conf = next((os.fsdecode(entry[10:]) for entry in entries if entry.startswith(b"ACRE_CONF=")), "")
    found = re.findall(rf"(?:^|,)\s*{name}:([^,]*)", conf)
    return found[-1] if found else None


def ask_process(pid):
    """Has a running process write a report. -> its path"""
    number = setting_of(pid, "leaks_signal")
    if not number or not number.isdigit() or number == "0":
        fail(f"leaks: process {pid} takes no order: start it with ACRE_CONF=leaks:normal,leaks_signal:12, say", 2)
    folder = os.path.join(f"/proc/{pid}/cwd", setting_of(pid, "leaks_folder") or "")
    if folder.startswith(f"/proc/{pid}/cwd"):
        folder = os.path.join(os.readlink(f"/proc/{pid}/cwd"), setting_of(pid, "leaks_folder") or "")
    pattern = os.path.join(glob.escape(folder), f"*.{pid}.[0-9]*.leaks.json")
    before = set(glob.glob(pattern))
    os.kill(int(pid), int(number))
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and os.path.isdir(f"/proc/{pid}"):
        for path in set(glob.glob(pattern)) - before:
            if is_whole(path):
                return path
        time.sleep(0.02)
    fail(f"leaks: process {pid} has written no report to '{folder}'", 2)


def is_whole(path):
    try:
        with open(path, "rb") as file:
            return json.loads(file.read().decode(errors="surrogateescape")) is not None
    except ValueError:
        return False


def main(arguments):
    options = parse(arguments)
    sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be UTF-8
    path = options.what
    live = path.isdigit() and not os.path.exists(path)
    if live:
        path = ask_process(path)
    report = Report(path, rules_from(options.suppressions, options.default))
    if live:
        os.unlink(path)
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
