"""The notes of an ELF file about its USDT probes, and where the file is in a process."""

import re
import struct
from pathlib import Path
from typing import NamedTuple


class Probe(NamedTuple):
    provider: str
    name: str
    offset: int       # in the file
    address: int      # in the file's own addresses
    semaphore: int
    arguments: tuple  # (bytes, register) each


class File:
    def __init__(self, path):
        self.path = Path(path)
        self.data = self.path.read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little-endian ELF file")
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, at) for at in self._table(32, 54)]
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, at) for at in self._table(40, 58)]
        (names,) = struct.unpack_from("<H", self.data, 62)
        start = headers[names][4]
        self.sections = {self._text(start + header[0]): header for header in headers}

    def _table(self, where, shape):
        (start,) = struct.unpack_from("<Q", self.data, where)
        size, count = struct.unpack_from("<HH", self.data, shape)
        return range(start, start + size * count, size)

    def _text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def offset(self, address):
        return next(address - start + offset for kind, _, offset, start, _, size, *_ in self.segments
                    if kind == 1 and start <= address < start + size)

    def probes(self):
        section = self.sections.get(".note.stapsdt")
        at, end = (section[4], section[4] + section[5]) if section else (0, 0)
        while at < end:
            owner_bytes, bytes_, kind = struct.unpack_from("<III", self.data, at)
            owner, start = self._text(at + 12), at + 12 + (owner_bytes + 3) // 4 * 4
            at = start + (bytes_ + 3) // 4 * 4
            if (owner, kind) != ("stapsdt", 3):
                raise ValueError(f"{self.path}: a note of {owner}, of kind {kind}")
            address, base, semaphore = struct.unpack_from("<QQQ", self.data, start)
            address += self.sections[".stapsdt.base"][3] - base
            provider, name, arguments = self.data[start + 24:start + bytes_].decode().split("\0")[:3]
            yield Probe(provider, name, self.offset(address), address, semaphore,
                        tuple((int(n), register) for n, register in re.findall(r"(-?\d+)@(\S+)", arguments)))

    def moved_by(self, pid):
        """What is added to the file's own addresses in this process."""
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
            start, _, offset, rest = re.fullmatch(r"(\w+)-(\w+) \S+ (\w+) (.*)", line).groups()
            if rest.endswith(str(self.path)):
                first = min(segment[3] // segment[7] * segment[7] for segment in self.segments if segment[0] == 1)
                return int(start, 16) - first if int(offset, 16) == 0 else None
        return None
