"""acre by each compiler that is here: run.py [NAME…]

Builds the libraries, the internals' tests, surface and misuse with each, as the preset release does, and runs them.
A name is that of a C compiler, such as gcc-13. Without names, those that Debian 12 lacks and Debian 13 has are tried
as well, in a bare Debian 13, as root and with mmdebstrap. Exit code 0: all well, 1: not.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
SOURCE = Path(os.environ.get("ACRE_SOURCE", Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / folder) for folder in ("tests/package", "tests/packaging", "cli")]

import packages
from checks import Checks, clean_environment
from root import Root, failed

COMPILERS = [*(f"gcc-{version}" for version in range(12, 17)), *(f"clang-{version}" for version in range(16, 25))]
IN_DEBIAN_13 = ("gcc-13", "gcc-14", "clang-17", "clang-18")
FOR_TESTS = ("pkg-config", "valgrind", "googletest", "libgoogle-perftools-dev")
TIMEOUT_S = 7200
LABELS = ("unit", "surface", "misuse")
LEAST_TESTS = 1500
LINES_OF_TEST = 12


def in_cxx(name):
    return name.replace("gcc", "g++").replace("clang", "clang++")


def run(command, log):
    """-> whether it went well; its output goes to the log"""
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run(list(map(str, command)), cwd=SOURCE, env=clean_environment(), stdin=subprocess.DEVNULL,
                              stdout=out, stderr=subprocess.STDOUT)
    return done.returncode == 0


def lines(log, *words):
    """The lines of the log with one of these words, or else its end."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join([line for line in text if any(word in line for word in words)][:30] or text[-15:])


def failed_tests(log):
    """What the log says of each test that did not pass, and the first lines that the test printed."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    begins = [at for at, line in enumerate(text) if "***" in line and "***Skipped" not in line]
    return "\n".join(line for at in begins[:10] for line in text[at:at + LINES_OF_TEST]) or "\n".join(text[-15:])


def check(checks, name, folder):
    log, build, jobs = folder / f"{name}.log", folder / name, str(len(os.sched_getaffinity(0)))
    compilers = [f"-DCMAKE_C_COMPILER={name}", f"-DCMAKE_CXX_COMPILER={in_cxx(name)}"]
    made = run(["cmake", "--preset", "release", "-B", build, *compilers], log)
    targets = ["acre", "acre_static", *(f"tests_{label}" for label in LABELS)]
    made = made and run(["cmake", "--build", build, "-j", jobs, "--target", *targets], log)
    if not checks.that(made, f"{name} builds acre", lines(log, "error", "warning")):
        return
    log.write_text("")
    well = run(["ctest", "--test-dir", build, "-j", jobs, "--output-on-failure", "-L", f"^({'|'.join(LABELS)})$"], log)
    count = log.read_text().count("   Passed ")
    checks.that(well and count > LEAST_TESTS, f"{name}: {count} tests pass", failed_tests(log))


def check_debian_13(checks, names, folder):
    root = Root(folder, "trixie", SOURCE)
    needed = (*packages.listed(("build", "record")), *FOR_TESTS, *(name.replace("gcc", "g++") for name in names))
    if not (root.is_made(checks) and root.installs(checks, "compilers can be installed", "install", *needed)):
        return
    ended = root.run("python3", "/source/tests/compilers/run.py", *names, timeout_s=TIMEOUT_S)
    print(ended.stdout, end="", flush=True)
    checks.that(ended.returncode == 0, "and all is well there", failed(ended))


def main():
    checks = Checks()
    wanted = sys.argv[1:] or COMPILERS
    here = [name for name in wanted if shutil.which(name) and shutil.which(in_cxx(name))]
    print(f"not here: {', '.join(name for name in wanted if name not in here) or 'none'}")
    checks.that(len(here) >= (len(sys.argv) - 1 or 2), "there are compilers", here)
    with tempfile.TemporaryDirectory(prefix="acre-compilers-") as folder:
        for name in here:
            check(checks, name, Path(folder))
            shutil.rmtree(Path(folder) / name, ignore_errors=True)
        others = [name for name in IN_DEBIAN_13 if name not in here]
        if len(sys.argv) == 1 and others and os.geteuid() == 0 and shutil.which("mmdebstrap"):
            check_debian_13(checks, others, Path(folder) / "debian-13")
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
