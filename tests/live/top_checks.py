"""acre top: its tables in every width, its screen, and what it prints where there is no screen."""

import curses
import json
import os
import re

import live
import top_screen
import top_tables
from command_checks import on_terminal
from support import acre, as_json


def check_top(checks, work):
    with work.running("nearly_empty", conf="control:true,prof:true,prof_sample:4096") as process:
        live.ask(process.pid, "info")
        check_plain(checks, process)
        check_tables(checks, process)
        check_screen(checks, process)
        check_terminals(checks, process)
    checks.that(acre("top", "-d", "x").returncode == 2 and acre("top", "-n", "0").returncode == 2
                and acre("top", "what").returncode == 2, "acre top with wrong arguments")


def check_plain(checks, process):
    ended = acre("top", "-n", "2", "-d", "0.1")
    lines = [line for line in ended.stdout.splitlines() if line.strip().startswith(str(process.pid))]
    checks.that(ended.returncode == 0 and len(lines) == 2 and "subject nearly_empty" in lines[0],
                "acre top without a terminal prints tables", ended)
    rows = as_json(checks, "top", "--json")
    checks.that(process.pid in [row["pid"] for row in rows], "acre top --json", rows)
    ended = acre("top", "--json", "-n", "2", "-d", "0.1")
    checks.that(len([json.loads(line) for line in ended.stdout.splitlines()]) == 2, "a line each look", ended)


def check_tables(checks, process):
    """What fits; the process's name, resident and live are always there."""
    import ps_command
    rows = top_tables.with_bars(ps_command.rows())
    most = 0
    for width in (60, 80, 120, 200):
        shown = top_tables.fitting(top_tables.PROCESSES, width, top_tables.OPTIONAL)
        names = [column.name for column in shown]
        lines = [top_tables.title_line(shown, "live")] + [top_tables.line(shown, row, width) for row in rows]
        checks.that({"pid", "resident", "live", "command"} <= set(names) and len(names) >= most and max(map(len, lines)) <= width
                    and any("subject near" in line for line in lines), f"the table in {width} columns", lines)
        most = len(names)
    checks.that(most == len(top_tables.PROCESSES), "200 columns have all figures", names)
    checks.that(top_tables.name_of("/a/b/redis-server *:6379") == "redis-server *:6379" and top_tables.name_of("sh") == "sh",
                "a program's folder is left out")
    mine = next(row for row in rows if row["pid"] == process.pid)
    checks.that(set(mine["bar"]) <= set("Lchd.") and mine["bar"].count("h") + mine["bar"].count("c") > len(mine["bar"]) / 2, "the bar has letters", mine)
    small = {**mine, "resident": 1, "command": "zzz", "pid": 1}
    for sort, first in (("resident", mine["pid"]), ("command", mine["pid"]), ("pid", 1)):
        found = top_tables.ordered(top_tables.PROCESSES, [small, mine], sort)
        checks.that(found[0]["pid"] == first, f"sorted by {sort}", found)
    sites = top_tables.Sites(process.pid)
    for name, columns, optional, sort in top_tables.VIEWS[1:]:
        found = top_tables.rows_of(name, process.pid, sites)
        for width in (80, 120, 200):
            shown = top_tables.fitting(columns, width, optional)
            lines = [top_tables.title_line(shown, sort)] + [top_tables.line(shown, row, width) for row in found]
            checks.that(found and max(map(len, lines)) <= width and f"*{next(c.title for c in columns if c.name == sort)}" in lines[0],
                        f"the view {name} in {width} columns", lines)
    classes = top_tables.rows_of("classes", process.pid, sites)
    whole = live.statistics(process.pid)["process"]["allocated"]
    checks.that(sum(row["live"] for row in classes) == whole, "classes add up to what lives", (classes, whole))
    caches, report = top_tables.rows_of("caches", process.pid, sites), live.statistics(process.pid, "xe")
    checks.that({row["thread"] for row in caches} <= {int(thread) for thread in os.listdir(f"/proc/{process.pid}/task")}
                and process.pid in {row["thread"] for row in caches} and all(row["name"] == "subject" for row in caches),
                "threads' caches have their threads", caches)
    checks.that(all(sum(row[part] for row in caches) == sum(arena[part] for arena in report["arenas"])
                    for part in ("private_lists", "uncarved", "outboxes")),
                "threads' caches add up to the process's", (caches, report["arenas"]))
    checks.that(any("main" in row["stack"] for row in top_tables.rows_of("call sites", process.pid, sites)), "call sites have names")


def check_screen(checks, process):
    """Keys, and what comes up. The process with most resident memory is chosen, which may be another one's."""
    text = on_terminal("top", "-d", "30", keys=b"dq")
    checks.that(str(process.pid) in text and "sorted by" in text and "q: end" in text and "*RESIDENT" in text
                and text.count("*") > 2, "the screen has rows, legend, keys, and a mark that moves", text)
    check_keys(checks, process)
    checks.that(re.search(r"\033\[[0-9;]*4[0-7]m", on_terminal("top", "-d", "30", keys=b"q", columns=120)), "bars have colours")
    plain = on_terminal("top", "-d", "30", keys=b"q", columns=120, environment={"NO_COLOR": "1"})
    checks.that(not re.search(r"\033\[[0-9;]*(3|4)[0-7]m", plain), "none with NO_COLOR", plain)
    text = on_terminal("top", "-d", "30", keys=b"p\n2345?qq", lines=30)
    for words in ("are resident", "LIVE BLOCKS", "CALL SITE", "PRIVATE", "MUZZY", "what is shown"):
        checks.that(words in text, f"inside of a process there is {words!r}", text)


class Size:
    def size(self):
        return 24, 80

    def __getattr__(self, name):
        return lambda *words: None


def check_keys(checks, process):
    screen, view = Size(), top_screen.Processes(2)
    view.refresh()
    view.draw(screen)
    for key, sort in ((ord("d"), "dirty"), (ord("r"), "resident"), (curses.KEY_RIGHT, "live"), (curses.KEY_LEFT, "resident"),
                      (ord("x"), "resident"), (ord("u"), "user")):
        view.press(key, screen)
        checks.that(view.sort == sort, f"key {key} sorts by {sort}", view.sort)
    checks.that(view.press(ord("q"), screen) is False, "q ends")
    while view.chosen != process.pid and view.at < len(view.rows) - 1:
        view.press(curses.KEY_DOWN, screen)
        view.draw(screen)
    inside = view.press(10, screen)
    checks.that(inside.pid == process.pid and inside.name == "parts", "Enter goes into the chosen process", inside)
    for key, name in ((ord("2"), "classes"), (9, "call sites"), (ord("1"), "parts"), (ord("5"), "arenas")):
        inside.press(key, screen)
        inside.refresh()
        checks.that(inside.name == name and inside.lines(80), f"key {key} shows {name}", inside.told)
    inside.press(ord("d"), screen)
    checks.that(inside.sort == "dirty" and inside.press(27, screen) is view, "its columns sort, and Esc goes back", inside.sort)


def check_terminals(checks, process):
    text = on_terminal("top", "-n", "1", "-d", "0.1", environment={"LC_ALL": "xx_YY.UTF-8"})
    checks.that("Traceback" not in text and "RESIDENT" in text, "the screen with a locale that is not installed", text)
    for name, words in (("dumb", ""), ("no-such-terminal", "no full screen")):
        text = on_terminal("top", "-n", "1", environment={"TERM": name}).replace("\r", "")
        checks.that("\033" not in text and re.search(rf"^ *{process.pid} ", text, re.M) and words in text
                    and max(map(len, text.split("\n"))) <= 120, f"TERM={name}: a table", text)
