"""Where things are: in the sources, or in the folder of an installed acre, which nothing is written to."""

import os

try:
    import installed
except ImportError:
    installed = None

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NAME = "acre" if installed else "./acre"  # how the command is called here, in what people read
# What is made here, and may be deleted.
MADE = (os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "acre") if installed
        else os.path.join(ROOT, "build"))


def shown(path):
    """As people read it: from the current folder, if that is shorter."""
    return min(path, os.path.relpath(path), key=len)


def build_folder(preset):
    return os.path.join(MADE, preset)


def version():
    if installed:
        return installed.VERSION
    import re
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as lines:
        return re.search(r"project\(acre VERSION (\S+)", lines.read())[1]
