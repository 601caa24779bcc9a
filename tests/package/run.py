"""acre as others get it: installed, found by their build systems, dlopened, and started by ./acre.

Exit code 0: all well, 1: not. ACRE_SOURCE and ACRE_BUILD name the sources and a release build.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import cli
import installed
from checks import Checks


def main():
    source = Path(os.environ.get("ACRE_SOURCE", Path(__file__).resolve().parents[2]))
    build = Path(os.environ.get("ACRE_BUILD", source / "build/release"))
    checks = Checks()
    work = Path(tempfile.mkdtemp(prefix="acre-package-"))
    try:
        installed.check(checks, source, build, work)
        cli.check(checks, source, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
