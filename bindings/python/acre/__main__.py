"""The command acre, which is a program of its own: `python -m acre`, and the script that pip makes."""

import sys

from ._command import become


def main() -> None:
    become(sys.argv[1:])


if __name__ == "__main__":
    main()
