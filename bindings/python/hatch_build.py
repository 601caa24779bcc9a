"""Builds the library and the tools by CMake, and puts them into the wheel as an installed acre has them:

    acre/libacre.so.1
    acre/_home/cli/ …, acre-trace, acre-replay

The wheel suits each Python 3, since nothing in it is linked with one. Its tag says the platform alone, until
`auditwheel repair` puts the oldest C library in its place.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
SOURCE = next(folder for folder in (HERE / "source", HERE.parents[1]) if (folder / "CMakeLists.txt").exists())
BUILD = SOURCE / "build/wheel"
TARGETS = ("acre", "acre_trace", "acre_replay")
OF_HOME = ("cli", "share", "bench", "packages.txt")
NOT_IN_HOME = shutil.ignore_patterns("__pycache__", "manual")


def version():
    return re.search(r"project\(acre VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]


def static_library(name):
    """The archive of this name that the compiler would link; None if there is none."""
    said = subprocess.run([os.environ.get("CC", "cc"), f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    return said if os.path.isabs(said) else None


def build():
    """acre-trace brings zstd, zlib and the C++ library along: others' may be older, or missing. Nothing in it uses
    std::random_device, for which gcc's archive may want arc4random, of glibc 2.36."""
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_C_FLAGS_RELEASE": "-O2 -DNDEBUG", "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG",
        "CMAKE_EXE_LINKER_FLAGS": "-static-libstdc++ -Wl,--defsym=arc4random=0", "CMAKE_INSTALL_LIBDIR": "lib",
        "ACRE_BUILD_TESTS": "OFF", "ACRE_WERROR": "OFF", "ACRE_COMMAND": "ON", "ACRE_TRACE": "ON",
        "ACRE_ZSTD_LIBRARY": static_library("libzstd.a"), "ZLIB_LIBRARY": static_library("libz.a"),
    }
    words = [f"-D{name}={value}" for name, value in settings.items() if value]
    for command in (["cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", *words],
                    ["cmake", "--build", BUILD, "--target", *TARGETS]):
        subprocess.run(command, check=True)


def make_home(home):
    """What cmake/AcreCommand.cmake installs, without manual pages and completions."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for name in OF_HOME:
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, home / name, ignore=NOT_IN_HOME)
        else:
            shutil.copy2(SOURCE / name, home / name)
    shutil.copy2(BUILD / "command/installed.py", home / "cli/installed.py")
    for tool in ("acre-trace", "acre-replay"):
        shutil.copy2(BUILD / tool, home / tool)


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        build()
        home = BUILD / "home"
        make_home(home)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"
        build_data["force_include"] |= {str(home): "acre/_home", str(BUILD / "libacre.so.1"): "acre/libacre.so.1"}
