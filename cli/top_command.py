"""show the processes on acre again and again, on a full screen"""

import argparse
import json
import time

import ps_command
import terminal
import top_tables
from say import say


def print_plain(seconds, times, columns):
    """A table each time; times: None for ever. columns: of the terminal, None: all columns, and lines left whole."""
    turn = 0
    while times is None or turn < times:
        if turn:
            time.sleep(seconds)
            print()
        turn += 1
        rows = top_tables.with_bars(ps_command.rows())
        shown = [column for column in top_tables.fitting(top_tables.PROCESSES, columns, top_tables.OPTIONAL)
                 if columns is not None or column.name != "bar"]
        lines = [top_tables.title_line(shown, "resident")]
        lines += [top_tables.line(shown, row, columns) for row in top_tables.ordered(shown, rows, "resident")]
        print("\n".join(lines), flush=True)


def print_json(seconds, times):
    for turn in range(times or 1):
        if turn:
            time.sleep(seconds)
        print(json.dumps(ps_command.rows()), flush=True)


def add_arguments(parser):
    parser.add_argument("-d", dest="seconds", metavar="SECONDS", type=float, default=2.0,
                        help="from look to look, 0.1 or more (2)")
    parser.add_argument("-n", dest="times", metavar="TIMES", type=int,
                        help="end after so many looks; without a terminal 1 if it is not said")
    parser.add_argument("--json", action="store_true", help="print a line of JSON each look")


def main(arguments):
    parser = argparse.ArgumentParser(prog="acre top", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    if options.seconds < 0.1 or (options.times is not None and options.times < 1):
        parser.error("-d is 0.1 or more, -n 1 or more")
    columns = terminal.width()
    if options.json:
        print_json(options.seconds, options.times)
    elif columns is None or not terminal.has_input():
        print_plain(options.seconds, options.times or 1, columns)
    elif terminal.is_dumb():
        print_plain(options.seconds, options.times, columns)
    else:
        show(options, columns)
    return 0


def show(options, columns):
    try:
        import curses
        import top_screen
    except ImportError:  # a Python without curses
        say("top: this python3 has no curses: a table in place of the screen")
        return print_plain(options.seconds, options.times, columns)
    try:
        top_screen.start(options.seconds, options.times)
    except curses.error as error:
        say(f"top: this terminal has no full screen ({error}): a table in its place")
        print_plain(options.seconds, options.times, columns)
