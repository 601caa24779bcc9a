"""The picture of one recording or two, for reports: the heap's addresses against time, and under it the curves. Run in
the private environment (environment.py): picture.py DATA [DATA2], the picture goes to stdout."""

import base64
import json
import os
import sys
import zlib

import matplotlib
import numpy

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import LinearSegmentedColormap  # noqa: E402
from matplotlib.ticker import FuncFormatter, MultipleLocator  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from plot import page  # noqa: E402

CELLS, LEVEL = 256, 3  # so fine: 2048 × 2048 cells
TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4", "f64": "<f8"}
RAMP = LinearSegmentedColormap.from_list("share", ["#ffe39a", "#f9b04a", "#e0603a", "#8f2a63", "#331352"])


def decoded(line):
    """As data.js has it."""
    data = zlib.decompress(base64.b64decode(line["data"]), wbits=-15)
    values = numpy.frombuffer(data, TYPES[line["type"]])[:line["count"]]
    if line.get("delta"):
        values = numpy.cumsum(values, dtype=values.dtype)
    if not {"none", "scale", "offset"} & line.keys():
        return values
    return numpy.where(values == line.get("none", -1), numpy.nan,
                       line.get("offset", 0) + line.get("scale", 1) * values.astype("f8"))


class Recording:
    def __init__(self, path):
        self.lines, self.tiles = {}, {}
        with open(path, encoding="utf-8") as file:
            for text in file:
                if text.startswith(('{"name":"tile:', '{"name": "tile:')):
                    level, x, y = map(int, text.split('"', 4)[3].split(":")[1:])
                    if level <= LEVEL:
                        self.tiles[level, x, y] = decoded(json.loads(text))[:CELLS * CELLS].reshape(CELLS, CELLS)
                elif not text.startswith(('{"name":"blocks:', '{"name": "blocks:')):
                    line = page.meta(text) if text.startswith(('{"name":"meta', '{"name": "meta')) else json.loads(text)
                    self.lines[line["name"]] = line
        self.meta, self.address = self.lines["meta"], self.lines["address"]
        self.start, self.end = self.meta["from"], self.meta["to"]
        self.total = sum(units for _, units in self.address["ranges"]) * self.address["unit"]

    def curve(self, name):
        line = self.lines.get(f"curve:{name}")
        return None if line is None else decoded(line).astype("f8")

    def times(self):
        middles = (numpy.arange(self.meta["buckets"]) + 0.5) / self.meta["buckets"]
        return self.start + middles * (self.end - self.start)

    def image(self):
        """Shares of 0 … 1, the lowest addresses first; where a tile is missing, what the coarser one has."""
        found = self.tiles.get((0, 0, 0), numpy.zeros((CELLS, CELLS), "u1"))
        for level in range(1, LEVEL + 1):
            if not any(key[0] == level for key in self.tiles):
                break
            found = found.repeat(2, 0).repeat(2, 1)
            for (at, x, y), tile in self.tiles.items():
                if at == level:
                    found[y * CELLS:(y + 1) * CELLS, x * CELLS:(x + 1) * CELLS] = tile
        rows = max(round(found.shape[0] * self.total / self.address["height"]), 1)
        return numpy.ma.masked_equal(found[:rows], 0) / 255

    def labels(self):
        """Places of addresses on the axis: where ranges begin, if there is room."""
        offset, labels = 0, []
        for start, units in self.address["ranges"]:
            if not labels or offset - labels[-1][0] > self.total / 24:
                labels.append((offset, f"{start:x}"))
            offset += units * self.address["unit"]
        return labels

    def gaps(self):
        ends = numpy.cumsum([units for _, units in self.address["ranges"]]) * self.address["unit"]
        return ends[:-1]


def bytes_text(value, _=None):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024 or unit == "GiB":
            return f"{value:.3g} {unit}"
        value /= 1024


def draw_image(axes, recording):
    axes.imshow(recording.image(), cmap=RAMP, vmin=0, vmax=1, origin="lower", aspect="auto",
                interpolation="antialiased", extent=(recording.start, recording.end, 0, recording.total))
    if len(recording.gaps()) < 100:
        for gap in recording.gaps():
            axes.axhline(gap, color="0.6", linewidth=0.4, linestyle=(0, (4, 3)))
    places = recording.labels()
    axes.set_yticks([offset for offset, _ in places], [text for _, text in places], fontsize=6, family="monospace")
    axes.set_ylabel("address")
    command = (recording.meta["command"] or recording.meta["title"]).encode("utf-8", "replace").decode()
    axes.set_title(command if len(command) < 90 else command[:88] + "…", fontsize=9, parse_math=False)


def draw_curves(memory, parts, recording):
    times = recording.times()
    for name, curve, colour in (("resident", "resident", "#e0603a"), ("live", "live_bytes", "#2c7fb8")):
        values = recording.curve(curve)
        if values is not None:
            known = numpy.isfinite(values)
            memory.plot(times[known], values[known], color=colour, linewidth=1, label=name)
    memory.set_ylim(bottom=0)
    memory.yaxis.set_major_formatter(FuncFormatter(bytes_text))
    memory.legend(fontsize=7, frameon=False, loc="upper left", ncols=2)
    live = recording.curve("live_bytes")
    for name, label, colour in (("resident", "of what is resident", "#c8507a"),
                                ("active", "of pages with blocks", "#a463f2")):
        whole = recording.curve(name)
        if live is not None and whole is not None:
            known = numpy.isfinite(whole) & (whole > 0) & numpy.isfinite(live)
            fragmentation = numpy.clip(100 * (1 - live[known] / whole[known]), 0, 100)
            parts.plot(times[known], fragmentation, color=colour, linewidth=1, label=label)
    if parts.lines:
        parts.legend(fontsize=7, frameon=False, loc="best", ncols=2)
    parts.set_ylim(0, 100)
    parts.set_ylabel("fragmen-\ntation, %")
    parts.set_xlabel("seconds")


def main(paths):
    recordings = [Recording(path) for path in paths]
    figure, rows = pyplot.subplots(3, len(recordings), figsize=(3 + 6 * len(recordings), 7.5), squeeze=False,
                                   sharex="col", gridspec_kw={"height_ratios": [5, 1.4, 0.9]}, layout="constrained")
    for column, recording in enumerate(recordings):
        image, memory, parts = (row[column] for row in rows)
        draw_image(image, recording)
        draw_curves(memory, parts, recording)
        marks = [mark for mark in recording.lines.get("marks", {"marks": []})["marks"] if mark["kind"] != "end"]
        for mark in marks[:200]:
            for axes in (image, memory, parts):
                axes.axvline(mark["t"], color="0.6" if mark["kind"] == "purge" else "#c026d3", linewidth=0.5)
        for mark in [mark for mark in marks if mark["kind"] != "purge"][:12]:
            image.text(mark["t"], recording.total * 0.99, " " + (mark["text"] or mark["kind"]),
                       fontsize=6, va="top", color="#c026d3", parse_math=False, clip_on=True)
        parts.set_xlim(recording.start, recording.end)
        for axes in (image, memory, parts):
            axes.tick_params(labelsize=7)
            axes.yaxis.label.set_size(8)
            axes.xaxis.label.set_size(8)
    top = max(axes.get_ylim()[1] for axes in rows[1])
    for axes in rows[1]:  # two recordings have the same scale
        axes.set_ylim(0, top)
        axes.yaxis.set_major_locator(MultipleLocator(2 ** numpy.ceil(numpy.log2(max(top, 4) / 4))))
    colours = figure.colorbar(pyplot.cm.ScalarMappable(cmap=RAMP), ax=list(rows[0]), shrink=0.5, pad=0.01, aspect=30)
    colours.set_label("share in use", fontsize=7)
    colours.ax.tick_params(labelsize=6)
    figure.savefig(sys.stdout.buffer, format="png", dpi=150)


if __name__ == "__main__":
    main(sys.argv[1:])
