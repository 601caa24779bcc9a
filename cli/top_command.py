"""acre top: the processes on acre, again and again."""

import json
import time

import live
import ps_command
import terminal
import top_tables
from command_line import add_json, at_least
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
    parser.explain(
        """
        Shows the running processes on acre and their memory again and again, on a full screen with a list of keys. Enter
        goes into a process: its parts, size classes, call sites (while the heap profiler is on), what threads keep,
        arenas. Where the terminal has no full screen (TERM=dumb) it prints tables, and where stdin or stdout is no
        terminal as many of them as -n says.
        """,
        (("{acre} top", "until q or Ctrl-C ends it"),
         ("{acre} top -d 10 -n 6 > memory.txt", "six tables, one every ten seconds")))
    parser.add_argument("-d", "--delay", type=at_least(0.1, float), default=2.0, metavar="SECONDS",
                        help="from one look to the next (2)")
    parser.add_argument("-n", "--times", type=at_least(1), metavar="TIMES", help="how many looks")
    ps_command.add_all(parser)
    add_json(parser, "print a line of JSON each look, for programs")


def main(options):
    if options.all:
        live.wake_everyone()
    columns = terminal.width()
    if options.json:
        print_json(options.delay, options.times)
    elif columns is None or not terminal.has_input():
        print_plain(options.delay, options.times or 1, columns)
    elif terminal.is_dumb():
        print_plain(options.delay, options.times, columns)
    else:
        show(options, columns)
    return 0


def show(options, columns):
    try:
        import curses
        import top_screen
    except ImportError:  # a Python without curses
        say("top: this python3 has no curses: a table in place of the screen")
        return print_plain(options.delay, options.times, columns)
    try:
        top_screen.start(options.delay, options.times)
    except curses.error as error:
        say(f"top: this terminal has no full screen ({error}): a table in its place")
        print_plain(options.delay, options.times, columns)
