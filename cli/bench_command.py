"""acre bench: becomes the lab (bench/lab), in a private environment with the libraries that it pins."""

import os

import environment
import library
import packages
from steps import clean_environment

# These read results only, and need neither programs nor allocators.
READERS = ("list", "report", "compare")


def main(arguments):
    yes = "-y" in arguments or "--yes" in arguments
    words = [word for word in arguments if word not in ("-y", "--yes")]
    asks_only = words[:1] and (words[0] in READERS or words[0] in ("-h", "--help"))
    if not asks_only:
        packages.ensure(["build", "bench"], yes)
        os.environ["ACRE_LIB"] = library.ensure(yes)
    python = environment.ensure(yes)
    bench = os.path.dirname(environment.REQUIREMENTS)
    os.execve(python, [python, "-m", "lab", *words], {**clean_environment(), "PYTHONPATH": bench})
