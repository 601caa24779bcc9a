"""A program that is recorded, and plotted by the command."""

import os
import subprocess
from pathlib import Path

from checks import run
from shown import IMAGE, Page

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <acre/tags.h>
#include <acre/trace.h>
#pragma weak acre_trace_mark
#pragma weak acre_tag_push
#pragma weak acre_tag_pop
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
    if (acre_tag_push) acre_tag_push("held");
    hold();
    if (acre_tag_pop) acre_tag_pop();
    usleep(50000);
    drop(blocks / 2);
    usleep(50000);
    return 0;
}
"""


class Recorded:
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
            said.startswith("3,000,000 bytes at 0x") and ", tag “held”, hold ← main" in said,
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
        self.damaged()
        self.refuse()

    def damaged(self):
        whole = (self.folder / "small.actrace").read_bytes()
        at = len(whole) // 2  # of the events
        for what, data, line in (
            ("was cut off", whole[: len(whole) - 100], "has no end: it was cut off"),
            ("has a wrong byte", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], "left out"),
        ):
            (self.folder / "damaged.actrace").write_bytes(data)
            said = self.plot("damaged.actrace")
            self.that(
                said.returncode == 0 and line in said.stderr and all(
                    one.startswith("acre plot: ") for one in said.stderr.splitlines()
                ),
                f"a line says that a file {what}",
                said,
            )

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
