"""What the package tests share: running a command, and keeping count of what was checked."""

import os
import re
import shutil
import subprocess
import sys
from shlex import quote


class Checks:
    def __init__(self):
        self.failures = []
        self.count = 0

    def that(self, holds, what, details=""):
        if not isinstance(what, str):  # arguments in the wrong order would always hold
            raise TypeError(f"what is checked is a text, not {what!r}")
        self.count += 1
        print(f"{'ok  ' if holds else 'FAIL'}  {what}", flush=True)
        if not holds:
            self.failures.append(what)
            if details:
                print("      " + str(details).rstrip().replace("\n", "\n      "), flush=True)
        return holds

    def conclude(self):
        """Prints how many hold. -> the exit code"""
        print(f"{self.count - len(self.failures)} of {self.count} checks hold")
        return 1 if self.failures else 0

    def has(self, tool, what):
        """Is this program of others' installed? What needs it is left out where not, but for CI, which installs all."""
        if shutil.which(tool) is not None:
            return True
        if os.environ.get("CI"):
            self.that(False, f"{tool} is installed: {what}")
        else:
            print(f"skip  {tool} is not installed: {what}")
        return False

    def succeeds(self, what, command, **options):
        ended = run(command, **options)
        return self.that(ended.returncode == 0, what,
                         f"$ {' '.join(map(str, command))}\nended with {ended.returncode}\n"
                         f"{ended.stdout}{ended.stderr}")


def clean_environment(**more):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "ACRE_CONF", "DESTDIR", "CFLAGS", "CXXFLAGS",
                                   "LDFLAGS", "PKG_CONFIG_PATH")}
    # Debian's go brings pprof; since 1.25 others compile pprof when it is first asked for, which takes half a minute.
    environment["PATH"] = f"/usr/lib/go/bin:{environment.get('PATH', os.defpath)}"
    environment.setdefault("GOCACHE", os.path.expanduser("~/.cache/go-build"))
    environment.update({name: str(value) for name, value in more.items()})
    return environment


def run(command, environment=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", 250)
    if "input" in options:
        del options["stdin"]
    return subprocess.run([str(word) for word in command], env=environment or clean_environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          **options)


OPTIONAL_TOOLS = ("go ", "google-pprof ", "jeprof ")  # others' programs, which the pages name and may not be there


def commands_of(page):
    """Of a page of docs/, those lines that are indented, in blocks that begin with a command of acre's."""
    blocks = re.findall(r"(?:^    \S.*\n)+", page.read_text(encoding="utf-8"), re.M)
    return [line.strip() for block in blocks if re.match(r" +(mkdir |go tool |ACRE_CONF=|\./acre )", block)
            for line in block.splitlines()]


def check_page(checks, page, library, least):
    """The commands of a page, as printed, in one shell and with this library. Exit code 0, or what a line says that it ends with."""
    script = ""
    commands = commands_of(page)
    for line in commands:
        if line.startswith(OPTIONAL_TOOLS) and shutil.which(line.split()[0]) is None:
            continue
        wanted = (re.findall(r"# ends with (\d+)", line) or [0])[0]
        script += f"{line}\n[ $? = {wanted} ] || failed=$failed'\n'{quote(line)}\n"
    script = script.replace("./acre run ", f"./acre run --lib '{library}' ").replace("$(./acre lib)", f"'{library}'")
    script += "kill $!\nrm -rf /tmp/heap.$$ /tmp/leaks.$$\necho failed: $failed\n"
    # python3 is Python itself: pyenv's is a script, which on a busy machine answered for a second before it was Python.
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    ended = run(["sh", "-c", script], environment=clean_environment(CI="true", DEBUGINFOD_URLS="", PATH=path),
                cwd=page.parents[1])
    failed = ended.stdout.rpartition("failed:")[2].strip()
    checks.that(len(commands) >= least and failed == "" and ended.returncode == 0,
                f"the commands of docs/{page.name} work as printed",
                f"{len(commands)} commands; failed: {failed}\n{ended.stderr}\nwhat they said:\n{ended.stdout[-3000:]}")
