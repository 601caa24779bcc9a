"""Writes profiles for pprof (proto/profile.proto of github.com/google/pprof), with functions and lines."""

import gzip


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    return varint(field << 3) + varint(value) if value else b""


def data(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


class Profile:
    def __init__(self, columns, mappings):
        self.texts = {"": 0}
        self.functions = {}
        self.locations = {}
        self.mappings = {id(mapping): number for number, mapping in enumerate(mappings, 1)}
        self.out = [data(1, integer(1, self.text(name)) + integer(2, self.text(unit))) for name, unit in columns]
        for mapping in mappings:
            self.out.append(data(3, integer(1, self.mappings[id(mapping)]) + integer(2, mapping["start"]) +
                                 integer(3, mapping["end"]) + integer(4, mapping["offset"]) +
                                 integer(5, self.text(mapping["path"])) + integer(6, self.text(mapping["build_id"])) +
                                 integer(7, 1) + integer(8, 1) + integer(9, 1)))

    def text(self, text):
        return self.texts.setdefault(text or "", len(self.texts))

    def function(self, name, file):
        key = name, file
        if key not in self.functions:
            self.functions[key] = len(self.functions) + 1
            self.out.append(data(5, integer(1, self.functions[key]) + integer(2, self.text(name)) +
                                 integer(3, self.text(name)) + integer(4, self.text(file))))
        return self.functions[key]

    def location(self, frames):
        """Of the frames of one address."""
        address = frames[0].address
        if address not in self.locations:
            self.locations[address] = len(self.locations) + 1
            lines = b"".join(data(4, integer(1, self.function(frame.function, frame.file)) + integer(2, frame.line))
                             for frame in frames if frame.function)
            mapping = frames[0].mapping
            self.out.append(data(4, integer(1, self.locations[address]) +
                                 integer(2, self.mappings[id(mapping)] if mapping else 0) +
                                 integer(3, address) + lines))
        return self.locations[address]

    def sample(self, calls, values):
        """calls: a list of frames for each address, the innermost first."""
        stack = b"".join(varint(self.location(frames)) for frames in calls)
        self.out.append(data(2, data(1, stack) + data(2, b"".join(map(varint, values)))))

    def write(self, path):
        content = b"".join(self.out) + b"".join(data(6, text.encode()) for text in self.texts)
        with gzip.open(path, "wb") as file:
            file.write(content)
