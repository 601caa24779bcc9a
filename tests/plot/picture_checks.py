"""The picture of data.py: what it shows, the pointer, zoom, single blocks, keys, colours."""

import data
from shown import IMAGE, spans


class PictureChecks:
    def __init__(self, that, browser, blocks):
        self.that, self.browser, self.blocks = that, browser, blocks

    def check(self, shown):
        for look in (self.image, self.pointer, self.zoom, self.single, self.keys, self.colours):
            look(shown)

    def image(self, shown):
        back, full = shown.colour(1, 10 * data.UNIT), shown.colour(6, 9 * data.UNIT)
        self.that(
            back == [255, 255, 255] and full == [0x33, 0x13, 0x52],
            "the picture has what lives and what does not",
            (back, full),
        )
        drawn = shown.value(
            "[...document.querySelectorAll('.curve')].map(box => box.hidden || !!box.querySelector('canvas'))"
        )
        self.that(drawn and all(drawn), "there are curves")
        legend = shown.value("document.querySelector('[aria-label=\"curve: live by tag\"]').innerText")
        self.that("“load”" in legend and "“request 17”" in legend, "also by tag", legend)
        said = shown.text("about")
        self.that(
            f"{2 * len(self.blocks):,} allocations" in said and "demo --requests 300" in said,
            "the page says what it is of",
            said,
        )

    def pointer(self, shown):
        shown.mouse("mouseMoved", shown.place(6, 9 * data.UNIT))
        shown.frame()
        said = shown.text("here")
        self.that(
            said.startswith(
                "200,000 bytes at 0x7f0010000000, 2 s old, lived 5 s, thread 100 “main”, push_back ← log_line ← main"
            ),
            "the pointer tells what lives there",
            said,
        )
        value = shown.value("document.querySelector('.curve .value').textContent")
        self.that("KiB" in value, "and what the curves are then", shown.text("curves"))
        shown.mouse("mouseMoved", shown.place(1, 10 * data.UNIT))
        shown.frame()
        said = shown.text("here")
        self.that(said.endswith(": nothing lives there"), "or that nothing does", said)

    def zoom(self, shown):
        at, before = shown.place(5, 5 * data.UNIT + 3000), shown.view()
        shown.wheel(at, -200)
        view = shown.view()
        (wide, high), (whole, all_high) = spans(view), spans(before)
        self.that(wide < 0.7 * whole and high < 0.7 * all_high and view[0] < 5 < view[1], "the wheel zooms in", view)
        shown.wheel(at, -200, modifiers=8)  # Shift
        in_time = spans(shown.view())
        shown.wheel(at, -200, modifiers=1)  # Alt
        in_addresses = spans(shown.view())
        self.that(in_time[0] < wide and abs(in_time[1] - high) < 1, "with Shift in time alone", in_time)
        self.that(
            abs(in_addresses[0] - in_time[0]) < 1e-9 and in_addresses[1] < high,
            "with Alt in addresses alone",
            in_addresses,
        )
        before = shown.view()
        shown.drag(at, [at[0] - 100, at[1] + 50])
        view = shown.view()
        self.that(
            view[0] > before[0] and view[2] > before[2] and abs(spans(view)[0] - spans(before)[0]) < 1e-9,
            "dragging moves",
            (before, view),
        )
        for button, part in (("time-in", 0), ("address-in", 1)):
            before = spans(shown.view())
            self.browser.click(f"document.getElementById('{button}')")
            after = spans(shown.view())
            self.that(
                abs(after[part] - before[part] / 2) < 1e-6 * before[part]
                and abs(after[1 - part] - before[1 - part]) < 1e-6 * before[1 - part],
                f"so does the button {button}",
                (before, after),
            )
        self.browser.click("document.getElementById('whole')")
        self.that(shown.view() == [0, data.END, 0, data.TOTAL], "and back to the whole", shown.view())

    def single(self, shown):
        """Down to single blocks."""
        window = 4.0, 4.2, 5 * data.UNIT, 5 * data.UNIT + 8000
        shown.value(f"setTime({window[0]}, {window[1]}), {IMAGE}.setAddresses({window[2]}, {window[3]})")
        shown.frame()
        there = [
            block
            for block in self.blocks
            if block.start <= window[1]
            and not block.end < window[0]
            and block.y <= window[3]
            and block.y + block.size >= window[2]
        ]
        drawn = shown.value(f"{IMAGE}.shown.length")
        self.that(drawn == len(there) > 5, "where there is room each block is drawn singly", (drawn, len(there)))
        first = there[0]
        between = shown.colour(4.1, first.y + first.size + 20)
        self.that(
            shown.colour(4.1, first.y + 300) == [0x33, 0x13, 0x52] and between != [0x33, 0x13, 0x52],
            "with room between them",
            between,
        )
        shown.mouse("mouseMoved", shown.place(4.1, first.y + 300))
        shown.frame()
        said = shown.text("here")
        self.that(
            f"600 bytes at {0x7f0000000000 + first.y:#x}" in said
            and "tag “request 17”, cache_put" in said
            and "in a run of 1 pages of blocks of 640 bytes" in said,
            "and the pointer tells of its run, too",
            said,
        )
        shown.press("Escape")

    def keys(self, shown):
        shown.press("0", "Escape")
        shown.value(f"{IMAGE}.element.focus()")
        shown.press("t", "t", "a")
        wide, high = spans(shown.view())
        self.that(abs(wide - data.END / 4) < 1e-6 and abs(high - data.TOTAL / 2) < 1, "keys zoom", (wide, high))
        before = shown.view()
        shown.press("ArrowRight", "ArrowUp")
        self.that(shown.view()[0] > before[0] and shown.view()[2] > before[2], "and move", shown.view())
        shown.value(f"{IMAGE}.setCross(4.5, {9 * data.UNIT})")
        shown.press("[")
        self.that(abs(shown.value("view.range[0]") - 4.5) < 1e-6, "and select", shown.value("view.range"))
        shown.press("?")
        self.that(shown.value("!document.getElementById('help').hidden"), "there is help")
        shown.press("Escape", "Escape", "Escape")
        self.that(
            shown.view() == [0, data.END, 0, data.TOTAL] and shown.value("view.range") is None,
            "Escape ends all of it",
            shown.view(),
        )

    def colours(self, shown):
        seen = {}
        for kind in ("share", "class", "age", "thread"):
            shown.choose("colour", kind)
            seen[kind] = tuple(map(tuple, (shown.colour(8, 9 * data.UNIT), shown.colour(8, 6 * data.UNIT + 100))))
        self.that(len(set(seen.values())) == 4, "colours are of the share, the size, the age or the thread", seen)
        self.that(
            "worker" in shown.text("legend") and seen["thread"][0] != seen["thread"][1],
            "and the legend says which",
            seen["thread"],
        )
