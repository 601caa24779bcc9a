"""The machine and the source, as a session line in the results names them."""

import os
import platform
import re
import subprocess
from pathlib import Path


def first_match(path, pattern, otherwise="?"):
    try:
        found = re.search(pattern, Path(path).read_text(), re.M)
    except OSError:
        return otherwise
    return found.group(1) if found else otherwise


def describe():
    return {
        "system": first_match("/etc/os-release", r'^PRETTY_NAME="?(.*?)"?$'),
        "kernel": platform.release(),
        "processors": len(os.sched_getaffinity(0)),
        "cpu": first_match("/proc/cpuinfo", r"^model name\s*:\s*(.*)$", platform.machine()),
        "memory_kib": int(first_match("/proc/meminfo", r"^MemTotal:\s*(\d+)", "0")),
        "libc": " ".join(platform.libc_ver()),
        "huge_pages": first_match("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
    }


def commit(root):
    """The source's version, as git names it."""
    done = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty", "--tags"], capture_output=True, text=True
    )
    return done.stdout.strip() or "?"
