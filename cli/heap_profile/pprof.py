"""pprof's files (github.com/google/pprof, proto/profile.proto): read and written."""

import gzip
import re
import zlib
from operator import index

from .profile import Kind, Line, Location, Mapping, Profile
from .protobuf import Malformed, fields, integer, integers, message, packed, signed

GZIP = b"\x1f\x8b"
PROCESS = re.compile(r"process (\d{1,10})")  # a comment that acre writes


def read(data):
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise Malformed(f"it does not unpack: {error}") from error
    try:
        return Reader(data).profile()
    except (TypeError, AttributeError) as error:
        raise Malformed("a field is a number where it should be bytes, or the other way round") from error


def numbers(data):
    """The fields of a message that has only integers."""
    return {number: index(value) for number, value in fields(data)}


class Reader:
    def __init__(self, data):
        self.top = {}
        for number, value in fields(data):
            self.top.setdefault(number, []).append(value)
        self.texts = [text.decode(errors="replace") for text in self.top.get(6, [])] or [""]

    def text(self, number):
        if number >= len(self.texts):
            raise Malformed("there are fewer texts than it refers to")
        return self.texts[number]

    def one(self, number):
        """An integer that the profile has once."""
        return index(self.top.get(number, [0])[-1])

    def profile(self):
        kinds = []
        for kind in self.top.get(1, []):
            parts = numbers(kind)
            kinds.append(Kind(self.text(parts.get(1, 0)), self.text(parts.get(2, 0))))
        if not kinds:
            raise Malformed("it has no kinds of values")
        default = self.text(self.one(14))
        names = [kind.name for kind in kinds]
        profile = Profile(kinds, names.index(default) if default in names else len(kinds) - 1, self.one(12), self.one(9),
                          comments=[self.text(value) for field in self.top.get(13, []) for value in integers(field)])
        locations, profile.main = self.locations()
        said = [PROCESS.fullmatch(comment) for comment in profile.comments]
        profile.pid = next((int(match[1]) for match in said if match), 0)
        for sample in self.top.get(2, []):
            stack, values, labels = [], [], []
            for number, value in fields(sample):
                if number == 1:
                    stack += [locations.get(at) or Location(at) for at in integers(value)]
                elif number == 2:
                    values += map(signed, integers(value))
                elif number == 3:
                    parts = numbers(value)
                    if 2 in parts:
                        labels.append((self.text(parts.get(1, 0)), self.text(parts[2])))
            if len(values) != len(kinds):
                raise Malformed("a sample has not as many values as there are kinds")
            profile.add(tuple(stack), tuple(sorted(labels)), values)
        return profile

    def locations(self):
        """-> them by number, and the first mapping, which is that of the program."""
        mappings, functions, found = {}, {}, {}
        for entry in self.top.get(3, []):
            parts = numbers(entry)
            mappings[parts.get(1, 0)] = Mapping(parts.get(2, 0), parts.get(3, 0), parts.get(4, 0),
                                                self.text(parts.get(5, 0)), self.text(parts.get(6, 0)))
        for entry in self.top.get(5, []):
            parts = numbers(entry)
            functions[parts.get(1, 0)] = self.text(parts.get(2, 0)), self.text(parts.get(4, 0))
        for entry in self.top.get(4, []):
            lines, parts = [], {}
            for number, value in fields(entry):
                if number == 4:
                    line = numbers(value)
                    name, file = functions.get(line.get(1, 0), ("", ""))
                    lines.append(Line(name, file, signed(line.get(2, 0))))
                else:
                    parts[number] = index(value)
            found[parts.get(1, 0)] = Location(parts.get(3, 0), mappings.get(parts.get(2, 0)), tuple(lines))
        return found, next(iter(mappings.values()), None)


class Writer:
    def __init__(self):
        self.out, self.texts, self.ids = [], {"": 0}, {}

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def id_of(self, thing, number, make):
        """The id of a mapping, function or location, written as a field of this number when it is first needed."""
        key = number, thing
        if key not in self.ids:
            made = make()
            self.ids[key] = len(self.ids) + 1
            self.out.append(message(number, integer(1, self.ids[key]) + made))
        return self.ids[key]

    def mapping(self, mapping):
        if mapping is None:
            return 0
        return self.id_of(mapping, 3, lambda: (
            integer(2, mapping.start) + integer(3, mapping.limit) + integer(4, mapping.offset)
            + integer(5, self.text(mapping.file)) + integer(6, self.text(mapping.build_id))
            + integer(7, 1) + integer(8, 1) + integer(9, 1) + integer(10, 1)))  # functions, files, lines, inlined: there

    def function(self, name, file):
        return self.id_of((name, file), 5, lambda: (
            integer(2, self.text(name)) + integer(3, self.text(name)) + integer(4, self.text(file))))

    def location(self, location):
        return self.id_of(location, 4, lambda: (
            integer(2, self.mapping(location.mapping)) + integer(3, location.address)
            + b"".join(message(4, integer(1, self.function(line.function, line.file)) + integer(2, line.number))
                       for line in location.lines)))

    def data(self, profile):
        for kind in profile.kinds:
            self.out.append(message(1, integer(1, self.text(kind.name)) + integer(2, self.text(kind.unit))))
        self.mapping(profile.main)  # the first one is the program's
        for (stack, labels), values in profile.samples.items():
            written = packed(1, [self.location(location) for location in stack]) + packed(2, values)
            for key, text in labels:
                written += message(3, integer(1, self.text(key)) + integer(2, self.text(text)))
            self.out.append(message(2, written))
        self.out.append(integer(9, profile.time_ns) + integer(12, profile.period)
                        + message(11, integer(1, self.text("space")) + integer(2, self.text("bytes")))
                        + packed(13, [self.text(comment) for comment in profile.comments])
                        + integer(14, self.text(profile.kinds[profile.default].name)))
        texts = [message(6, text.encode("utf-8", "replace")) for text in self.texts]  # a path need not be UTF-8
        return gzip.compress(b"".join(self.out + texts), mtime=0)


def write(profile):
    return Writer().data(profile)
