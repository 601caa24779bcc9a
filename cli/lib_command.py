"""acre lib: prints where the release library is, as its last line."""

import json

import library
from command_line import add_json, add_yes
from places import version


def add_arguments(parser):
    parser.explain(
        "Prints the path of libacre.so, which is built first if need be.",
        (("LD_PRELOAD=$({acre} lib) python3 app.py", "preload it without `acre run`"),
         ("cc program.c $({acre} lib)", "link a program with it")))
    add_json(parser)
    add_yes(parser)


def main(options):
    path = library.ensure(options.yes)
    print(json.dumps({"library": path, "version": version()}) if options.json else path)
    return 0
