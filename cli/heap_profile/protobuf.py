"""Messages of protocol buffers, as far as pprof's profile.proto needs them: integers, texts, messages."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Malformed(Exception):
    pass


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number has no end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a message: (number, integer or bytes)."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
        else:
            if kind == BYTES:
                size, at = read_varint(data, at)
            elif kind in (FIXED64, FIXED32):
                size = 8 if kind == FIXED64 else 4
            else:
                raise Malformed(f"there is no wire type {kind}")
            if at + size > len(data):
                raise Malformed("a field has no end")
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def integers(value):
    """A repeated integer's next ones: packed, or one by itself."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = read_varint(value, at)
        found.append(one)
    return found


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    return b"" if value == 0 else varint(number << 3 | VARINT) + varint(value)


def message(number, data):
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def packed(number, values):
    return message(number, b"".join(map(varint, values)))
