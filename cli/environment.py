"""Private Python environments with what a file of requirements pins: made on first use, kept in build/ or, where acre is
installed, in the user's cache."""

import os
import shutil
import sys

import packages
from places import MADE, ROOT, shown
from say import fail, say

REQUIREMENTS = os.path.join(ROOT, "bench", "requirements.txt")
LEAST_PYTHON = (3, 11)
FOLDER = os.path.join(MADE, "environment")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def ensure(yes, requirements=REQUIREMENTS, folder=FOLDER):
    """-> the environment's python"""
    if sys.version_info < LEAST_PYTHON:
        fail(f"the libraries that this needs are for Python {'.'.join(map(str, LEAST_PYTHON))} and later; this one is "
             f"{sys.version.split()[0]}")
    python = os.path.join(folder, "bin", "python")
    stamp = os.path.join(folder, "requirements.txt")  # what is installed, written last
    wanted = read(requirements)
    if read(stamp) == wanted:
        return python
    packages.ensure(["environment"], yes)
    say(f"making {shown(folder)} with the libraries of {shown(requirements)}")
    shutil.rmtree(folder, ignore_errors=True)
    packages.run_quietly([sys.executable, "-I", "-m", "venv", folder])
    packages.run_quietly([python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                          "--require-hashes", "--only-binary", ":all:", "-r", requirements])
    shutil.copyfile(requirements, stamp)
    return python
