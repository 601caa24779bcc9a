"""acre why PID: where the resident memory of a running process is, in plain words, and what could be done about it."""

import json

import live
import terminal
from command_line import add_json, add_process, at_least
from live import human
from resident import KINDS
from why_figures import explain

BAR = 60
WIDE = 100  # columns from which on a part's meaning stands beside its figures

# name, letter, colour (of 256), title
PARTS = (
    ("live", "L", 34, "live"),
    ("rounding", "r", 149, "rounding"),
    ("cached", "c", 220, "cached"),
    ("held", "h", 208, "held by live blocks"),
    ("dirty", "d", 196, "dirty"),
    ("metadata", "m", 141, "metadata"),
    ("not_heap", ".", 245, "not heap"),
)

MEANINGS = {
    "live": "blocks that the program has allocated and not freed",
    "rounding": "blocks are as large as their class (an estimate), and runs have ends too short for one",
    "cached": "free blocks at hand: on threads' lists, in the run of each class that a thread cuts from, and in classes of "
              "which nothing lives",
    "held": "free blocks in runs that live blocks keep from being returned",
    "metadata": "acre's own structures",
    "not_heap": "memory that acre has nothing to do with",
}


# --- Lists under a part, which add up to it -----------------------------------------------------------------------


def held_by(row):
    return f"blocks of {row['size']} bytes: {row['live']} of {row['blocks']} live, in {counted(row['runs'], 'run')}"


def rounded(row):
    return (f"{counted(row['live'], 'block')} of {row['size']} bytes, for which about "
            f"{row['size'] - row['rounding'] // max(row['live'], 1)} were asked for")


def counted(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def rows_of(explanation, name, size, words, others):
    """(bytes, text) a row, with one for the rest and one for what is counted and not resident."""
    part = {"held_by": "held", "rounded_up": "rounding"}.get(name)
    untouched = explanation["untouched"][part] if part else 0
    rows = [(row[size], words(row)) for row in explanation[name]]
    rest = explanation["rest"][name] + untouched
    if rest:
        rows.append((rest, others(explanation["left_out"][name])))
    if untouched and rows:
        rows.append((-untouched, "never touched, and so not resident"))
    return rows


def lists(explanation):
    """-> {part: [(title, rows)]}. A list without a title is the first under its part."""
    held = [("", rows_of(explanation, "held_by", "held", held_by,
                         lambda left_out: counted(left_out, "class") + " more"))]
    if explanation["call_sites"]:
        held.append(("the same by call site, as the heap profile estimates it:", rows_of(
            explanation, "call_sites", "bytes", lambda row: " < ".join(map(terminal.folded, row["stack"][:3])),
            lambda left_out: (counted(left_out, "call site") + " more, and " if left_out else "")
            + "what the profile does not know")))
    rounding = rows_of(explanation, "rounded_up", "rounding", rounded,
                       lambda left_out: "other classes, large blocks, and ends of runs")
    kinds = [(size, KINDS[kind]) for kind, size in explanation["not_heap"].items() if size]
    mappings = rows_of(explanation, "largest_not_heap", "bytes", lambda row: row["mapping"] or "a mapping without a name",
                       lambda left_out: "other mappings")
    return {"held": held, "rounding": [("", rounding)] if len(rounding) > 1 else [],
            "not_heap": [("", kinds), ("the same by mapping:", mappings)]}


# --- Words ------------------------------------------------------------------------------------------------------

def painted(text, colour, in_colour):
    return f"\033[48;5;{colour};38;5;16m{text}\033[0m" if in_colour and text else text


def bar(parts, in_colour, cells=BAR):
    whole = max(sum(parts.values()), 1)
    text, drawn, so_far = "", 0, 0
    for name, letter, colour, _ in PARTS:
        so_far += parts[name]
        here = round(so_far * cells / whole) - drawn
        drawn += here
        text += painted(letter * here, colour, in_colour)
    return text


def part_lines(explanation, part, in_colour, columns):
    name, letter, colour, title = part
    size = explanation["parts"][name]
    meaning = f"free pages, {explanation['dirty_is_returned']}" if name == "dirty" else MEANINGS[name]
    figures = f" {title:20} {human(size):>10} {size / max(explanation['resident'], 1):5.0%}  "
    if columns is None or columns >= WIDE:
        return terminal.wrapped(painted(letter, colour, in_colour) + figures, meaning, columns, letter + figures)
    return [painted(letter, colour, in_colour) + figures.rstrip()] + terminal.wrapped("      ", meaning, columns)


def page_line(pages):
    line = (f"{human(pages['live'])} of pages in runs of small blocks hold a live block: no less can be resident unless "
            "blocks move")
    return line + (f"; {human(pages['returned'])} of the others were returned" if pages["returned"] else "")


def lines_of(explanation, in_colour, columns=None):
    yield from terminal.wrapped(f"process {explanation['pid']}: ", terminal.cut(explanation["command"], 300), columns)
    yield f"{human(explanation['resident'])} of memory are resident"
    yield "[" + bar(explanation["parts"], in_colour, min(BAR, (columns or BAR + 2) - 2)) + "]"
    under = lists(explanation)
    for part in PARTS:
        yield from part_lines(explanation, part, in_colour, columns)
        for title, rows in under.get(part[0], ()) if explanation["parts"][part[0]] else ():
            if title and rows:
                yield from terminal.wrapped("      ", title, columns)
            for size, text in rows:
                yield from terminal.wrapped(f"      {human(size):>10}  ", text, columns)
    if explanation["swapped"]:
        yield f"{human(explanation['swapped'])} more are swapped out"
    if explanation["pages"]:
        yield from terminal.wrapped("", page_line(explanation["pages"]), columns)
    yield ""
    for text in explanation["advice"] or ["there is nothing to gain worth mentioning"]:
        yield from terminal.wrapped("* ", text, columns)


# --- The command ------------------------------------------------------------------------------------------------

def add_arguments(parser):
    parser.explain(
        """
        Says in plain words where the resident memory of a running process is: live blocks, what threads keep, runs
        that few blocks hold open, dirty pages, what is not acre's; and what could be done about it. With --watch, what
        grew since the first look, by size class, call site (while the heap profiler is on) and tag, and what that is in
        an hour.
        """,
        (("{acre} why $(pidof redis-server)", "a bar, a line a part, and advice"),
         ("{acre} why 4711 --watch -d 60", "what grows, looked at each minute, until Ctrl-C ends it"),
         ("{acre} why 4711 --json", "the figures behind it, for a program")))
    add_process(parser)
    add_json(parser, "print JSON, for programs; with --watch a line each look")
    parser.add_argument("--watch", action="store_true", help="show again and again what grew since the first look")
    parser.add_argument("-d", "--delay", type=at_least(0.1, float), default=5.0, metavar="SECONDS",
                        help="with --watch: from one look to the next (5)")
    parser.add_argument("-n", "--times", type=at_least(1), metavar="TIMES", help="with --watch: how many looks")


def main(options):
    with live.reported("why"):
        if options.watch:
            import why_watch
            why_watch.watch(options.pid, options.delay, options.times, options.json)
            return 0
        explanation = explain(options.pid)
    if options.json:
        print(json.dumps(explanation, indent=1))
    else:
        print("\n".join(lines_of(explanation, terminal.in_colour(), terminal.width())))
    return 0
