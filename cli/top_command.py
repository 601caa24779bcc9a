"""acre top: the processes on acre, again and again."""

import curses
import sys
import time

import ps_command
from command_line import at_least
from say import fail

ORDERS = {"r": ("resident", "resident memory"), "l": ("live", "live blocks"), "c": ("cached", "what threads keep"),
          "d": ("dirty", "dirty pages"), "p": ("pid", "process number")}
BAR = 24
# What of the resident memory is drawn, in these colours.
PARTS = (("live", curses.COLOR_GREEN), ("cached", curses.COLOR_YELLOW), ("in_runs", curses.COLOR_MAGENTA),
         ("dirty", curses.COLOR_RED))


def add_arguments(parser):
    parser.explain(
        """
        Shows the running processes on acre and their memory again and again, on a full screen. Where stdin or stdout
        is no terminal, prints the table of `acre ps` as often as -n says.
        """,
        (("{acre} top", "until q or Ctrl-C ends it"),
         ("{acre} top -d 10 -n 6 > memory.txt", "six tables, one every ten seconds")))
    parser.add_argument("-d", "--delay", type=at_least(0.1, float), default=2.0, metavar="SECONDS",
                        help="from one look to the next (2)")
    parser.add_argument("-n", "--times", type=at_least(1), metavar="TIMES", help="how many looks")


def ordered(rows, key):
    name = ORDERS[key][0]
    return sorted(rows, key=lambda row: row[name], reverse=name != "pid")


def print_plain(seconds, times):
    for turn in range(times):
        if turn:
            time.sleep(seconds)
            print()
        print("\n".join(ps_command.table(ordered(ps_command.rows(), "r"))), flush=True)


# --- The full screen --------------------------------------------------------------------------------------------

def put(screen, y, x, text, attributes=0):
    height, width = screen.getmaxyx()
    if 0 <= y < height and x < width:
        screen.addnstr(y, x, text, max(0, width - x - 1), attributes)


def put_bar(screen, y, row, largest):
    """Resident memory as a bar, the largest process's fills it; what is no heap comes last, in no colour."""
    x, so_far, drawn = 0, 0, 0
    scale = BAR / max(largest, 1)
    for number, (name, _) in enumerate(PARTS, 1):
        so_far = min(so_far + row[name], row["resident"])
        cells = round(so_far * scale) - drawn
        put(screen, y, x, "|" * cells, curses.color_pair(number))
        x, drawn = x + cells, drawn + cells
    put(screen, y, x, "." * (round(row["resident"] * scale) - drawn))


def draw(screen, rows, key):
    screen.erase()
    total = sum(row["resident"] for row in rows)
    put(screen, 0, 0, f"acre: {len(rows)} processes, {ps_command.live.human(total)} resident", curses.A_BOLD)
    put(screen, 1, 0, "sorted by " + ORDERS[key][1] + "; keys: "
        + ", ".join(f"{letter} {name}" for letter, (_, name) in ORDERS.items()) + ", q ends")
    title, *lines = ps_command.table(rows)
    put(screen, 3, BAR + 2, title, curses.A_REVERSE)
    largest = max((row["resident"] for row in rows), default=0)
    for y, (row, line) in enumerate(zip(rows, lines), 4):
        put_bar(screen, y, row, largest)
        put(screen, y, BAR + 2, line)
    screen.refresh()


def watch(screen, seconds, times):
    curses.use_default_colors()
    for number, (_, colour) in enumerate(PARTS, 1):
        curses.init_pair(number, colour, -1)
    key, turn = "r", 0
    while times is None or turn < times:
        rows = ps_command.rows()
        turn += 1
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            draw(screen, ordered(rows, key), key)
            screen.timeout(int(left * 1000) + 1)
            pressed = screen.getch()
            letter = chr(pressed) if 0 <= pressed < 128 else ""
            if letter == "q":
                return
            key = letter if letter in ORDERS else key


def main(options):
    seconds, times = options.delay, options.times
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_plain(seconds, times or 1)
        return 0
    try:
        curses.wrapper(watch, seconds, times)
    except curses.error as error:
        fail(f"top: this terminal can't be used: {error}")
    return 0
