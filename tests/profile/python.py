"""Python functions and lines in heap profiles, of each CPython 3.11 to 3.14 that is here."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import clean_environment, run

HERE = Path(__file__).resolve().parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PAGES = 777  # of a block that only the test allocates


def interpreters():
    """The interpreters of these versions, by their own word: {version: path}."""
    names = [path for version in VERSIONS for path in (f"/usr/bin/python{version}", f"/usr/local/bin/python{version}",
             *glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")))]
    found = {}
    for path in filter(os.path.exists, names):
        ask = "import sys; print(sys.version.split()[0], hasattr(sys, '_is_gil_enabled') and not sys._is_gil_enabled())"
        said = run([path, "-c", ask]).stdout.split()
        if len(said) == 2 and said[1] == "False":
            found[f"{said[0]} in {Path(path).parents[1]}"] = path
    return found


def profiled(python, library, work, *arguments, **more):
    """Blocks of 20 pages or more are sampled for certain, all but one in 10^8."""
    settings = f"prof:true,prof_final:true,prof_sample:4K,prof_folder:{work},prof_python:true"
    return run([python, *arguments], environment=clean_environment(LD_PRELOAD=library, ACRE_CONF=settings, **more))


def python_stacks(profile):
    """The Python frames of each stack, as the program tells them, by the size of its blocks."""
    space, objects = profile.index("alloc_space"), profile.index("alloc_objects")
    found = {}
    for (stack, labels), values in profile.samples.items():
        if values[objects] != 0:
            frames = [[line.function, line.file, line.number] for location in stack for line in location.lines]
            found.setdefault(values[space] // values[objects], []).append(frames)
    return found


class Python:
    def __init__(self, checks, acre, library, folder):
        sys.path.insert(0, str(Path(acre).parent / "cli"))
        from heap_profile import names, pprof
        self.forms = names.forms
        self.read = lambda path: pprof.read(path.read_bytes())
        self.checks, self.acre, self.library, self.folder = checks, acre, library, folder

    def check_frames(self, version, python):
        work = Path(tempfile.mkdtemp(dir=self.folder))
        ended = profiled(python, self.library, work, "-Wignore", HERE / "programs/frames.py", "fork")
        files = sorted(work.glob("*.live.pb.gz"))
        if not self.checks.that(ended.returncode == 0 and not ended.stderr and len(files) == 2,
                                f"CPython {version}: a profiled program with a child ends well", (ended, files)):
            return
        got = {}
        for file in files:
            for size, stacks in python_stacks(self.read(file)).items():
                got.setdefault(size, []).extend(stacks)
        told = {int(size): frames for line in ended.stdout.splitlines() for size, frames in json.loads(line).items()}
        wrong = [(frames, got.get(size)) for size, frames in told.items() if frames not in got.get(size, [])]
        self.checks.that(not wrong and len(told) > 35, f"CPython {version}: functions and lines are the interpreter's",
                         "\n".join(map(str, wrong)))

    def check_sub_interpreters(self, version, python):
        work = Path(tempfile.mkdtemp(dir=self.folder))
        inside = f"def in_sub():\n    return bytearray({PAGES} * 4096 - 100)\nin_sub()"
        module = "_interpreters" if version >= "3.13" else "_xxsubinterpreters"
        ended = profiled(python, self.library, work, "-c",
                         f"import {module} as many\nfor _ in range(3):\n  one = many.create()\n"
                         f"  many.run_string(one, {inside!r})\n  many.destroy(one)")
        got = python_stacks(self.read(next(work.glob("*.live.pb.gz")))).get(PAGES * 4096, [])
        wanted = [["in_sub", "<string>", 2], ["<module>", "<string>", 3]]
        self.checks.that(ended.returncode == 0 and any(stack[:2] == wanted for stack in got),
                         f"CPython {version}: sub-interpreters have functions", (ended, got))

    def check_deep(self, version, python):
        work = Path(tempfile.mkdtemp(dir=self.folder))
        ended = profiled(python, self.library, work, "-c",
                         f"def down(n):\n    return down(n - 1) if n else bytearray({PAGES} * 4096 - 100)\ndown(500)")
        profile = self.read(next(work.glob("*.live.pb.gz")))
        got = {(sum(line.function == "down" for location in stack for line in location.lines), labels[-1:])
               for stack, labels in profile.samples}
        self.checks.that(ended.returncode == 0 and (128, (("stack", "truncated"),)) in got,
                         f"CPython {version}: a deep recursion is cut and marked", (ended, got))

    def check_embedded(self, version, python):
        ask = "from sysconfig import get_config_var as get; print(get('LIBDIR') + '/' + get('LDLIBRARY'))"
        path = run([python, "-c", ask]).stdout.strip()
        if not path.endswith(".so") or not os.path.exists(path):
            return
        work = Path(tempfile.mkdtemp(dir=self.folder))
        subprocess.run(["gcc", "-O1", HERE / "programs/embeds.c", "-o", work / "embeds", "-ldl"], check=True)
        ended = profiled(work / "embeds", self.library, work, path, PYTHONHOME=Path(python).parents[1])
        files = sorted(work.glob("*.live.pb.gz"))
        got = python_stacks(self.read(files[0])).get(PAGES * 4096, []) if files else []
        self.checks.that(ended.stdout == "done\n" and [["embedded", "<string>", 2], ["<module>", "<string>", 3]] in got,
                         f"CPython {version}: an interpreter that is opened, ended and closed", (ended, got))

    def heap(self, *arguments):
        return run([self.acre, "heap", *arguments])

    def check_command(self, version, python):
        """acre run --profile and acre heap, with Python functions beside native ones and alone."""
        work = Path(tempfile.mkdtemp(dir=self.folder))
        program = work / "__main__.py"
        program.write_text("import marshal\ndef outer():\n    return sorted([1], key=inner)\ndef inner(_):\n"
                           f"    return bytearray({PAGES} * 4096 - 100)\nouter()\n")
        ended = run([self.acre, "run", "--lib", self.library, "--profile=4K", "-o", work, "--", python, program])
        peak = next(work.glob("*.peak.pb.gz"), None)
        if not self.checks.that(ended.returncode == 0 and peak, f"CPython {version}: acre run --profile", ended):
            return
        file = f"{work.name}/__main__.py"
        alone = f"<module> ({file});outer ({file});inner ({file}) {PAGES * 4096}\n"
        said = self.heap("--python", "--collapsed", peak).stdout
        self.checks.that(alone in said and "PyObject" not in said, f"CPython {version}: acre heap --python", said)
        said = self.heap("--python", "--collapsed", "--lines", peak).stdout
        self.checks.that(f"<module> {program}:6;outer {program}:3;inner {program}:5 {PAGES * 4096}\n" in said,
                         f"CPython {version}: acre heap --python --lines", said)
        said = self.heap("--collapsed", peak).stdout
        stack = next((line for line in said.splitlines() if f";inner ({file});" in line), "")
        self.checks.that(stack.startswith("_start;") and f";outer ({file});" in stack
                         and "_PyEval_EvalFrameDefault" not in stack and "PyByteArray_Resize" in stack,
                         f"CPython {version}: Python functions stand beside native ones", stack)
        named = work / "named.pb.gz"
        self.heap("--pprof", named, peak)
        self.checks.that(alone in self.heap("--python", "--collapsed", named).stdout,
                         f"CPython {version}: a file with names keeps them")
        if version == "3.11" or not shutil.which("go"):
            return
        said = run(["go", "tool", "pprof", "-list", "^inner$", "-source_path", work, peak], timeout=200,
                   environment=clean_environment(PPROF_TMPDIR=work, DEBUGINFOD_URLS="", PPROF_BINARY_PATH=work)).stdout
        self.checks.that(re.search(r"\. +3\.04MB +5: +return bytearray", said) is not None,
                         f"CPython {version}: go tool pprof shows the line", said)

    def check_perf_map(self, version, python):
        """Without prof_python: code that the interpreter makes for `perf` has the names of its map, from 3.12 on."""
        work = Path(tempfile.mkdtemp(dir=self.folder))
        program = work / "maps.py"
        program.write_text(f"def inner():\n    return bytearray({PAGES} * 4096 - 100)\n"
                           "inner()\nimport os\nprint(os.getpid())")
        settings = f"prof:true,prof_final:true,prof_sample:4K,prof_folder:{work}"
        ended = run([python, "-X", "perf", program],
                    environment=clean_environment(LD_PRELOAD=self.library, ACRE_CONF=settings))
        try:
            peak = next(work.glob("*.peak.pb.gz"))
            for options, stack in (((), "inner (maps.py);"), (("--python",), f"inner (maps.py) {PAGES * 4096}\n")):
                said = self.heap("--collapsed", *options, peak).stdout
                self.checks.that(stack in said and "py::" not in said,
                                 f"CPython {version}: names of a perf map {' '.join(options)}", (ended, said[-3000:]))
        finally:
            Path(f"/tmp/perf-{ended.stdout.strip()}.map").unlink(missing_ok=True)

    def check_names(self):
        wanted = {"make.<locals>.<lambda> (a.py)": ["<lambda> (a.py)", "<lambda>"],
                  "<module> (<frozen os>)": ["<module>"],
                  "Cart.add (shop/__init__.py)": ["add (shop/__init__.py)", "add"], "f.<locals>.g": ["g"]}
        got = {name: self.forms(name) for name in wanted}
        self.checks.that(got == {name: [name, *forms] for name, forms in wanted.items()},
                         "Python's names are shortened", got)

    def check_native(self):
        work = Path(tempfile.mkdtemp(dir=self.folder))
        run(["ls"], environment=clean_environment(LD_PRELOAD=self.library, ACRE_CONF=
            f"prof:true,prof_final:true,prof_sample:0,prof_folder:{work},prof_python:true"))
        live = next(work.glob("*.live.pb.gz"))
        said = self.heap("--python", live)
        self.checks.that(said.returncode == 1 and "there are no Python functions in this profile" in said.stderr,
                         "acre heap --python of a program that is not Python's", said)

    def check(self, version, python):
        self.check_frames(version, python)
        self.check_sub_interpreters(version, python)
        self.check_deep(version, python)
        self.check_embedded(version, python)
        self.check_command(version, python)
        if version >= "3.12":
            self.check_perf_map(version, python)


def check(checks, acre, library, folder):
    python = Python(checks, acre, library, folder)
    python.check_names()
    python.check_native()
    found = interpreters()
    for version, path in found.items():
        python.check(version, path)
    for version in VERSIONS:
        if not any(name.startswith(version) for name in found):
            print(f"skip  there is no CPython {version}")
