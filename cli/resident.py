"""Where a process's resident memory is: /proc/PID/smaps, split by the addresses that acre's blocks come from."""

import array
import os
import re

from live import LiveError, one_line

HEAD = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ *(.*)$")
RESIDENT = re.compile(r"^(Rss|Swap): +(\d+) kB$")
PAGE = os.sysconf("SC_PAGE_SIZE")
PRESENT = 1 << 63

# Of what is not acre's heap, in the order in which it is told.
KINDS = {
    "files": "program and library files: code and data",
    "stacks": "stacks of threads",
    "shared": "shared memory",
    "other": "other mappings: what the program or its libraries have mapped themselves",
}


class Mapping:
    def __init__(self, start, end, path):
        self.start, self.end, self.path = start, end, path
        self.resident = self.swapped = 0


def mappings(process):
    found = []
    for line in process.read("smaps").decode(errors="replace").split("\n"):
        head, size = HEAD.match(line), RESIDENT.match(line)
        if head:
            found.append(Mapping(int(head[1], 16), int(head[2], 16), one_line(head[3])))
        elif size and found:
            setattr(found[-1], "resident" if size[1] == "Rss" else "swapped", int(size[2]) << 10)
    if not found:
        raise LiveError(f"{process}: /proc/{process.pid}/smaps cannot be read, which says what is resident")
    return found


def overlap(mapping, regions):
    """The parts of a mapping that lie in regions."""
    return [(max(mapping.start, start), min(mapping.end, end)) for start, end in regions
            if start < mapping.end and mapping.start < end]


def present(process, start, end):
    """Resident bytes of a range, page by page; None: the system does not say."""
    entries = array.array("Q")
    try:
        with open(f"/proc/{process.pid}/pagemap", "rb") as file:
            file.seek(start // PAGE * 8)
            entries.frombytes(file.read((end - start) // PAGE * 8))
    except OSError:
        return None
    return sum(1 for entry in entries if entry & PRESENT) * PAGE


def resident_in(process, mapping, parts):
    """How much of a mapping's resident memory lies in these parts of it."""
    covered = sum(end - start for start, end in parts)
    if not covered or not mapping.resident:
        return 0
    if covered == mapping.end - mapping.start:
        return mapping.resident
    counted = [present(process, start, end) for start, end in parts]
    return min(mapping.resident, covered if None in counted else sum(counted))


def stack_pointers(process):
    """Where threads are on their stacks, as far as the system tells."""
    pointers = []
    try:
        threads = os.listdir(f"/proc/{process.pid}/task")
    except OSError:
        return pointers
    for thread in threads:
        words = process.read(f"task/{thread}/syscall").split()
        if len(words) >= 3:
            pointers.append(int(words[-2], 16))
    return pointers


def kind_of(mapping, pointers):
    path = mapping.path
    if path.startswith("[stack") or any(mapping.start <= at < mapping.end for at in pointers):
        return "stacks"
    if path.startswith(("/memfd:", "/dev/shm/", "/SYSV", "/dev/zero")):
        return "shared"
    return "files" if path.startswith("/") else "other"


class Resident:
    """Bytes: of the process, of acre's heap, of the rest by kind; and the largest mappings of the rest."""

    def __init__(self, process, regions):
        pointers = stack_pointers(process)
        self.heap = self.swapped = 0
        self.rest = dict.fromkeys(KINDS, 0)
        self.largest = []
        for mapping in mappings(process):
            heap = resident_in(process, mapping, overlap(mapping, regions))
            kind = kind_of(mapping, pointers)
            self.heap += heap
            self.swapped += mapping.swapped
            self.rest[kind] += mapping.resident - heap
            if mapping.resident > heap:
                self.largest.append((mapping.resident - heap, kind, mapping.path))
        self.largest.sort(reverse=True)

    def all(self):
        return self.heap + sum(self.rest.values())
