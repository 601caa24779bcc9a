"""A bare Debian in a folder: what is installed there, used, and left behind."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "package"))

SUITE = "bookworm"
SOURCES = "/etc/apt/sources.list.d/debian.sources"  # where Debian's images have it; otherwise mmdebstrap's own mirror
# Mounts of its own, so that nothing stays mounted whatever happens; processes of its own, which end with it.
ENTER = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
         'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
         '{ [ -z "$MOUNTED" ] || mount --bind "$MOUNTED" "$0/source"; } && exec chroot "$0" "$@"']
# What apt and dpkg write down of what they did.
JOURNALS = ("dev", "proc", "run", "sys", "tmp", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log")
TIMEOUT_S = 1200


def failed(ended):
    return f"ended with {ended.returncode}\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}"


class Root:
    def __init__(self, folder, suite=SUITE, source=""):
        """source: a folder that is seen as /source in there"""
        self.folder, self.suite, self.source = folder, suite, source

    def make(self):
        """-> what mmdebstrap said"""
        mirror = [SOURCES] if os.path.exists(SOURCES) and self.suite == SUITE else []
        ended = subprocess.run(["mmdebstrap", "--variant=minbase", "--mode=root", self.suite, self.folder, *mirror],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
        if ended.returncode == 0:
            shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
            if self.source:
                (self.folder / "source").mkdir()
        return ended

    def run(self, *command, cwd="/", timeout_s=TIMEOUT_S):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive", "MOUNTED": str(self.source)}
        words = ["env", "-C", cwd, *command] if cwd != "/" else command
        return subprocess.run([*ENTER, self.folder, *map(str, words)], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=timeout_s)

    def apt(self, *words):
        return self.run("apt-get", "-y", "-qq", "--no-install-recommends", *words)

    def installs(self, checks, what, *words):
        ended = self.apt(*words)
        return checks.that(ended.returncode == 0, what, failed(ended))

    def is_made(self, checks):
        """A Debian in which apt works."""
        made = self.make()
        return (checks.that(made.returncode == 0, f"mmdebstrap makes a bare Debian: {self.suite}", failed(made))
                and self.installs(checks, "apt works in there", "update"))

    def files(self):
        """-> {path: what is there}, without journals"""
        found = {}
        for folder, folders, names in os.walk(self.folder):
            inside = os.path.relpath(folder, self.folder)
            folders[:] = [name for name in folders if os.path.normpath(os.path.join(inside, name)) not in JOURNALS]
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                found[os.path.normpath(os.path.join(inside, name))] = what_is_at(path)
        return found


def what_is_at(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    text = ""
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            text = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{stat.filemode(status.st_mode)} {status.st_uid}:{status.st_gid} {text}"


def difference(before, after):
    """-> lines"""
    return [f"{'left' if path not in before else 'gone' if path not in after else 'changed'}: {path}"
            for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
