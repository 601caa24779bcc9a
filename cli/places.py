"""Where things are."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NAME = "./acre"  # how the command is called here, in what people read


def build_folder(preset):
    return os.path.join(ROOT, "build", preset)


def version():
    import re
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as lines:
        return re.search(r"project\(acre VERSION (\S+)", lines.read())[1]
