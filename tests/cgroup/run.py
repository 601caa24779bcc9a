#!/usr/bin/env python3
"""acre in a real cgroup, of version 1 or 2: run.py [--lib LIB] [--limit MIB] [--peers]

- A program that swings between 20 % and 90 % of a memory limit (swing.c) is not killed, whatever dirty_decay_ms says.
- The summary names the limit; with a quota of one processor there are four arenas.
- A working set of four times the limit (working_set.c) lives in a file on a disk, and is killed without one.

Without --lib the release build's library. --peers: a table with the other allocators that are installed, and with what
acre does when it does not look at the cgroup; nothing is asserted then. Needs root, and a memory controller whose
groups may be made; is skipped otherwise. The groups lie at the top of the hierarchy and are removed at the end.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = Path("/sys/fs/cgroup")
SKIPPED = 77
LIMIT_MIB = 256
SMALL_LIMIT_MIB = 48
TIME_LIMIT_S = 120
PEERS = {
    "glibc": None,
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}


class Unavailable(Exception):
    """No group can be made here."""


class Group:
    """A cgroup of our own."""

    def __init__(self, controller, limits):
        """limits: file -> text, for version 1 and for version 2."""
        if (TOP / controller / "cgroup.procs").exists():
            parent, files = TOP / controller, limits[0]
        else:
            parent, files = TOP, limits[1]
            try:
                enabled = (TOP / "cgroup.subtree_control").read_text().split()
            except OSError as error:
                raise Unavailable(f"no cgroup hierarchy with {controller}: {error.strerror}") from error
            if controller not in enabled:
                raise Unavailable(f"the controller {controller} is not enabled below {TOP}")
        self.path = parent / f"acre-test-{os.getpid()}"
        try:
            self.path.mkdir()
            for file, text in files.items():
                (self.path / file).write_text(text)
        except OSError as error:
            self.close()
            raise Unavailable(f"no group of {controller} can be made: {error.strerror}") from error

    def close(self):
        if self.path.exists():
            self.path.rmdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def peak_mib(self):
        for file in ("memory.max_usage_in_bytes", "memory.peak"):
            if (self.path / file).exists():
                return int((self.path / file).read_text()) >> 20
        return None


def memory_group(mib):
    no_swap = {"memory.swap.max": "0"} if (TOP / "memory.swap.max").exists() else {}
    return Group("memory", ({"memory.limit_in_bytes": f"{mib}M"}, {"memory.max": f"{mib}M", **no_swap}))


def run(group, command, lib=None, conf=""):
    """Runs it in the group; returns (exit status, output). A negative status is a signal's number."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "ACRE_CONF")}
    environment["ACRE_CONF"] = conf
    if lib:
        environment["LD_PRELOAD"] = str(lib)
    ended = subprocess.run([str(word) for word in command], env=environment, text=True, preexec_fn=group.join,
                           capture_output=True, timeout=TIME_LIMIT_S, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def swing(program, limit, lib, conf=""):
    with memory_group(limit) as group:
        status, output = run(group, [program, limit], lib, conf)
        return status, output, group.peak_mib()


def print_peers(program, limit, lib):
    def show(name, library, conf=""):
        status, _, peak = swing(program, limit, library, conf)
        end = "killed" if status == -9 else "runs to its end" if status == 0 else f"status {status}"
        print(f"{name:28}{end:18}{'' if peak is None else f'{peak} MiB at most'}")

    print(f"live blocks swing between {limit // 5} and {limit * 9 // 10} MiB, limit {limit} MiB")
    show("acre", lib)
    show("acre, dirty_decay_ms:-1", lib, "dirty_decay_ms:-1")
    show("acre, cgroup:false", lib, "cgroup:false,pressure:false")
    for name, file in PEERS.items():
        path = file and next(iter(Path("/usr/lib").glob(f"*/{file}")), None)
        if file is None or path is not None:
            show(name, path)


def check_file(program, lib, problems):
    """program: working_set.c, compiled."""
    mib = SMALL_LIMIT_MIB
    with tempfile.TemporaryDirectory(prefix="acre-cgroup.", dir="/var/tmp") as folder:
        kind = subprocess.run(["stat", "-f", "-c", "%T", folder], text=True, capture_output=True, check=False).stdout
        if kind.strip() in ("tmpfs", "ramfs"):
            print(f"working set in a file not tried: {folder} is in memory")
            return
        for conf, expected in ((f"file:{folder}", 0), (f"file:{folder},file_limit:{2 * mib}M", -9), ("", -9)):
            with memory_group(mib) as group:
                status, output = run(group, [program, 4 * mib], lib, conf)
            print(f"working set of four times a limit of {mib} MiB, '{conf}': status {status}")
            if status != expected:
                problems.append(f"working_set with '{conf}' ended with {status}, not {expected}: {output}")


def check(program, working_set, limit, lib):
    problems = []
    for conf in ("", "dirty_decay_ms:-1", "release_rate:0", "background_thread:true"):
        status, output, peak = swing(program, limit, lib, conf)
        print(f"swing under a limit of {limit} MiB, '{conf}': status {status}, peak {peak} MiB")
        if status != 0:
            problems.append(f"swing with '{conf}' ended with {status}: {output}")
    _, output, _ = swing(program, limit, lib, "stats_print:true")
    if f"cgroup: limit {limit}.0 MiB" not in output:
        problems.append(f"the summary does not name the limit:\n{output}")

    ask = ("import ctypes; n = ctypes.c_uint(); s = ctypes.c_size_t(4); ctypes.CDLL(None).mallctl("
           "b'opt.narenas', ctypes.byref(n), ctypes.byref(s), None, 0); print(n.value)")
    quota = ({"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}, {"cpu.max": "100000 100000"})
    processors = len(os.sched_getaffinity(0))
    try:
        with Group("cpu", quota) as group:
            for conf, expected in (("", 4), ("cgroup:false", min(4 * processors, 256))):
                status, output = run(group, [sys.executable, "-c", ask], lib, conf)
                wanted = 1 if processors == 1 else expected
                print(f"arenas with a quota of one processor, '{conf}': {output.strip()}")
                if (status, output.strip()) != (0, str(wanted)):
                    problems.append(f"arenas with '{conf}': {output.strip()}, not {wanted}")
    except Unavailable as why:
        print(f"quota not tried: {why}")
    check_file(working_set, lib, problems)
    for problem in problems:
        print("failed:", problem)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib")
    parser.add_argument("--limit", type=int, default=LIMIT_MIB, help="MiB")
    parser.add_argument("--peers", action="store_true")
    args = parser.parse_args()
    lib = Path(args.lib or os.environ.get("ACRE_LIB") or HERE.parents[1] / "build/release/libacre.so").resolve()
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler or not lib.exists():
        print("skipped: no C compiler" if lib.exists() else f"failed: no library at {lib}")
        return SKIPPED if lib.exists() else 1
    with tempfile.TemporaryDirectory(prefix="cgroup.") as folder:
        program, working_set = Path(folder) / "swing", Path(folder) / "working_set"
        for each in (program, working_set):
            source = HERE / f"{each.name}.c"
            subprocess.run([compiler, "-O2", "-pthread", str(source), "-o", str(each)], check=True)
        try:
            if args.peers:
                print_peers(program, args.limit, lib)
                return 0
            return check(program, working_set, args.limit, lib)
        except Unavailable as why:
            print(f"skipped: {why}")
            return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
