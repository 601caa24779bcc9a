#!/usr/bin/env python3
"""Plants bugs in the sources, each a change of their text, that the targets for libFuzzer must find: a gate that cannot
fail says nothing. A text that is not there, or there twice, is an error: keep the list up to date with the code.

  planted.py BUILD          all bugs; BUILD is the build folder of the preset asan, with the targets built
  planted.py BUILD NAME     one, and what the target says

Only the object with the changed source is compiled again, from a copy that the compiler sees in place of the original.
Exit code 0: every bug is found.
"""

import dataclasses
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import run as fuzz

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    target: str  # that must find it
    inputs: int  # within so many
    file: str    # in src/
    old: str
    new: str
    conf: str = ""


BUGS = [
    Bug("heap-loses-orphans", "containers", 3000, "base/pairing_heap.h",
        "if (orphans != nullptr) root_ = meld(root_, orphans);", ""),
    Bug("bin-stays-occupied", "containers", 3000, "pages/free_runs.h",
        "if (heaps_[bin].empty()) occupied_[bin / 64] &= ~(uint64_t{1} << (bin % 64));", ""),
    Bug("quarantine-keeps-one-twice", "protection", 500, "hardened/quarantine.h",
        "relaxed_store(list.count, list.count - 1);", "relaxed_store(list.count, list.count - (list.count > 1));"),
    Bug("spent-last-is-used-first", "protection", 1000, "guard/slots.cc",
        "  slot->next = nullptr;\n  (g_oldest == nullptr ? g_oldest : g_newest->next) = slot;\n  g_newest = slot;",
        "  slot->next = g_oldest;\n  g_oldest = slot;"),
    Bug("binned-but-in-no-bin", "core", 500, "slab/transitions.cc",
        "ours = is_binned(next.state) && bin->offer(slab);", "ours = false;"),
    Bug("line-of-one-byte-more", "request", 4000, "live/request.cc",
        "if (size_ + 1 == sizeof text_) return State::kTooLong;", "if (size_ == sizeof text_) return State::kTooLong;"),
    Bug("overflow-passes", "options", 10000, "tables/parse.cc",
        "if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, c - '0', &n)) return false;",
        "__builtin_mul_overflow(n, 10, &n), __builtin_add_overflow(n, c - '0', &n);"),
    Bug("beginning-of-a-name-passes", "ctl", 500, "control/ctl.cc",
        "&& (whole || !whole_name)) return place;", "&& (whole || !whole_name || i > 100)) return place;"),
    Bug("large-calloc-keeps-what-was-there", "api", 300, "cache/large.cc",
        "if (zeroed && !run->fresh) memset(block, 0, n);", "if (zeroed && !run->fresh) memset(block, 0, n / 2);"),
    Bug("remote-list-goes-in-a-circle", "api", 300, "slab/transitions.cc",
        "last->set_next(head_block(slab, static_cast<uint32_t>(bits & RemoteWord::kHeadMask)));",
        "last->set_next(head_block(slab, head_index));"),
    Bug("hardened-free-leaves-the-end", "api", 2000, "hardened/release.cc",
        "memset(block, 0, bytes - kTailBytes);", "memset(block, 0, bytes - 2 * kTailBytes);", conf="hardened:true"),
    Bug("hardened-realloc-leaves-what-was-there", "api", 1000, "hardened/blocks.cc",
        "if (n < old_n) memset(static_cast<char*>(p) + n, 0, old_n - n);", "", conf="hardened:true"),
]


def commands(build):
    """-> the compiler's commands, by object"""
    found = json.loads((build / "compile_commands.json").read_text())
    return {build / re.search(r" -o (\S+) ", entry["command"])[1]: entry for entry in found}


def object_of(bug, entries, program):
    """The object to compile again: the target's own for a header, else the one whose unity source has the file."""
    file = str(ROOT / "src" / bug.file)
    for path, entry in entries.items():
        if bug.file.endswith(".h"):
            if entry["file"] == str(HERE / f"{bug.target}.cc"):
                return path, entry
        elif "acre_internal.dir" in str(path) and (entry["file"] == file or f'#include "{file}"' in Path(entry["file"]).read_text()):
            return path, entry
    raise SystemExit(f"{bug.name}: {program} has no object with src/{bug.file}; mend planted.py")


def plant(bug, build, folder):
    """-> the target with the bug"""
    source = ROOT / "src" / bug.file
    text = source.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise SystemExit(f"{bug.name}: its text is {text.count(bug.old)} times in src/{bug.file}; mend planted.py")
    changed = folder / f"{bug.name}{source.suffix}"
    changed.write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    overlay = folder / f"{bug.name}.yaml"
    overlay.write_text(json.dumps({"version": 0, "roots": [
        {"name": str(source), "type": "file", "external-contents": str(changed)}]}))
    program = f"libfuzzer_{bug.target}"
    path, entry = object_of(bug, commands(build), program)
    again = folder / f"{bug.name}.o"
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    words[words.index("-o") + 1] = str(again)
    subprocess.run([*words, "-ivfsoverlay", overlay, "-w"], cwd=entry["directory"], check=True)
    told = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", f"tests/libfuzzer/{program}"], capture_output=True, text=True, check=True)
    link = [line for line in told.stdout.splitlines() if f"-o tests/libfuzzer/{program}" in line][-1]
    link = re.search(r"&& (.*?) && ", link)[1]
    words = [word for word in shlex.split(link) if not word.endswith("ccache")]
    at = words.index(str(path.relative_to(build)))
    del words[at]
    # In front of the others: of an inline function the first definition counts.
    words.insert(next(i for i, word in enumerate(words) if word.endswith(".o")), str(again))
    made = folder / program
    words[words.index("-o") + 1] = str(made)
    subprocess.run(words, cwd=build, check=True)
    return made


def main():
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="acre-planted-") as name:
        folder = Path(name)
        (folder / "corpus").mkdir()
        for bug in BUGS:
            if names and bug.name not in names:
                continue
            program = plant(bug, build, folder)
            code, lines = fuzz.run(program, bug.conf, [f"-runs={bug.inputs}"], folder / "corpus", folder, folder)
            missed += code == 0
            print(f"{'found ' if code else 'MISSED'} {bug.name}, by {bug.target}", flush=True)
            if names:
                print("\n".join(lines))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
