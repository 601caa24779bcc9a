#!/usr/bin/env python3
"""Runs soak.c on acre: run.py [--minutes N] [--plant leak|damage]. The default is ACRE_SOAK_MINUTES, or 60.

Progress goes to stderr, one line of JSON to stdout. ACRE_LIB names the library; without it, the release build's. With
--plant it has a bug, and has to fail.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
CONF = "prof:true,prof_sample:64K,background_thread:true"


def library():
    return Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()


def build(folder):
    program = Path(folder) / "soak"
    subprocess.run(["gcc", "-O1", "-g", "-pthread", HERE / "soak.c", "-o", program], check=True)
    return program


def soak(program, seconds, folder, *plant, **options):
    """-> the ended process"""
    environment = {**os.environ, "LD_PRELOAD": str(library()), "ACRE_CONF": CONF}
    return subprocess.run([program, str(seconds), folder, *plant], env=environment, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("ACRE_SOAK_MINUTES", 60)))
    parser.add_argument("--plant", choices=("leak", "damage"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="acre-soak-") as folder:
        program = build(folder)
        return soak(program, options.minutes * 60, folder, *filter(None, [options.plant])).returncode


if __name__ == "__main__":
    sys.exit(main())
