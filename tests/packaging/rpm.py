"""The RPM packages, by Debian's rpmbuild and rpm: built, installed in a bare Debian, used, removed.

Debian's loader does not look in /usr/lib64, where rpm puts libraries: a file in /etc/ld.so.conf.d says so there.
"""

import subprocess
from pathlib import Path

from root import Root, difference, failed

# What packages of Fedora's and openSUSE's have on every machine.
FOLDERS = ("usr/lib64/cmake", "usr/lib64/pkgconfig", "usr/share/licenses")
NEEDED = ("python3", "redis-server", "libjemalloc2", "libstdc++6", "libzstd1", "zlib1g")


def check(checks, source, work):
    spec = source / "packaging/acre.spec"
    lint = subprocess.run(["rpmlint", "-c", source / "packaging/rpmlint.toml", spec], capture_output=True, text=True)
    checks.that(lint.returncode == 0 and " 0 errors, 0 warnings" in lint.stdout, "rpmlint has nothing to say of acre.spec",
                failed(lint))
    made = subprocess.run([source / "acre", "package", "-y", "-o", work / "made", "rpm"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if not checks.that(made.returncode == 0, "acre package rpm", failed(made)):
        return
    paths = [Path(line) for line in made.stdout.splitlines()]
    rpms = {path.name.rsplit("-", 2)[0]: path for path in paths if not path.name.endswith(".src.rpm")}
    checks.that(sorted(rpms) == ["acre", "acre-devel", "acre-jemalloc", "acre-libs", "acre-tcmalloc"] and len(paths) == 6,
                "there are five packages and the source package", made.stdout)
    root = Root(work / "root")
    if not root.is_made(checks):
        return
    root.apt("install", *NEEDED)
    (root.folder / "etc/ld.so.conf.d/lib64.conf").write_text("/usr/lib64\n")
    for folder in FOLDERS:
        (root.folder / folder).mkdir(parents=True, exist_ok=True)
    root.run("ldconfig")

    def rpm(*words):
        return subprocess.run(["rpm", "--root", root.folder, "--nodeps", *words], capture_output=True, text=True)

    rpm("--initdb")
    before = root.files()
    ended = rpm("-i", *rpms.values())
    checks.that(ended.returncode == 0, "they can be installed", failed(ended))
    ended = root.run("acre", "run", "--stats", "--", "python3", "-c", "print(42)")
    checks.that(ended.stdout == "42\n" and "acre" in ended.stderr, "acre run works", failed(ended))
    ended = root.run("ldd", "/usr/bin/redis-server")
    checks.that("/usr/lib64/acre/jemalloc/libjemalloc.so.2" in ended.stdout and "/usr/lib64/libacre.so.1" in ended.stdout,
                "Redis runs on acre", failed(ended))
    ended = root.run("sh", "-c", "update-alternatives --set libjemalloc.so.2 /usr/lib64/acre/jemalloc/use-jemalloc.conf && "
                     "ldconfig && ldd /usr/bin/redis-server")
    checks.that(ended.returncode == 0 and "libacre.so" not in ended.stdout, "until jemalloc is chosen", failed(ended))
    ended = rpm("-e", *rpms)
    checks.that(ended.returncode == 0, "they can be removed", failed(ended))
    left = [line for line in difference(before, root.files()) if "rpm" not in line]  # but for rpm's own database
    checks.that(not left, "nothing is left of them", "\n".join(left))
