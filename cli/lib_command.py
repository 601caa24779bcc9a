"""acre lib: prints where the release library is, as its last line."""

import library
from command_line import add_yes


def add_arguments(parser):
    parser.explain(
        "Prints the path of libacre.so, which is built first if need be.",
        (("LD_PRELOAD=$({acre} lib) python3 app.py", "preload it without `acre run`"),
         ("cc program.c $({acre} lib)", "link a program with it")))
    add_yes(parser)


def main(options):
    print(library.ensure(options.yes))
    return 0
