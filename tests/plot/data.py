"""A small recording as `acre-trace plot` writes it, of a program whose every block is known: for tests of the page and
of the picture."""

import array
import base64
import json
import math
import random
import zlib

UNIT, R, BUCKETS, CELLS = 65536, 64, 256, 256
RANGES = [[0x7F0000000000, 8], [0x7F0010000000, 4]]
TOTAL, HEIGHT, END = 12 * UNIT, 1 << 20, 10.0
CLASSES = [64, 256, 1024, 8192, None]
TAGS = ["load", "request 17"]
THREADS = [{"tid": 100, "name": "main"}, {"tid": 101, "name": "worker"}]
FRAMES = [[], [0x1010, 0x1020, 0x1001], [0x1030, 0x1020, 0x1001], [0x1040, 0x1001], [0x1050, 0x1060, 0x1001]]
FUNCTIONS = {
    0x1001: "main",
    0x1010: "load_table",
    0x1020: "serve",
    0x1030: "parse_request",
    0x1040: "cache_put",
    0x1050: "std::vector<int, std::allocator<int> >::push_back(int const&)",
    0x1060: "log_line",
}
CODES = {"u8": "B", "u16": "H", "u32": "I", "f32": "f", "f64": "d"}


def packed(kind, values):
    data = values if isinstance(values, bytes) else array.array(CODES[kind], values).tobytes()
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    return {
        "type": kind,
        "count": len(values),
        "data": base64.b64encode(deflate.compress(data) + deflate.flush()).decode(),
    }


def scaled(values, scale, none=0xFFFFFFFF):
    """Integers, each as the difference to the one before."""
    whole = [none if math.isnan(value) else round(value / scale) for value in values]
    steps = [(value - before) & 0xFFFFFFFF for value, before in zip(whole, [0, *whole])]
    return {**packed("u32", steps), "delta": True, "none": none, "scale": scale}


class Block:
    def __init__(self, y, size, start, end, thread, site):
        self.y, self.size, self.start, self.end, self.thread, self.site = y, size, start, end, thread, site

    @property
    def until(self):
        return END if math.isnan(self.end) else self.end


def blocks(extra=0):
    """A table of 40 blocks that stay, temporary ones, a cache whose blocks go after 3 s, one large block, and so many
    more of the cache."""
    chance, found = random.Random(7), []
    for at in range(40):
        found.append(Block(at * 4096, 4096, 0.05 + at * 0.02, math.nan, 0, 1))
    for at in range(300):
        start = 1 + at * 0.028
        found.append(Block(4 * UNIT + at % 7 * 512, 400, start, start + 0.002, at % 2, 2))
    for at in range(200 + extra):
        start = 2 + at * 6.0 / (200 + extra)
        found.append(
            Block(5 * UNIT + at % 300 * 640, 600, start, start + 3 if start < 6 and at % 10 else math.nan, 1, 3)
        )
    found.append(Block(8 * UNIT, 200_000, 4, 9, 0, 4))
    chance.shuffle(found)
    return sorted(found, key=lambda block: block.start)


def class_of(size):
    return next(at for at, upper in enumerate(CLASSES) if upper is None or size <= upper)


def tag_of(block):
    """The table's and the cache's blocks have one."""
    return {1: 1, 3: 2}.get(block.site, 0)


def age_byte(seconds):
    return 1 + round(254 * min(max((math.log10(max(seconds, 1e-9)) + 6) / 10, 0), 1))


def tiles(of, levels):
    for level in range(levels):
        parts = 2**level
        wide, high = END / parts / CELLS, HEIGHT / parts / CELLS
        found = {}
        for block in of:
            first, last = int(block.start / wide), min(math.ceil(block.until / wide), parts * CELLS)
            ages = bytes(age_byte((column + 0.5) * wide - block.start) for column in range(first, last))
            for row in range(int(block.y / high), math.ceil((block.y + block.size) / high)):
                inside = min((row + 1) * high, block.y + block.size) - max(row * high, block.y)
                share = max(int(255 * inside / high * min((block.until - block.start) / wide, 1)), 1)
                for x in range(first // CELLS, (last - 1) // CELLS + 1):
                    planes = found.setdefault((level, x, row // CELLS), bytearray(4 * CELLS * CELLS))
                    begin, end = max(first - x * CELLS, 0), min(last - x * CELLS, CELLS)
                    cell = row % CELLS * CELLS
                    there = bytes(min(before + share, 255) for before in planes[cell + begin : cell + end])
                    put = there, class_of(block.size), ages[begin + x * CELLS - first :][: end - begin], block.thread
                    for plane, values in enumerate(put):
                        at = plane * CELLS * CELLS + cell
                        planes[at + begin : at + end] = (
                            values if isinstance(values, bytes) else bytes([values]) * (end - begin)
                        )
        for key, planes in sorted(found.items()):
            yield ":".join(["tile", *map(str, key)]), packed("u8", bytes(planes))


def lines(of, command="demo --requests 300", scale=1.0, levels=3):
    """scale: of sizes in sums."""

    def bucket(time, count):
        return min(int(time / END * count), count - 1)

    start = {"pid": 100, "exe": "/opt/demo/bin/demo", "argv": command.split()}
    yield {
        "name": "meta",
        "version": 1,
        "process": 0,
        "processes": [{"number": 0, "start": json.dumps(start)}],
        "from": 0.0,
        "to": END,
        "buckets": BUCKETS,
        "events": 2 * len(of),
        "stack_every": 1,
        "realtime": 1700000000.0,
        "threads": THREADS,
        "tags": [{"name": name, "bytes": 0} for name in TAGS],
        "classes": CLASSES,
        "range_buckets": R,
        "levels": levels,
        "notes": [],
    }
    yield {"name": "address", "unit": UNIT, "ranges": RANGES, "height": HEIGHT}
    live, made = [0.0] * BUCKETS, {thread: [0.0] * BUCKETS for thread in (0, 1)}
    by_class, by_tag = ([[0.0] * BUCKETS for _ in of_all] for of_all in (CLASSES, TAGS))
    for block in of:
        made[block.thread][bucket(block.start, BUCKETS)] += block.size * scale
        for at in range(bucket(block.start, BUCKETS), bucket(block.until, BUCKETS) + math.isnan(block.end)):
            live[at] += block.size * scale
            by_class[class_of(block.size)][at] += block.size * scale
            if tag_of(block):
                by_tag[tag_of(block) - 1][at] += block.size * scale
    resident = [math.nan if at % 4 else 300_000 + max(live[: at + 1]) for at in range(BUCKETS)]
    curves = {
        "live_bytes": live,
        "resident": resident,
        "alloc_bytes": [a + b for a, b in zip(*made.values())],
        **{f"thread:{at}": values for at, values in made.items()},
        **{f"tag:{at}": values for at, values in enumerate(by_tag)},
        **{f"class:{at}": values for at, values in enumerate(by_class)},
    }
    for name, values in curves.items():
        yield {"name": f"curve:{name}", **packed("f32", values)}
    yield {
        "name": "marks",
        "marks": [
            {"t": 4.0, "kind": "mark", "text": "request <17>", "thread": 0},
            {"t": 7.0, "kind": "fork", "text": "fork: process 1", "thread": 0},
        ],
    }
    yield {"name": "sites", "frames": FRAMES}
    for name, planes in tiles(of, levels):
        yield {"name": name, **planes}
    yield {
        "name": "blocks:0:0:0",
        "complete": True,
        "least": 0,
        "count_all": len(of),
        "columns": {
            "from": scaled([block.start for block in of], 1e-6),
            "to": scaled([block.end for block in of], 1e-6),
            "y": packed("u32", [block.y for block in of]),
            "size": packed("u32", [block.size for block in of]),
            "thread": packed("u32", [block.thread for block in of]),
            "site": packed("u32", [block.site for block in of]),
            "tag": packed("u8", [tag_of(block) for block in of]),
        },
    }
    table, soon, sizes = {}, {}, [0] * (16 * 24 * 24)
    for block in of:
        made_in, gone = bucket(block.start, R), R if math.isnan(block.end) else bucket(block.end, R)
        for of_kind, key in ((table, (block.site, made_in, gone)), (soon, (block.site, made_in, 1))):
            if of_kind is table or block.site == 2:
                row = of_kind.setdefault(key, [0, 0.0])
                row[0] += 1
                row[1] += block.size * scale
        life = 23 if gone == R else min(max(int((math.log10(block.end - block.start) + 7) * 2), 0), 22)
        sizes[(made_in * 16 // R * 24 + int(math.log2(block.size))) * 24 + life] += 1
    yield {"name": "ranges", "columns": columns(table, ("site", "u32"), ("from", "u16"), ("to", "u16"))}
    yield {
        "name": "temporary",
        "within": [1, 10, 100, 1000],
        "columns": columns(soon, ("site", "u32"), ("bucket", "u16"), ("within", "u8")),
    }
    yield {"name": "sizelife", "periods": 16, "sizes": 24, "lives": 24, **packed("u32", sizes)}
    yield {
        "name": "holders",
        "moments": [2.5, 5.0, 10.0],
        "unit": 65536,
        "columns": {
            "moment": packed("u16", [2, 2]),
            "site": packed("u32", [3, 1]),
            "units": packed("u32", [round(3 * scale), 1]),
            "bytes": packed("f64", [7200, 4096]),
        },
    }
    yield {
        "name": "runs",
        "columns": {
            "address": packed("f64", [RANGES[0][0] + 5 * UNIT + at * 4096 for at in range(4)]),
            "pages": packed("u32", [1] * 4),
            "block": packed("u32", [640] * 4),
            "from": packed("f64", [2.0] * 4),
            "to": packed("f64", [9.0, 9.5, math.nan, math.nan]),
        },
    }


def columns(rows, *keys):
    found = sorted(rows.items())
    return {
        **{name: packed(kind, [key[at] for key, _ in found]) for at, (name, kind) in enumerate(keys)},
        "count": packed("u32", [row[0] for _, row in found]),
        "bytes": packed("f64", [row[1] for _, row in found]),
    }


def write(path, **how):
    """how: as of lines(); extra: as of blocks()"""
    of = blocks(how.pop("extra", 0))
    with open(path, "w", encoding="ascii") as file:
        for line in lines(of, **how):
            file.write(json.dumps(line) + "\n")
    return of


def name_sites(addresses):
    from heap_profile.profile import Line, Location, Mapping

    mapping = Mapping(0x1000, 0x2000, 0, "/opt/demo/bin/demo")
    return {
        address: Location(address, mapping, (Line(FUNCTIONS[address], "demo.cc", address & 0xFF),))
        for address in addresses
    }
