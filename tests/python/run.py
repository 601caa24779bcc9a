"""The package acre (bindings/python) on the library of the build: as the wheel has it, but laid out here. And the
programs in docs/python.md, as printed.

Exit code 0: all well, 1: not. ACRE_LIB names the library.
"""

import os
import re
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
    version = next(line.split()[2] for line in (ROOT / "CMakeLists.txt").read_text().splitlines()
                   if line.startswith("project(acre VERSION"))
    (folder / "acre/_home/cli/installed.py").write_text(f'VERSION = "{version}"\n')


def programs():
    """Of the page: indented lines that begin with an import of acre, up to a line of text."""
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^    import acre.*\n(?:(?:    .*)?\n)+", page, re.M)
    return [re.sub("^    ", "", block, flags=re.M) for block in blocks]


def main():
    checks = Checks()
    licences = [(folder / "LICENSE").read_text() for folder in (ROOT, ROOT / "bindings/python")]
    checks.that(licences[0] == licences[1], "the package has acre's licence")
    with tempfile.TemporaryDirectory(prefix="acre-python-") as folder:
        lay_out(Path(folder))
        environment = clean_environment(LD_PRELOAD=LIBRARY, PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE=1)
        checks.succeeds("the tests of the package acre", [sys.executable, "-m", "unittest", "discover", "-s", HERE],
                        environment=environment, cwd=folder)
        found = programs()
        checks.that(len(found) == 4, "docs/python.md has programs", found)
        for number, program in enumerate(found, 1):
            checks.succeeds(f"docs/python.md: program {number}", [sys.executable, "-c", program],
                            environment=environment, cwd=folder)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
