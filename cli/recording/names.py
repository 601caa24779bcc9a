"""Names of the return addresses in a recording: functions, files, lines and what was inlined, by what names heap
profiles (heap_profile/)."""

import bisect
import json
import os
import re
import subprocess
from dataclasses import replace

from heap_profile import legacy, perf_map, symbols
from heap_profile.profile import Line, Location, Mapping, Profile

BUILD_ID = re.compile(r"build-id ([0-9a-f]+) (.*)")


class Unreadable(Exception):
    """A recording that cannot be read, or has not what is asked for. Without a text: acre-trace has said why."""


def ask(tool, *words, on_damage=lambda: None):
    """-> the JSON that acre-trace prints; what it says of damage goes to stderr. on_damage: called if it does."""
    done = subprocess.run([tool, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise Unreadable from None
    if done.returncode != 0:
        on_damage()
    return said


class Process:
    """What a recording says of one. start: the JSON object of its beginning."""

    def __init__(self, number, parent, start, texts, names=()):
        self.number, self.parent, self.start = number, parent, start
        self.names = names_of(names)
        self.pid = start["pid"] if isinstance(start.get("pid"), int) else 0
        self.mapped = [ranges(text) for text in texts]

    @property
    def program(self):
        """The path of its program, or nothing."""
        return self.start["exe"] if isinstance(self.start.get("exe"), str) else ""

    def mapping(self, address):
        """The newest one there; None: no file's."""
        for starts, mappings in reversed(self.mapped):
            at = bisect.bisect_right(starts, address) - 1
            if at >= 0 and address < mappings[at].limit:
                return mappings[at]
        return None


def names_of(texts):
    """Of the chunks of names (docs/trace-format.md) -> return address -> its file and lines."""
    found = {}
    for text in texts:
        for line in text.split("\n"):
            address, _, rest = line.partition("\t")
            file, *parts = rest.split("\t")
            try:
                lines = tuple(Line(parts[at], parts[at + 1], int(parts[at + 2])) for at in range(0, len(parts) - 2, 3)
                              if parts[at])
                found[int(address, 16)] = file, lines
            except ValueError:
                continue
    return found


def ranges(text):
    """Of one chunk of mappings -> where those with code begin, and they."""
    lines = text.splitlines()
    ids = {match[2]: match[1] for match in map(BUILD_ID.match, lines) if match}
    mappings = sorted(legacy.mappings(lines), key=lambda mapping: mapping.start)
    return ([mapping.start for mapping in mappings],
            [replace(mapping, build_id=ids.get(mapping.file, "")) for mapping in mappings])


def processes(said):
    """said: the JSON of `acre-trace mappings` -> number -> Process."""
    found = {}
    for one in said["processes"]:
        try:
            start = json.loads(one["start"])
        except ValueError:
            start = {}
        found[one["process"]] = Process(one["process"], one["parent"], start if isinstance(start, dict) else {},
                                        one["mappings"], one.get("names", ()))
    for process in found.values():
        parent = found.get(process.parent)
        if parent is not None and not any(mappings for _, mappings in process.mapped):
            process.mapped = parent.mapped  # a child that ended before anybody looked has the same
    return found


def named(of, addresses, tool, binaries=lambda file: file, warn=lambda text: None):
    """-> (process's number, return address) -> Location, whose lines are the function that the call stands in, after
    those that were inlined there; each has one at least. Its address is the call's, one byte before.

    of: number -> Process. addresses: pairs of the same two numbers. tool, binaries, warn: as heap_profile/symbols.py
    has them; a tool of None leaves addresses as NAME+OFFSET of their files."""
    found, known = {}, {}
    for number, address in addresses:
        call, process = max(address - 1, 0), of.get(number)
        mapping = process.mapping(call) if process else None
        if process and address in process.names:
            file, lines = process.names[address]
            mapping = mapping or (Mapping(0, 0, 0, file) if file else None)
            location = Location(call, mapping)
            known[location] = lines or (Line(f"{call:#x} ({os.path.basename(file)})" if file else hex(call)),)
        found[number, address] = Location(call, mapping)
    wanted = {location for location in found.values() if location not in known}
    if tool:
        known.update(symbols.known_lines(wanted, tool, binaries, warn))
    made = made_at_run_time(of, found)
    return {key: replace(location, lines=made.get(key) or known.get(location) or (symbols.nameless(location),))
            for key, location in found.items()}


def made_at_run_time(of, found):
    """-> the same keys -> lines of code that lies in no file."""
    lines = {}
    for number, process in of.items():
        there = {key: location for key, location in found.items() if key[0] == number and location.mapping is None}
        if there and process.pid:
            profile = Profile([], pid=process.pid, samples={((location,), ()): [] for location in there.values()})
            names = {location.address: location.lines for location in perf_map.named(profile).locations()}
            lines.update({key: names[location.address] for key, location in there.items()})
    return lines
