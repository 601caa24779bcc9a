"""A Debian in a folder that is booted: systemd is its process 1, in namespaces of its own, without a network."""

import os
import subprocess
import time
from pathlib import Path

VARIABLES = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TERM": "dumb"}
NAMESPACES = ("mount", "pid", "cgroup", "uts", "ipc", "net")
START_S = 120
# What systemd wants to find (systemd.io/CONTAINER_INTERFACE). /proc/sys is the real machine's: read only.
BOOT = """set -e
ip link set lo up
mount --bind "$0" "$0"; cd "$0"
mount -t proc proc proc; mount --bind proc/sys proc/sys; mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sys sys; mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run; mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts; ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm; ln -s /proc/self/fd dev/fd
pivot_root . mnt; umount -l mnt
exec env -i container=other TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=0
"""


class Machine:
    """with Machine(folder) as machine: … machine.run("command")"""

    def __init__(self, folder):
        self.folder = Path(folder)
        top = Path("/sys/fs/cgroup")
        unified = top / "unified"  # beside version 1
        self.group = (unified if unified.is_dir() else top) / f"acre-recipes-{os.getpid()}"

    def __enter__(self):
        self.group.mkdir()
        unshare = ["unshare", *(f"--{name}" for name in NAMESPACES), "--fork", "--kill-child"]
        in_group = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', self.group]
        self.process = subprocess.Popen([*in_group, *unshare, "sh", "-c", BOOT, self.folder], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + START_S
        while self.run("systemctl is-system-running").stdout.strip() not in ("running", "degraded"):
            if time.monotonic() > end or self.process.poll() is not None:
                self.process.kill()
                raise RuntimeError(f"systemd does not come up in {self.folder}: {self.process.communicate()[1]}")
            time.sleep(0.3)
        return self

    def first(self):
        """The number of its process 1; None: there is none yet."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return children[0] if children and "systemd" in os.readlink(f"/proc/{children[0]}/exe") else None

    def run(self, script):
        """By bash, as root, in /srv."""
        first = self.first() if self.process.poll() is None else None
        if first is None:
            return subprocess.CompletedProcess([], 1, "", "not started")
        words = ["nsenter", "-t", first, *(f"--{name}" for name in NAMESPACES), "--root", "--wd", "bash", "-c"]
        return subprocess.run([*words, f"cd /srv\n{script}"], env=VARIABLES, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=600, check=False)

    def __exit__(self, *_):
        self.process.kill()  # and with it all processes in there
        self.process.wait()
        self.process.stderr.close()
        end = time.monotonic() + START_S
        groups = sorted((Path(folder) for folder, _, _ in os.walk(self.group)), reverse=True)
        while groups and time.monotonic() < end:
            try:
                groups[0].rmdir()
                del groups[0]
            except OSError:
                time.sleep(0.1)
