#!/usr/bin/env python3
"""docs/reference.md: every option, every name of mallctl, every figure, asked of the library itself.

    tests/reference/run.py             is the page what the library says?
    tests/reference/run.py --update    writes it

What names mean that are neither an option's nor a figure's is told by hand, in docs/ctl.md. The library is taken from
ACRE_LIB, else build/release/libacre.so. Exit status: 0 all well, 1 not.
"""

import ctypes
import fnmatch
import itertools
import os
import re
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("ACRE_SOURCE", Path(__file__).resolve().parents[2]))
LIBRARY = os.environ.get("ACRE_LIB", str(SOURCE / "build/release/libacre.so"))
PAGE = SOURCE / "docs/reference.md"
sys.path.insert(0, str(SOURCE / "cli"))

from ask import ask_library  # noqa: E402
from options_command import read_options  # noqa: E402

HEAD = """# Reference

Every option, every name for `mallctl`, every figure. `tests/reference/run.py --update` writes this page, from what the
library says of itself; `./acre options` prints the first table with the values in force.
"""

# What a figure's name in ctl begins with.
PREFIXES = {"process": "stats.", "arena": "stats.arenas.#.", "class": "stats.arenas.#.bins.#.",
            "length": "stats.arenas.#.extents.#.", "tag": "stats.tags.#."}
LOCKS = ("stats.mutexes.NAME.", "stats.arenas.#.mutexes.extents_dirty.", "stats.arenas.#.bins.#.mutex.")
TITLES = {"process": "Of the process", "arena": "Of an arena", "class": "Of a size class", "lock": "Of a lock",
          "length": "Of a length of runs", "tag": "Of a tag"}


class Stat(ctypes.Structure):
    """struct acre_stat of include/acre/acre.h."""
    _fields_ = [("scope", ctypes.c_char_p), ("name", ctypes.c_char_p), ("unit", ctypes.c_char_p),
                ("counter", ctypes.c_int), ("ctl_name", ctypes.c_char_p), ("help", ctypes.c_char_p),
                ("pages", ctypes.c_int)]


class Node(ctypes.Structure):
    """struct acre_mallctl_node of include/acre/acre.h."""
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p),
                ("readable", ctypes.c_int), ("writable", ctypes.c_int)]


def plain(structure):
    values = {name: getattr(structure, name) for name, _ in structure._fields_}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def table(titles, rows):
    return ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|",
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def told_by_hand():
    """name: (type, access, meaning), from docs/ctl.md."""
    lines = (SOURCE / "docs/ctl.md").read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| name | type | access |"))
    rows = {}
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        name, kind, access, meaning = (cell.strip() for cell in line.strip("|").split(" | "))
        rows[name.strip("`")] = (kind.strip("`"), access, meaning.replace("](#", "](ctl.md#"))
    return rows


def lock_of(name):
    """The figure's name in ctl, if this is a lock's; else nothing."""
    for prefix in LOCKS:
        words, own = name.split("."), prefix.rstrip(".").split(".")
        if len(words) == len(own) + 1 and all(b in ("NAME", a) for a, b in zip(words, own)):
            return words[-1]
    return ""


def meaning_of(node, by_ctl, options, by_hand):
    """Null: nobody says."""
    name = node["name"]
    access = ", ".join(["read"] * node["readable"] + ["write"] * node["writable"]) or "does"
    if name in by_hand:
        kind, told_access, meaning = by_hand.pop(name)
        return meaning if (kind, told_access) == (node["type"], access) else None
    if name.removeprefix("opt.") in options and name.startswith("opt."):
        return f"the option [`{name.removeprefix('opt.')}`](#options)"
    return by_ctl.get(name) or by_ctl.get(("lock", lock_of(name)))


def page():
    options = read_options(LIBRARY)
    stats = [plain(stat) for stat in ask_library(LIBRARY, "acre_stat_info", Stat)]
    nodes = [plain(node) for node in ask_library(LIBRARY, "acre_mallctl_info", Node)]
    by_ctl = {("lock", stat["ctl_name"]) if stat["scope"] == "lock" else PREFIXES[stat["scope"]] + stat["ctl_name"]:
              stat["help"] + (", in pages" if stat["pages"] else ", in bytes" if stat["unit"] == "bytes" else "")
              for stat in stats}
    by_hand, wrong = told_by_hand(), []

    lines = [HEAD, "## Options", "", "[options.md](options.md) says where they are set, and more about some.", ""]
    lines += table(("name", "type", "default", "range", "run time", "meaning"),
                   [(f"`{option['name']}`", option["type"], option["default"], option["range"],
                     "yes" if option["at_run_time"] else "no", option["help"]) for option in options])
    lines += ["## Names", "",
              "For `mallctl` and `acre ctl`; [ctl.md](ctl.md) has the errors, and what `#` stands for.", ""]
    rows = []
    for node in nodes:
        access = ", ".join(["read"] * node["readable"] + ["write"] * node["writable"]) or "does"
        meaning = meaning_of(node, by_ctl, {option["name"] for option in options}, by_hand)
        if meaning is None:
            wrong.append(f"docs/ctl.md says nothing of '{node['name']}', or not its type {node['type']} and: {access}")
            continue
        rows.append((f"`{node['name']}`", f"`{node['type']}`", access, meaning))
    wrong += [f"docs/ctl.md has '{name}', which the library has not" for name in by_hand]
    lines += table(("name", "type", "access", "meaning"), rows)
    lines += ["## Statistics", "", "[statistics.md](statistics.md) has what adds up, and the formats. *In ctl* is the "
              "end of the name above.", ""]
    for scope, title in TITLES.items():
        prefixes = LOCKS if scope == "lock" else (PREFIXES[scope],)
        lines += [f"### {title}", "", "In ctl after " + ", ".join(f"`{prefix}`" for prefix in prefixes) + ".", ""]
        lines += table(("name", "kind", "unit", "in ctl", "meaning"),
                       [(f"`{stat['name']}`", "counter" if stat["counter"] else "gauge", stat["unit"],
                         f"`{stat['ctl_name']}`", stat["help"]) for stat in stats if stat["scope"] == scope])
    return "\n".join(lines).rstrip() + "\n", wrong


def check_names_of_jemalloc():
    """Each name of jemalloc 5.3 is the library's, or docs/ctl.md says why not; and what it says is so."""
    acre = ctypes.CDLL(LIBRARY)
    acre.acre_malloc.restype = ctypes.c_void_p
    acre.acre_malloc(ctypes.c_size_t(1))  # so that there is an arena
    find = acre.acre_mallctlnametomib

    def has(name):
        mib, length = (ctypes.c_size_t * 8)(), ctypes.c_size_t(8)
        return find(name.replace("#", "0").encode(), mib, ctypes.byref(length)) == 0

    lines = (SOURCE / "docs/ctl.md").read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| names | why |"))
    missing = [name for line in itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2:])
               for name in re.findall(r"`([^`]+)`", line.split(" | ")[0])]
    names = (Path(__file__).parent / "jemalloc_names.txt").read_text().split()
    wrong = [f"'{name}' of jemalloc's is neither there nor in docs/ctl.md" for name in names
             if not has(name) and not any(fnmatch.fnmatchcase(name, pattern) for pattern in missing)]
    return wrong + [f"docs/ctl.md says there is no '{name}'" for name in missing if "*" not in name and has(name)]


def main():
    text, wrong = page()
    wrong += check_names_of_jemalloc()
    for line in wrong:
        print(f"FAILED: {line}")
    if "--update" in sys.argv[1:] and not wrong:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        old = PAGE.read_text().splitlines() if PAGE.exists() else []
        wrong.append("the page")
        print("FAILED: docs/reference.md is not what the library says: tests/reference/run.py --update")
        print("\n".join(line for line in text.splitlines() if line not in old))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
