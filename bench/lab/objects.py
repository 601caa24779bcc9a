"""What addresses in a process are called: functions and source lines, static data, by binutils."""

import bisect
import re
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path

TOP = 20  # places and lines that are named
LINE = 64


def run(*words, given=None):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, input=given).stdout


def functions(library, wanted):
    """Offsets of exported functions in a file, where the text segment lies at its address, as linkers place it."""
    found = {}
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "TtWwi":
            found[fields[2].split("@")[0]] = int(fields[0], 16)
    return [found[name] for name in wanted if name in found]


@lru_cache(maxsize=32)
def data_symbols(path):
    """-> (addresses, sizes, names), sorted"""
    rows = []
    for line in run("nm", "-C", "-S", "--defined-only", path).splitlines():
        fields = line.split(maxsplit=3)
        if len(fields) == 4 and fields[2] in "bBdDrRuVv":
            rows.append((int(fields[0], 16), int(fields[1], 16), fields[3]))
    rows.sort()
    return tuple(zip(*rows)) if rows else ((), (), ())


@lru_cache(maxsize=32)
def image_size(path):
    """Of the file in memory, .bss included."""
    ends = [0]
    for line in run("readelf", "-lW", path).splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"]:
            ends.append(int(fields[2], 16) + int(fields[5], 16))
    return max(ends)


class Names:
    """ranges: [begin, end, offset, path] of mapped files."""

    def __init__(self, root, ranges):
        self.root = str(root)
        self.objects = {}  # path -> where it begins; the first, since QEMU's own files lie above the program's
        for begin, _, _, path in sorted(ranges):
            self.objects.setdefault(path, begin)

    def object_of(self, address):
        """-> (path, address in it), or None"""
        for path, begin in self.objects.items():
            if begin <= address < begin + image_size(path):
                return path, address - begin
        return None

    def named_code(self, addresses):
        """-> {address: (function, "file:line")}; of what was inlined, the innermost that is no header of the system's"""
        found = {}
        by_object = {}
        for address in addresses:
            place = self.object_of(address)
            if place:
                by_object.setdefault(place[0], []).append((address, place[1]))
        for path, pairs in by_object.items():
            said = run("addr2line", "-a", "-f", "-C", "-i", "-e", path, given="\n".join(f"{a:x}" for _, a in pairs))
            for (address, offset), frames in zip(pairs, frames_of(said), strict=True):
                function, where = next((f for f in frames if not f[1].startswith("/usr/")), frames[0])
                known = function != "??"
                found[address] = (function_name(function) if known else f"{Path(path).name}+{offset:#x}", self.short(where))
        return found

    def short(self, where):
        where = where.split(" (")[0]
        if where.startswith("??"):
            return ""
        return where.removeprefix(self.root + "/")

    def places(self, sites):
        """Instructions that move lines, by source line; most first."""
        names = self.named_code([address for address, *_ in sites])
        total = {}
        for address, loads, stores, blocks in sites:
            counts = total.setdefault(names.get(address, (f"{address:#x}", "")), Counter())
            counts.update(loads=loads, stores=stores, blocks=blocks)
        ordered = sorted(total.items(), key=lambda item: -(item[1]["loads"] + item[1]["stores"]))
        return [{"function": function, "where": where, **counts} for (function, where), counts in ordered[:TOP]]

    def data_name(self, address):
        place = self.object_of(address)
        if not place:
            return "anonymous memory"
        path, offset = place
        addresses, sizes, names = data_symbols(path)
        at = bisect.bisect_right(addresses, offset + LINE - 1) - 1  # the last that begins in the line or before it
        if at < 0 or addresses[at] + sizes[at] <= offset:
            return Path(path).name
        return f"{names[at]}+{max(0, offset - addresses[at])}"

    def lines(self, lines):
        """The lines that move most."""
        names = self.named_code([last for *_, last in lines[:TOP]])
        return [{"address": f"{address:#x}", "name": self.data_name(address), "transfers": own, "with_program": every,
                 "last_by": " ".join(names.get(last, ("", ""))).strip()} for address, own, every, last in lines[:TOP]]


def function_name(text):
    """Without arguments, template arguments and what it returns."""
    text = text.replace("(anonymous namespace)::", "")
    shorter = re.sub(r"<[^<>]*>", "", text)
    while shorter != text:
        text, shorter = shorter, re.sub(r"<[^<>]*>", "", shorter)
    return text.split("(")[0].split(" ")[-1]


def frames_of(said):
    """What addr2line -a -f -i said, as a list of (function, place) for each address."""
    every = []
    lines = iter(said.splitlines())
    for line in lines:
        if line.startswith("0x"):
            every.append([])
        else:
            every[-1].append((line, next(lines, "??:0")))
    return every
