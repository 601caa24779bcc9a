"""acre plot: the page in a browser, of a recording whose every block is known (data.py), and of a program; the picture.

Exit code 0: all well, 1: not. ACRE_LIB names the library.
"""

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
from checks import Checks
from picture_checks import PictureChecks
from plot import page
from range_checks import RangeChecks
from recorded import Recorded
from shown import IMAGE, Page


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
        PictureChecks(self.that, self.browser, self.blocks).check(shown)
        of_range = RangeChecks(self.that, self.browser, self.blocks)
        of_range.check(shown)
        of_range.compared(Page(self.browser, both, scheme="dark"))
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
