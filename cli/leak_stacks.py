"""The stacks of a report of leaks with names, by what names heap profiles (heap_profile/symbols.py)."""

import os

from heap_profile import symbols
from heap_profile.profile import Location, Mapping


class Frame:
    """One function of a call; several stand for one address where the compiler put one into the other. line: None
    where nothing is known."""

    def __init__(self, location, line):
        self.address = location.address
        self.mapping = location.mapping
        self.function = line.function if line else None
        self.file = line.file or None if line else None
        self.line = line.number if line else 0

    @property
    def object(self):
        return self.mapping.file if self.mapping else None

    def text(self):
        if self.mapping is None:
            return f"{self.address:#x} (in code that is no longer there)"
        if self.function is None:
            return symbols.nameless(self).function
        place = f"{self.file}:{self.line}" if self.file and self.line else os.path.basename(self.object)
        return f"{self.function} ({place})"

    def as_json(self):
        return {"address": f"{self.address:#x}", "object": self.object, "function": self.function,
                "file": self.file, "line": self.line or None}


class Stacks:
    """All are looked up at once: add() the return addresses, then resolve(), then frames() or locations()."""

    def __init__(self, mappings):
        self.mappings = [Mapping(mapping["start"], mapping["end"], mapping["offset"], mapping["path"],
                                 mapping["build_id"]) for mapping in mappings]
        self.found = {}

    def add(self, addresses):
        for address in addresses:
            call = address - 1  # given where it returns to
            if call not in self.found:
                mapping = next((mapping for mapping in self.mappings if mapping.start <= call < mapping.limit), None)
                self.found[call] = Location(call, mapping)

    def resolve(self):
        if tool := symbols.find_tool():
            known = symbols.known_lines(self.found.values(), tool, lambda file: file, lambda text: None)
            self.found = {call: Location(call, location.mapping, known.get(location, ()))
                          for call, location in self.found.items()}

    def locations(self, addresses):
        return tuple(self.found[address - 1] for address in addresses)

    def frames(self, addresses):
        return [Frame(location, line) for location in self.locations(addresses) for line in location.lines or (None,)]
