"""acre options: the table of options, asked of the library itself."""

import ctypes
import json
import os

import library
from ask import ask_library
from say import fail, usage_error

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


def main(arguments):
    path, as_json, yes = None, False, False
    words = iter(arguments)
    for word in words:
        if word in ("-y", "--yes"):
            yes = True
        elif word == "--json":
            as_json = True
        elif word == "--lib":
            path = next(words, None) or usage_error("options: --lib needs a path")
        else:
            usage_error(f"options: unknown argument '{word}'")
    rows = read_options(os.path.abspath(path) if path else library.ensure(yes))
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        print_table(rows)
    return 0
