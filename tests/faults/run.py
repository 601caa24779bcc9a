#!/usr/bin/env python3
"""Programs on acre to which the system, or somebody, does what it may: run.py [CHECK…]. ACRE_LIB names the library.

System calls that are refused, no more memory, SIGKILL at any moment, storms of signals and forks, crowds of threads,
libraries that come and go, descriptors that are closed. The SCHED_FIFO test is stress.one_processor.
"""

import concurrent.futures
import errno
import importlib.util
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
sys.path.insert(0, str(HERE.parent / "package"))
sys.path.insert(0, str(SOURCE / "cli"))

from checks import Checks, clean_environment, run
from heap_profile import pprof
from heap_profile.protobuf import Malformed

ACRE = SOURCE / "acre"
PROGRAMS = ("mixed", "refuse", "storm", "signals", "crowd", "loader", "closed", "writer", "hungry")
CALLS = ("madvise", "mremap", "membarrier", "rseq", "mbind", "getcpu", "process_madvise", "userfaultfd", "prctl",
         "clone3", "sched_getaffinity", "sysinfo", "prlimit64")
ERRORS = (errno.EPERM, errno.ENOSYS, errno.EINVAL)


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


cgroup = module("cgroup_run", HERE.parent / "cgroup" / "run.py")
soak = module("soak_run", HERE.parent / "soak" / "run.py")
library = soak.library


class Programs:
    """The compiled programs, in a folder of their own."""

    def __init__(self, work):
        self.work = work
        for name in PROGRAMS:
            subprocess.run(["gcc", "-O1", "-g", "-pthread", HERE / "programs" / f"{name}.c", "-o", work / name, "-ldl"],
                           check=True)
        self.plugins = [work / f"plugin{number}.so" for number in range(3)]
        subprocess.run(["g++", "-O1", "-shared", "-fPIC", HERE / "programs" / "plugin.cc", "-o", self.plugins[0]],
                       check=True)
        for path in self.plugins[1:]:
            shutil.copy(self.plugins[0], path)

    def environment(self, conf=""):
        return clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf)

    def folder(self):
        return Path(tempfile.mkdtemp(dir=self.work))

    def run(self, name, *words, conf="", **options):
        return run([self.work / name, *words], environment=self.environment(conf), **options)


# --- System calls and memory that are refused ---------------------------------------------------------------------

def check_refused_calls(checks, programs):
    """Sandboxes of containers refuse calls with EPERM, old kernels with ENOSYS, others with EINVAL."""
    conf = "background_thread:true,name_mappings:true,dirty_decay_ms:0,prof:true,prof_sample:256K"
    for call in CALLS:
        wrong = []
        for error in ERRORS:
            ended = run([programs.work / "refuse", call, error, programs.work / "mixed"],
                        environment=clean_environment(FAULTS_PRELOAD=library(), ACRE_CONF=conf))
            if ended.returncode == 77:
                print(f"skip  no seccomp filter may be set here: {call}")
                break
            # One line that says so is all that may be said.
            if ended.returncode != 0 or ended.stdout != "refused 0\n" or ended.stderr.count("\n") > 1:
                wrong.append((errno.errorcode[error], ended))
        checks.that(not wrong, f"a system that refuses {call}: all goes on", wrong)


def check_damage(checks, programs):
    ended = programs.run("mixed", "damage")
    checks.that(ended.returncode == 1 and "load.h" in ended.stderr, "a changed byte in a block is found", ended)


def check_memory_limits(checks, programs):
    for name, limit in (("RLIMIT_AS", resource.RLIMIT_AS), ("RLIMIT_DATA", resource.RLIMIT_DATA)):
        ended = programs.run("hungry", "600",
                             preexec_fn=lambda limit=limit: resource.setrlimit(limit, (300 << 20,) * 2))
        got = re.match(r"got (\d+) of 600 MiB, errno 12\n", ended.stdout)
        checks.that(ended.returncode == 0 and got is not None and int(got[1]) > 200,
                    f"{name} of 300 MiB: malloc gives most of it, then null and ENOMEM", ended)


def check_out_of_memory(checks, programs):
    """The kernel kills a program that is over the limit of its cgroup: its profile up to then is there."""
    folder = programs.folder()
    try:
        group = cgroup.Group("memory", ({"memory.limit_in_bytes": f"{64 << 20}"},
                                        {"memory.max": f"{64 << 20}", "memory.swap.max": "0"}))
    except cgroup.Unavailable as unavailable:
        print(f"skip  {unavailable}")
        return
    with group:
        ended = programs.run("hungry", "500", conf=f"prof:true,prof_sample:64K,cgroup:false,postmortem:{folder}",
                             preexec_fn=group.join)
        for _ in range(100):  # the group is empty once the kernel is done with the process
            if not (group.path / "cgroup.procs").read_text():
                break
            time.sleep(0.02)
    checks.that(ended.returncode == -signal.SIGKILL, "a program beyond its cgroup's limit is killed", ended)
    paths = list(folder.iterdir())
    said = run([ACRE, "heap", *paths]) if len(paths) == 1 else paths
    checks.that(len(paths) == 1 and re.search(r"[4-6]\d\.\d MiB.*\btake\b", said.stdout) is not None,
                "and its profile has what it held", said)


# --- SIGKILL ------------------------------------------------------------------------------------------------------

def unreadable(folder):
    """-> those profiles in the folder that are not whole"""
    wrong = []
    for path in folder.iterdir():
        try:
            pprof.read(path.read_bytes())
        except (Malformed, OSError, EOFError, ValueError) as error:
            wrong.append((path.name, str(error)))
    return wrong


def check_killed_writer(checks, programs):
    """While it writes one profile after the other. A file that takes another's place is whole before."""
    wrong, parts, files = [], 0, 0
    delays = random.Random(1)
    for _ in range(16):
        folder = programs.folder()
        process = subprocess.Popen([programs.work / "writer", folder], stdout=subprocess.PIPE,
                                   env=programs.environment("prof:true,prof_sample:1K"))
        process.stdout.readline()
        time.sleep(delays.uniform(0, 0.05))
        process.kill()
        process.communicate()
        wrong += unreadable(folder)
        parts += sum(path.suffix == ".part" for path in folder.iterdir())
        files += len(list(folder.iterdir()))
    checks.that(not wrong and files >= 32 and parts <= 2,
                "whenever SIGKILL ends a process, the profiles that are there are whole", (files, parts, wrong[:3]))
    whole = next(folder.iterdir())
    for part in (0.01, 0.5, 0.99):
        cut = programs.work / "cut.pb.gz"
        cut.write_bytes(whole.read_bytes()[:int(whole.stat().st_size * part)])
        ended = run([ACRE, "heap", cut])
        checks.that(unreadable_file(cut) and ended.returncode == 1 and ended.stderr.count("\n") == 1,
                    f"{part:.0%} of a profile are recognised as cut off", ended)


def unreadable_file(path):
    try:
        pprof.read(path.read_bytes())
    except (Malformed, OSError, EOFError, ValueError):
        return True
    return False


def recorder_of(process, program):
    """The number of the process that writes what `acre record` records."""
    for _ in range(200):
        for path in Path("/proc").glob("[0-9]*/comm"):
            try:
                if path.read_text().startswith("acre-trace") and program in (path.parent / "cmdline").read_text():
                    return int(path.parent.name)
            except OSError:
                pass
        time.sleep(0.01)
    return None


def check_killed_recording(checks, programs):
    """The program, or the process that writes."""
    if not (library().parent / "acre-trace").exists():
        print("skip  acre-trace is not built here")
        return
    delays = random.Random(2)
    for killed in ("program", "recorder"):
        wrong = []
        for number in range(2):
            folder = programs.folder()
            file = folder / "writer.actrace"
            process = subprocess.Popen([ACRE, "record", "-o", file, "--lib", library(), "--", programs.work / "storm"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=clean_environment(),
                                       start_new_session=True)
            recorder = recorder_of(process, str(file))
            time.sleep(delays.uniform(0.05, 0.2))
            if killed == "recorder" and recorder is not None:
                os.kill(recorder, signal.SIGKILL)
            else:
                for path in Path("/proc").glob("[0-9]*/comm"):
                    try:
                        if path.read_text() == "storm\n" and os.getsid(int(path.parent.name)) == process.pid:
                            os.kill(int(path.parent.name), signal.SIGKILL)
                    except OSError:
                        pass
            said = process.communicate(timeout=100)[1].decode()
            ended = run([ACRE, "trace", file])
            others = [path.name for path in folder.iterdir() if path != file]
            if ended.returncode not in (0, 1) or "Traceback" in ended.stderr or ended.stderr.count("\n") > 3 or others:
                wrong.append((ended, said, others))
        checks.that(not wrong, f"a recording whose {killed} SIGKILL ends is read as far as it goes", wrong)


# --- Storms -------------------------------------------------------------------------------------------------------

def check_fork_storm(checks, programs):
    for conf in ("", "prof:true,prof_sample:16K,background_thread:true"):
        ended = programs.run("storm", conf=conf)
        checks.that(ended.returncode == 0 and ended.stdout == "done\n",
                    f"threads that fork at once, their children and grandchildren: none hangs ({conf or 'no options'})",
                    ended)


def check_signal_storm(checks, programs):
    ended = programs.run("signals", conf="prof:true,prof_sample:4K")
    checks.that(ended.returncode == 0 and ended.stdout.startswith("handled "),
                "handlers at any instruction of malloc and free, and as fast as signals come", ended)


def check_crowd(checks, programs):
    ended = programs.run("crowd", "100000")
    checks.that(ended.returncode == 0, "100000 threads come and go, and memory stays as it was", ended)
    ended = programs.run("crowd", "20000", "leak")
    checks.that(ended.returncode == 1 and "crowd.c" in ended.stderr, "threads that leak are found", ended)


def check_libraries(checks, programs):
    ended = programs.run("loader", "80", *programs.plugins)
    checks.that(ended.returncode == 0, "threads load and unload libraries that allocate, and memory stays as it was",
                ended)


# --- Descriptors --------------------------------------------------------------------------------------------------

def check_closed(checks, programs):
    for first, planted in ((0, ()), (3, ()), (3, ("write",))):
        folder, own = programs.folder(), programs.folder()
        conf = (f"prof:true,prof_sample:8K,prof_final:true,prof_folder:{folder},stats_print:true,"
                f"background_thread:true,postmortem:{own},control:true")
        ended = programs.run("closed", first, folder, *planted, conf=conf)
        written = [path.name for path in folder.glob("theirs.*") if path.stat().st_size != 0]
        if first == 0:  # the program's own standard error is a file of its then, and acre writes to number 2
            written = [name for name in written if name != "theirs.2"]
        if planted:
            checks.that(ended.returncode == 0 and written == ["theirs.7"], "a write into such a file is found",
                        (ended, written))
            continue
        profiles = sorted(path.name for path in folder.glob("*.pb.gz"))
        checks.that(ended.returncode == 0 and not written and len(profiles) == 5 and
                    not unreadable_among(folder, profiles),
                    f"descriptors from {first} on are closed and opened anew: the program's files have nothing of acre's",
                    (ended, written, profiles))


def unreadable_among(folder, names):
    return [name for name in names if unreadable_file(folder / name)]


# --- A short soak -------------------------------------------------------------------------------------------------

def check_soak(checks, programs):
    program = soak.build(programs.work)
    for seconds, plant in ((3, ()), (2, ("leak",)), (2, ("damage",))):
        ended = soak.soak(program, seconds, programs.folder(), *plant, capture_output=True, text=True)
        if plant:
            checks.that(ended.returncode == 1, f"the soak finds a {plant[0]}", ended)
        else:
            checks.that(ended.returncode == 0 and '"holds": true' in ended.stdout, "a soak of some seconds", ended)


ALL = (check_crowd, check_soak, check_refused_calls, check_damage, check_memory_limits, check_out_of_memory,
       check_killed_writer, check_killed_recording, check_fork_storm, check_signal_storm, check_libraries, check_closed)


def main():
    chosen = [check for check in ALL if not sys.argv[1:] or check.__name__.removeprefix("check_") in sys.argv[1:]]
    if not chosen:
        sys.exit(f"no such check; there are {', '.join(check.__name__.removeprefix('check_') for check in ALL)}")
    checks = Checks()
    work = Path(tempfile.mkdtemp(prefix="acre-faults-test-"))
    try:
        programs = Programs(work)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for done in [pool.submit(check, checks, programs) for check in chosen]:
                done.result()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
