"""acre's packages: made, installed where nothing else is, used, removed.

run.py [tarball] [deb] [rpm] [conan]: these, or all. Exit code 0: all well, 1: not, 77: it cannot be tested here.
ACRE_SOURCE names the sources, whose last commit is packaged.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "package"))

import conan_recipe
import deb
import rpm
import tarball
from checks import Checks

PARTS = {"tarball": tarball, "deb": deb, "rpm": rpm, "conan": conan_recipe}


def main(names):
    unknown = set(names) - PARTS.keys()
    if unknown:
        print(f"run.py: there is no part '{unknown.pop()}'; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("needs root: packages are installed in a Debian of its own, by chroot")
        return 77
    source = Path(os.environ.get("ACRE_SOURCE", Path(__file__).resolve().parents[2]))
    checks = Checks()
    for name in names or PARTS:
        work = Path(tempfile.mkdtemp(prefix="acre-packaging-"))
        os.chmod(work, 0o755)  # apt's own user reads there
        try:
            PARTS[name].check(checks, source, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
