"""What every case needs: the two sides of a comparison, running programs, proof that the library is in use.

A case is a function of one Side. It is called twice, first on the plain side and then on the preloaded one,
each time in an empty directory of the same name, and returns a dictionary of what its programs computed. The
two dictionaries must be equal.
"""

import atexit
import ctypes
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
PROGRAMS = HERE / "programs"

CASES = {}  # name to Case, in the order of definition


class Failure(Exception):
    """A program did something wrong; `tail` is what it said about it."""

    def __init__(self, what, tail=""):
        super().__init__(what)
        self.tail = tail


class Case:
    """One comparison: `needs` maps a command or path to its Debian package, `probes` are commands for prove_in_use."""

    def __init__(self, name, body, needs, probes, quick, timeout, own_malloc, face):
        self.name = name
        self.body = body
        self.needs = needs
        self.probes = probes
        self.quick = quick
        self.timeout = timeout
        self.own_malloc = own_malloc
        self.face = face

    def missing_package(self):
        """Return the package of the first thing that is not installed, or None."""
        for thing, package in self.needs.items():
            found = glob.glob(thing) if thing.startswith("/") else shutil.which(thing, path=search_path())
            if not found:
                return package
        return None


def case(name, *, needs, probes, quick=False, timeout, own_malloc=False, face=None):
    """Register the decorated function as a case. `timeout` is in seconds, for each side.

    `face`: the allocator that the program is linked with; the library is then not preloaded, but takes its place.
    """

    def register(body):
        CASES[name] = Case(name, body, needs, probes, quick, timeout, own_malloc, face)
        return body

    return register


def search_path():
    """Debian's programs first; what else is on the caller's PATH after them."""
    return os.pathsep.join(["/usr/bin", "/bin", "/usr/sbin", "/sbin", os.environ.get("PATH", "")])


def clean_environment(home):
    """Return the environment of both sides: nothing of the caller's but the PATH."""
    return {
        "PATH": search_path(),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }


def with_library(lib, face):
    """Return the variables by which a program runs on the library."""
    if face:
        return {"LD_LIBRARY_PATH": str(lib.parent / "faces" / face)}
    return {"LD_PRELOAD": str(lib)}


class Side:
    """The plain or the preloaded run of one case."""

    def __init__(self, name, directory, home, lib, timeout, full, face=None):
        self.name = name
        self.dir = directory
        self.lib = lib  # None on the plain side
        self.full = full
        self.scale = 4 if full else 1
        self.notes = []  # remarks for the result line
        self.tail = ""  # what to show if the results differ
        self.last_stderr = b""
        self.deadline = time.monotonic() + timeout
        self.env = clean_environment(home)
        if lib:
            self.env.update(with_library(lib, face))
            self.env.update({k: v for k, v in os.environ.items() if k.startswith("ACRE_") and k != "ACRE_LIB"})

    def remaining(self):
        return max(0.1, self.deadline - time.monotonic())

    def run(self, argv, *, stdin=b"", env=None, cwd=None, codes=(0,)):
        """Run a program to its end and return its stdout; a wrong exit code or a hang is a Failure."""
        argv = [str(word) for word in argv]
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.env | (env or {}), cwd=cwd or self.dir, start_new_session=True)
        GROUPS.add(process.pid)
        try:
            out, err = process.communicate(stdin, timeout=self.remaining())
        except subprocess.TimeoutExpired:
            kill_group(process.pid)
            out, err = process.communicate()
            raise Failure(f"{self.describe(argv)} hangs", text(err)) from None
        finally:
            kill_group(process.pid)
        self.last_stderr = err
        self.check_stderr(err)
        if process.returncode not in codes:
            raise Failure(f"{self.describe(argv)} {exit_text(process.returncode)}", text(out[-1000:]) + text(err))
        return out

    def start(self, argv, *, log=None):
        """Start a server; its output goes to the file `log`. The end of the case ends it, if nothing else does."""
        argv = [str(word) for word in argv]
        log = log or self.dir / f"{Path(argv[0]).name}.log"
        with open(log, "ab") as sink:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=self.env, cwd=self.dir,
                start_new_session=True)
        GROUPS.add(process.pid)
        process.log = log
        return process

    def wait_until(self, ready, process, what):
        """Poll `ready` until it is true; a server that ends or never gets there is a Failure."""
        while not ready():
            if process.poll() is not None:
                raise Failure(f"{what} {exit_text(process.returncode)}", text(process.log.read_bytes()))
            if time.monotonic() > self.deadline:
                raise Failure(f"{what} is not ready in time", text(process.log.read_bytes()))
            time.sleep(0.05)

    def stop(self, process, what, codes=(0,)):
        """Wait for a server that has been asked to end, and check how it ended."""
        try:
            process.wait(timeout=self.remaining())
        except subprocess.TimeoutExpired:
            raise Failure(f"{what} does not stop", text(process.log.read_bytes())) from None
        finally:
            kill_group(process.pid)
        self.check_stderr(process.log.read_bytes())
        if process.returncode not in codes:
            raise Failure(f"{what} {exit_text(process.returncode)}", text(process.log.read_bytes()))

    def is_mapped(self, pid):
        """Tell whether a running process has the library in its address space."""
        try:
            return str(self.lib) in Path(f"/proc/{pid}/maps").read_text()
        except OSError:  # it has just ended
            return False

    def require_mapped(self, pid, what):
        """On the preloaded side, a server without the library is a Failure."""
        if self.lib and not self.is_mapped(pid):
            raise Failure(f"{what} runs without the library")

    def prove(self, argv):
        """On the preloaded side: prove_in_use, for a program that the case has built."""
        if self.lib:
            prove_in_use([str(word) for word in argv], self.lib, self.dir, False)

    def check_stderr(self, err):
        """The loader only warns when it cannot preload; here that is an error."""
        if b"from LD_PRELOAD cannot be preloaded" in err:
            raise Failure("the loader cannot preload the library", text(err))

    def describe(self, argv):
        return " ".join([Path(argv[0]).name, *argv[1:3]])[:80]


def exit_text(code):
    """Say how a process ended."""
    if code is None:
        return "is still running"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with {code}"


def text(data):
    return data.decode("utf-8", "replace")


def prove_in_use(argv, lib, home, own_malloc, face):
    """Show from the dynamic linker's own report that `argv` takes malloc from the library.

    A program that brings its own malloc (`own_malloc`) can only be shown to have loaded the library.
    """
    with tempfile.TemporaryDirectory(dir=home) as reports:
        env = clean_environment(home) | with_library(lib, face) | {
            "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{reports}/r"}
        if face:
            lib = lib.parent / "libacre.so.1"  # the name by which the other library leads to it
        side = Side("probe", Path(reports), home, None, 60, False)
        side.run(argv, env=env)
        seen = set()
        for report in Path(reports).glob("r.*"):
            seen.add(report)
            check_bindings(report.read_text(errors="replace"), str(lib), argv[0], own_malloc)
        if not seen:
            raise Failure(f"{argv[0]} is not dynamically linked, so nothing can be preloaded")


BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(malloc|calloc|realloc|free)'")


def check_bindings(report, lib, program, own_malloc):
    """Check one process's report: the C allocation family is bound to the library, and to nothing else."""
    if f"binding file {lib} " not in report:
        raise Failure(f"{program}: the loader did not load the library")
    if own_malloc:
        return
    edges = [edge for edge in BINDING.findall(report) if edge[0] != lib]
    ours = {(source, symbol) for source, target, symbol in edges if target == lib}
    # A fixed-address executable may lend the address of its own jump to malloc to everybody else.
    others = {target for _, target, symbol in edges if target != lib and (target, symbol) not in ours}
    if others or not ours:
        raise Failure(f"{program} takes malloc from {', '.join(sorted(others)) or 'nowhere'}")


def compare(plain, preloaded):
    """Return what differs between the two sides' results, or an empty string."""
    if plain.keys() != preloaded.keys():
        return f"results named {sorted(plain)} and, preloaded, {sorted(preloaded)}"
    for key in plain:
        if plain[key] != preloaded[key]:
            return f"{key} differs: {first_difference(plain[key], preloaded[key])}"
    return ""


def first_difference(plain, preloaded):
    """Show the first line of two results that differs."""
    left, right = (show(value).splitlines() for value in (plain, preloaded))
    for number in range(max(len(left), len(right))):
        a = left[number] if number < len(left) else "(end)"
        b = right[number] if number < len(right) else "(end)"
        if a != b:
            return f"line {number + 1} is {a[:150]!r}, preloaded {b[:150]!r}"
    return "in line ends only"


def show(value):
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, dict):
        return "\n".join(f"{key}: {value[key]}" for key in sorted(value))
    return str(value)


# Processes: every program runs in its own group, and what escapes from its group becomes our child.

GROUPS = set()
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Make orphaned descendants our children, allow no core files, and leave nothing behind on any way out."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    atexit.register(kill_everything)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))


def kill_group(group):
    """Kill what is left of one process group that we started."""
    GROUPS.discard(group)
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def children_of(parents):
    """Return the processes whose parent is one of `parents`, by /proc."""
    found = set()
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = Path(stat).read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) in parents and fields[0] != "Z":
            found.add(int(stat.split("/")[2]))
    return found


def descendants(root):
    """Return every living process below `root`."""
    all_of_them = generation = children_of({root})
    while generation:
        generation = children_of(generation) - all_of_them
        all_of_them = all_of_them | generation
    return all_of_them


def kill_everything():
    """End every program that we started and every process that those left behind."""
    for group in list(GROUPS):
        kill_group(group)
    for _ in range(20):
        strays = descendants(os.getpid())
        for pid in strays:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not strays:
            break
        time.sleep(0.05)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
