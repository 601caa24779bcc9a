"""The Debian packages: built, installed in a bare Debian, used, switched, removed."""

import re
import shutil
import subprocess
from pathlib import Path

from root import Root, difference, failed

TESTS = ("link", "tools", "drop-ins")  # packaging/debian/tests


def wanted_by(control):
    """The packages that the tests depend on, besides acre's own; what the package acre depends on is there before it."""
    names = re.findall(r"^Depends: (.*)$", control, re.M)
    return sorted({"python3"} | {name for line in names for name in line.split(", ") if "acre" not in name})


def build(checks, source, work):
    """-> the .deb files by package"""
    made = subprocess.run([source / "acre", "package", "-y", "-o", work / "made", "deb"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if not checks.that(made.returncode == 0, "acre package deb", failed(made)):
        return {}
    paths = [Path(line) for line in made.stdout.splitlines()]
    checks.that(all(path.is_file() for path in paths), "what it prints is there", made.stdout)
    lint = subprocess.run(["lintian", "--fail-on", "error,warning", "--allow-root",
                           *[path for path in paths if path.suffix == ".changes"]], capture_output=True, text=True)
    checks.that(lint.returncode == 0 and not lint.stdout, "lintian has nothing to say", failed(lint))
    description, = (path for path in paths if path.suffix == ".dsc")
    unpacked = subprocess.run(["dpkg-source", "-x", description, work / "unpacked"], capture_output=True, text=True)
    checks.that(unpacked.returncode == 0 and (work / "unpacked/debian/rules").is_file()
                and (work / "unpacked/CMakeLists.txt").read_bytes() == (source / "CMakeLists.txt").read_bytes(),
                "the source package has the sources, and debian/ where dpkg-buildpackage looks", failed(unpacked))
    return {path.name.partition("_")[0]: path for path in paths if path.suffix == ".deb" and "-dbgsym" not in path.name}


def check_bare(checks, root, debs):
    """Where nothing else is: the packages bring all that they need."""
    before = root.files()
    if root.installs(checks, "all packages can be installed in a bare Debian", "install", *debs.values()):
        ended = root.run("acre", "run", "--stats", "--", "true")
        checks.that(ended.returncode == 0 and "acre" in ended.stderr, "acre run works there", failed(ended))
        ended = root.run("acre", "doctor")
        checks.that(ended.returncode == 0 and "nothing wrong" in ended.stdout, "acre doctor finds nothing wrong", failed(ended))
        ended = root.run("sh", "-c", "man -w acre 2>/dev/null; ls /usr/share/man/man1/acre.1.gz /usr/share/doc/acre/README.md")
        checks.that("acre.1.gz" in ended.stdout, "the manual page is there", failed(ended))
    root.installs(checks, "they can be purged", "purge", *debs)
    root.installs(checks, "and what they brought along", "autoremove", "--purge")
    left = difference(before, root.files())
    checks.that(not left, "nothing is left of them", "\n".join(left))


def check_used(checks, root, debs, source):
    """Where compilers and servers are: debian/tests."""
    control = (source / "packaging/debian/tests/control").read_text()
    if not root.installs(checks, "the tests' packages", "install", *wanted_by(control)):
        return
    shutil.copytree(source / "tests/package", root.folder / "tmp/source/tests/package")
    shutil.copytree(source / "packaging/debian/tests", root.folder / "tmp/source/debian/tests")
    before = root.files()
    root.installs(checks, "the packages beside others'", "install", *debs.values())
    for test in TESTS:
        ended = root.run(f"debian/tests/{test}", cwd="/tmp/source")
        checks.that(ended.returncode == 0, f"debian/tests/{test}", failed(ended))
    ended = root.run("sh", "-c", "update-alternatives --set libjemalloc.so.2-x86_64-linux-gnu "
                     "/usr/lib/x86_64-linux-gnu/acre/jemalloc/use-jemalloc.conf && ldconfig && ldd /usr/bin/redis-server")
    checks.that("libacre" not in ended.stdout, "the choice of jemalloc", failed(ended))
    root.installs(checks, "an installation over the first", "install", "--reinstall", *debs.values())
    ended = root.run("ldd", "/usr/bin/redis-server")
    checks.that("libacre" not in ended.stdout, "keeps what was chosen", failed(ended))
    root.installs(checks, "the drop-ins can be removed", "remove", "libacre1-jemalloc", "libacre1-tcmalloc")
    ended = root.run("sh", "-c", "ldd /usr/bin/redis-server /usr/bin/swipl; ls /etc/ld.so.conf.d /etc/alternatives; "
                     "redis-server --version && swipl --version")
    checks.that(ended.returncode == 0 and "acre" not in ended.stdout and "00-lib" not in ended.stdout,
                "then programs have their own library again", failed(ended))
    root.installs(checks, "the rest can be purged", "purge", "acre", "libacre-dev", "libacre1")
    left = difference(before, root.files())
    checks.that(not left, "nothing is left of them", "\n".join(left))


def check(checks, source, work):
    debs = build(checks, source, work)
    if not checks.that(len(debs) == 5, "there are five packages", sorted(debs)):
        return
    root = Root(work / "root")
    if not root.is_made(checks):
        return
    (root.folder / "tmp/debs").mkdir()
    inside = {name: f"/tmp/debs/{Path(shutil.copy(path, root.folder / 'tmp/debs')).name}" for name, path in debs.items()}
    check_bare(checks, root, inside)
    check_used(checks, root, inside, source)
