"""From addresses to functions, files and lines: by llvm-symbolizer or addr2line, whichever is there."""

import os
import shutil
import struct
import subprocess

PT_LOAD = 1


class Frame:
    """One function of a call; several stand for one address where the compiler put one into the other."""

    def __init__(self, address, mapping=None, function=None, file=None, line=0):
        self.address = address
        self.mapping = mapping
        self.function = function
        self.file = file
        self.line = line

    @property
    def object(self):
        return self.mapping["path"] if self.mapping else None

    def text(self):
        if self.mapping is None:
            return f"{self.address:#x} (in code that is no longer there)"
        place = f"{self.file}:{self.line}" if self.file and self.line else os.path.basename(self.object)
        if self.function:
            return f"{self.function} ({place})"
        return f"{os.path.basename(self.object)}+{offset_in(self.mapping, self.address):#x}"

    def as_json(self):
        return {"address": f"{self.address:#x}", "object": self.object, "function": self.function,
                "file": self.file, "line": self.line or None}


def offset_in(mapping, address):
    return address - mapping["start"] + mapping["offset"]


def load_segments(path):
    """(offset, address, bytes in the file) of what is loaded of an ELF file with 64 bits."""
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF" or head[4] != 2:
            return []
        order = "<" if head[5] == 1 else ">"
        (table,) = struct.unpack_from(order + "Q", head, 32)
        size, count = struct.unpack_from(order + "HH", head, 54)
        file.seek(table)
        headers = file.read(size * count)
    found = []
    for at in range(0, size * count, size):
        (kind,) = struct.unpack_from(order + "I", headers, at)
        offset, address = struct.unpack_from(order + "QQ", headers, at + 8)
        (in_file,) = struct.unpack_from(order + "Q", headers, at + 32)
        if kind == PT_LOAD:
            found.append((offset, address, in_file))
    return found


def address_in_file(segments, offset):
    for start, address, size in segments:
        if start <= offset < start + size:
            return address + offset - start
    return None


def symbolizer():
    """The command that answers as addr2line does, or None."""
    if path := shutil.which("llvm-symbolizer"):
        return [path, "--output-style=GNU", "--functions=linkage", "--demangle", "--inlining", "--addresses"]
    if path := shutil.which("addr2line"):
        return [path, "-f", "-C", "-i", "-a"]
    return None


def parse_answer(text):
    """Of each address asked: [(function, file, line)], the innermost first."""
    answers, lines = [], iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            answers.append([])
            continue
        place = next(lines, "").rsplit(" (discriminator", 1)[0]
        if not answers:
            continue
        file, _, number = place.rpartition(":")
        answers[-1].append((None if line.startswith("??") else line, None if file.startswith("??") else file,
                            int(number) if number.isdigit() else 0))
    return answers


def ask(command, path, addresses):
    if command is None:
        return [[] for _ in addresses]
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "ACRE_CONF")}
    environment["DEBUGINFOD_URLS"] = ""  # nothing is fetched from elsewhere
    done = subprocess.run([*command, "-e", path], input="".join(f"{a:#x}\n" for a in addresses), env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    answers = parse_answer(done.stdout)
    return answers if len(answers) == len(addresses) else [[] for _ in addresses]


class Symbols:
    """What calls are called, asked once for all: add() the return addresses, then resolve(), then frames()."""

    def __init__(self, mappings):
        self.mappings = mappings
        self.found = {}

    def mapping_of(self, address):
        for mapping in self.mappings:
            if mapping["start"] <= address < mapping["end"]:
                return mapping
        return None

    def add(self, addresses):
        for address in addresses:
            self.found.setdefault(address - 1, None)  # the call, given where it returns to

    def resolve(self):
        command, by_path = symbolizer(), {}
        for call in self.found:
            mapping = self.mapping_of(call)
            self.found[call] = [Frame(call, mapping)]
            if mapping and os.path.isfile(mapping["path"]):
                by_path.setdefault(mapping["path"], []).append((call, mapping))
        for path, calls in by_path.items():
            try:
                segments = load_segments(path)
            except (OSError, struct.error):
                continue
            places = [(call, mapping, address_in_file(segments, offset_in(mapping, call))) for call, mapping in calls]
            places = [place for place in places if place[2] is not None]
            for (call, mapping, _), answer in zip(places, ask(command, path, [place[2] for place in places])):
                if answer:
                    self.found[call] = [Frame(call, mapping, *part) for part in answer]

    def calls(self, addresses):
        """A list of frames for each address."""
        return [self.found[address - 1] for address in addresses]

    def frames(self, addresses):
        return [frame for call in self.calls(addresses) for frame in call]
