"""The packages that acre needs (packages.txt), and the one rule by which it installs them.

As root it asks, unless -y was given or CI is set; where it cannot ask, or is not root, it prints the
command and ends.
"""

import contextlib
import os
import shutil
import subprocess
import sys

from places import ROOT
from say import count, fail, say

LIST = os.path.join(ROOT, "packages.txt")


def listed(sections):
    """The packages of these sections of packages.txt, in order."""
    found, section = [], None
    with open(LIST, encoding="utf-8") as lines:
        for line in lines:
            line = line.split("#", 1)[0].strip()
            if line.startswith("[") and line.endswith("]"):
                section = line[1:-1].strip()
            elif line and section in sections and line not in found:
                found.append(line)
    return found


def missing(names):
    if not names:
        return []
    if not shutil.which("dpkg-query"):
        return None
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *names],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    states = dict(line.split(" ", 1) for line in answer.stdout.splitlines())
    return [name for name in names if states.get(name) != "installed"]


def install_command(names):
    return ["apt-get", "install", "-y", "--no-install-recommends", *names]


def printable_command(names):
    sudo = "sudo " if os.geteuid() != 0 and shutil.which("sudo") else ""
    return f"{sudo}apt-get update && {sudo}{' '.join(install_command(names))}"


def may_install(yes):
    """Asks if need be. -> whether the answer is yes, or None if there is nobody to ask."""
    if yes or os.environ.get("CI") in ("true", "1"):
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    # The terminal itself: what stdin holds beyond the answer is the program's.
    with open("/dev/tty", "r", encoding="utf-8", errors="replace") as terminal:
        print("acre: install them now? [y/N] ", end="", file=sys.stderr, flush=True)
        return terminal.readline().strip().lower() in ("y", "yes")


def ensure(sections, yes):
    """Installs what is missing of these sections, or ends with the command that would."""
    wanted = missing(listed(sections))
    if wanted is None:
        say("this is no Debian, so acre cannot tell what is installed; what it needs is in packages.txt")
        return
    if not wanted:
        return
    command = printable_command(wanted)
    if os.geteuid() != 0:
        fail(f"acre needs {count(len(wanted), 'more package')}, and only root can install packages. Run this, then try again:\n"
             f"  {command}")
    say(f"will install {count(len(wanted), 'package')}: {' '.join(wanted)}")
    allowed = may_install(yes)
    if allowed is None:
        fail(f"there is no terminal to ask on. Run this, or give -y, then try again:\n  {command}")
    if not allowed:
        fail(f"nothing was installed. The command would have been:\n  {command}")
    install(wanted)


@contextlib.contextmanager
def no_services():
    """Packages of servers start them when they are installed; acre starts its own when it needs one."""
    policy = "/usr/sbin/policy-rc.d"
    if os.path.lexists(policy):
        yield
        return
    with open(policy, "w", encoding="utf-8") as script:
        script.write("#!/bin/sh\nexit 101\n")
    os.chmod(policy, 0o755)
    try:
        yield
    finally:
        os.unlink(policy)


def install(names):
    with no_services():
        run_apt(names)


def run_apt(names):
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    environment.pop("LD_PRELOAD", None)
    for command in (["apt-get", "update"], install_command(names)):
        say(" ".join(command))
        run_quietly(command, environment)


def run_quietly(command, environment=None):
    """Shows the command's output, and ends, only if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env=environment)
    if done.returncode:
        sys.stderr.write(done.stdout)
        fail(f"'{' '.join(command)}' failed (exit code {done.returncode}); its output is above")
