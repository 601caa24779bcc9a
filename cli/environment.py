"""A private Python environment with what bench/requirements.txt pins: made on first use, kept in build/ or, where acre
is installed, in the user's cache."""

import os
import shutil
import sys

import packages
from places import MADE, ROOT, shown
from say import fail, say

REQUIREMENTS = os.path.join(ROOT, "bench", "requirements.txt")
LEAST_PYTHON = (3, 11)
FOLDER = os.path.join(MADE, "environment")
PYTHON = os.path.join(FOLDER, "bin", "python")
STAMP = os.path.join(FOLDER, "requirements.txt")  # what is installed, written last


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def ensure(yes):
    """-> the environment's python"""
    if sys.version_info < LEAST_PYTHON:
        fail(f"the libraries that this needs are for Python {'.'.join(map(str, LEAST_PYTHON))} and later; this one is "
             f"{sys.version.split()[0]}")
    wanted = read(REQUIREMENTS)
    if read(STAMP) == wanted:
        return PYTHON
    packages.ensure(["environment"], yes)
    say(f"making {shown(FOLDER)} with the libraries of {shown(REQUIREMENTS)}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    packages.run_quietly([sys.executable, "-I", "-m", "venv", FOLDER])
    packages.run_quietly([PYTHON, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                          "--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS])
    shutil.copyfile(REQUIREMENTS, STAMP)
    return PYTHON
