"""acre plot: the page in a browser, of a recording whose every block is known (data.py), and of a program; the picture.

Exit code 0: all well, 1: not. ACRE_LIB names the library.
"""

import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
sys.path[:0] = [str(HERE.parent / "package"), str(HERE.parent / "profile"), str(SOURCE / "cli")]

import browser as browsers
import data
from checks import Checks, run
from plot import page

READY = "document.documentElement.dataset.ready === 'true'"
IMAGE = "images[0]"


class Page:
    """A page in the browser, and what is done with it."""

    def __init__(self, browser, path, words="", scheme="light", size=(1200, 800)):
        self.browser = browser
        browser.ask(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )
        browser.prefer(scheme)
        browser.open(f"{path}{words}")
        browser.wait_for(READY)
        self.wait(f"{IMAGE}.list && [...{IMAGE}.tiles.planes.values()].every(tile => tile.bytes)")

    def value(self, expression):
        return self.browser.value(expression)

    def wait(self, expression):
        self.browser.wait_for(expression)
        self.frame()

    def frame(self):
        """What was asked for is drawn: once in a frame."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def text(self, name):
        return self.value(f"document.getElementById('{name}').innerText")

    def place(self, time, offset):
        """Of the picture, in the window."""
        self.value(f"{IMAGE}.element.scrollIntoView({{ block: 'center' }})")
        return self.value(
            f"(r => [r.left + {IMAGE}.xOf({time}), r.top + {IMAGE}.yOf({offset})])"
            f"({IMAGE}.element.getBoundingClientRect())"
        )

    def colour(self, time, offset):
        return self.value(
            f"[...{IMAGE}.canvas.getContext('2d')"
            f".getImageData({IMAGE}.xOf({time}), {IMAGE}.yOf({offset}), 1, 1).data].slice(0, 3)"
        )

    def mouse(self, kind, at, **more):
        self.browser.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def drag(self, start, end, modifiers=0):
        self.mouse("mouseMoved", start)
        self.mouse("mousePressed", start, button="left", clickCount=1, modifiers=modifiers)
        for part in (0.5, 1):
            at = [a + (b - a) * part for a, b in zip(start, end)]
            self.mouse("mouseMoved", at, button="left", buttons=1, modifiers=modifiers)
        self.mouse("mouseReleased", end, button="left", clickCount=1, modifiers=modifiers)
        self.frame()

    def wheel(self, at, by, modifiers=0):
        before = self.view()
        self.mouse("mouseWheel", at, deltaX=0, deltaY=by, modifiers=modifiers)
        self.wait(f"JSON.stringify([view.from, view.to, {IMAGE}.low, {IMAGE}.high]) !== JSON.stringify({before})")

    def view(self):
        return self.value(f"[view.from, view.to, {IMAGE}.low, {IMAGE}.high]")

    def choose(self, name, what):
        self.value(
            f"(choice => {{ choice.value = '{what}'; choice.onchange({{ target: choice }}) }})"
            f"(document.getElementById('{name}'))"
        )
        self.frame()

    def press(self, *keys):
        for key in keys:
            self.browser.press(key)
        self.frame()

    def tab(self, name):
        self.browser.click(f"document.querySelector('[data-tab={name}]')")
        self.frame()

    def rows(self):
        return self.value(
            "[...document.querySelectorAll('#table tbody tr')].map(row => "
            "[...row.cells].map(cell => cell.innerText))"
        )

    def bars(self):
        return self.value("[...document.querySelectorAll('#graph .bar')].map(bar => bar.textContent)")


def spans(view):
    return view[1] - view[0], view[3] - view[2]


class PageChecks:
    def __init__(self, checks, browser, folder):
        self.that, self.browser, self.folder = checks.that, browser, folder
        self.blocks = data.write(folder / "one.data")
        data.write(folder / "two.data", extra=100, scale=2.0, command="demo --requests 600")

    def make(self, name, *files):
        path = self.folder / name
        with open(path, "wb") as out:
            page.write(out, [(self.folder / file, lambda _, addresses: data.name_sites(addresses)) for file in files])
        return path

    def check(self):
        one, both = self.make("one.html", "one.data"), self.make("both.html", "one.data", "two.data")
        shown = Page(self.browser, one)
        for look in (self.image, self.pointer, self.zoom, self.single, self.range, self.tabs, self.keys, self.colours):
            look(shown)
        self.compared(Page(self.browser, both, scheme="dark"))
        self.address(one)
        self.narrow(both, one)
        self.that(not self.browser.problems(), "the pages have no errors and ask for nothing", self.browser.problems())
        bad = self.folder / "bad.data"
        for text in ("", "{}\n", '{"name": "<b>"}\n', '{"name": "address"}\n'):
            bad.write_text(text)
            try:
                self.make("bad.html", "bad.data")
                self.that(False, "data that are none are refused", text)
            except page.Malformed:
                pass

    def image(self, shown):
        back, full = shown.colour(1, 10 * data.UNIT), shown.colour(6, 9 * data.UNIT)
        self.that(
            back == [255, 255, 255] and full == [0x33, 0x13, 0x52],
            "the picture has what lives and what does not",
            (back, full),
        )
        drawn = shown.value(
            "[...document.querySelectorAll('.curve')].map(box => box.hidden || !!box.querySelector('canvas'))"
        )
        self.that(drawn and all(drawn), "there are curves")
        said = shown.text("about")
        self.that(
            f"{2 * len(self.blocks):,} allocations" in said and "demo --requests 300" in said,
            "the page says what it is of",
            said,
        )

    def pointer(self, shown):
        shown.mouse("mouseMoved", shown.place(6, 9 * data.UNIT))
        shown.frame()
        said = shown.text("here")
        self.that(
            said.startswith(
                "200,000 bytes at 0x7f0010000000, 2 s old, lived 5 s, thread 100 “main”, push_back ← log_line ← main"
            ),
            "the pointer tells what lives there",
            said,
        )
        value = shown.value("document.querySelector('.curve .value').textContent")
        self.that("KiB" in value, "and what the curves are then", shown.text("curves"))
        shown.mouse("mouseMoved", shown.place(1, 10 * data.UNIT))
        shown.frame()
        said = shown.text("here")
        self.that(said.endswith(": nothing lives there"), "or that nothing does", said)

    def zoom(self, shown):
        at, before = shown.place(5, 5 * data.UNIT + 3000), shown.view()
        shown.wheel(at, -200)
        view = shown.view()
        (wide, high), (whole, all_high) = spans(view), spans(before)
        self.that(wide < 0.7 * whole and high < 0.7 * all_high and view[0] < 5 < view[1], "the wheel zooms in", view)
        shown.wheel(at, -200, modifiers=8)  # Shift
        in_time = spans(shown.view())
        shown.wheel(at, -200, modifiers=1)  # Alt
        in_addresses = spans(shown.view())
        self.that(in_time[0] < wide and abs(in_time[1] - high) < 1, "with Shift in time alone", in_time)
        self.that(
            abs(in_addresses[0] - in_time[0]) < 1e-9 and in_addresses[1] < high,
            "with Alt in addresses alone",
            in_addresses,
        )
        before = shown.view()
        shown.drag(at, [at[0] - 100, at[1] + 50])
        view = shown.view()
        self.that(
            view[0] > before[0] and view[2] > before[2] and abs(spans(view)[0] - spans(before)[0]) < 1e-9,
            "dragging moves",
            (before, view),
        )
        for button, part in (("time-in", 0), ("address-in", 1)):
            before = spans(shown.view())
            self.browser.click(f"document.getElementById('{button}')")
            after = spans(shown.view())
            self.that(
                abs(after[part] - before[part] / 2) < 1e-6 * before[part]
                and abs(after[1 - part] - before[1 - part]) < 1e-6 * before[1 - part],
                f"so does the button {button}",
                (before, after),
            )
        self.browser.click("document.getElementById('whole')")
        self.that(shown.view() == [0, data.END, 0, data.TOTAL], "and back to the whole", shown.view())

    def single(self, shown):
        """Down to single blocks."""
        window = 4.0, 4.2, 5 * data.UNIT, 5 * data.UNIT + 8000
        shown.value(f"setTime({window[0]}, {window[1]}), {IMAGE}.setAddresses({window[2]}, {window[3]})")
        shown.frame()
        there = [
            block
            for block in self.blocks
            if block.start <= window[1]
            and not block.end < window[0]
            and block.y <= window[3]
            and block.y + block.size >= window[2]
        ]
        drawn = shown.value(f"{IMAGE}.shown.length")
        self.that(drawn == len(there) > 5, "where there is room each block is drawn singly", (drawn, len(there)))
        first = there[0]
        between = shown.colour(4.1, first.y + first.size + 20)
        self.that(
            shown.colour(4.1, first.y + 300) == [0x33, 0x13, 0x52] and between != [0x33, 0x13, 0x52],
            "with room between them",
            between,
        )
        shown.mouse("mouseMoved", shown.place(4.1, first.y + 300))
        shown.frame()
        said = shown.text("here")
        self.that(
            f"600 bytes at {0x7f0000000000 + first.y:#x}" in said
            and "cache_put" in said
            and "in a run of 1 pages of blocks of 640 bytes" in said,
            "and the pointer tells of its run, too",
            said,
        )
        shown.press("Escape")

    def of_range(self, first, end):
        """In buckets of ranges: allocated, and still lives."""

        def bucket(time):
            return min(int(time / data.END * data.R), data.R - 1)

        made = [block for block in self.blocks if first <= bucket(block.start) < end]
        return made, [block for block in made if math.isnan(block.end) or bucket(block.end) >= end]

    def range(self, shown):
        start, end = shown.place(1.25, 3 * data.UNIT), shown.place(5, 3 * data.UNIT)
        shown.drag(start, end, modifiers=8)
        at = [float(shown.value(f"document.getElementById('{name}').value")) for name in ("from", "to")]
        self.that(abs(at[0] - 1.25) < 0.03 and abs(at[1] - 5) < 0.03, "dragging with Shift selects a range of time", at)
        shown.value(
            "document.getElementById('from').value = '1.25', document.getElementById('to').value = '5',"
            "document.getElementById('to').onchange()"
        )
        shown.frame()
        made, lives = self.of_range(8, 32)
        rows = shown.rows()
        shares = {row[2].split(" ")[0]: row[0] for row in rows}
        wanted = {
            name: shown.value(f"bytesText({sum(block.size for block in lives if block.site == site)})")
            for name, site in (("push_back", 4), ("cache_put", 3))
        }
        self.that(shares == wanted, "the table has what was allocated in it and still lives at its end", (rows, wanted))
        said = shown.text("range-sum")
        self.that(shown.value(f"bytesText({sum(block.size for block in made)})") in said, "and its sum", said)
        self.that(
            {"all", "main", "cache_put", "log_line", "std::vector<int>::push_back(int const&)"} == set(shown.bars()),
            "the flame graph has them",
            shown.bars(),
        )
        self.browser.click("[...document.querySelectorAll('#graph .bar')].find(bar => bar.textContent === 'log_line')")
        self.that(
            "cache_put" not in shown.bars() and shown.text("at").startswith("log_line · "),
            "a click zooms into it",
            shown.bars(),
        )
        self.browser.click("document.getElementById('unzoom')")
        self.browser.click("document.querySelector('#table tbody button')")
        self.that(shown.rows()[0][2].endswith("log_line\nmain"), "the table has whole stacks", shown.rows()[0])
        shown.value("document.querySelector('.curve').scrollIntoView({ block: 'center' })")
        box = shown.value(
            "(r => [r.left, r.top, r.width])" "(document.querySelector('.curve .u-over').getBoundingClientRect())"
        )
        shown.drag([box[0] + box[2] * 0.2, box[1] + 40], [box[0] + box[2] * 0.6, box[1] + 40])
        at = shown.value("view.range")
        self.that(at and abs(at[0] - 2) < 0.1 and abs(at[1] - 6) < 0.1, "dragging in the curves does so, too", at)
        self.browser.click("document.getElementById('zoom-range')")
        self.that(shown.value("[view.from, view.to]") == at, "one can zoom into it", shown.view())

    def tabs(self, shown):
        shown.press("0", "Escape")
        shown.tab("temporary")
        rows = shown.rows()
        self.that(
            len(rows) == 1 and rows[0][2] == "parse_request ← serve ← main" and rows[0][0] == "117 KiB",
            "temporary blocks have their sites",
            rows,
        )
        shown.choose("measure", "count")
        self.that(shown.rows()[0][0] == "300", "also by their number", shown.rows())
        shown.choose("within", "0")
        self.that(
            shown.rows() == [] and "so soon" in shown.text("why"), "those of fewer events are fewer", shown.rows()
        )
        shown.tab("sizes")
        shown.wait("document.querySelectorAll('#histograms table').length === 2")
        counts = shown.value(
            "[...document.querySelectorAll('#histograms table')].map(table => "
            "[...table.rows].map(row => [...row.cells].slice(0, 2).map(cell => cell.innerText)))"
        )
        sums = [sum(int(count.replace(",", "")) for _, count in rows) for rows in counts]
        self.that(
            sums == [len(self.blocks)] * 2 and ["256 B", "300"] in counts[0],
            "sizes and lifetimes have each block",
            counts,
        )
        stay = str(sum(math.isnan(block.end) for block in self.blocks))
        self.that(counts[1][-1] == ["lives at the end", stay], "and those that stay", counts[1])
        shown.tab("holders")
        shown.wait("document.querySelectorAll('#table tbody tr').length > 0")
        rows = shown.rows()
        self.that(
            rows == [["3", "7.0 KiB", "cache_put ← main"], ["1", "4.0 KiB", "load_table ← serve ← main"]],
            "sites hold nearly empty runs",
            rows,
        )
        shown.tab("lives")

    def keys(self, shown):
        shown.press("0", "Escape")
        shown.value(f"{IMAGE}.element.focus()")
        shown.press("t", "t", "a")
        wide, high = spans(shown.view())
        self.that(abs(wide - data.END / 4) < 1e-6 and abs(high - data.TOTAL / 2) < 1, "keys zoom", (wide, high))
        before = shown.view()
        shown.press("ArrowRight", "ArrowUp")
        self.that(shown.view()[0] > before[0] and shown.view()[2] > before[2], "and move", shown.view())
        shown.value(f"{IMAGE}.setCross(4.5, {9 * data.UNIT})")
        shown.press("[")
        self.that(abs(shown.value("view.range[0]") - 4.5) < 1e-6, "and select", shown.value("view.range"))
        shown.press("?")
        self.that(shown.value("!document.getElementById('help').hidden"), "there is help")
        shown.press("Escape", "Escape", "Escape")
        self.that(
            shown.view() == [0, data.END, 0, data.TOTAL] and shown.value("view.range") is None,
            "Escape ends all of it",
            shown.view(),
        )

    def colours(self, shown):
        seen = {}
        for kind in ("share", "class", "age", "thread"):
            shown.choose("colour", kind)
            seen[kind] = tuple(map(tuple, (shown.colour(8, 9 * data.UNIT), shown.colour(8, 6 * data.UNIT + 100))))
        self.that(len(set(seen.values())) == 4, "colours are of the share, the size, the age or the thread", seen)
        self.that(
            "worker" in shown.text("legend") and seen["thread"][0] != seen["thread"][1],
            "and the legend says which",
            seen["thread"],
        )

    def address(self, path):
        shown = Page(self.browser, path, "#time=2,4&range=2.5,3&addresses0=0,65536&colour=age&tab=allocated", "dark")
        got = shown.view(), shown.value("view.range"), shown.value(f"{IMAGE}.kind"), shown.value("panel.tab")
        self.that(got == ([2, 4, 0, 65536], [2.5, 3], "age", "allocated"), "the page's address keeps the view", got)
        dark = shown.value("getComputedStyle(document.body).backgroundColor")
        self.browser.prefer("light")
        self.browser.wait_for("document.documentElement.dataset.theme === 'light'")
        shown.frame()
        light, picture = shown.value("getComputedStyle(document.body).backgroundColor"), shown.colour(3, 60000)
        self.that(dark != light, "it is light or dark as the system is", (dark, light))
        self.browser.click("document.getElementById('theme')")
        shown.frame()
        self.that(
            shown.value("getComputedStyle(document.body).backgroundColor") == dark
            and shown.colour(3, 60000) != picture,
            "and as one likes it",
        )

    def narrow(self, *paths):
        for path in paths:
            shown = Page(self.browser, path, size=(400, 800))
            wide = shown.value("[document.documentElement.scrollWidth, innerWidth]")
            self.that(wide[0] <= wide[1], "it is no wider than a narrow window", wide)

    def compared(self, shown):
        self.that(shown.value("document.querySelectorAll('.picture').length") == 2, "two recordings have two pictures")
        rows = shown.rows()
        head = shown.value("[...document.querySelectorAll('#table th')].map(cell => cell.innerText)")
        self.that(
            head[:3] == ["more", "first file", "second file"]
            and all(len(row) == 4 and row[0].startswith("+") for row in rows)
            and rows[0][:3] == ["+160 KiB", "160 KiB", "320 KiB"],
            "the table has what is more",
            (head, rows),
        )
        self.that(
            "→" in shown.text("range-sum") and "live (2)" in shown.text("curves"),
            "and sums and curves of both",
            shown.text("range-sum"),
        )
        hue = shown.value(
            "[...document.querySelectorAll('#graph .bar')].find(bar => bar.textContent === 'load_table')"
            ".style.background"
        )
        red, green, blue = map(int, re.findall(r"\d+", hue)[:3]) if hue.startswith("rgb") else (8, 0, 0)
        self.that(hue.startswith("hsl(8 ") or red > max(green, blue), "more is red in the flame graph", hue)


PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <acre/trace.h>
#pragma weak acre_trace_mark
#define ALONE __attribute__((noinline))
static char *volatile table[2000], *volatile large;
ALONE void fill(int count) { for (int at = 0; at < count; at++) table[at] = memset(malloc(1000), 1, 1000); }
ALONE void drop(int count) { for (int at = 0; at < count; at++) free(table[at]); }
ALONE void hold(void) { large = malloc(3000000); }
ALONE void turn_over(void) { for (int at = 0; at < 500; at++) free(memset(malloc(100), 1, 100)); }
int main(int count, char **words) {
    int blocks = atoi(words[count - 1]);
    fill(blocks);
    if (acre_trace_mark) acre_trace_mark("filled <all>");
    turn_over();
    usleep(50000);
    hold();
    usleep(50000);
    drop(blocks / 2);
    usleep(50000);
    return 0;
}
"""


class Recorded:
    """A program that is recorded, and plotted by the command."""

    def __init__(self, checks, browser, folder):
        self.that, self.browser, self.folder = checks.that, browser, folder
        self.acre = SOURCE / "acre"
        library = Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()
        source, program = folder / "program.c", folder / "program"
        source.write_text(PROGRAM)
        subprocess.run(
            ["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", f"-I{SOURCE}/include", source, "-o", program],
            check=True,
        )
        for name, blocks in (("small", 1000), ("great", 2000)):
            run(
                [
                    self.acre,
                    "record",
                    "--lib",
                    library,
                    "--stacks",
                    "-o",
                    folder / f"{name}.actrace",
                    "--",
                    program,
                    blocks,
                ]
            )

    def plot(self, *words):
        return run([self.acre, "plot", *words], cwd=self.folder)

    def check(self):
        said = self.plot("small.actrace")
        self.that(said.returncode == 0 and said.stdout == "small.html\n", "acre plot makes a page", said)
        shown = Page(self.browser, self.folder / "small.html")
        rows = {row[2].split(" ← ")[0]: row[:2] for row in shown.rows()}
        self.that(
            rows.get("fill", [""])[0] == "488 KiB" and rows.get("hold", [""])[0] == "2.9 MiB",
            "call sites have names",
            rows,
        )
        shown.tab("temporary")
        rows = shown.rows()
        self.that(
            rows and rows[0][0] == "48.8 KiB" and rows[0][2].startswith("turn_over ← main"),
            "temporary blocks are found",
            rows,
        )
        marks = shown.value("recordings[0].marks.map(mark => mark.text)")
        self.that("filled <all>" in marks, "marks are there", marks)
        large = shown.value(
            "((list, at) => [list.from[at] - recordings[0].meta.from + 0.02, list.y[at] + 1000])"
            "(images[0].list.columns, images[0].list.columns.size.indexOf(3000000))"
        )
        time, y = large
        shown.value(f"setTime({time} - 0.01, {time} + 0.01), {IMAGE}.setAddresses({y} - 20000, {y} + 20000)")
        shown.frame()
        shown.mouse("mouseMoved", shown.place(*large))
        shown.frame()
        said = shown.text("here")
        self.that(
            said.startswith("3,000,000 bytes at 0x") and "hold ← main" in said,
            "the pointer tells what lives there",
            said,
        )
        self.plot("small.actrace", "--from", "0.05", "-o", "part.html")
        shown = Page(self.browser, self.folder / "part.html")
        at = float(shown.value("document.getElementById('from').value"))
        self.that(at == 0.05, "a part of the time has the times of the recording", at)
        said = self.plot("small.actrace", "great.actrace", "-o", "both.html")
        shown = Page(self.browser, self.folder / "both.html")
        rows = {row[3].split(" ← ")[0]: row[:3] for row in shown.rows()}
        self.that(
            rows.get("fill") == ["+488 KiB", "488 KiB", "977 KiB"],
            "two recordings are compared by call sites",
            (said, rows),
        )
        self.refuse()

    def refuse(self):
        (self.folder / "none.actrace").write_bytes(b"no recording")
        for what, words, code in (
            ("a file that is no recording", ["none.actrace"], 1),
            ("no file", ["nothing.actrace"], 1),
            ("three files", ["small.actrace"] * 3, 2),
            ("no folder to write to", ["small.actrace", "-o", "no/page.html"], 1),
        ):
            said = self.plot(*words)
            self.that(
                said.returncode == code and said.stderr.count("\n") == 1 and said.stderr.startswith("acre"),
                f"it says that there is {what}",
                said,
            )
        left = sorted(path.name for path in self.folder.iterdir() if path.suffix in (".new", ".html"))
        self.that(
            "none.html" not in left and not any(name.endswith(".new") for name in left),
            "and leaves nothing behind",
            left,
        )


def check_picture(checks, folder):
    python = SOURCE / "build/environment/bin/python"
    if not python.exists():
        return print("skip  there is no build/environment: the picture is not tried")
    out = folder / "picture.png"
    with open(out, "wb") as file:
        code = subprocess.run(
            [python, "-I", SOURCE / "cli/plot/picture.py", folder / "one.data", folder / "two.data"], stdout=file
        ).returncode
    colours = subprocess.run(
        [
            python,
            "-c",
            "import sys; from PIL import Image; image = Image.open(sys.argv[1]).convert('RGB'); "
            "print(image.size, [count for count, colour in image.getcolors(1 << 24) "
            "if colour == (0x33, 0x13, 0x52)])",
            out,
        ],
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    found = re.fullmatch(r"\(2250, 1125\) \[(\d+)\]\n", colours)
    checks.that(code == 0 and found and int(found[1]) > 100_000, "the picture is drawn", (code, colours))


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="acre-plot-", ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        path = browsers.find()
        if path is None:
            checks.that(not os.environ.get("CI"), "a browser is installed (chromium-headless-shell)")
            print("skip  no browser is installed (chromium-headless-shell): the page is not tried")
        else:
            browser = browsers.Browser(path, tempfile.mkdtemp(dir=folder))
            try:
                PageChecks(checks, browser, folder).check()
                Recorded(checks, browser, folder).check()
            finally:
                browser.close()
            check_picture(checks, folder)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
