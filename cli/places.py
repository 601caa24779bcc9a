"""Where things are."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def build_folder(preset):
    return os.path.join(ROOT, "build", preset)
