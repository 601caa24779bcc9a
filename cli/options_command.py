"""acre options: the table of options, asked of the library itself."""

import ctypes
import json
import os

import library
from ask import ask_library
from command_line import add_json, add_yes
from say import fail

UNITS = ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K"))


class Option(ctypes.Structure):
    """struct acre_option of include/acre/acre.h."""
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("choices", ctypes.c_void_p),
        ("default", ctypes.c_longlong),
        ("least", ctypes.c_longlong),
        ("most", ctypes.c_longlong),
        ("value", ctypes.c_longlong),
        ("source", ctypes.c_char_p),
        ("changeable", ctypes.c_int),
        ("help", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
    ]


def read_options(path):
    """Reads /etc/acre.conf and ACRE_CONF too, as every program does, and may complain about them."""
    try:
        return [row(option) for option in ask_library(path, "acre_option_info", Option)]
    except (OSError, AttributeError) as error:
        fail(f"options: cannot ask '{path}' for its options: {error}")


def row(option):
    choices, at = [], option.choices
    while name := ctypes.string_at(at):
        choices.append(name.decode())
        at += len(name) + 1
    kind = option.type.decode()

    def shown(value):
        if kind == "path":
            return (option.text.decode() if value else "") or "none"
        return choices[value] if choices else in_units(value) if kind == "bytes" else str(value)

    return {
        "name": option.name.decode(),
        "type": kind,
        "default": shown(option.default),
        "range": ("a path" if kind == "path" else ", ".join(choices) if choices
                  else f"{shown(option.least)} … {shown(option.most)}"),
        "help": option.help.decode(),
        "value": shown(option.value),
        "set_by": option.source.decode(),
        "at_run_time": bool(option.changeable),
    }


def in_units(value):
    for size, letter in UNITS:
        if value and value % size == 0:
            return f"{value // size}{letter}"
    return str(value)


COLUMNS = ("name", "type", "default", "range", "value", "set_by", "at_run_time")


def print_table(rows):
    lines = [[name.replace("_", " ") for name in COLUMNS]]
    lines += [[{True: "yes", False: "no"}.get(row[name], row[name]) for name in COLUMNS] for row in rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(COLUMNS))]
    for line, text in zip(lines, ["help", *(row["help"] for row in rows)]):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)) + "  " + text)


def add_arguments(parser):
    parser.explain(
        """
        Prints the options of the library: what each may be, its default, what it is for a program that starts now
        with this environment, and where that was set: /etc/acre.conf, ACRE_CONF or acre_conf.
        """,
        (("{acre} options", "a line an option"),
         ("ACRE_CONF=arenas:4 {acre} options --json", "is the setting understood?")))
    add_json(parser)
    parser.add_argument("--lib", metavar="PATH", help="ask this libacre.so, and build nothing")
    add_yes(parser)


def main(options):
    rows = read_options(os.path.abspath(options.lib) if options.lib else library.ensure(options.yes))
    if options.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        print_table(rows)
    return 0
