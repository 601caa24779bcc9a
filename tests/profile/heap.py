"""`acre heap`: what it says of profiles of programs that allocate known amounts, and what it makes of files that are none."""

import gzip
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, find
from checks import clean_environment, run

BLOCK = 2048  # of malloc(2000)
CHAIN = "main;deeper;deeper;deeper;deeper;outer_site;inlined_site"


class Heap:
    def __init__(self, checks, acre, library, here, folder):
        self.checks, self.acre, self.library, self.folder = checks, acre, library, Path(tempfile.mkdtemp(dir=folder))
        self.program = self.folder / "nested"
        subprocess.run(["gcc", "-O1", "-g", here / "programs/nested.c", "-o", self.program], check=True)
        self.small, self.large = (self.profile(blocks) for blocks in (1000, 3000))

    def profile(self, blocks, conf="prof_sample:0"):
        work = Path(tempfile.mkdtemp(dir=self.folder))
        settings = f"prof:true,prof_final:true,prof_folder:{work},{conf}"
        run([self.program, blocks], environment=clean_environment(LD_PRELOAD=self.library, ACRE_CONF=settings))
        return next(work.glob("*.live.pb.gz"))

    def heap(self, *arguments, **options):
        return run([self.acre, "heap", *arguments], **options)

    def collapsed(self, *arguments, **options):
        """stack -> value, of what has our chain, from main on."""
        said = self.heap("--collapsed", *arguments, **options)
        rows = (line.rpartition(" ") for line in said.stdout.splitlines())
        return {stack[stack.rindex("main;"):]: int(value) for stack, _, value in rows if ";deeper" in stack}, said

    def check_text(self):
        got, said = self.collapsed(self.small)
        self.checks.that(got == {CHAIN: 1000 * BLOCK}, "acre heap --collapsed: exact, with what was inlined",
                         f"{got}\n{said.stderr}")
        said = self.heap("-n", 3, self.small)
        self.checks.that(re.match(rf"inuse_space: [\d.]+ MiB\n.*\n2\.0 MiB +[\d.]+% +[\d.]+% +2\.0 MiB +[\d.]+%  inlined_site\n",
                                  said.stdout) is not None and said.stdout.count("\n") == 6,
                         "acre heap prints the functions that hold most", said.stdout + said.stderr)
        said = self.heap("--lines", self.small)
        self.checks.that("inlined_site " in said.stdout and "nested.c:6\n" in said.stdout, "acre heap --lines names lines",
                         said.stdout)
        got, said = self.collapsed("--by", "alloc_objects", self.small, self.large)
        self.checks.that(got == {CHAIN: 4000}, "several profiles are added up", f"{got}\n{said.stderr}")
        got, said = self.collapsed("--diff", self.large, self.small)
        self.checks.that(got == {CHAIN: -2000 * BLOCK}, "acre heap --diff tells what is less", f"{got}\n{said.stderr}")
        data = self.small.read_bytes()
        said = subprocess.run([self.acre, "heap", "--collapsed", "-"], input=data, stdout=subprocess.PIPE, check=False)
        self.checks.that(f"{CHAIN} {1000 * BLOCK}".encode() in said.stdout, "acre heap reads its input")

    def check_tools(self):
        """With each symbolizer alone in PATH."""
        for tool in ("llvm-symbolizer", "addr2line"):
            path = shutil.which(tool)
            if path is None:
                print(f"skip  {tool} is not installed")
                continue
            alone = Path(tempfile.mkdtemp(dir=self.folder))
            (alone / tool).symlink_to(path)
            for program in ("sh", "python3", "readlink"):
                (alone / program).symlink_to("/usr/bin/python3" if program == "python3" else shutil.which(program))
            got, said = self.collapsed(self.small, environment=clean_environment(PATH=alone))
            self.checks.that(got == {CHAIN: 1000 * BLOCK}, f"names by {tool}", f"{got}\n{said.stderr}")

    def check_pprof(self):
        """A file with names opens where the program is not."""
        named = self.folder / "named.pb.gz"
        said = self.heap("--pprof", named, self.small)
        if not self.checks.that(said.returncode == 0 and named.exists(), "acre heap --pprof writes a file", said):
            return
        away = self.program.rename(self.folder / "away")
        try:
            got, said = self.collapsed(named)
            self.checks.that(got == {CHAIN: 1000 * BLOCK} and not said.stderr, "which has the names in it",
                             f"{got}\n{said.stderr}")
            got, said = self.collapsed(self.small)
            self.checks.that(not got and re.search(r"nested\+0x[0-9a-f]+ 2048000\n", said.stdout)
                             and "no names from" in said.stderr, "without names code is told by its place", said)
            folder = Path(tempfile.mkdtemp(dir=self.folder))
            shutil.copy(away, folder / "nested")
            got, said = self.collapsed("--binaries", folder, self.small)
            self.checks.that(got == {CHAIN: 1000 * BLOCK}, "acre heap --binaries finds programs elsewhere", said)
            subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", self.program], input=b"int main() { return 3; }", check=True)
            got, said = self.collapsed(self.small)
            self.checks.that(not got and "build id" in said.stderr, "another program of that name gives no names", said)
            if shutil.which("go"):
                said = run(["go", "tool", "pprof", "-top", named], timeout=200, environment=clean_environment(
                    PPROF_TMPDIR=self.folder, DEBUGINFOD_URLS="", PPROF_BINARY_PATH=self.folder))
                self.checks.that(re.search(r"^ +1\.95MB .* inlined_site( \(inline\))?$", said.stdout, re.M) is not None,
                                 "go tool pprof shows the names", said)
        finally:
            away.rename(self.program)

    def check_refusals(self):
        whole = gzip.decompress(self.small.read_bytes())
        bad = {"empty": b"", "text": b"no profile at all\n", "cut": whole[:len(whole) // 2],
               "cut.gz": self.small.read_bytes()[:500], "noise": os.urandom(3000), "legacy": b"heap profile: 1\n",
               "mean": b"heap profile: 1: 1 [ 1: 1] @ heap_v2/1\nrubbish\n"}
        for name, data in bad.items():
            path = self.folder / f"bad.{name}"
            path.write_bytes(data)
            said = self.heap(path)
            self.checks.that(said.returncode == 1 and re.fullmatch(r"acre heap: .*is no heap profile.*\n", said.stderr),
                             f"a file that is none is refused in one line: {name}", said)
        for arguments in (["/nowhere"], ["--by", "nothing", self.small], ["--diff", self.small], ["--what"], [],
                          ["--lifetimes", self.small.with_name(self.small.name.replace("live", "peak"))]):
            said = self.heap(*arguments)
            self.checks.that(said.returncode != 0 and re.fullmatch(r"acre heap: .*\n", said.stderr),
                             f"acre heap {' '.join(str(word)[-20:] for word in arguments)}: refused", said)

    def check_changed_bytes(self):
        """Whatever a file has in it, it is read or refused."""
        sys.path.insert(0, str(Path(self.acre).parent / "cli"))
        from heap_profile import legacy, page, pprof, protobuf, views
        text = (b"heap profile: 3: 300 [ 9: 900] @ heap_v2/524288\n 1: 100 [ 3: 300] @ 0x1234 0x99\n"
                b"MAPPED_LIBRARIES:\n00001000-00002000 r-xp 00000000 00:00 0 /bin/x\n")
        draw, read = random.Random(1), 0
        for reader, whole in ((pprof.read, gzip.decompress(self.small.read_bytes())), (legacy.read, text)):
            for _ in range(600):
                data = bytearray(whole)
                for _ in range(draw.randint(1, 4)):
                    data[draw.randrange(len(data))] = draw.randrange(256)
                try:
                    profile = reader(bytes(data[:draw.randrange(len(data))] if draw.random() < 0.2 else data))
                except protobuf.Malformed:
                    continue
                read += 1
                views.top(profile, profile.default, 5)
                page.page("title", profile)
                pprof.write(profile)
        self.checks.that(read > 100, "files with changed bytes are read or refused", read)

    # --- The page, in a browser ---

    def check_page(self):
        path = find()
        if path is None:
            print("skip  no browser is installed (chromium-headless-shell): the flame graph is not tried")
            return
        pages = self.folder / "one.html", self.folder / "two.html"
        deep = self.folder / "deep.html"
        self.heap(f"--html={deep}", self.deep_profile())
        self.heap(f"--html={pages[0]}", self.small)
        self.heap(f"--html={pages[1]}", "--diff", self.small, self.large)
        browser = Browser(path, tempfile.mkdtemp(dir=self.folder))
        try:
            self.look_at_one(browser, pages[0])
            self.look_at_difference(browser, pages[1])
            self.look_at_deep(browser, deep)
            self.checks.that(not browser.problems(), "the pages have no errors and ask for nothing", browser.problems())
        finally:
            browser.close()

    def deep_profile(self):
        """More functions upon each other than a window has room for, and beside them narrow ones."""
        stack = " ".join(f"{0x1000 + 16 * depth:#x}" for depth in range(80))
        rows = [f" {blocks}: {blocks * 1000} [ {blocks}: {blocks * 1000}] @ {0x1800 + 16 * number:#x} {stack}"
                for number, blocks in enumerate([900, *[2] * 20])]
        path = self.folder / "deep.heap"
        path.write_text("heap profile: 940: 940000 [ 940: 940000] @ heap_v2/1\n" + "\n".join(rows) +
                        "\nMAPPED_LIBRARIES:\n00001000-00002000 r-xp 00000000 00:00 0 /bin/x\n")
        return path

    def look_at_deep(self, browser, page):
        that = self.checks.that
        browser.open(page)
        bars = "[...document.querySelectorAll('.bar')]"
        got = browser.value(f"{bars}.map(bar => [bar.getBoundingClientRect().width, parseFloat(bar.style.width)])")
        that(len(got) == 102 and all(abs(drawn - meant) < 0.1 for drawn, meant in got), "narrow bars cover no others", got)
        fits = browser.value("(main => [main.scrollWidth, main.clientWidth, main.scrollHeight > main.clientHeight])"
                             "(document.querySelector('main'))")
        that(fits[0] <= fits[1] and fits[2], "a high graph is no wider than the window", fits)
        browser.press("/")
        browser.press("x")
        dim = browser.value(f"{bars}.map(bar => [bar.textContent, getComputedStyle(bar).opacity])")
        that(len(dim) == 102 and all((opacity == "0.6") == (name == "all") for name, opacity in dim),
             "what is not found is dimmed", dim)

    def look_at_one(self, browser, page):
        that = self.checks.that
        browser.prefer("light")
        browser.open(page)
        names = "[...document.querySelectorAll('.bar')].map(bar => bar.textContent)"
        bar = "[...document.querySelectorAll('.bar')].find(bar => bar.textContent === '%s')"
        got = browser.value(names)
        that({"main", "deeper", "outer_site", "inlined_site"} <= set(got), "the flame graph has the functions", got)
        bottom = browser.value("(box => box.scrollHeight - box.scrollTop - box.clientHeight)(document.querySelector('main'))")
        that(bottom < 2, "the outermost functions are in view", bottom)
        light = browser.value("getComputedStyle(document.body).backgroundColor")
        browser.prefer("dark")
        browser.wait_for("document.documentElement.dataset.theme === 'dark'")
        dark = browser.value("getComputedStyle(document.body).backgroundColor")
        that(light != dark, "it is light or dark as the system is", (light, dark))
        browser.click("document.getElementById('theme')")
        that(browser.value("getComputedStyle(document.body).backgroundColor") == light, "and as one likes it")
        browser.press("/")
        for letter in "inlined_s":
            browser.press(letter)
        found = browser.value("document.getElementById('found').textContent")
        marked = browser.value("[...document.querySelectorAll('.bar.found')].map(bar => bar.textContent)")
        that(found.startswith("2.0 MiB, ") and marked == ["inlined_site"], "search marks functions and adds them up",
             (found, marked))
        browser.press("Escape")
        width = "(" + bar % "inlined_site" + ").getBoundingClientRect().width"
        before = browser.value(width)
        browser.click(bar % "outer_site")
        after, said = browser.value(width), browser.value("document.getElementById('numbers').textContent")
        that(after >= before and said.startswith("2.0 MiB, ") and "#zoom=" in browser.value("location.href"),
             "a click zooms in", (before, after, said))
        that("nested.c" in browser.value("document.getElementById('where').textContent"), "and tells where it is")
        browser.press("Escape")
        that("zoom" not in browser.value("location.href"), "Escape zooms out")
        browser.value("(choice => { choice.value = 0; choice.dispatchEvent(new Event('change')) })"
                      "(document.getElementById('kind'))")
        total = browser.value("document.getElementById('numbers').textContent")
        that(re.match(r"1,0\d\d, 100", total), "another kind of value can be chosen", total)
        browser.click("document.getElementById('as-table')")
        rows = browser.value("[...document.querySelectorAll('tbody tr')].slice(0, 1).map(row => row.innerText)")
        that(len(rows) == 1 and "1,000" in rows[0] and "inlined_site" in rows[0], "the table has what they hold", rows)
        rows = browser.value("document.querySelectorAll('tbody tr').length")
        that(browser.value("document.documentElement.scrollWidth <= innerWidth") and rows > 3, "nothing is beyond its edge")

    def look_at_difference(self, browser, page):
        that = self.checks.that
        browser.open(page)
        bar = "[...document.querySelectorAll('.bar')].find(bar => bar.textContent === 'outer_site')"
        colour = browser.value(f"({bar}).style.background")
        red, _, blue = (int(part) for part in re.findall(r"\d+", browser.value(
            f"getComputedStyle({bar}).backgroundColor"))[:3])
        that(red > blue, "what is more is red", colour)
        browser.click(bar)
        said = browser.value("document.getElementById('numbers').textContent")
        that("before 2.0 MiB: +3.9 MiB" in said, "and how much more is told", said)
        browser.value("(choice => { choice.value = 'before'; choice.dispatchEvent(new Event('change')) })"
                      "(document.getElementById('sides'))")
        that("sides=before" in browser.value("location.href"), "widths can be those of before")


def check(checks, acre, library, here, folder):
    heap = Heap(checks, acre, library, here, folder)
    for part in (heap.check_text, heap.check_tools, heap.check_pprof, heap.check_refusals, heap.check_changed_bytes, heap.check_page):
        part()
