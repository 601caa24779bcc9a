"""The full screen of acre top: the list of processes, and views into one of them."""

import contextlib
import curses
import locale
import os
import time

import live
import ps_command
import terminal
import top_tables
import why_command
import why_figures
from top_tables import PROCESSES

COLOURS = {"L": curses.COLOR_GREEN, "c": curses.COLOR_YELLOW, "h": curses.COLOR_MAGENTA, "d": curses.COLOR_RED,
           "r": curses.COLOR_CYAN, "m": curses.COLOR_BLUE}
ENTER, BACK = (10, 13, curses.KEY_ENTER), (27, 127, 8, curses.KEY_BACKSPACE)
HEAD, FOOT = 3, 1  # lines around the rows


class Screen:
    def __init__(self, window, with_colours):
        self.window = window
        self.pairs = {}
        self.is_utf8 = "UTF-8" in locale.nl_langinfo(locale.CODESET).upper()
        window.keypad(True)
        if curses.has_colors():
            curses.use_default_colors()  # the terminal's own, in place of white on black
            for number, (letter, colour) in enumerate(COLOURS.items() if with_colours else (), 1):
                curses.init_pair(number, curses.COLOR_BLACK, colour)
                self.pairs[letter] = curses.color_pair(number)

    def size(self):
        return self.window.getmaxyx()

    def put(self, y, x, text, attributes=0):
        height, width = self.size()
        if not self.is_utf8:
            text = text.replace("…", "~").encode("ascii", "replace").decode()
        if 0 <= y < height and x < width:
            # The last place of the last line would move the cursor out of the screen.
            self.window.addnstr(y, x, text, width - x - (y == height - 1), attributes)

    def put_letters(self, y, x, text):
        """A bar: letters, each in its colour."""
        for at, letter in enumerate(text):
            self.put(y, x + at, letter, self.pairs.get(letter, 0))

    def put_legend(self, y):
        x = 0
        for letter, name in [(letter, name) for _, letter, name in top_tables.PARTS] + [top_tables.NO_HEAP]:
            self.put(y, x, letter, self.pairs.get(letter, 0))
            self.put(y, x + 2, name)
            x += len(name) + 5
        self.put(y, x, "* sorted by")


class View:
    """What list and process have in common: lines that can be gone through, a sorted column, keys."""

    def __init__(self, columns, optional, sort):
        self.columns, self.optional, self.sort = columns, optional, sort
        self.at = self.first = 0  # the chosen row, and the first one shown

    def move(self, key, page, count):
        step = {curses.KEY_UP: -1, curses.KEY_DOWN: 1, curses.KEY_PPAGE: -page, curses.KEY_NPAGE: page,
                curses.KEY_HOME: -count, curses.KEY_END: count}.get(key, 0)
        self.at = max(0, min(self.at + step, count - 1))

    def show_chosen(self, page):
        self.first = max(min(self.first, self.at), self.at - page + 1, 0)

    def shown(self, width):
        return top_tables.fitting(self.columns, width, self.optional)

    def sort_by(self, key, width):
        """Arrows go through the columns on the screen."""
        letters = {column.key: column.name for column in self.columns if column.key}
        if 0 < key < 128 and chr(key) in letters:
            self.sort = letters[chr(key)]
        names = [column.name for column in self.shown(width) if column.key] if self.columns else ()
        if key in (curses.KEY_LEFT, curses.KEY_RIGHT) and names:
            at = names.index(self.sort) if self.sort in names else 0
            self.sort = names[(at + (1 if key == curses.KEY_RIGHT else -1)) % len(names)]

    def letters(self):
        return "".join(column.key for column in self.columns if column.key)


class Processes(View):
    def __init__(self, seconds):
        super().__init__(PROCESSES, top_tables.OPTIONAL, "resident")
        self.seconds, self.rows, self.chosen = seconds, [], None

    def refresh(self):
        self.rows = top_tables.with_bars(ps_command.rows())

    def draw(self, screen):
        height, width = screen.size()
        page = max(1, height - HEAD - FOOT)
        rows = top_tables.ordered(self.columns, self.rows, self.sort)
        numbers = [row["pid"] for row in rows]
        if self.chosen in numbers:  # it stays chosen where it goes
            self.at = numbers.index(self.chosen)
        self.at = max(0, min(self.at, len(rows) - 1))
        self.chosen = numbers[self.at] if rows else None
        self.show_chosen(page)
        shown = self.shown(width)
        resident, live_bytes = (live.human(sum(row[name] for row in rows)) for name in ("resident", "live"))
        processes = f"{len(rows)} process" + ("es" if len(rows) != 1 else "")
        screen.put(0, 0, f"acre: {processes}, {resident} resident, {live_bytes} live; every {self.seconds:g} s", curses.A_BOLD)
        screen.put_legend(1)
        screen.put(2, 0, top_tables.title_line(shown, self.sort).ljust(width), curses.A_REVERSE)
        for y, row in enumerate(rows[self.first:self.first + page], HEAD):
            text = top_tables.line(shown, row, width)
            screen.put(y, 0, text.ljust(width), curses.A_BOLD | curses.A_UNDERLINE if row["pid"] == self.chosen else 0)
            self.put_bar(screen, y, shown, row)
        if not rows:
            screen.put(HEAD + 1, 2, "No process answers. `acre top --all` asks all on acre; `acre run` starts one.")
        screen.put(height - 1, 0, f"sort: {self.letters()} <- ->  choose: up down  Enter: inside  ?: help  q: end".ljust(width),
                   curses.A_REVERSE)

    def put_bar(self, screen, y, shown, row):
        x = 0
        for column in shown:
            if column.name == "bar":
                screen.put_letters(y, x, row["bar"])
            x += column.width + top_tables.GAP

    def press(self, key, screen):
        """-> the view to go to, None: this one stays, False: end"""
        height, width = screen.size()
        if key == ord("q"):
            return False
        if key in ENTER and self.chosen is not None:
            return Inside(self.chosen, self)
        before = self.at
        self.move(key, height - HEAD - FOOT, len(self.rows))
        if self.at != before:
            rows = top_tables.ordered(self.columns, self.rows, self.sort)
            self.chosen = rows[self.at]["pid"]
        self.sort_by(key, width)
        return Help(self) if key == ord("?") else None


class Inside(View):
    """One process: its parts, classes, call sites, caches, arenas."""

    def __init__(self, pid, above):
        super().__init__((), (), None)
        self.pid, self.above, self.number = pid, above, 0
        self.sites, self.sorts = top_tables.Sites(pid), {name: sort for name, *_, sort in top_tables.VIEWS}
        self.told, self.command = "", ""
        self.open(0)

    def open(self, number):
        self.number = number % len(top_tables.VIEWS)
        self.name, self.columns, self.optional, _ = top_tables.VIEWS[self.number]
        self.sort = self.sorts[self.name]
        self.at = self.first = 0
        self.told = "…"

    def refresh(self):
        """told: rows, an explanation of the parts, or a text."""
        try:
            self.command = top_tables.name_of(live.Process(self.pid).command())
            self.told = (why_figures.explain(self.pid) if self.name == "parts"
                         else top_tables.rows_of(self.name, self.pid, self.sites))
        except live.LiveError as error:
            self.told = str(error)

    def lines(self, width):
        if isinstance(self.told, str):
            return terminal.wrapped("  ", self.told, width)
        if isinstance(self.told, dict):
            return list(why_command.lines_of(self.told, False, width))[1:]
        rows = top_tables.ordered(self.columns, self.told, self.sort)
        return [top_tables.line(self.shown(width), row, width) for row in rows]

    def draw(self, screen):
        height, width = screen.size()
        page = max(1, height - HEAD - FOOT)
        lines = self.lines(width)
        self.at = max(0, min(self.at, len(lines) - page))  # lines are gone through, and none is chosen
        screen.put(0, 0, terminal.cut(f"acre: process {self.pid}: {self.command}", width), curses.A_BOLD)
        x = 0
        for number, (name, *_) in enumerate(top_tables.VIEWS):
            text = f" {number + 1} {name} "
            screen.put(1, x, text, curses.A_REVERSE if number == self.number else 0)
            x += len(text) + 1
        if self.columns and not isinstance(self.told, str):
            screen.put(2, 0, top_tables.title_line(self.shown(width), self.sort).ljust(width), curses.A_REVERSE)
        for y, text in enumerate(lines[self.at:self.at + page], HEAD):
            self.put_line(screen, y, text)
        sorting = f"sort: {self.letters()} <- ->  " if self.columns else ""
        screen.put(height - 1, 0, f"{sorting}1-5: view  up down: scroll  ?: help  Esc: back  q: end".ljust(width),
                   curses.A_REVERSE)

    def put_line(self, screen, y, text):
        screen.put(y, 0, text)
        if isinstance(self.told, dict) and text.startswith("[") and text.endswith("]"):
            screen.put_letters(y, 1, text[1:-1])
        elif isinstance(self.told, dict) and text[1:2] == " " and text[0] in COLOURS:
            screen.put_letters(y, 0, text[0])

    def press(self, key, screen):
        height, width = screen.size()
        if key == ord("q"):
            return False
        if key in BACK:
            return self.above
        if key == 9 or ord("1") <= key < ord("1") + len(top_tables.VIEWS):
            self.open(self.number + 1 if key == 9 else key - ord("1"))
            return self
        self.move(key, height - HEAD - FOOT, len(self.lines(width)))
        self.sort_by(key, width)
        self.sorts[self.name] = self.sort
        return Help(self) if key == ord("?") else None


class Help(View):
    """What columns, letters and keys mean, of the view above."""

    def __init__(self, above):
        super().__init__(above.columns, (), None)
        self.above = above

    def refresh(self):
        pass

    def lines(self):
        yield "Letters of bars and parts:"
        for _, letter, title in ((name, letter, title) for name, letter, _, title in why_command.PARTS):
            yield f"  {letter}  {title}"
        yield ""
        if self.columns:
            yield "Columns, and the keys that sort by them:"
        for column in self.columns:
            yield f"  {column.key or ' '}  {column.title:16}  {column.help}"

    def draw(self, screen):
        height, width = screen.size()
        screen.put(0, 0, "acre: what is shown", curses.A_BOLD)
        lines = list(self.lines())
        self.at = max(0, min(self.at, len(lines) - (height - 3)))
        for y, text in enumerate(lines[self.at:self.at + height - 3], 2):
            screen.put(y, 0, terminal.cut(text, width))
        screen.put(height - 1, 0, "up down: scroll  any other key: back".ljust(width), curses.A_REVERSE)

    def press(self, key, screen):
        before = self.at
        self.move(key, screen.size()[0] - 3, len(list(self.lines())))
        return None if key in (curses.KEY_UP, curses.KEY_DOWN, curses.KEY_RESIZE) or self.at != before else self.above


def run(window, seconds, times):
    screen = Screen(window, not os.environ.get("NO_COLOR"))
    if hasattr(curses, "set_escdelay"):
        curses.set_escdelay(50)
    with_cursor(False)
    view, turn = Processes(seconds), 0
    while times is None or turn < times:
        view.refresh()
        turn += 1
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            window.erase()
            view.draw(screen)
            window.refresh()
            window.timeout(int(left * 1000) + 1)
            key = window.getch()
            if key < 0:
                continue
            following = view.press(key, screen)
            if following is False:
                return
            if following is not None:
                view = following
                if not isinstance(view, Help):
                    view.refresh()


def with_cursor(shown):
    try:
        curses.curs_set(shown)
    except curses.error:
        pass  # this terminal cannot hide it


def start(seconds, times):
    """May raise curses.error: the terminal cannot do it."""
    with contextlib.suppress(locale.Error):  # the environment names one that is not installed
        locale.setlocale(locale.LC_ALL, "")
    curses.wrapper(run, seconds, times)
