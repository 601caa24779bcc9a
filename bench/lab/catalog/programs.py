"""Real programs: other people's, on inputs and scripts of ours, and the three that jemalloc's paper of 2006 ran
which are written anew here (cca, cfrac, smlng)."""

import os
import re
import shutil
import threading
from pathlib import Path

from inputs import headers, markup, page, postscript, problems, statements

from .. import launch
from ..native import Native
from ..workload import FULL, PROGRAMS, QUICK, Case, Failed, Missing, Workload

ONE = (Case(extent=QUICK),)
MAKING = threading.Lock()  # of two runs at once (beside.py) one makes what both need


def made(lab, name, generator, write):
    """The path of an input; write(path) makes it unless it lies there, newer than its generator."""
    path = lab.inputs / name
    with MAKING:
        if path.exists() and path.stat().st_mtime_ns > Path(generator.__file__).stat().st_mtime_ns:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f"{name}.{os.getpid()}.part")  # another process may make it at the same time
        write(scratch)
        scratch.rename(path)
        return path


def write_text(pair, path, answers_path):
    text, answers = pair
    answers_path.write_text("\n".join(answers) + "\n", encoding="ascii")
    path.write_text(text, encoding="ascii")


def arguments_of(case):
    return dict(argument.split("=", 1) for argument in case.arguments)


class Program(Workload):
    """A program of a Debian package: what it is told, and whether what it says is right."""

    tool = ""  # its name in /usr/bin
    package = ""

    def __init__(self, name, summary, cases=ONE):
        super().__init__(name, PROGRAMS, summary, cases)

    @property
    def packages(self):
        return (self.package,)

    def executable(self):
        """Debian's; another on the way there is taken only where that is missing."""
        found = shutil.which(self.tool, path="/usr/bin") or shutil.which(self.tool)
        if not found:
            raise Missing(f"there is no {self.tool}: install Debian's {self.package}")
        return found

    def prepare(self, lab):
        self.executable()

    def words(self, lab, case, percent):
        """What follows the program's name."""
        raise NotImplementedError

    def stdin(self, lab, percent):
        return None

    def settings(self, case):
        return ()

    def check(self, lab, case, percent, said):
        """-> the checksum of what it said, or Failed is raised"""
        return said_checksum(said)

    def run(self, lab, case, allocator, percent):
        command = [self.executable(), *self.words(lab, case, percent)]
        stdin, settings = self.stdin(lab, percent), self.settings(case)
        costs, said = launch.run_measured(lab, allocator, command, settings=settings, stdin=stdin)
        return launch.sample_from(costs, self.check(lab, case, percent, said))


def said_checksum(said):
    found = re.search(rb"^checksum\s+([0-9a-f]{16})$", said, re.M)
    if not found:
        raise Failed("it reported no checksum")
    return found[1].decode()


class Script(Program):
    """An interpreter on a script in bench/workloads, which is told the percent and says a checksum."""

    def __init__(self, name, summary, tool, package, script):
        super().__init__(name, summary)
        self.tool, self.package, self.script = tool, package, script

    def words(self, lab, case, percent):
        return [lab.bench / "workloads" / self.script, percent]


class Python(Program):
    tool, package = "python3", "python3"

    def words(self, lab, case, percent):
        return [lab.bench / "workloads" / "interpreter.py", 1, percent]

    def settings(self, case):
        return tuple(arguments_of(case).items())


class Cca(Program):
    tool, package = "perl", "perl"

    def headers(self, percent):
        return max(1, headers.HEADERS * min(percent, 100) // 100)

    def input(self, lab):
        def write(path):
            headers.write(path, lab.inputs / "headers.counts")

        return made(lab, "headers.h", headers, write)

    def prepare(self, lab):
        super().prepare(lab)
        self.input(lab)

    def words(self, lab, case, percent):
        return [lab.bench / "workloads" / "cca.pl", self.input(lab), self.headers(percent)]

    def settings(self, case):
        return (("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0"))

    def check(self, lab, case, percent, said):
        counted = {name.decode(): int(count) for name, count in re.findall(rb"^count (\w+) (\d+)$", said, re.M)}
        expected = headers.expected(lab.inputs / "headers.counts", self.headers(percent))
        wrong = [name for name, count in expected.items() if counted.get(name, 0) != count]
        if wrong:
            raise Failed(f"it counted something else: {', '.join(wrong)}")
        return launch.short_hash(said)


class Ghostscript(Program):
    """A case's argument says how many pages the file has."""

    tool, package = "gs", "ghostscript"

    def wanted(self, case, percent):
        pages = int(arguments_of(case)["pages"])
        return pages, max(1, pages * min(percent, 100) // 100)

    def words(self, lab, case, percent):
        pages, wanted = self.wanted(case, percent)
        file = made(lab, f"pages-{pages}.ps", postscript, lambda path: postscript.write(path, pages))
        device = ["-sDEVICE=pgmraw", "-r36", "-sOutputFile=-"]
        return ["-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", *device, f"-dPagesWanted={wanted}", file]

    def check(self, lab, case, percent, said):
        head = re.match(rb"P5\n(?:#[^\n]*\n)*(\d+) (\d+)\n255\n", said)
        page = head.end() + int(head[1]) * int(head[2]) if head else 0
        if not page or len(said) != page * self.wanted(case, percent)[1]:
            raise Failed("it drew something else than these pages")
        return launch.short_hash(said)


class Answers(Program):
    """A program that is asked much, and whose answers are known, a line each."""

    def __init__(self, name, summary, tool, options, generator, extension):
        super().__init__(name, summary)
        self.tool = self.package = tool
        self.options, self.generator, self.extension = options, generator, extension

    def known(self, lab, percent):
        return lab.inputs / f"{self.name}-{percent}.answers"

    def stdin(self, lab, percent):
        def write(path):
            write_text(self.generator.make(percent), path, self.known(lab, percent))

        return made(lab, f"{self.name}-{percent}.{self.extension}", self.generator, write)

    def words(self, lab, case, percent):
        return self.options

    def check(self, lab, case, percent, said):
        """Lines in parentheses are about the work, not answers; but they must be the same for all too."""
        lines = said.decode().splitlines()
        known = self.known(lab, percent).read_text(encoding="ascii").splitlines()
        if [line for line in lines if not line.startswith("(")] != known:
            raise Failed("it answered something else")
        return launch.short_hash(said)


class Compiler(Program):
    tool, package = "g++", "g++"

    def copies(self, percent):
        return (percent + 9) // 20

    def words(self, lab, case, percent):
        flags = ["-std=c++20", "-O1", "-S", "-frandom-seed=1", f"-DCOPIES={self.copies(percent)}"]
        return [*flags, "-o", "-", lab.bench / "workloads" / "compiled.cc"]

    def check(self, lab, case, percent, said):
        """The function that all is for, and one instance a copy, in the assembly."""
        copies = {int(number) for number in re.findall(rb"^_ZN6shapes3oneILi(\d+)EEElv:", said, re.M)}
        if b"\ncompiled_answer:" not in said or copies != set(range(self.copies(percent))):
            raise Failed("it compiled something else")
        return launch.short_hash(said)


class Page(Program):
    """WebKit draws a page. Its engine can be told to take its blocks, but JavaScript's objects, from malloc. chromium
    and Firefox define malloc in their programs, which no preloaded library replaces."""

    tool, package = "wkhtmltoimage", "wkhtmltopdf"
    WIDTH, HEIGHT = 1000, 1200

    def input(self, lab, percent):
        return made(lab, f"page-{percent}.html", page, lambda path: page.write(path, percent))

    def words(self, lab, case, percent):
        shown = ["--width", self.WIDTH, "--crop-h", self.HEIGHT]
        return ["-q", "--format", "ppm", *shown, self.input(lab, percent), "-"]

    def settings(self, case):
        return (("Malloc", "1"), ("QT_QPA_PLATFORM", "offscreen"))  # the former: not WebKit's own allocator

    def check(self, lab, case, percent, said):
        head = b"P6\n%d %d\n255\n" % (self.WIDTH, self.HEIGHT)
        if not said.startswith(head) or len(said) != len(head) + 3 * self.WIDTH * self.HEIGHT:
            raise Failed("it drew no picture of the page")
        if said[len(head) :][:3] != b"\x00\xff\x00":
            raise Failed("the page's scripts have counted something else")
        return launch.short_hash(said)


class Smlng(Native):
    """Which is given an input."""

    def input(self, lab):
        return made(lab, "markup.smlng", markup, markup.write)

    def prepare(self, lab):
        super().prepare(lab)
        self.input(lab)

    def run(self, lab, case, allocator, percent, timed=False):
        command = [self.program(lab, timed), 1, percent, f"input={self.input(lab)}"]
        costs, said = launch.run_measured(lab, allocator, command)
        return launch.parse_report(costs, said.decode())


Z3_OPTIONS = ("-smt2", "-in", "sat.random_seed=1", "smt.random_seed=1")
SQLITE_OPTIONS = ("-batch", ":memory:")

WORKLOADS = [
    Native(
        "cfrac", PROGRAMS, "factors 47582602774358115722167492755475367767, every number a block", ONE, "cfrac.cc"
    ),
    Cca("cca", "Perl takes the preprocessor's logic out of 10 MB of headers"),
    Ghostscript(
        "gs",
        "Ghostscript renders text, curves and pictures",
        [
            Case("6.6 MB", arguments=("pages=96",), extent=QUICK),
            Case("37 MB", arguments=("pages=536",), extent=FULL),
        ],
    ),
    Smlng("smlng", PROGRAMS, "parses and shortens 513 kB of marked-up text, as a tree of small nodes", ONE, "smlng.cc"),
    Script("lua", "strings, tables, closures and coroutines in Lua", "lua5.4", "lua5.4", "program.lua"),
    Answers("z3", "a solver on logic, arithmetic, bit vectors and arrays", "z3", Z3_OPTIONS, problems, "smt2"),
    Answers(
        "sqlite", "a database in memory: filled, indexed, changed, asked", "sqlite3", SQLITE_OPTIONS, statements, "sql"
    ),
    Compiler("g++", "the compiler on templates and containers"),
    Python(
        "python",
        "json, dicts, strings, regular expressions, objects in CPython",
        [Case(extent=QUICK), Case("PYTHONMALLOC=malloc", arguments=("PYTHONMALLOC=malloc",))],
    ),
    Page(
        "page",
        "WebKit on a page of tables, which scripts build, sort and take down",
        [Case(extent=FULL)],
    ),
    Script("node", "buffers, compression, hashing and JSON in node", "node", "nodejs", "program.js"),
]
