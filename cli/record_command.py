"""acre record: PROGRAM, or a process that runs, is recorded by acre-trace (trace/) beside it."""

import argparse
import contextlib
import glob
import os
import re
import signal
import subprocess

import run_command
import trace_tool
from say import fail, usage_error

LEAST_LIMIT = 4 << 20
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def add_arguments(parser):
    from command_line import add_yes, at_least
    parser.explain(
        """
        Records each allocation and free of PROGRAM and of the processes that it starts, on acre, into a file: what was
        asked for, the block, the thread, the time. With a number instead of PROGRAM it records that process from now
        on, until it ends, or until Ctrl-C. `acre trace` reads the file.

        A process beside the program writes the file, so that a crash or a kill of the program loses nothing.
        """,
        (("{acre} record -- redis-server", "until it ends, into redis-server.actrace"),
         ("{acre} record --stacks=64K -- app", "with the call stack of one in 64 KiB that are allocated"),
         ("{acre} record --limit 1G -o app.actrace -- app", "keep the last GiB, for a service that runs for weeks"),
         ("{acre} record --for 10 $(pidof redis-server)", "ten seconds of a process that runs")),
        {126: "PROGRAM cannot be executed", 127: "PROGRAM was not found"})
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE and not to PROGRAM.actrace")
    parser.add_argument("--stacks", nargs="?", const=1, type=stack_rate, metavar="RATE",
                        help="write the call stack of each allocation down, too, or of one in RATE bytes (64K)")
    parser.add_argument("--for", dest="seconds", type=at_least(0.001, float), metavar="SECONDS",
                        help="end the recording then; the program goes on")
    parser.add_argument("--limit", type=limit_bytes, metavar="SIZE",
                        help="keep the last SIZE bytes only (100M, 4G), in files FILE.00000001 …")
    parser.add_argument("--lib", metavar="PATH", help="use this libacre.so, and build none")
    add_yes(parser)
    parser.add_argument("program", nargs="...", metavar="PROGRAM …|PID",
                        help="the program and its arguments, or the number of a process")
    parser.set_defaults(stats=None, profile=None, folder=None)


def number_of_bytes(text):
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)", text, re.IGNORECASE)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of bytes such as 64K, 1M, 4G")
    return int(found[1]) << UNITS[found[2].upper()]


def stack_rate(text):
    value = number_of_bytes(text)
    if not 1 <= value < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 4G")
    return value


def limit_bytes(text):
    value = number_of_bytes(text)
    if value < LEAST_LIMIT:
        raise argparse.ArgumentTypeError(f"{text} is less than 4M")
    return value


def process_asked_for(options):
    """The number of a process, or None: then there is a program."""
    words = options.program
    if words[:1] == ["--"]:
        options.program = words[1:]
        if not options.program:
            usage_error("record", "no PROGRAM to record")
        return None
    if not words:
        usage_error("record", "no PROGRAM or PID to record")
    if not words[0].isdecimal():
        return None
    if len(words) > 1:
        usage_error("record", f"'{words[1]}' stands behind PID: options stand before it, and a program behind --")
    return int(words[0])


def new_path(name):
    """NAME.actrace, or with a number if an earlier recording is there."""
    number = 0
    while True:
        path = f"{name}{f'.{number}' if number else ''}.actrace"
        if not os.path.exists(path) and not glob.glob(glob.escape(path) + "." + "[0-9]" * 8):
            return path
        number += 1


def collector(options, name):
    """-> the words by which the collector is started, without the program"""
    path = options.output or new_path(name)
    words = [trace_tool.ensure("record", options.yes), "collect", "-o", path]
    if options.seconds is not None:
        words += ["--for", str(options.seconds)]
    if options.stacks is not None:
        words += ["--stacks", str(options.stacks)]
    if options.limit is not None:
        words += ["--limit", str(options.limit)]
    return words


def main(options):
    pid = process_asked_for(options)
    return run(options) if pid is None else attach(options, pid)


def run(options):
    environment = run_command.original_environment()
    path = run_command.find(options.program[0], environment, "record")
    library = run_command.chosen_library(options, "record")
    run_command.warn_if_preload_is_ignored(path)
    words = collector(options, os.path.basename(options.program[0]))
    theirs = dict(environment)
    run_command.add_acre(theirs, library, options, has_socket=False)  # no thread: Chromium's helpers end if they have one
    words += ["--preload", os.fsdecode(theirs[b"LD_PRELOAD"]), "--conf", os.fsdecode(theirs[b"ACRE_CONF"]), "--"]
    run_command.restore_signals()
    os.execve(words[0], [*words, *options.program], environment)


def attach(options, pid):
    import live
    with live.reported("record"):
        process = live.Process(pid)
    words = [*collector(options, f"{process.name}.{process.pid}"), "--attach"]
    tool = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # those from a terminal go to the collector, too
        signal.signal(number, lambda number, _: tool.send_signal(number) if number != signal.SIGINT else None)
    with tool.stdout:
        setting = tool.stdout.readline().strip()
    if not setting:
        return tool.wait() or 1  # it has said why
    try:
        live.ask(process.pid, "record", setting)
    except live.LiveError as error:
        tool.terminate()
        tool.wait()
        fail(f"record: {error}")
    code = tool.wait()
    with contextlib.suppress(live.LiveError):  # it may have ended
        live.ask(process.pid, "record", "stop")
    return code
