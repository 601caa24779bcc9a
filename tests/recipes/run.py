"""The recipes of docs/recipes, on a Debian 12 that has nothing but what they need: run.py [--keep FOLDER] [PAGE…]

Debian and the servers are installed in a folder, with acre's packages, and booted: systemd and its services run as
they would. Then each page's commands run as printed, one page after the other, and print what the page says. What a
page needs is in its last line: "Tested with Debian 12's `redis-server`." container.md's images are built by buildah. The
page `ways` stands for README.md's: from a package, a wheel and a clone to a running Redis (ways.py).

--keep: the Debians are made in this folder and stay, so that the next run begins with the pages. ACRE_PACKAGES names a
folder with .deb files and a wheel that were made before. Exit code 0: all well, 1: not, 77: it cannot be tested here.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / name) for name in ("docs", "packaging", "package")]

import blocks
import container
import ways
from checks import Checks
from machine import Machine
from root import Root

PAGES = ROOT / "docs/recipes"
ALWAYS = ("systemd", "dbus", "iproute2", "procps", "curl", "less", "man-db")
PACKAGES = re.compile(r"^Tested with Debian 12's (.*)\.$", re.M)
# sudo as in the pages; the machine's user is root.
SUDO = 'sudo() { if [ "$1" = -u ]; then runuser -u "$2" -- "${@:3}"; else "$@"; fi; }\n'


def packages_of(page):
    return re.findall(r"`([\w.+-]+)`", PACKAGES.search(page.read_text())[1])


def built(checks, work):
    """-> {package: file}"""
    made = os.environ.get("ACRE_PACKAGES")
    if made is None:
        made = work / "packages"
        ended = subprocess.run([ROOT / "acre", "package", "-y", "-o", made, "deb"], stdin=subprocess.DEVNULL)
        checks.that(ended.returncode == 0, "acre package deb")
    return {path.name.partition("_")[0]: path for path in sorted(Path(made).glob("*.deb")) if "-dbgsym" not in path.name}


def bare_debian(checks, folder):
    return folder.exists() or Root(folder).is_made(checks)


def copied(bare, folder):
    subprocess.run(["cp", "-a", bare, folder], check=True)
    return Root(folder)


def with_servers(checks, bare, folder, pages, debs):
    if folder.exists():
        return True
    root = copied(bare, folder)
    wanted = sorted({*ALWAYS, *(name for page in pages for name in packages_of(page) if name not in debs)})
    inside = [f"/tmp/{Path(shutil.copy(path, folder / 'tmp')).name}" for name, path in debs.items()
              if name in ("libacre1", "libacre-dev", "acre")]
    ended = root.apt("install", *wanted, *inside)
    return checks.that(ended.returncode == 0, "the servers, and acre's packages", ended.stderr[-2000:])


def check_pages(checks, folder, pages):
    with Machine(folder) as machine:
        for page in pages:
            told = f"/var/tmp/{page.stem}"  # some services have a /tmp of their own
            known = blocks.commands_of(page.read_text(), re.compile(""))
            outside = Path(folder, told.lstrip("/"))
            shutil.rmtree(outside, ignore_errors=True)
            outside.mkdir()
            # In a file: a page that looks for a program by its words is not to find this.
            (outside / "script").write_text(SUDO + blocks.script_of(known, told))
            machine.run(f"bash {told}/script")
            problems = [f"{block.text}\n{problem}" for block, problem in blocks.problems_in(known, outside)]
            checks.that(known and not problems, f"{page.name}: {len(known)} blocks of commands", "\n\n".join(problems))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    options = parser.parse_args()
    known = [*sorted(path.name for path in PAGES.glob("*.md")), ways.PAGE]
    if unknown := set(options.pages) - set(known):
        parser.error(f"there is no page '{unknown.pop()}'; there are {', '.join(known)}")
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("needs root and mmdebstrap: a Debian is installed in a folder, and booted")
        return 77
    pages = [path for path in sorted(PAGES.glob("*.md")) if not options.pages or path.name in options.pages]
    checks = Checks()
    work = Path(tempfile.mkdtemp(prefix="acre-recipes-"))
    os.chmod(work, 0o755)
    try:
        folder = options.keep or work
        debs = built(checks, work)
        bare = folder / "bare"
        if debs and bare_debian(checks, bare):
            booted = [page for page in pages if page.name != container.PAGE]
            if booted and with_servers(checks, bare, folder / "root", booted, debs):
                check_pages(checks, folder / "root", booted)
            if len(pages) > len(booted):
                container.check(checks, PAGES / container.PAGE, bare, debs,
                                lambda image: ways.wheel_in(image, os.environ.get("ACRE_PACKAGES")), work)
            if not options.pages or ways.PAGE in options.pages:
                ways.check(checks, bare, copied, debs, os.environ.get("ACRE_PACKAGES"), work, SUDO)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
