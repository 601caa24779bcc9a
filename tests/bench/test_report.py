#!/usr/bin/env python3
"""The page and the terminal's summary: complete, self-contained, and honest about what is missing."""

import functools
import html.parser
import io
import json
import math
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench"), str(Path(__file__).resolve().parent)]

import made_up  # noqa: E402
from lab import report, results  # noqa: E402
from lab.report import look, plots, tables  # noqa: E402
from rich.console import Console  # noqa: E402

VOID = {"meta", "line", "path", "circle", "rect", "use", "br"}
MOST_BYTES = 6e6


class Outline(html.parser.HTMLParser):
    """Are the tags balanced, and what do they refer to?"""

    def __init__(self):
        super().__init__()
        self.open, self.names, self.references, self.loaded, self.errors = [], [], [], [], []
        self.untitled = self.plots = 0

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names += [given["id"]] if "id" in given else []
        for name in ("href", "xlink:href"):
            if name in given:
                (self.references if given[name].startswith("#") else self.loaded).append(given[name])
        self.loaded += [given["src"]] if "src" in given else []
        self.references += [
            f"#{name}" for name in re.findall(r"url\(#([^)]+)\)", " ".join(v or "" for v in given.values()))
        ]
        if tag == "svg" and given.get("class") == "plot":
            self.plots += 1
            self.untitled += given.get("role") != "img" or "aria-labelledby" not in given
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> at {self.getpos()}")


@functools.cache
def whole():
    """-> (Results, page as text, Outline, the names of the PNGs)"""
    with tempfile.TemporaryDirectory() as scratch:
        found = results.read([made_up.write(Path(scratch) / "results.jsonl", made_up.whole_run(rounds=5))])
        path = report.write(found, Path(scratch) / "out")
        text = path.read_text(encoding="utf-8")
        outline = Outline()
        outline.feed(text)
        pictures = {file.name: file.read_bytes()[:4] for file in (path.parent / "plots").iterdir()}
        return found, text, outline, pictures


@functools.cache
def lines():
    """-> (Results of a few workloads, the lines about them)"""
    entries = [entry for entry in made_up.whole_run(rounds=2) if entry.get("workload") in (None, "larson", "mariadb")]
    console = Console(file=io.StringIO())
    with tempfile.TemporaryDirectory() as scratch:
        found = results.read([made_up.write(Path(scratch) / "results.jsonl", entries)])
    report.show_json(found, console)
    return found, [json.loads(line) for line in console.file.getvalue().splitlines()]


class ThePage(unittest.TestCase):
    def test_it_is_well_formed_and_needs_nothing_else(self):
        _, text, outline, _ = whole()
        self.assertEqual((outline.errors, outline.open), ([], []))
        self.assertEqual(outline.loaded, [])
        self.assertNotRegex(text, r"@import|url\((?!#)")
        self.assertLess(len(text.encode()), MOST_BYTES)
        names = set(outline.names)
        self.assertEqual(len(names), len(outline.names), "a name is used twice")
        self.assertEqual({reference[1:] for reference in outline.references} - names, set())

    def test_every_plot_is_described_and_is_a_picture_too(self):
        _, _, outline, pictures = whole()
        self.assertEqual(outline.untitled, 0)
        self.assertEqual(len(pictures), outline.plots)
        self.assertEqual(set(pictures.values()), {b"\x89PNG"})
        for name in ("scatter-programs-and-servers", "boxes-redis", "scaling-mariadb", "memory-wasteland-2-threads"):
            self.assertIn(f"{name}.png", pictures)

    def test_no_colour_is_fixed_in_a_plot(self):
        _, text, _, _ = whole()
        svg = "".join(re.findall(r'<svg class="plot".*?</svg>', text, re.S))
        self.assertEqual(set(re.findall(r"#[0-9a-f]{6}\b", svg)), set())
        for variable in set(re.findall(r"var\((--[\w-]+)\)", text)):
            self.assertEqual(len(re.findall(rf"{variable}:", text)), 2, f"{variable}: once for light, once for dark")

    def test_it_names_everything(self):
        found, text, _, _ = whole()
        for name in (
            *found.allocators,
            *found.workloads,
            "Made-up CPU",
            "v0.9-3-gabcdef0",
            "signal 11",
            "not done after 300 s",
        ):
            self.assertIn(name, text)
        self.assertRegex(text, r"No mean for hardened, stress: there is no result for malloc-test \(32 threads\)")
        self.assertIn("Where acre is behind", text)

    def test_foreign_text_stays_text(self):
        entries = [
            made_up.session(command=["--alloc", "<script>alert(1)</script>"]),
            *(made_up.run("gs", name, 1, 1, 1) for name in ("glibc", "acre")),
            made_up.failure("lua", "acre", 1, "<b>& broken"),
        ]
        with tempfile.TemporaryDirectory() as scratch:
            found = results.read([made_up.write(Path(scratch) / "r.jsonl", entries)])
            text = report.write(found, scratch).read_text(encoding="utf-8")
        self.assertIn("&lt;b&gt;&amp; broken", text)
        self.assertNotIn("<script>alert", text)
        self.assertIn("a first impression", text)

    def test_little_is_enough(self):
        """One workload, no acre, no curve, no other figure."""
        entries = [made_up.session(allocators={"glibc": ("2.36", 1, 1)}), made_up.run("gs", "glibc", 1, 1, 1000)]
        with tempfile.TemporaryDirectory() as scratch:
            found = results.read([made_up.write(Path(scratch) / "r.jsonl", entries)])
            outline = Outline()
            outline.feed(report.write(found, scratch).read_text(encoding="utf-8"))
            report.show(found, Console(file=io.StringIO()))
        self.assertEqual((outline.errors, outline.open), ([], []))


class TheTerminal(unittest.TestCase):
    def shown(self, width):
        out = io.StringIO()
        report.show(whole()[0], Console(file=out, width=width))
        return out.getvalue()

    def test_the_summary(self):
        text = self.shown(100)
        self.assertRegex(text, r"(?m)^hardened +1\.\d+ +— ")
        self.assertRegex(text, r"(?m)^glibc +1 +1 +1 +1")
        self.assertRegex(text, r"(?m)^acre against these ")
        self.assertIn("failed: mariadb (1 thread) under rpmalloc: signal 11", text)

    def test_it_fits(self):
        self.assertLessEqual(max(map(len, self.shown(80).splitlines())), 80)


class TheLines(unittest.TestCase):
    def test_they_tell_what_the_page_tells(self):
        found, _ = lines()
        page = tables.Tables(found)
        mean = page.oracles["time"].against(("stress",), "acre")
        (line,) = self.chosen(groups="stress", metric="time", allocator="acre", against="best peers")
        self.assertEqual((line["ratio"], line["low"], line["verdict"]), (mean.value, mean.low, mean.verdict))
        for case in page.ratios["peak_kib"].cases("larson"):
            (line,) = self.chosen(**case._asdict(), metric="peak_kib", allocator="acre", against="glibc")
            self.assertEqual(line["value"], page.ratios["peak_kib"].median(case, "acre"))

    def test_a_missing_mean_says_what_is_missing(self):
        missing = [line for line in lines()[1] if line["verdict"] == "missing"]
        self.assertTrue(missing)
        self.assertTrue(all(line["missing"] and "ratio" not in line for line in missing))

    def test_latencies_are_among_them(self):
        slowest = [line for line in lines()[1] if line["metric"] == "latency.p99.99"]
        self.assertTrue([line for line in slowest if line.get("value", 0) > 0])

    def chosen(self, **wanted):
        return [line for line in lines()[1] if all(line.get(name) == value for name, value in wanted.items())]


class Details(unittest.TestCase):
    def test_the_front(self):
        points = {"a": (1, 4), "b": (2, 2), "c": (3, 3), "d": (4, 1), "e": (4, 2)}
        self.assertEqual(plots.pareto(points), ["a", "b", "d"])

    def test_looks_differ(self):
        looks = look.looks(["glibc", "acre", *(f"peer{at}" for at in range(20))])
        self.assertEqual(len({(one.light, one.marker) for one in looks.values()}), 22)
        self.assertTrue(looks["acre"].emphasised)

    def test_every_colour_stands_out_from_the_paper(self):
        looks = look.looks(["glibc", "acre", *(f"peer{at}" for at in range(len(look.PEERS)))])
        for which, name in enumerate(("light", "dark")):
            paper = look.ROLES["paper"][which]
            for one in looks.values():
                self.assertGreater(contrast((one.light, one.dark)[which], paper), 3, f"{one.name}, {name}")
            self.assertGreater(contrast(look.ROLES["muted"][which], paper), 4.5)

    def test_figures_for_people(self):
        self.assertEqual(tables.absolute(1536, "peak_kib"), "1.5 MiB")
        self.assertEqual(tables.absolute(0.0421, "time"), "42.1 ms")
        self.assertEqual([tables.duration(ns) for ns in (7.4, 1234, 5.6e6)], ["7 ns", "1.23 µs", "5.6 ms"])
        self.assertEqual(tables.named_with_unit("resident_after_mib"), ("resident after", "MiB"))
        self.assertEqual(tables.named_with_unit("overhead"), ("overhead", ""))

    def test_boxes_have_every_round(self):
        found = whole()[0]
        page = report.page.Page(found, ".")
        values = page.scaled_rounds("time", "mariadb", "glibc")
        self.assertEqual(len(values), 5)
        self.assertTrue(all(0.7 < value < 1.4 for value in values), values)
        self.assertEqual(page.scaled_rounds("time", "mariadb", "rpmalloc"), [])
        self.assertTrue(math.isfinite(sum(page.scaled_rounds("peak_kib", "gs", "acre"))))


def contrast(one, other):
    """Of two colours, as WCAG has it."""
    lights = sorted((luminance(one), luminance(other)), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


if __name__ == "__main__":
    unittest.main()
