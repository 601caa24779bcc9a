"""acre ps: the processes that run on acre and can be asked."""

import json

import live
from command_line import add_json

COLUMNS = ("PID", "USER", "LIVE", "CACHED", "IN RUNS", "DIRTY", "METADATA", "RESIDENT", "THREADS", "COMMAND")


def row(process, report):
    figures = report["process"]
    return {
        "pid": process.pid,
        "user": live.user_name(process.user),
        "live": figures["allocated"],
        "cached": sum(figures[key] for key in ("private_lists", "deferred", "remote_lists", "outboxes", "uncarved")),
        "in_runs": figures["run_free"] + figures["run_rest"],
        "dirty": figures["dirty"] + figures["muzzy"] + figures["purging"],
        "metadata": figures["metadata"],
        "resident": figures["process_resident"],
        "threads": figures["threads"],
        "version": report["version"],
        "command": process.command(),
    }


def rows():
    return [row(*found) for found in live.everyone()]


def cells(entry):
    sizes = [live.human(entry[key]) for key in ("live", "cached", "in_runs", "dirty", "metadata", "resident")]
    return [str(entry["pid"]), entry["user"], *sizes, str(entry["threads"]), entry["command"]]


def table(entries):
    """Lines, the title first; what holds no number is aligned to the left."""
    lines = [list(COLUMNS)] + [cells(entry) for entry in entries]
    widths = [max(len(line[at]) for line in lines) for at in range(len(COLUMNS))]
    left = ("USER", "COMMAND")
    return ["  ".join(cell.ljust(width) if title in left else cell.rjust(width)
                      for cell, width, title in zip(line, widths, COLUMNS)).rstrip() for line in lines]


def add_arguments(parser):
    parser.explain(
        """
        Lists the running processes on acre that have a control socket, and their memory: those that `acre run` has
        started, that have the option control, or that were asked before. With --all, others on acre's library are asked to
        open theirs, which takes some seconds.
        """,
        (("{acre} ps", "a table; root sees the processes of all users"),
         ("{acre} ps --all", "with processes that nobody has asked yet"),
         ("{acre} ps --json", "the same in bytes, for a program")))
    add_all(parser)
    add_json(parser)


def add_all(parser):
    parser.add_argument("-a", "--all", action="store_true", help="ask all processes on acre to open a socket, first")


def main(options):
    if options.all:
        live.wake_everyone()
    entries = rows()
    if options.json:
        print(json.dumps(entries, indent=1))
    else:
        print("\n".join(table(entries)))
    return 0
