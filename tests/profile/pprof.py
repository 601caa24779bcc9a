"""Reads what acre writes for pprof, as far as the tests ask (proto/profile.proto of github.com/google/pprof)."""

import gzip


def fields(data):
    """The fields of a message: (number, integer or bytes)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {key & 7}")


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


class Profile:
    def __init__(self, path):
        self.strings, types, samples, self.mappings, self.locations, self.period = [], [], [], {}, {}, 0
        with gzip.open(path) as file:
            data = file.read()
        for number, value in fields(data):
            if number == 1:
                types.append(dict(fields(value))[1])
            elif number == 2:
                samples.append(list(fields(value)))
            elif number == 3:
                mapping = dict(fields(value))
                self.mappings[mapping[1]] = mapping
            elif number == 4:
                location = dict(fields(value))
                self.locations[location[1]] = location
            elif number == 6:
                self.strings.append(value.decode())
            elif number == 12:
                self.period = value
        self.types = [self.strings[index] for index in types]
        self.samples = []
        for sample in samples:
            parts = dict(sample)
            values = dict(zip(self.types, packed(parts[2])))
            labels = [dict(fields(value)) for number, value in sample if number == 3]
            self.samples.append((packed(parts.get(1, b"")), values,
                                 {self.strings[label[1]]: self.strings[label[2]] for label in labels}))

    def sum(self, kind, where=lambda stack: True, **labels):
        """Of the samples with these labels."""
        return sum(values[kind] for stack, values, said in self.samples
                   if where(stack) and labels.items() <= said.items())
