"""The page of a recording: one file of HTML that needs nothing else, and no network. It has the lines that acre-trace
plot wrote, as they are, and scripts that decode them when they are needed."""

import html
import json
import os
import re

from heap_profile.page import Tree

HERE = os.path.dirname(os.path.realpath(__file__))
SCRIPTS = ("vendor/uPlot.iife.min.js", "data.js", "view.js", "colours.js", "tiles.js", "image.js", "here.js",
           "input.js", "curves.js", "../heap_profile/flame.js", "flame.js", "range.js", "main.js")
STYLES = ("vendor/uPlot.min.css", "../heap_profile/flame.css", "page.css")
NAME = re.compile(rb'\{"name": ?"([a-z_]+(?::[a-z0-9_]+)*)"')
NEEDED = "meta", "address", "sites"
MOST_COMMAND = 300  # characters


class Malformed(Exception):
    """Data that acre-trace has not written."""


def text(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def lines(path):
    """-> name, line of each"""
    found = set()
    with open(path, "rb") as file:
        for line in file:
            match = NAME.match(line)
            if match is None:
                raise Malformed(f"a line without a name: {line[:60]!r}")
            found.add(match[1].decode())
            yield match[1].decode(), line.rstrip(b"\n")
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise Malformed(f"there is no line '{missing[0]}'")


def sites(frames, locations):
    """The line of call sites with names. frames: of each site its return addresses, innermost first; locations: address
    -> heap_profile.profile.Location."""
    tree = Tree()
    leaves = [tree.leaf([locations[address] for address in stack]) for stack in frames]
    return {"name": "sites", "leaves": leaves, "parents": tree.parents, "frames": tree.frames, "places": tree.places,
            "names": tree.names()}


def started(text):
    """What a recording says of a process's beginning -> pid, command, title. It may say anything."""
    try:
        start = json.loads(text or "{}")
    except (ValueError, RecursionError):
        start = {}
    start = start if isinstance(start, dict) else {}
    argv = start.get("argv")
    argv = [str(word) for word in argv] if isinstance(argv, list) else []
    exe = start.get("exe") if isinstance(start.get("exe"), str) else ""
    pid = start.get("pid") if isinstance(start.get("pid"), int) else 0
    return pid, " ".join(argv)[:MOST_COMMAND], os.path.basename((argv or [exe])[0]) or "a program"


def meta(line):
    """-> the line `meta` with what people call the process"""
    found = json.loads(line)
    starts = {one["number"]: started(one.pop("start")) for one in found["processes"]}
    pid, command, title = starts.get(found["process"], started(None))
    for one in found["processes"]:
        one["pid"], one["command"] = starts[one["number"]][:2]
    return {**found, "title": title, "command": command, "pid": pid}


def title(path):
    return next(meta(line)["title"] for name, line in lines(path) if name == "meta")


def elements(number, path, name_sites):
    """-> script elements, which nobody runs, as bytes. name_sites: a function from the process's number in the
    recording and all return addresses to their locations."""
    process = None
    for name, line in lines(path):
        if name == "meta":
            line = meta(line)
            process, line = line["process"], json.dumps(line).encode()
        elif name == "sites":
            frames = json.loads(line)["frames"]
            locations = name_sites(process, {address for stack in frames for address in stack})
            line = json.dumps(sites(frames, locations), separators=(",", ":")).encode()
        yield (f'<script type="text/plain" data-file="{number}" data-name="{html.escape(name)}">'.encode() +
               line.replace(b"<", b"\\u003c") + b"</script>\n")


def write(out, recordings):
    """out: a file of bytes; recordings: (path of the data, name_sites) …, one or two."""
    of = ", ".join(title(path) for path, _ in recordings).encode("utf-8", "replace").decode()
    start, end = text("page.html").split("{{DATA}}")
    style = "\n".join(map(text, STYLES))
    script = "\n".join(map(text, SCRIPTS))
    out.write(start.replace("{{TITLE}}", html.escape(of)).replace("{{STYLE}}", style).encode())
    for number, (path, name_sites) in enumerate(recordings):
        for element in elements(number, path, name_sites):
            out.write(element)
    out.write(end.replace("{{SCRIPT}}", script).encode())
