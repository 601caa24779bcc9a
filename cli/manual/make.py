"""Manual pages and completions of an installed acre: make.py INSTALLED FOLDER

INSTALLED is the folder of installed.py, which makes the parsers call the command acre. FOLDER gets the files.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLI = HERE.parent


def main(installed, folder):
    sys.path[:0] = [installed, str(CLI), str(HERE)]
    import completions
    import pages
    from command_line import whole
    acre = whole()
    commands = []
    for parser in acre.commands():
        parser.complete()
        commands += [parser, *parser.commands()]
    files = {
        "acre.1": pages.of_command(acre, commands),
        "acre.conf.5": pages.of_options(CLI.parent / "docs"),
        "acre.3": pages.of_headers(CLI.parent / "include/acre"),
        "acre.bash": completions.for_bash(acre, commands),
        "_acre": completions.for_zsh(acre),
        "acre.fish": completions.for_fish(acre),
    }
    for name, text in files.items():
        (Path(folder) / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
