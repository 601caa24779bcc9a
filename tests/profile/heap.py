"""`acre heap`: what it says of profiles of programs that allocate known amounts, and what it makes of files that are none."""

import gzip
import json
import os
import pty
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
        templates = self.folder / "templates"
        subprocess.run(["g++", "-O1", "-g", here / "programs/templates.cc", "-o", templates], check=True)
        self.small, self.large = (self.profile(self.program, blocks) for blocks in (1000, 3000))
        self.long_names = self.profile(templates)

    def profile(self, *command, conf="prof_sample:0"):
        work = Path(tempfile.mkdtemp(dir=self.folder))
        settings = f"prof:true,prof_final:true,prof_folder:{work},{conf}"
        run(command, environment=clean_environment(LD_PRELOAD=self.library, ACRE_CONF=settings))
        return next(work.glob("*.live.pb.gz"))

    def legacy(self, name, rows):
        """A profile in the text of gperftools, without names."""
        path = self.folder / name
        path.write_text("heap profile: 1: 1 [ 1: 1] @ heap_v2/1\n" + "\n".join(rows) +
                        "\nMAPPED_LIBRARIES:\n00001000-00002000 r-xp 00000000 00:00 0 /bin/x\n")
        return path

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
        self.checks.that(re.match(r"nested \(process \d+\), \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d, every block sampled\n"
                                  r"inuse_space: [\d.]+ MiB\n +own +own% +total +total%  function\n"
                                  r"2\.0 MiB +[\d.]+% +2\.0 MiB +[\d.]+%  inlined_site\n",
                                  said.stdout) is not None and said.stdout.count("\n") == 7
                         and re.search(r"^… and \d+ functions more, together own [\d.]+ \w+$", said.stdout, re.M),
                         "acre heap prints the functions that hold most", said.stdout + said.stderr)
        said = self.heap("--lines", self.small)
        self.checks.that("inlined_site " in said.stdout and "nested.c:6\n" in said.stdout, "acre heap --lines names lines",
                         said.stdout)
        got, said = self.collapsed("--by", "alloc_objects", self.small, self.large)
        self.checks.that(got == {CHAIN: 4000}, "several profiles are added up", f"{got}\n{said.stderr}")
        got, said = self.collapsed("--diff", self.large, self.small)
        self.checks.that(got == {CHAIN: -2000 * BLOCK}, "acre heap --diff tells what is less", f"{got}\n{said.stderr}")
        said = self.heap("--diff", self.small, self.large)
        self.checks.that(re.search(r"^inuse_space: \+3\.9 MiB, from 2\.\d MiB to [56]\.\d MiB; % of before$", said.stdout, re.M)
                         and re.search(r"^\+3\.9 MiB +(?:199|200)\.\d% +\+3\.9 MiB +(?:199|200)\.\d%  inlined_site$", said.stdout, re.M),
                         "and by how much of what there was before", said.stdout)
        data = self.small.read_bytes()
        said = subprocess.run([self.acre, "heap", "--collapsed", "-"], input=data, stdout=subprocess.PIPE, check=False)
        self.checks.that(f"{CHAIN} {1000 * BLOCK}".encode() in said.stdout, "acre heap reads its input")

    def on_terminal(self, columns, *arguments):
        """What `acre heap` prints on a terminal that is so wide."""
        ours, its = pty.openpty()
        environment = clean_environment(COLUMNS=columns, TERM="dumb")
        process = subprocess.Popen([str(word) for word in (self.acre, "heap", *arguments)], stdin=its, stdout=its, stderr=its,
                                   env=environment)
        os.close(its)
        said = b""
        try:
            while part := os.read(ours, 1 << 16):
                said += part
        except OSError:  # it has ended
            pass
        os.close(ours)
        process.wait()
        return said.decode().replace("\r\n", "\n")

    def check_names(self):
        that = self.checks.that
        sys.path.insert(0, str(Path(self.acre).parent / "cli"))
        from heap_profile.names import fitting, forms
        push = ("void std::vector<std::map<int, std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
                "std::less<int>, std::allocator<int> >, std::allocator<int> >::emplace<int const&>(int const&)")
        for name, room, wanted in (
                (push, None, push),
                (push, 90, "void std::vector<std::map<int, std::string>>::emplace<int const&>(int const&)"),
                (push, 75, "void std::vector<std::map<int, std::string>>::emplace<int const&>(…)"),
                (push, 40, "void std::vector<…>::emplace<…>(…)"), (push, 12, "emplace<…>"), (push, 5, "empl…"),
                ("operator new(unsigned long)", 15, "operator new(…)"),
                ("bool operator< <int>(A<int> const&)", 24, "bool operator< <int>(…)"),
                ("a::{lambda(int)#1}::operator()(b<c>) const", 37, "a::{lambda(…)#1}::operator()(…) const"),
                ("(anonymous namespace)::f(A<int>::B)", 28, "(anonymous namespace)::f(…)"),
                ("main.(*Server).Handle", 30, "main.(*Server).Handle"), ("unpaired > name(", 8, "unpaire…"),
                ("<Vec<T> as Clone>::clone::h0123456789abcdef", 30, "<Vec<T> as Clone>::clone"), ("<" * 999, 9, "<" * 8 + "…")):
            got = fitting(name, room)
            that(got == wanted, f"{name[:30]} in {room} columns", got)
        that(all(len(one) > len(other) for one, other in zip(forms(push), forms(push)[1:])), "each form is shorter", forms(push))
        for columns in (80, 120, 200):
            said = self.on_terminal(columns, self.long_names).splitlines()
            that(len(said) > 10 and max(map(len, said)) <= columns and any("…" in line for line in said),
                 f"names fit a terminal of {columns} columns", said)
        said = self.on_terminal(80, "--lines", self.long_names)
        that(max(map(len, said.splitlines())) <= 80 and " templates.cc:18\n" in said, "with lines, too", said)
        whole = self.on_terminal(80, "--full-names", self.long_names)
        elsewhere = self.heap(self.long_names).stdout
        that(whole == elsewhere and re.search(r"  Cache<std::__cxx11::basic_string<.*> >::put\(.*\)$", whole, re.M),
             "with --full-names, and in a file, they are whole", whole)

    def check_json(self):
        that = self.checks.that
        said = json.loads(self.heap("--json", self.small).stdout)
        site = next(row for row in said["functions"] if row["function"] == "inlined_site")
        outer = next(row for row in said["functions"] if row["function"] == "outer_site")
        about = said["profiles"][0]
        that(site == {"function": "inlined_site", "own": 1000 * BLOCK, "total": 1000 * BLOCK} and outer["own"] == 0
             and outer["total"] == 1000 * BLOCK and said["kind"] == "inuse_space" and said["unit"] == "bytes"
             and said["all"] == sum(row["own"] for row in said["functions"]) and said["empty"] is None,
             "acre heap --json has own and total of each function", said)
        that(about["program"] == str(self.program) and f".{about['pid']}." in self.small.name and about["sampling_interval"] == 1
             and re.fullmatch(r"[\d-]{10}T[\d:]{8}[+-]\d\d:\d\d", about["time"]), "and what the profile is of", about)
        said = json.loads(self.heap("--json", "--lines", "-n", 1, self.small).stdout)["functions"]
        that(len(said) == 1 and said[0]["file"].endswith("nested.c") and said[0]["line"] == 6, "and lines", said)
        said = json.loads(self.heap("--json", "--diff", self.small, self.large).stdout)
        that(said["functions"][0]["own"] == 2000 * BLOCK and said["after"] - said["before"] == said["all"] == 2000 * BLOCK
             and len(said["profiles"]) == 2, "and differences", said)
        freed = json.loads(self.heap("--json", "--lifetimes", self.long_names).stdout)["functions"]
        that(freed and all(row["short"] + row["medium"] + row["long"] == row["freed_objects"] for row in freed),
             "and lifetimes", freed)

    def check_empty(self):
        """An empty profile says why."""
        nothing = self.profile(self.program, 10, conf="prof_sample:1G")
        freed = self.legacy("freed.heap", [" 0: 0 [ 9: 900] @ 0x1234"])
        for arguments, why in (([nothing], "nothing is sampled yet: the program has allocated too little for one sample in 1 GiB"),
                               (["--lifetimes", nothing], "nothing is sampled yet"),
                               ([freed], "all that was sampled has been freed; --by alloc_space shows"),
                               (["--by", "freed_elsewhere", self.small], "nothing that was sampled has been freed yet by another"),
                               (["--diff", self.small, self.small], "no function's inuse_space differs")):
            said = self.heap(*arguments)
            self.checks.that(said.returncode == 0 and said.stdout.splitlines()[1].startswith(why), f"empty: {why}", said)
            said = self.heap("--collapsed", *arguments)
            self.checks.that(said.stdout == "" and f"heap: {why}" in said.stderr, "--collapsed says it, too", said)
        said = json.loads(self.heap("--json", nothing).stdout)
        self.checks.that(said["empty"].startswith("nothing is sampled yet") and said["functions"] == [], "and --json", said)
        return nothing

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
        bad = {"empty": b"", "text": b"no profile at all\n", "cut": whole[:-1],
               "cut.gz": self.small.read_bytes()[:500], "noise": os.urandom(3000), "legacy": b"heap profile: 1\n",
               "mean": b"heap profile: 1: 1 [ 1: 1] @ heap_v2/1\nrubbish\n",
               # Texts where numbers should be: the interval, and a mapping's start.
               "interval": whole + b"b\x01x", "mapping": whole + b"\x1a\x03\x12\x01x"}
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
        from heap_profile import about, legacy, page, pprof, protobuf, views
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
                page.page(about.heading([profile], ["-"]), profile)
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
        long_names, empty = self.folder / "long_names.html", self.folder / "empty.html"
        self.heap(f"--html={long_names}", self.long_names)
        self.heap(f"--html={empty}", self.profile(self.program, 10, conf="prof_sample:1G"))
        browser = Browser(path, tempfile.mkdtemp(dir=self.folder))
        try:
            self.look_at_one(browser, pages[0])
            self.look_at_difference(browser, pages[1])
            self.look_at_deep(browser, deep)
            self.look_at_long_names(browser, long_names)
            browser.open(empty)
            said = browser.value("document.querySelector('main').innerText")
            self.checks.that(said.startswith("nothing is sampled yet"), "an empty page says why", said)
            self.checks.that(not browser.problems(), "the pages have no errors and ask for nothing", browser.problems())
        finally:
            browser.close()

    def deep_profile(self):
        """More functions upon each other than a window has room for, and beside them narrow ones."""
        stack = " ".join(f"{0x1000 + 16 * depth:#x}" for depth in range(80))
        rows = [f" {blocks}: {blocks * 1000} [ {blocks}: {blocks * 1000}] @ {0x1800 + 16 * number:#x} {stack}"
                for number, blocks in enumerate([900, *[2] * 20])]
        return self.legacy("deep.heap", rows)

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
        that(after >= before and said.startswith("total 2.0 MiB, ") and "#zoom=" in browser.value("location.href"),
             "a click zooms in", (before, after, said))
        that("nested.c" in browser.value("document.getElementById('where').textContent"), "and tells where it is")
        browser.press("Escape")
        that("zoom" not in browser.value("location.href"), "Escape zooms out")
        browser.value("(choice => { choice.value = 0; choice.dispatchEvent(new Event('change')) })"
                      "(document.getElementById('kind'))")
        total = browser.value("document.getElementById('numbers').textContent")
        that(re.match(r"total 1,0\d\d, 100", total), "another kind of value can be chosen", total)
        browser.click("document.getElementById('as-table')")
        rows = browser.value("[...document.querySelectorAll('tbody tr')].slice(0, 1).map(row => row.innerText)")
        that(len(rows) == 1 and "1,000" in rows[0] and "inlined_site" in rows[0], "the table has what they hold", rows)
        rows = browser.value("document.querySelectorAll('tbody tr').length")
        that(browser.value("document.documentElement.scrollWidth <= innerWidth") and rows > 3, "nothing is beyond its edge")

    def look_at_long_names(self, browser, page):
        that = self.checks.that
        browser.open(page)
        text = "document.getElementById('%s').textContent"
        labels = "[...document.querySelectorAll('.bar')].map(bar => bar.ariaLabel)"
        bar = "[...document.querySelectorAll('.bar')].find(bar => bar.ariaLabel.startsWith('%s'))"
        title = browser.value("document.title")
        that(re.fullmatch(r"templates \(process \d+\), [\d-]+ [\d:]+ [+-]\d\d:\d\d, every block sampled, [\d.]+ MiB inuse space – "
                          "heap profile", title) and browser.value(text % "about") in title.replace(", ", " · "),
             "the title has program, process, time, rate and total", title)

        def boxes(name):
            return sum(label.startswith(name) for label in browser.value(labels))
        that(boxes("serve(int)") == 1 and boxes("Cache<") == 1, "a function is one box", browser.value(labels))
        browser.click("document.getElementById('lines')")
        shown = browser.value("[...document.querySelectorAll('.bar')].map(bar => bar.textContent)")
        that(boxes("serve(int)") == 2 and any(name.endswith(" templates.cc:19") for name in shown) and "lines=1" in browser.value("location.href"),
             "lines are boxes on demand", shown)
        browser.click("document.getElementById('lines')")
        put = browser.value(bar % "Cache<" + ".textContent")
        browser.point_at(bar % "Cache<")
        whole = browser.value(text % "whole")
        that(put.startswith("Cache<std::string, std::string>::put(") and whole.startswith("Cache<std::__cxx11::basic_string<char, ")
             and whole in browser.value(f"({bar % 'Cache<'}).title"), "a name is shortened; the whole one is told", (put, whole))

        browser.click(bar % "serve(int)")
        own = browser.value(text % "numbers")
        browser.point_at(bar % "main")
        above = browser.value(text % "numbers")
        shares = [float(share) for share in re.findall(r"([\d.]+) %", own + above)]
        that(", 100.0 % of what is shown" in own and "what is shown" in above and above.endswith("; what is shown is a part of it")
             and len(shares) == 5 and max(shares) <= 100 and shares[0] < 60, "no share is more than all, also of what leads to a zoom",
             (own, above))
        browser.click("document.getElementById('as-table')")
        rows = browser.value("[...document.querySelectorAll('tbody tr')].map(row => row.innerText)")
        first = next(row for row in rows if "serve(int)" in row)
        that(re.match(r"0 B\s+0\.0 %\s+[\d.]+ KiB\s+100\.0 %", first) and not any("main" in row for row in rows),
             "the table is that of what is shown", rows)
        browser.click("document.getElementById('as-table')")
        browser.press("Escape")

        browser.press("/")
        browser.press("(")
        said = browser.value(text % "found")
        that(said.startswith("not a regular expression: unterminated group") and
             browser.value("document.getElementById('search').ariaInvalid") == "true", "a bad expression is told what is wrong", said)
        browser.press("Escape")
        that(browser.value(text % "found") == "", "until it is gone")

        browser.value("document.getElementById('graph').focus()")
        what = text % "what"
        way = [browser.value(what)]
        for key in ("ArrowUp", "ArrowUp", "ArrowDown", "ArrowUp"):
            browser.press(key)
            way.append(browser.value(what))
        that(way[0] == "all" and way[1] == way[3] and way[2] == way[4] != way[1], "keys move", way)
        while browser.value(what) != "main":
            browser.press("ArrowUp")
        for _ in range(3):
            browser.press("ArrowUp")
        way = []
        for key in ("ArrowLeft", "ArrowRight", "ArrowLeft"):
            browser.press(key)
            way.append(browser.value(what))
        that(way[0] == way[2] != way[1], "and beside", way)
        browser.press("Enter")
        that("zoom=" in browser.value("location.href"), "and zoom")
        browser.press("Escape")
        browser.press("?")
        that(browser.value("!document.getElementById('help').hidden"), "a key shows the words and keys")
        browser.press("Escape")
        for width in (360, 640, 2200):
            browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1, mobile=False)
            browser.wait_for(f"innerWidth === {width} && document.getElementById('bar0').offsetWidth > {width - 60}")
            fits = browser.value("[document.documentElement.scrollWidth, document.querySelector('main').clientHeight]")
            that(fits[0] <= width and fits[1] > 300, f"the page fits a window of {width}", fits)
        browser.ask("Emulation.clearDeviceMetricsOverride")

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
        that("total before 2.0 MiB: +3.9 MiB" in said, "and how much more is told", said)
        browser.value("(choice => { choice.value = 'before'; choice.dispatchEvent(new Event('change')) })"
                      "(document.getElementById('sides'))")
        that("sides=before" in browser.value("location.href"), "widths can be those of before")


def check(checks, acre, library, here, folder):
    heap = Heap(checks, acre, library, here, folder)
    for part in (heap.check_text, heap.check_names, heap.check_json, heap.check_empty, heap.check_tools, heap.check_pprof,
                 heap.check_refusals, heap.check_changed_bytes, heap.check_page):
        part()
