"""The file that a process keeps its running profile and statistics in (option postmortem, src/sample/postmortem.h)."""

import struct
import time
from dataclasses import dataclass

from .profile import INCOMPLETE, TRUNCATED, Kind, Line, Location, Mapping, Profile
from .protobuf import Malformed

MAGIC = b"acrepost"
VERSION = 2
HEAD = struct.Struct("=8sIIQQQQQQIIIIIII256s")
HALF_BYTES = 240 << 10
TEXTS, ROWS = 64 << 10, 1 << 20
ENDED = 1
PROFILE_WRITTEN, STATISTICS_PRINTED = 1, 2
WHY_LEFT_OUT = {1: "could not grow (is the disk full?)", 2: "may have 96 MiB at most"}
ENTRY = struct.Struct("=II")  # its kind; its bytes with this
STACK_ENTRY, PLACE_ENTRY = 0, 1
# native and Python frames, truncated, peak; allocated, live and live at the peak, each as blocks, bytes and estimates of
# both; freed, freed elsewhere; for each lifetime and for the same or another thread: blocks, bytes, milliseconds; held,
# grown, bytes
ROW = struct.Struct("=HHIQ" + 3 * "QQdd" + "QQ" + 6 * "ddd" + "dQQ")
PLACE = struct.Struct("=IHH")  # line, bytes of the function's name and of the file's
LIFETIMES = ("short", "medium", "long")
FREED_BY = ("same thread", "other thread")
KINDS = [Kind("alloc_objects", "count"), Kind("alloc_space", "bytes"), Kind("inuse_objects", "count"),
         Kind("inuse_space", "bytes"), Kind("freed_elsewhere", "count"), Kind("freed_objects", "count"),
         Kind("freed_space", "bytes"), Kind("lifetime", "milliseconds")]
PEAK_KINDS = [Kind("peak_objects", "count"), Kind("peak_space", "bytes")]


def is_postmortem(data):
    return data[:len(MAGIC)] == MAGIC


@dataclass(frozen=True)
class Row:
    """What a stack allocated. allocated, live, at_peak: blocks, bytes, and estimates of both."""
    stack: tuple
    truncated: bool
    peak: int     # at_peak belongs to it; if it is not the last one, what is live was live at the peak
    allocated: tuple
    live: tuple
    at_peak: tuple
    freed: tuple  # blocks, bytes and milliseconds for each lifetime and for the same or another thread

    def labels(self):
        return (TRUNCATED,) if self.truncated else ()


class Postmortem:
    def __init__(self, data):
        if len(data) < ROWS or not is_postmortem(data):
            raise Malformed("it is cut off, or something else")
        (_, version, self.state, self.pid, self.start_ns, self.mean, self.last_peak, rows_end, self.statistics_ns,
         *places, self.written, self.growth, self.left_out, program) = HEAD.unpack_from(data)
        if version != VERSION:
            raise Malformed(f"it is of another acre: version {version}")
        self.program = program.split(b"\0")[0].decode(errors="surrogateescape")
        self.statistics = self.text(data, 0, *places[:2])
        self.mappings = list(mappings(self.text(data, 1, *places[2:])))
        self.places, self.known, self.rows = {}, {}, []
        if rows_end > len(data):
            raise Malformed("it is cut off")
        self.read_entries(data, rows_end)

    @staticmethod
    def text(data, number, half, size):
        start = TEXTS + (2 * number + half) * HALF_BYTES
        return data[start:start + size].decode(errors="surrogateescape")

    def read_entries(self, data, end):
        at = ROWS
        while at + ENTRY.size <= end:
            kind, size = ENTRY.unpack_from(data, at)
            if size < ENTRY.size or at + size > end:
                raise Malformed("its rows are damaged")
            entry = data[at + ENTRY.size:at + size]
            try:
                if kind == STACK_ENTRY:
                    self.rows.append(self.row(entry))
                elif kind == PLACE_ENTRY:
                    self.places[at] = self.place(entry)
            except (struct.error, KeyError) as error:
                raise Malformed("its rows are damaged") from error
            at += size

    def row(self, entry):
        frames, python_frames, truncated, peak, *figures = ROW.unpack_from(entry)
        native = struct.unpack_from(f"={frames}Q", entry, ROW.size)
        words = struct.unpack_from(f"={2 * python_frames}I", entry, ROW.size + 8 * frames)
        python = [(self.places[place], number) for place, number in zip(words[::2], words[1::2])]
        return Row(self.stack(native, python), bool(truncated), peak, tuple(figures[:4]), tuple(figures[4:8]),
                   tuple(figures[8:12]), tuple(figures[14:32]))

    @staticmethod
    def place(entry):
        line, name, file = PLACE.unpack_from(entry)
        if PLACE.size + name + file > len(entry):
            raise Malformed("its rows are damaged")
        texts = entry[PLACE.size:PLACE.size + name + file]
        function, of = (text.decode(errors="replace") for text in (texts[:name], texts[name:]))
        return Location(0, lines=(Line(function, of, line),))

    def stack(self, native, python):
        """native: return addresses; python: places, and the number of the native frame that runs each. Python functions
        stand in place of the interpreter's that runs them (src/report/pprof.cc, for_each_frame)."""
        found, at = [], 0
        for number in range(len(native) + 1):
            before = at
            while at < len(python) and python[at][1] <= number:
                found.append(python[at][0])
                at += 1
            if at == before and number < len(native):
                found.append(self.location(native[number] - 1))
        return tuple(found)

    def is_sampled(self):
        return any(row.allocated[0] for row in self.rows)

    def live_bytes(self):
        """An estimate."""
        return sum(row.live[3] for row in self.rows)

    def incomplete(self):
        """What is missing, in words; None if nothing is."""
        if self.left_out == 0:
            return None
        stacks = f"{self.left_out} stacks are" if self.left_out != 1 else "1 stack is"
        return (f"{stacks} missing, with what they allocated, since the file that the process kept its profile in "
                f"{WHY_LEFT_OUT.get(self.growth, 'was full')}")

    def location(self, call):
        if call not in self.known:
            mapping = next((one for one in self.mappings if one.start <= call < one.limit), None)
            self.known[call] = Location(call, mapping)
        return self.known[call]

    def main(self):
        return next((one for one in self.mappings), None)

    def empty(self, kinds, default):
        return Profile(kinds, default, period=max(self.mean, 1), time_ns=time.time_ns(), main=self.main(), pid=self.pid,
                       comments=["acre", f"process {self.pid}",
                                 *([INCOMPLETE + self.incomplete()] if self.left_out else [])])

    def profile(self):
        """As the process itself writes it, except for what blocks hold, which takes all of its samples."""
        profile = self.empty(KINDS, 3)
        for row in self.rows:
            elsewhere = sum(row.freed[at] for at in (3, 9, 15))
            values = [*row.allocated[2:], *row.live[2:], elsewhere, 0, 0, 0]
            if any(values):
                profile.add(row.stack, row.labels(), [round(value) for value in values])
            for number in range(6):
                figures = [round(value) for value in row.freed[3 * number:3 * number + 3]]
                if any(figures):
                    how = (("freed_by", FREED_BY[number % 2]), ("lifetime", LIFETIMES[number // 2]))
                    profile.add(row.stack, tuple(sorted((*how, *row.labels()))), [0, 0, 0, 0, 0, *figures])
        return profile

    def peak(self):
        profile = self.empty(PEAK_KINDS, 1)
        for row in self.rows:
            figures = (row.at_peak if row.peak == self.last_peak else row.live)[2:]
            if any(figures):
                profile.add(row.stack, row.labels(), [round(value) for value in figures])
        return profile


def mappings(text):
    """Those of code in /proc/PID/maps."""
    for line in text.splitlines():
        parts = line.split(None, 5)
        if len(parts) == 6 and "x" in parts[1] and parts[5].startswith("/"):
            start, limit = (int(part, 16) for part in parts[0].split("-"))
            yield Mapping(start, limit, int(parts[2], 16), parts[5].removesuffix(" (deleted)"))
