"""acre-trace, the program that records and reads traces (trace/): where it is, and how it gets there."""

import os

import library
from places import ROOT, installed, shown
from say import fail, say

TOOL = os.path.join(library.FOLDER, "acre-trace")
STAMP = os.path.join(library.FOLDER, "acre-trace.stamp")
INPUTS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "trace", "src")


def ensure(command, yes):
    """-> its path; in the sources it is built if it was not up to date."""
    if installed:
        path = os.path.join(ROOT, "acre-trace")
        if not os.path.exists(path):
            fail(f"{command}: this acre was installed without acre-trace: install libzstd-dev and zlib1g-dev, then "
                 "build and install it again")
        return path
    if library.is_up_to_date(STAMP, INPUTS, TOOL):
        return TOOL
    import packages
    packages.ensure(["build", "record"], yes)
    with library.one_builder():
        if not library.is_up_to_date(STAMP, INPUTS, TOOL):
            build()
    return TOOL


def build():
    import steps
    say(f"building {shown(TOOL)}")
    try:
        before = library.fingerprint(INPUTS)
        steps.configure("release")
        steps.build("release", ["acre_trace"])
        library.write_stamp(before, STAMP)
    except steps.StepFailed as failure:
        fail(str(failure))


def become(words):
    """Replaces this process by the tool: its path, and arguments."""
    from run_command import restore_signals
    restore_signals()
    os.execv(words[0], words)
