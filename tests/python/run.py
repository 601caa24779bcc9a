"""The package acre (bindings/python) on the library of the build: as the wheel has it, but laid out here.

Exit code 0: all well, 1: not. ACRE_LIB names the library.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "package"))

from checks import Checks, clean_environment

LIBRARY = os.environ.get("ACRE_LIB", str(ROOT / "build/release/libacre.so"))


def lay_out(folder):
    """What bindings/python/hatch_build.py puts into the wheel, as far as the package reads it."""
    shutil.copytree(ROOT / "bindings/python/acre", folder / "acre")
    shutil.copytree(ROOT / "cli/heap_profile", folder / "acre/_home/cli/heap_profile")
    version = next(line.split()[1] for line in (ROOT / "CMakeLists.txt").read_text().splitlines()
                   if line.startswith("project(acre VERSION"))
    (folder / "acre/_home/cli/installed.py").write_text(f'VERSION = "{version}"\n')


def main():
    checks = Checks()
    checks.that((ROOT / "bindings/python/LICENSE").read_text() == (ROOT / "LICENSE").read_text(), "the licence is acre's")
    with tempfile.TemporaryDirectory(prefix="acre-python-") as folder:
        lay_out(Path(folder))
        environment = clean_environment(LD_PRELOAD=LIBRARY, PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE=1)
        checks.succeeds("the tests of the package acre", [sys.executable, "-m", "unittest", HERE / "test_api.py"],
                        environment=environment, cwd=folder)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
