#!/usr/bin/env python3
"""Whatever names acre's version names the one in CMakeLists.txt: check.py

Headers, packages, crates, the newest release in CHANGELOG.md, and what the pages show of files and of what acre prints.
The wheel, the Conan recipe and the library itself read CMakeLists.txt.
"""

import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "package"))

from checks import Checks  # noqa: E402

ROOT = Path(os.environ.get("ACRE_SOURCE", Path(__file__).resolve().parents[2]))
NUMBER = r"(\d+\.\d+\.\d+)"
# file: what has the version in it, the first of each
SAID = {
    "include/acre/acre.h": (rf'^#define ACRE_VERSION "{NUMBER}"$',),
    "CHANGELOG.md": (rf"^## \[{NUMBER}\] – \d\d\d\d-\d\d-\d\d$",),
    "packaging/debian/changelog": (rf"^acre \({NUMBER}-\d+\) ",),
    "packaging/acre.spec": (rf"^Version: +{NUMBER}$", rf"^\* .* {NUMBER}-\d+$"),
    "packaging/APKBUILD": (rf"^pkgver={NUMBER}$",),
    "packaging/vcpkg/acre/vcpkg.json": (rf'"version": "{NUMBER}"',),
    "bindings/rust/Cargo.toml": (rf'^version = "{NUMBER}"$',),
    "bindings/rust/acre/Cargo.toml": (rf'^acre-sys = .*version = "{NUMBER}"',),
    "bindings/rust/Cargo.lock": (rf'^name = "acre-malloc"\nversion = "{NUMBER}"$', rf'^name = "acre-sys"\nversion = "{NUMBER}"$'),
}
# On pages: what acre prints, files, requirements of others.
SHOWN = re.compile(rf"\bacre[ (_/-]+{NUMBER}|\bacre_malloc-{NUMBER}|ACRE_VERSION.*{NUMBER}")


def main():
    checks = Checks()
    version = re.search(r"^project\(acre VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    for name, patterns in SAID.items():
        text = (ROOT / name).read_text()
        found = [re.search(pattern, text, re.M) for pattern in patterns]
        checks.that(all(one and one[1] == version for one in found), f"{name} has version {version}",
                    [one and one[0] for one in found])
    changes = (ROOT / "CHANGELOG.md").read_text()
    titles = re.findall(r"^## (.*)$", changes, re.M)
    checks.that(titles[0] == "[Unreleased]", "CHANGELOG.md begins with what is not released", titles)
    shown = {(str(page.relative_to(ROOT)), next(filter(None, found)))
             for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bindings/**/*.md"))
             for found in SHOWN.findall(page.read_text())}
    checks.that(len(shown) > 3 and {number for _, number in shown} == {version}, f"pages show version {version}",
                sorted(shown))
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
