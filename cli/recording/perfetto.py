"""A recording as a trace of Perfetto (perfetto.dev/docs/reference/synthetic-track-event): counters over time, the
program's marks, processes and threads with their names. The numbers are those of the messages' fields."""

from heap_profile.protobuf import VARINT, integer, message, varint

PARTS = 10000
NS = 1_000_000_000
BYTES, COUNT = 3, 2  # CounterDescriptor.Unit
INSTANT, COUNTER = 3, 4  # TrackEvent.Type
SEQUENCE = 1


def text(number, value):
    return message(number, value.encode("utf-8", "replace"))


def always(number, value):
    """An integer that stands there even if it is 0."""
    return varint(number << 3 | VARINT) + varint(value)


class Trace:
    def __init__(self):
        self.out, self.tracks = [], 0

    def packet(self, seconds, content):
        at = always(8, max(round(seconds * NS), 0)) if seconds is not None else b""
        flags = integer(13, 1) if not self.out else b""  # the sequence's state begins here
        self.out.append(message(1, at + content + integer(10, SEQUENCE) + flags))

    def track(self, name, of, parent=0):
        """-> the number of a new one. of: further fields."""
        self.tracks += 1
        self.packet(None, message(60, integer(1, self.tracks) + (text(2, name) if name else b"") + of
                                  + integer(5, parent)))
        return self.tracks

    def counter(self, name, unit, parent):
        return self.track(name, message(8, integer(3, unit)), parent)

    def value(self, track, seconds, value):
        self.packet(seconds, message(11, integer(9, COUNTER) + integer(11, track) + always(30, value)))

    def instant(self, track, seconds, name):
        self.packet(seconds, message(11, integer(9, INSTANT) + integer(11, track) + text(22, "mark") + text(23, name)))


def make(recording):
    said = recording.timeline("--parts", str(PARTS))
    length = (said["last"] - said["first"]) / said["parts"]
    trace = Trace()
    for process in said["processes"]:
        add_process(trace, recording, process, said["first"], length)
    return b"".join(trace.out)


def add_process(trace, recording, process, first, length):
    number = process["process"]
    pid = recording.processes[number].pid or number + 1
    words = recording.processes[number].start.get("argv")
    arguments = b"".join(text(2, str(word)) for word in words) if isinstance(words, list) else b""
    main = trace.track("", message(3, integer(1, pid) + arguments + text(6, recording.title(number))))
    threads = {lane: trace.track("", message(4, integer(1, pid) + integer(2, tid) + (text(5, name) if name else b"")),
                                 main)
               for lane, tid, name in process["threads"] if tid}
    live, blocks, rate, calls, resident = (trace.counter(name, unit, main) for name, unit in (
        ("live bytes", BYTES), ("live blocks", COUNT), ("bytes allocated per second", BYTES),
        ("allocations per second", COUNT), ("resident bytes", BYTES)))
    before = None
    for part, live_bytes, live_blocks, allocated, allocations, _ in process["curve"]:
        begin, end = first + part * length, first + (part + 1) * length
        if before is not None and part > before + 1:
            for track in (rate, calls):
                trace.value(track, first + (before + 1) * length, 0)
        trace.value(live, end, live_bytes)
        trace.value(blocks, end, live_blocks)
        trace.value(rate, begin, round(allocated / length) if length else allocated)
        trace.value(calls, begin, round(allocations / length) if length else allocations)
        before = part
    if before is not None:
        for track in (rate, calls):
            trace.value(track, first + (before + 1) * length, 0)
    for seconds, resident_bytes, _ in process["memory"]:
        trace.value(resident, seconds, resident_bytes)
    for seconds, lane, name in process["marks"]:
        trace.instant(threads.get(lane, main), seconds, name)
