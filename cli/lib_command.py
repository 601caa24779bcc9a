"""acre lib: prints where the release library is, as its last line."""

import library
from say import usage_error


def main(arguments):
    yes = False
    for word in arguments:
        if word in ("-y", "--yes"):
            yes = True
        else:
            usage_error(f"lib: unknown argument '{word}'")
    print(library.ensure(yes))
    return 0
