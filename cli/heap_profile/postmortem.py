"""The file that a process keeps its running profile and statistics in (option postmortem, src/sample/postmortem.h)."""

import struct
import time

from .profile import TRUNCATED, Kind, Location, Mapping, Profile
from .protobuf import Malformed

MAGIC = b"acrepost"
HEAD = struct.Struct("=8sIIQQQQQQIIIII256s")
HALF_BYTES = 240 << 10
TEXTS, ROWS = 64 << 10, 1 << 20
ENDED = 1
PROFILE_WRITTEN, STATISTICS_PRINTED = 1, 2
# frames, truncated, peak; allocated, live and live at the peak, each as blocks, bytes and estimates of both; freed,
# freed elsewhere; for each lifetime and for the same or another thread: blocks, bytes, milliseconds; held, grown, bytes
ROW = struct.Struct("=IIQ" + 3 * "QQdd" + "QQ" + 6 * "ddd" + "dQQ")
LIFETIMES = ("short", "medium", "long")
FREED_BY = ("same thread", "other thread")
KINDS = [Kind("alloc_objects", "count"), Kind("alloc_space", "bytes"), Kind("inuse_objects", "count"),
         Kind("inuse_space", "bytes"), Kind("freed_elsewhere", "count"), Kind("freed_objects", "count"),
         Kind("freed_space", "bytes"), Kind("lifetime", "milliseconds")]
PEAK_KINDS = [Kind("peak_objects", "count"), Kind("peak_space", "bytes")]


def is_postmortem(data):
    return data[:len(MAGIC)] == MAGIC


class Postmortem:
    def __init__(self, data):
        if len(data) < ROWS or not is_postmortem(data):
            raise Malformed("it is cut off, or something else")
        (_, version, self.state, self.pid, self.start_ns, self.mean, self.last_peak, rows_end, self.statistics_ns,
         *places, self.written, program) = HEAD.unpack_from(data)
        if version != 1:
            raise Malformed(f"it is of another acre: version {version}")
        self.program = program.split(b"\0")[0].decode(errors="surrogateescape")
        self.statistics = self.text(data, 0, *places[:2])
        self.mappings = list(mappings(self.text(data, 1, *places[2:])))
        self.rows = list(self.read_rows(data, min(rows_end, len(data))))

    @staticmethod
    def text(data, number, half, size):
        start = TEXTS + (2 * number + half) * HALF_BYTES
        return data[start:start + size].decode(errors="surrogateescape")

    def read_rows(self, data, end):
        """-> the fields of each row, and its stack"""
        at = ROWS
        while at + ROW.size <= end:
            row = ROW.unpack_from(data, at)
            at += ROW.size
            frames = struct.unpack_from(f"={row[0]}Q", data, at)
            at += 8 * row[0]
            yield row, tuple(self.location(address - 1) for address in frames)

    def is_sampled(self):
        return any(row[3] for row, _ in self.rows)

    def location(self, call):
        return Location(call, next((one for one in self.mappings if one.start <= call < one.limit), None))

    def main(self):
        return next((one for one in self.mappings), None)

    def empty(self, kinds, default):
        return Profile(kinds, default, period=max(self.mean, 1), time_ns=time.time_ns(), main=self.main(), pid=self.pid,
                       comments=["acre", f"process {self.pid}"])

    def profile(self):
        """As the process itself writes it, except for what blocks hold, which takes all of its samples."""
        profile = self.empty(KINDS, 3)
        for row, stack in self.rows:
            labels = (TRUNCATED,) if row[1] else ()
            allocated, live, freed = row[3:7], row[7:11], row[17:35]
            elsewhere = sum(freed[at] for at in (3, 9, 15))
            values = [*allocated[2:], *live[2:], elsewhere, 0, 0, 0]
            if any(values):
                profile.add(stack, labels, [round(value) for value in values])
            for number in range(6):
                figures = [round(value) for value in freed[3 * number:3 * number + 3]]
                if any(figures):
                    how = (("freed_by", FREED_BY[number % 2]), ("lifetime", LIFETIMES[number // 2]))
                    profile.add(stack, tuple(sorted((*how, *labels))), [0, 0, 0, 0, 0, *figures])
        return profile

    def peak(self):
        profile = self.empty(PEAK_KINDS, 1)
        for row, stack in self.rows:
            figures = row[13:15] if row[2] == self.last_peak else row[9:11]
            if any(figures):
                profile.add(stack, (TRUNCATED,) if row[1] else (), [round(value) for value in figures])
        return profile


def mappings(text):
    """Those of code in /proc/PID/maps."""
    for line in text.splitlines():
        parts = line.split(None, 5)
        if len(parts) == 6 and "x" in parts[1] and parts[5].startswith("/"):
            start, limit = (int(part, 16) for part in parts[0].split("-"))
            yield Mapping(start, limit, int(parts[2], 16), parts[5].removesuffix(" (deleted)"))
