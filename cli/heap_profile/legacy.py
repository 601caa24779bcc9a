"""The text that gperftools' pprof and jeprof read: `heap profile: ... @ heap_v2/524288`."""

import math
import re

from .profile import Kind, Location, Mapping, Profile
from .protobuf import Malformed

NUMBERS = r"\s*(\d+):\s*(\d+)\s*\[\s*(\d+):\s*(\d+)\]\s*@"
HEAD = re.compile(r"heap profile:" + NUMBERS + r"\s*([\w.]*)(?:/(\d+))?")
ENTRY = re.compile(NUMBERS + r"((?:\s+0x[0-9a-fA-F]+)*)\s*$")
MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..(.). ([0-9a-f]+) \S+ \S+\s*(.*)")

KINDS = [Kind("alloc_objects", "count"), Kind("alloc_space", "bytes"), Kind("inuse_objects", "count"),
         Kind("inuse_space", "bytes")]
GROWTH = [Kind("growth_count", "count"), Kind("growth_space", "bytes")]


def is_legacy(data):
    return data.startswith((b"heap profile:", b"%warn"))


def scaled(blocks, size, period):
    """What so many sampled blocks stand for; those of a stack may have several sizes, of which the mean counts."""
    if blocks == 0 or size == 0 or period <= 1:
        return blocks, size
    times = -1 / math.expm1(-size / blocks / period)
    return round(blocks * times), round(size * times)


def mappings(lines):
    found = []
    for line in lines:
        row = MAP.match(line)
        if row and row[3] == "x":
            found.append(Mapping(int(row[1], 16), int(row[2], 16), int(row[4], 16), row[5]))
    return found


def read(data):
    lines = [line for line in data.decode(errors="replace").splitlines() if not line.startswith("%warn")]
    head = HEAD.match(lines[0]) if lines else None
    if head is None:
        raise Malformed("its first line is not that of a heap profile")
    kind, period = head[5], int(head[6] or 0)
    end = next((at for at, line in enumerate(lines) if line.startswith("MAPPED_LIBRARIES")), len(lines))
    mapped = mappings(lines[end:])
    profile = Profile(GROWTH, 1) if kind == "growth" else Profile(KINDS, 3, period)
    profile.main = next(iter(mapped), None)
    known = {}

    def location(return_address):
        if return_address not in known:
            call = return_address - 1
            mapping = next((mapping for mapping in mapped if mapping.start <= call < mapping.limit), None)
            known[return_address] = Location(call, mapping)
        return known[return_address]

    for line in lines[1:end]:
        if not line.strip():
            continue
        entry = ENTRY.match(line)
        if entry is None:
            if line.lstrip().startswith("t"):  # jemalloc's rows by thread
                continue
            raise Malformed(f"a line that is none of a heap profile: {line[:60]!r}")
        live, live_bytes, all_blocks, all_bytes = (int(entry[at]) for at in range(1, 5))
        stack = tuple(location(int(word, 16)) for word in entry[5].split())
        if kind == "growth":
            values = [live, live_bytes]
        elif kind == "heap_v2":
            values = [*scaled(all_blocks, all_bytes, period), *scaled(live, live_bytes, period)]
        else:
            values = [all_blocks, all_bytes, live, live_bytes]
        profile.add(stack, (), values)
    return profile
