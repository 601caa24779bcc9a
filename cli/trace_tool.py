"""acre-trace, the program that records and reads traces (trace/), and acre-replay beside it, which plays them: where
they are, and how they get there."""

import os

import library
from places import ROOT, installed, shown
from say import fail, say

TOOL = os.path.join(library.FOLDER, "acre-trace")
PLAYER = os.path.join(library.FOLDER, "acre-replay")
STAMP = os.path.join(library.FOLDER, "acre-trace.stamp")
INPUTS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "trace", "src")


def ensure(command, yes):
    """-> the path of acre-trace; in the sources it is built if it was not up to date."""
    if installed:
        path = os.path.join(ROOT, "acre-trace")
        if not os.path.exists(path):
            fail(f"{command}: this acre was installed without acre-trace: install libzstd-dev and zlib1g-dev, then "
                 "build and install it again")
        return path
    if is_up_to_date():
        return TOOL
    import packages
    packages.ensure(["build", "record"], yes)
    with library.one_builder():
        if not is_up_to_date():
            build()
    return TOOL


def is_up_to_date():
    return library.is_up_to_date(STAMP, INPUTS, TOOL) and os.path.exists(PLAYER)


def build():
    import steps
    say(f"building {shown(TOOL)}")
    try:
        before = library.fingerprint(INPUTS)
        steps.configure("release")
        steps.build("release", ["acre_trace", "acre_replay"])
        library.write_stamp(before, STAMP)
    except steps.StepFailed as failure:
        fail(str(failure))


def become(words):
    """Replaces this process by the tool: its path, and arguments."""
    from run_command import restore_signals
    restore_signals()
    os.execv(words[0], words)
