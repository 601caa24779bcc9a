"""Configuring and building a preset: quiet if it goes well, everything if not."""

import contextlib
import os
import subprocess
import sys

from places import ROOT, build_folder, shown
from say import Progress


class StepFailed(Exception):
    pass


def clean_environment():
    """Without what would change how compilers and tests behave: they run on libc's malloc."""
    foreign = ("LD_PRELOAD", "ACRE_CONF", "GLIBC_TUNABLES", "DESTDIR", "CTEST_PARALLEL_LEVEL")
    return {name: value for name, value in os.environ.items()
            if name not in foreign and not name.startswith("MALLOC_")}


def run_step(command, what, log_name, folder, beside=None, where=ROOT):
    """folder: of the log. beside: the progress to show it by, where other work has the first claim on the processors."""
    os.makedirs(folder, exist_ok=True)
    log_path = os.path.join(folder, log_name)
    progress = beside or Progress()
    try:
        process = subprocess.Popen(command, cwd=where, env=clean_environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace")
    except FileNotFoundError:
        raise StepFailed(f"'{command[0]}' is not installed; packages.txt lists what acre needs")
    if beside:
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, 19)
    with open(log_path, "w", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            progress.update(f"acre: {what}: {line.rstrip()}")
    progress.clear()
    if process.wait():
        with open(log_path, encoding="utf-8") as log:
            sys.stderr.write(log.read())
        raise StepFailed(f"{what} failed (exit code {process.returncode}); its output is above and in "
                         f"{shown(log_path)}")


def configured_for_here(preset):
    """False if the build folder came along from another place: cmake would refuse it."""
    try:
        with open(os.path.join(build_folder(preset), "CMakeCache.txt"), encoding="utf-8") as cache:
            return any(line.rstrip() == f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}" for line in cache)
    except OSError:
        return True


def configure(preset, beside=None):
    command = ["cmake", "--preset", preset]
    if not configured_for_here(preset):
        command.append("--fresh")
    run_step(command, f"configuring {preset}", "acre-configure.log", build_folder(preset), beside)


def build(preset, targets, jobs=None, beside=None):
    jobs = jobs or len(os.sched_getaffinity(0))
    run_step(["cmake", "--build", build_folder(preset), "-j", str(jobs), "--target", *targets],
             f"building {preset}", "acre-build.log", build_folder(preset), beside)
