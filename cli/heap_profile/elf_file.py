"""What naming an address needs of an ELF file: its build id, and which virtual address a place in the file has."""

import struct

PT_LOAD, PT_NOTE, NT_GNU_BUILD_ID = 1, 4, 3


class ElfFile:
    """Raises OSError, or ValueError if it is no 64-bit ELF file."""

    def __init__(self, path):
        self.segments, self.build_id = [], ""
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:5] != b"\x7fELF\x02":
                raise ValueError("no ELF file of 64 bits")
            order = "<" if head[5] == 1 else ">"
            table, = struct.unpack_from(order + "Q", head, 32)
            size, count = struct.unpack_from(order + "HH", head, 54)
            file.seek(table)
            headers = file.read(size * count)
            for at in range(0, len(headers) - 55, size):
                kind, _, offset, address, _, in_file, _, _ = struct.unpack_from(order + "IIQQQQQQ", headers, at)
                if kind == PT_LOAD:
                    self.segments.append((offset, in_file, address))
                elif kind == PT_NOTE and not self.build_id:
                    file.seek(offset)
                    self.build_id = build_id(file.read(in_file), order)

    def address_of(self, offset):
        """The virtual address of what lies there in the file, as the file itself counts; None: it is not loaded."""
        for start, size, address in self.segments:
            if start <= offset < start + size:
                return address + offset - start
        return None


def build_id(notes, order):
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "III", notes, at)
        name = notes[at + 12:at + 12 + name_size]
        at += 12 + (name_size + 3 & ~3)
        if kind == NT_GNU_BUILD_ID and name == b"GNU\0":
            return notes[at:at + size].hex()
        at += size + 3 & ~3
    return ""
