"""What an ELF file of 64 bits says of itself: the libraries that it needs, symbols that it defines, how it can be
unwound."""

import mmap
import struct

DYNSYM, SYMTAB, NEEDED, SONAME, AUXILIARY = 11, 2, 1, 14, 0x7ffffffd
FRAME_SETUP = b"\x55\x48\x89\xe5"  # push %rbp; mov %rsp,%rbp


class ElfTables:
    """Raises OSError, or ValueError if it is no such file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        if len(self.data) < 64 or self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("no ELF file of 64 bits")
        try:
            self.sections = self.read_sections()
        except struct.error:
            raise ValueError("a damaged ELF file") from None

    def read_sections(self):
        """-> {name: (kind, offset, size, linked section's offset, entry size)}"""
        start, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        rows = [struct.unpack_from("<IIQQQQIIQQ", self.data, start + at * size) for at in range(count if start else 0)]
        if not rows:
            return {}
        found = {}
        for name, kind, _, _, offset, length, link, _, _, entry in rows:
            found[self.text(rows[names][4] + name)] = kind, offset, length, rows[link][4] if link < count else 0, entry
        return found

    def text(self, at):
        return self.data[at:self.data.find(b"\0", at)].decode(errors="replace")

    def rows(self, kind, form):
        for found, offset, length, strings, _ in self.sections.values():
            if found == kind:
                for row in struct.iter_unpack(form, self.data[offset:offset + length - length % struct.calcsize(form)]):
                    yield row, strings

    def defined(self):
        """Names of functions that it defines, as far as it has them: those of the dynamic table, and its own."""
        found = set()
        for kind in (DYNSYM, SYMTAB):
            for (name, info, _, section, _, _), strings in self.rows(kind, "<IBBHQQ"):
                if section and info & 15 in (1, 2, 10):  # an object, a function, or one that is chosen at load time
                    found.add(self.text(strings + name))
        return found

    def exported(self):
        return {self.text(strings + name) for (name, info, _, section, _, _), strings in self.rows(DYNSYM, "<IBBHQQ")
                if section and info & 15 in (2, 10)}

    def tagged(self, tag):
        return [self.text(strings + value) for (found, value), strings in self.rows(6, "<qQ") if found == tag]

    def needed(self):
        return self.tagged(NEEDED)

    def filtered(self):
        """Libraries that the loader puts before it."""
        return self.tagged(AUXILIARY)

    def has_names(self):
        """Functions can be named: it has a symbol table or debugging data."""
        return ".symtab" in self.sections or ".debug_info" in self.sections

    def has_tables(self):
        return ".eh_frame" in self.sections

    def functions(self):
        """By the unwinding tables' index; 0: it has none."""
        _, offset, length, _, _ = self.sections.get(".eh_frame_hdr", (0, 0, 0, 0, 0))
        if length < 12 or self.data[offset + 2] != 3:  # a count of four bytes
            return 0
        return struct.unpack_from("<I", self.data, offset + 8)[0]

    def has_frame_pointers(self):
        """Whether half of its functions or more set one up (x86-64); None: unknown."""
        _, offset, length, _, _ = self.sections.get(".text", (0, 0, 0, 0, 0))
        functions = self.functions()
        if not functions or struct.unpack_from("<H", self.data, 18)[0] != 62:
            return None
        return self.data[offset:offset + length].count(FRAME_SETUP) * 2 >= functions
