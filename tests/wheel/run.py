"""The Python package as others get it: a source distribution, a wheel made from that, its tag by auditwheel; then, for
each Python 3.9 and later that is here, installed where no compiler is, used and removed; a notebook in a browser.

Tools are fetched from PyPI, into build/wheel-tools. Exit code 0: all well, 1: not, 77: they cannot be fetched.
"""

import base64
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / name) for name in ("package", "profile")]

import browser
from checks import Checks, clean_environment, run

PROJECT = ROOT / "bindings/python"
TOOLS = ROOT / "build/wheel-tools"
API = HERE.parent / "python"
NEWEST_TAG = (2, 34)  # Ubuntu 22.04, RHEL 9, Debian 12 and later
VERSIONS = range(9, 20)
NOTEBOOK = ("nbconvert==7.17.2", "ipykernel==7.4.0")
TESTS = ("pytest",)
BUILD_S = 1500

CELLS = ("""import acre
def hoard(size):
    return [bytearray(100_000) for _ in range(size)]
with acre.profile(sample=0) as profile:
    kept = hoard(50)""", "profile", "acre.stats()")
APP = """
import acre
with acre.profile(sample=0) as profile, acre.tag("app"):
    kept = [bytearray(100_000) for _ in range(50)]
print(acre.is_active(), acre.tag("app").info().live // 1_000_000, acre.version())
"""


def fetch_tools():
    if (TOOLS / "requirements.txt").exists() and (TOOLS / "requirements.txt").read_text() == wanted_tools():
        return
    for command in ([sys.executable, "-m", "venv", "--clear", TOOLS],
                    [TOOLS / "bin/pip", "install", "-q", "-r", HERE / "requirements.txt"]):
        subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL)
    shutil.copy2(HERE / "requirements.txt", TOOLS)


def wanted_tools():
    return (HERE / "requirements.txt").read_text()


def with_tools():
    # The build lies in another folder each time; a ccache, if there is one, knows it again.
    return clean_environment(PATH=f"{TOOLS}/bin:{os.environ['PATH']}", CCACHE_BASEDIR=tempfile.gettempdir())


def check_build(checks, work):
    """-> the wheel with its last name; None: there is none"""
    if not checks.succeeds("a source distribution, and a wheel from that",
                           [TOOLS / "bin/python", "-m", "build", "-o", work, PROJECT], environment=with_tools(),
                           timeout=BUILD_S):
        return None
    (source,), (made,) = work.glob("*.tar.gz"), work.glob("*.whl")
    with tarfile.open(source) as names:
        wrong = [name for name in names.getnames() if name.endswith((".pyc", ".o")) or "/build/" in name]
    checks.that(not wrong, "the source distribution has nothing that is made", wrong[:5])
    checks.succeeds("twine takes both", [TOOLS / "bin/twine", "check", "--strict", source, made])
    said = run([TOOLS / "bin/auditwheel", "show", made], environment=with_tools())
    tag = re.search(r'"manylinux_(\d+)_(\d+)_\w+"', said.stdout)
    checks.that(tag and tuple(map(int, tag.groups())) <= NEWEST_TAG, f"auditwheel: {tag and tag[0]}",
                said.stdout + said.stderr)
    if not checks.succeeds("auditwheel names it", [TOOLS / "bin/auditwheel", "repair", "-w", work / "named", made],
                           environment=with_tools()):
        return None
    (wheel,) = (work / "named").glob("*.whl")
    checks.that(re.search(r"-py3-none-manylinux_2_\d+_x86_64\.whl$", wheel.name), "one wheel for each Python 3",
                wheel.name)
    with zipfile.ZipFile(wheel) as names:
        own = [name for name in names.namelist() if ".so" in name]
    checks.that(own == ["acre/libacre.so.1"], "no library of others' is in it", own)
    return wheel


def pythons():
    """Of each version that is here, its path."""
    found = {}
    for minor in VERSIONS:
        paths = [f"/usr/bin/python3.{minor}", f"/usr/local/bin/python3.{minor}",
                 *glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*/bin/python3.{minor}"))]
        path = next(filter(os.path.exists, paths), None)
        if path and run([path, "-c", "import ensurepip, ctypes"]).returncode == 0:
            found[f"3.{minor}"] = path
    return found


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


class Installed:
    """The wheel in a virtual environment, used by programs that find nothing else in PATH."""

    def __init__(self, checks, version, python, wheel, work):
        self.checks, self.version, self.wheel = checks, version, wheel
        self.folder, self.home = work / f"venv-{version}", work / f"home-{version}"
        self.home.mkdir()
        run([python, "-m", "venv", self.folder])
        self.before = files_of(self.folder)

    def run(self, *words, **more):
        environment = {"PATH": f"{self.folder}/bin", "HOME": str(self.home), **more}
        return run([self.folder / "bin" / words[0], *words[1:]], environment=environment, cwd=self.home)

    def that(self, holds, what, ended):
        self.checks.that(holds, f"{self.version}: {what}", f"ended with {ended.returncode}\n{ended.stdout}{ended.stderr}")

    def install(self, *names):
        return self.run("python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *names)

    def check(self):
        ended = self.install("--no-index", self.wheel)
        self.that(ended.returncode == 0, "pip installs it, without anything else", ended)
        ended = self.run("acre", "run", "--stats", "--", "python3", "-c", APP)
        self.that(ended.stdout.split()[:2] == ["True", "5"] and "resident" in ended.stderr,
                  "acre run, stats, tag, profile", ended)
        ended = self.run("python", "-m", "acre", "--version")
        self.that(ended.stdout.startswith("acre "), "python -m acre", ended)
        library = self.run("acre", "lib")
        package = self.folder / f"lib/python{self.version}/site-packages/acre"
        self.that(library.stdout.strip() == str(package / "libacre.so.1"), "acre lib", library)
        ended = self.run("python", "-c", "import acre; print(acre.is_active())",
                         LD_PRELOAD=library.stdout.strip())
        self.that(ended.stdout == "True\n", "LD_PRELOAD", ended)
        ended = self.run("python", "-c", "import acre; acre.stats()")
        self.that("start it by `acre run" in ended.stderr, "without acre, a line that says what to do", ended)
        ended = self.run("acre", "run", "--", "/bin/sh", "-c", "grep SigIgn /proc/self/status; env; exit 7",
                         LC_ALL="C", PATH=f"{self.folder}/bin:/usr/bin")
        as_given = re.search(r"SigIgn:\s+0+\n", ended.stdout) and "LC_CTYPE" not in ended.stdout
        self.that(ended.returncode == 7 and as_given, "a program has the signals and the environment of the command",
                  ended)
        self.check_tools()

    def check_tools(self):
        ended = self.run("acre", "run", "--profile=0", "-o", ".", "--", "python3", "-c", APP)
        files = sorted(path.name for path in self.home.glob("*.pb.gz"))
        self.that(len(files) == 2, "acre run --profile", ended)
        if self.version not in ("3.9", "3.10"):
            ended = self.run("acre", "heap", "--python", "--json", "--by", "alloc_space", *files[:1])
            names = [function["function"] for function in json.loads(ended.stdout or '{"functions": []}')["functions"]]
            self.that("<module> (<string>)" in names, "acre heap --python, without a program that names functions",
                      ended)
        self.run("acre", "record", "-o", "app.actrace", "--", "python3", "-c", APP)
        ended = self.run("acre", "trace", "--info", "app.actrace")
        self.that("python3" in ended.stdout and ended.returncode == 0, "acre record, acre trace", ended)
        ended = self.run("acre", "options", "--json")
        self.that(ended.returncode == 0 and "prof_python" in ended.stdout, "acre options", ended)

    def check_api(self, settings):
        ended = self.install(*TESTS)
        self.that(ended.returncode == 0, "pytest is there", ended)
        for more in settings:
            ended = self.run("acre", "run", "--", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", API,
                             PYTHONDONTWRITEBYTECODE="1", **more)
            self.that(ended.returncode == 0 and " passed" in ended.stdout, f"pytest {' '.join(more)}", ended)

    def check_uninstall(self):
        ended = self.run("python", "-m", "pip", "uninstall", "-q", "-y", "acre-malloc")
        left = files_of(self.folder) - self.before
        self.that(ended.returncode == 0 and not left, "pip uninstall leaves nothing", ended)
        if left:
            print(sorted(left)[:5])


def notebook():
    cells = [{"cell_type": "code", "id": f"c{number}", "metadata": {}, "execution_count": None, "outputs": [],
              "source": text} for number, text in enumerate(CELLS)]
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"name": "python3", "display_name": "Python"}},
                       "nbformat": 4, "nbformat_minor": 5})


def check_notebook(checks, installed, work):
    """Its page in a browser: the flame graph is drawn, in light and in dark."""
    installed.that(installed.install(*NOTEBOOK).returncode == 0, "nbconvert is there", run(["true"]))
    (installed.home / "book.ipynb").write_text(notebook())
    ended = installed.run("acre", "run", "--", "python", "-m", "nbconvert", "--to", "html", "--execute", "book.ipynb")
    page = installed.home / "book.html"
    installed.that(ended.returncode == 0 and page.exists(), "a notebook runs on acre", ended)
    if not page.exists() or not checks.has(browser.find() or "chromium-headless-shell", "the notebook is looked at"):
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        shown = browser.Browser(browser.find(), home)
        try:
            for scheme in ("light", "dark"):
                shown.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                shown.open(page)
                frame = "document.querySelector('iframe').contentDocument"
                shown.wait_for(f"{frame}.querySelectorAll('.bar').length > 1")
                checks.that("hoard (" in shown.value(f"{frame}.getElementById('graph').textContent"),
                            f"notebook, {scheme}: the flame graph has the function")
                checks.that(shown.value(f"{frame}.documentElement.dataset.theme") == scheme, f"notebook: {scheme}")
                checks.that("resident" in shown.value("document.body.textContent"), f"notebook, {scheme}: statistics")
                if len(sys.argv) > 1:  # a folder for pictures
                    picture = shown.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
                    Path(sys.argv[1], f"notebook-{scheme}.png").write_bytes(base64.b64decode(picture))
            errors = [event for event in shown.events if "srcdoc" in json.dumps(event)
                      and event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
            checks.that(not errors, "notebook: the page of the profile has no error", errors)
        finally:
            shown.close()


def main():
    try:
        fetch_tools()
    except subprocess.CalledProcessError as error:
        print(f"skip  the tools cannot be fetched from PyPI: {error}")
        return 77
    checks = Checks()
    checks.succeeds("mypy takes the types", [TOOLS / "bin/mypy"], cwd=PROJECT)
    work = Path(tempfile.mkdtemp(prefix="acre-wheel-"))
    try:
        wheel = check_build(checks, work)
        found = pythons() if wheel else {}
        for version, python in found.items():
            installed = Installed(checks, version, python, wheel, work)
            installed.check()
            installed.check_uninstall()
            installed.install("--no-index", wheel)
            is_newest = version == list(found)[-1]
            installed.check_api([{}, {"PYTHONMALLOC": "malloc"}] if is_newest else [{}])
            if is_newest:
                check_notebook(checks, installed, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
