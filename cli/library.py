"""The release library: whether it is up to date, and how it gets so."""

import os

from places import ROOT, build_folder, installed, shown
from say import fail, say

FOLDER = build_folder("release")
LIBRARY = os.path.join(FOLDER, "libacre.so")
STAMP = os.path.join(FOLDER, "acre.stamp")
INPUTS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src")


def fingerprint(inputs=INPUTS):
    """Name, time and size of everything that the library is made of, as text.

    Compared as a whole with what it was at the last build: that takes a millisecond, where asking
    the build system takes a hundred.
    """
    lines = [ROOT]

    def look_at(entry):
        if entry.is_dir():
            with os.scandir(entry.path) as entries:
                for inner in sorted(entries, key=lambda inner: inner.name):
                    look_at(inner)
        else:
            try:
                status = entry.stat()
            except OSError:
                status = entry.stat(follow_symlinks=False)  # a link to nothing, as Emacs locks a file by
            lines.append(f"{entry.path} {status.st_mtime_ns} {status.st_size}")

    with os.scandir(ROOT) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name in inputs:
                look_at(entry)
    return "\n".join(lines)


def path():
    """Where the library is, or will be once it is built."""
    return os.path.normpath(os.path.join(ROOT, installed.LIBRARY)) if installed else LIBRARY


def is_up_to_date(stamp=STAMP, inputs=INPUTS, made=LIBRARY):
    try:
        with open(stamp, encoding="utf-8", errors="surrogateescape") as file:
            return file.read() == fingerprint(inputs) and os.path.exists(made)
    except OSError:
        return False


def ensure(yes):
    """-> the path of the installed library; in the sources of the release library, built if it was not up to date."""
    if installed:
        return path()
    if is_up_to_date():
        return LIBRARY
    import packages
    packages.ensure(["build"], yes)
    with one_builder():
        if not is_up_to_date():
            build()
    return LIBRARY


def build():
    import steps
    say(f"building {shown(LIBRARY)}, which takes a minute or so the first time")
    try:
        before = fingerprint()
        steps.configure("release")
        steps.build("release", ["acre", "acre_hardened"])
        write_stamp(before)
    except steps.StepFailed as failure:
        fail(str(failure))


def write_stamp(before, path=STAMP):
    """Takes the sources as they were before the build: if one was saved during it, the next run
    builds again."""
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as stamp:
        stamp.write(before)


def one_builder(folder=FOLDER):
    """A lock on a build folder: two `acre run` at once build one after the other."""
    import contextlib
    import fcntl

    @contextlib.contextmanager
    def locked():
        try:
            os.makedirs(folder, exist_ok=True)
            lock = open(os.path.join(folder, "acre.lock"), "w")
        except OSError as error:
            fail(f"cannot build in '{shown(folder)}': {error.strerror}")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another acre that is building")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    return locked()
