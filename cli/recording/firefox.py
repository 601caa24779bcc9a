"""A recording as a profile of the Firefox Profiler (profiler.firefox.com), in its processed format, version 58:
allocations and frees with their stacks, live bytes over time, the program's marks."""

import gzip
import json

VERSION = 58
MOST_BLOCKS = 200_000  # of each process, about: what the page shows without delay
PARTS = 2000
OTHER = 0  # a category


class Strings:
    def __init__(self):
        self.texts = {}

    def of(self, text):
        return self.texts.setdefault(text, len(self.texts))


class Sources:
    def __init__(self, strings):
        self.strings, self.known = strings, {}

    def of(self, file):
        return self.known.setdefault(self.strings.of(file), len(self.known)) if file else None

    def table(self):
        return {"length": len(self.known), "uuid": [None] * len(self.known), "filename": list(self.known)}


class Table:
    """Columns with a length; each row stands once."""

    def __init__(self, *columns):
        self.columns, self.rows = columns, {}

    def of(self, *row):
        return self.rows.setdefault(row, len(self.rows))

    def as_json(self, **more):
        found = {name: [row[at] for row in self.rows] for at, name in enumerate(self.columns)}
        return {"length": len(self.rows), **found, **{name: [value] * len(self.rows) for name, value in more.items()}}


class Code:
    """The tables of a thread that say where allocations are made."""

    def __init__(self, strings, sources):
        self.strings, self.sources = strings, sources
        self.functions = Table("name", "source")
        self.frames = Table("address", "inlineDepth", "func", "line")
        self.stacks = Table("prefix", "frame")

    def stack(self, locations):
        """locations: innermost first -> the stack's number; None: there is none."""
        above = None
        for location in reversed(locations):
            for depth, line in enumerate(reversed(location.lines)):
                function = self.functions.of(self.strings.of(line.function), self.sources.of(line.file))
                frame = self.frames.of(-1, depth, function, line.number or None)
                above = self.stacks.of(above, frame)
        return above

    def tables(self):
        return {"stackTable": self.stacks.as_json(),
                "frameTable": self.frames.as_json(category=OTHER, subcategory=0, nativeSymbol=None, innerWindowID=0,
                                                  column=None),
                "funcTable": self.functions.as_json(isJS=False, relevantForJS=False, resource=-1, lineNumber=None,
                                                    columnNumber=None),
                "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
                "nativeSymbols": {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []}}


def make(recording):
    said = recording.timeline("--parts", str(PARTS), "--blocks", str(blocks_every(recording)))
    locations = recording.named({process["process"]: process["stacks"] for process in said["processes"]})
    strings, threads, counters = Strings(), [], []
    sources = Sources(strings)
    for process in said["processes"]:
        counters.append(counter(recording, process, len(threads), said))
        threads.append(thread(recording, process, locations, strings, sources))
    profile = {"meta": meta(recording), "libs": [], "counters": counters, "threads": threads,
               "shared": {"stringArray": list(strings.texts), "sources": sources.table()}}
    return gzip.compress(json.dumps(profile, separators=(",", ":")).encode(), mtime=0)


def blocks_every(recording):
    """Of so many bytes a block is chosen; 1: all are."""
    sums = [[sum(site["allocated"][at] for site in process["sites"]) for at in (0, 1)] for process in recording.sites()]
    return max((size // MOST_BLOCKS for blocks, size in sums if blocks > MOST_BLOCKS), default=0) or 1


def meta(recording):
    return {"interval": 1, "startTime": recording.info["realtime_ns"] / 1e6, "processType": 0, "product": "acre",
            "stackwalk": 1, "version": 31, "preprocessedProfileVersion": VERSION, "symbolicated": True,
            "importedFrom": "acre", "usesOnlyOneStackType": True, "sourceCodeIsNotOnSearchfox": True,
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "categories": [{"name": "Other", "color": "grey", "subcategories": ["Other"]}],
            "markerSchema": [{"name": "mark", "display": ["marker-chart", "marker-table", "timeline-overview"],
                              "chartLabel": "{marker.data.text}", "tableLabel": "{marker.data.text}",
                              "fields": [{"key": "text", "label": "Text", "format": "string"}]}]}


def pid_of(recording, number):
    """Different for programs that are the same process one after another."""
    return f"{recording.processes[number].pid}.{number}"


def thread(recording, process, locations, strings, sources):
    """One stands for a process: frees are found beside their allocations there, whichever thread they are of."""
    number, code = process["process"], Code(strings, sources)
    stacks = [code.stack([locations[number, address] for address in frames]) for frames in process["stacks"]]
    rows = process["blocks"]
    tids = {lane: tid for lane, tid, _ in process["threads"]}
    marks = process["marks"]
    return {
        "processType": "default", "processName": recording.title(number),
        "processStartupTime": process["started"] * 1e3,
        "processShutdownTime": None if process["ended"] is None else process["ended"] * 1e3,
        "registerTime": process["started"] * 1e3, "unregisterTime": None, "pausedRanges": [],
        "name": recording.title(number), "isMainThread": True, "showMarkersInTimeline": True,
        "pid": pid_of(recording, number), "tid": recording.processes[number].pid or number + 1,
        "samples": {"length": 0, "stack": [], "time": [], "weight": None, "weightType": "samples"},
        "nativeAllocations": {
            "length": len(rows), "time": [row[0] * 1e3 for row in rows], "weight": [row[3] for row in rows],
            "weightType": "bytes", "stack": [stacks[row[2]] for row in rows], "memoryAddress": [row[4] for row in rows],
            "threadId": [tids.get(row[1], 0) for row in rows]},
        "markers": {
            "length": len(marks), "data": [{"type": "mark", "text": text} for _, _, text in marks],
            "name": [strings.of("mark")] * len(marks), "startTime": [seconds * 1e3 for seconds, _, _ in marks],
            "endTime": [None] * len(marks), "phase": [0] * len(marks), "category": [OTHER] * len(marks)},
        **code.tables(),
    }


def counter(recording, process, index, said):
    """Live bytes: each sample says by how much they have changed."""
    length, before, times, counts = (said["last"] - said["first"]) / said["parts"], 0, [], []
    for part, live_bytes, *_ in process["curve"]:
        times.append((said["first"] + (part + 1) * length) * 1e3)
        counts.append(live_bytes - before)
        before = live_bytes
    return {"name": "malloc", "category": "Memory", "description": "live bytes",
            "pid": pid_of(recording, process["process"]),
            "mainThreadIndex": index, "samples": {"length": len(times), "time": times, "count": counts}}
