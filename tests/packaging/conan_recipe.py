"""The Conan recipe, by Conan 2 from PyPI: the shared and the static library, each with its test_package."""

import os
import subprocess
import sys

CONAN = "conan==2.34.0"


def check(checks, source, work):
    environment = dict(os.environ, CONAN_HOME=str(work / "home"))
    for name in ("LD_PRELOAD", "CXXFLAGS", "CFLAGS", "LDFLAGS"):
        environment.pop(name, None)

    def run(what, *command):
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=work)
        checks.that(ended.returncode == 0, what, f"{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
        return ended

    run("a virtual environment", sys.executable, "-m", "venv", work / "venv")
    if run("Conan from PyPI", work / "venv/bin/pip", "install", "-q", CONAN).returncode != 0:
        return
    conan = work / "venv/bin/conan"
    run("a profile", conan, "profile", "detect")
    for shared in (True, False):
        # A unity build takes a third of the time, but puts operators of C++ into objects that a C program takes.
        unity = ["-c", "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_UNITY_BUILD': 'ON'}"] if shared else []
        ended = run(f"conan create, shared={shared}", conan, "create", source / "packaging/conan", "-o",
                    f"acre/*:shared={shared}", "-c", "tools.cmake.cmaketoolchain:generator=Ninja", *unity)
        checks.that("acre is in use" in ended.stdout + ended.stderr, "and its test_package runs on acre", ended.stderr[-3000:])
    refused = subprocess.run([conan, "create", source / "packaging/conan", "-s", "os=Windows"], env=environment,
                             capture_output=True, text=True, cwd=work)
    checks.that(refused.returncode != 0 and "Linux" in refused.stderr, "another system is refused", refused.stderr[-1000:])
