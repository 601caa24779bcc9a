"""The flame graph: one page of HTML that needs nothing else, and no network."""

import html
import json
import os

from .about import why_empty
from .names import forms
from .profile import combined, shown_stack

HERE = os.path.dirname(os.path.realpath(__file__))


class Tree:
    """All stacks as one tree from the outermost function inward: nodes in the order in which they were made, so that a
    parent comes before its children."""

    def __init__(self):
        self.parents, self.frames = [-1], [0]
        self.known, self.frame_numbers, self.places = {}, {}, [["all", "", 0, ""]]

    def names(self):
        """For each function's name: it, and what it may be shortened to, the longest first."""
        return {name: forms(name, gain=0.8) for name in {place[0] for place in self.places}}

    def child(self, parent, line, module):
        key = line.function, line.file, line.number, module
        frame = self.frame_numbers.get(key)
        if frame is None:
            frame = self.frame_numbers[key] = len(self.places)
            self.places.append(list(key))
        key = parent, frame
        if key not in self.known:
            self.known[key] = len(self.parents)
            self.parents.append(parent)
            self.frames.append(frame)
        return self.known[key]

    def leaf(self, stack):
        node = 0
        for location in reversed(stack):
            module = os.path.basename(location.mapping.file) if location.mapping else ""
            for line in reversed(location.lines):
                node = self.child(node, line, module)
        return node


def own_values(tree, profile):
    """For each kind the nodes' own values: {node: value}."""
    found = [{} for _ in profile.kinds]
    for (stack, labels), values in profile.samples.items():
        leaf = tree.leaf(shown_stack(stack, labels))
        for of_kind, value in zip(found, values):
            if value:
                of_kind[leaf] = of_kind.get(leaf, 0) + value
    return found


def flattened(of_kinds):
    return [[number for pair in sorted(of_kind.items()) for number in pair] for of_kind in of_kinds]


def data(heading, profile, before, kind, by_line):
    tree = Tree()
    after_values = own_values(tree, profile)
    before_values = own_values(tree, before) if before is not None else None
    compared = profile if before is None else combined([profile, before], [1, -1])
    title, about = heading
    return {
        "title": title,
        "about": about,
        "kinds": [[kind.name, kind.unit] for kind in profile.kinds],
        "why": [why_empty(compared, at, before is not None) for at in range(len(profile.kinds))],  # there is nothing
        "default": kind,
        "lines": by_line,
        "names": tree.names(),
        "places": tree.places,      # function, file, line, module
        "parents": tree.parents,
        "frames": tree.frames,      # of each node: its place
        "after": flattened(after_values),
        "before": flattened(before_values) if before_values is not None else None,
    }


def text(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def page(heading, profile, before=None, kind=None, by_line=False):
    """heading: about.heading(); before: what the profile is compared with; kind: of values, shown first; by_line: lines
    are shown first, and not functions."""
    template = text("page.html")
    for place, name in (("{{FLAME_STYLE}}", "flame.css"), ("{{FLAME_SCRIPT}}", "flame.js")):
        template = template.replace(place, text(name))
    kind = profile.default if kind is None else kind
    inside = json.dumps(data(heading, profile, before, kind, by_line), separators=(",", ":")).replace("<", "\\u003c")
    return template.replace("{{TITLE}}", html.escape(heading[0])).replace("{{DATA}}", inside)
