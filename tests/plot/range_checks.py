"""The range of time of data.py: its sums, the tabs, and two recordings compared."""

import math
import re

import data


class RangeChecks:
    def __init__(self, that, browser, blocks):
        self.that, self.browser, self.blocks = that, browser, blocks

    def check(self, shown):
        self.range(shown)
        self.tabs(shown)

    def of_range(self, first, end):
        """In buckets of ranges: allocated, and still lives."""

        def bucket(time):
            return min(int(time / data.END * data.R), data.R - 1)

        made = [block for block in self.blocks if first <= bucket(block.start) < end]
        return made, [block for block in made if math.isnan(block.end) or bucket(block.end) >= end]

    def range(self, shown):
        start, end = shown.place(1.25, 3 * data.UNIT), shown.place(5, 3 * data.UNIT)
        shown.drag(start, end, modifiers=8)
        at = [float(shown.value(f"document.getElementById('{name}').value")) for name in ("from", "to")]
        self.that(abs(at[0] - 1.25) < 0.03 and abs(at[1] - 5) < 0.03, "dragging with Shift selects a range of time", at)
        shown.value(
            "document.getElementById('from').value = '1.25', document.getElementById('to').value = '5',"
            "document.getElementById('to').onchange()"
        )
        shown.frame()
        made, lives = self.of_range(8, 32)
        rows = shown.rows()
        shares = {row[2].split(" ")[0]: row[0] for row in rows}
        wanted = {
            name: shown.value(f"bytesText({sum(block.size for block in lives if block.site == site)})")
            for name, site in (("push_back", 4), ("cache_put", 3))
        }
        self.that(shares == wanted, "the table has what was allocated in it and still lives at its end", (rows, wanted))
        said = shown.text("range-sum")
        self.that(shown.value(f"bytesText({sum(block.size for block in made)})") in said, "and its sum", said)
        self.that(
            {"all", "main", "cache_put", "log_line", "std::vector<int>::push_back(int const&)"} == set(shown.bars()),
            "the flame graph has them",
            shown.bars(),
        )
        self.browser.click("[...document.querySelectorAll('#graph .bar')].find(bar => bar.textContent === 'log_line')")
        self.that(
            "cache_put" not in shown.bars() and shown.text("at").startswith("log_line · "),
            "a click zooms into it",
            shown.bars(),
        )
        self.browser.click("document.getElementById('unzoom')")
        self.browser.click("document.querySelector('#table tbody button')")
        self.that(shown.rows()[0][2].endswith("log_line\nmain"), "the table has whole stacks", shown.rows()[0])
        shown.value("document.querySelector('.curve').scrollIntoView({ block: 'center' })")
        box = shown.value(
            "(r => [r.left, r.top, r.width])" "(document.querySelector('.curve .u-over').getBoundingClientRect())"
        )
        shown.drag([box[0] + box[2] * 0.2, box[1] + 40], [box[0] + box[2] * 0.6, box[1] + 40])
        at = shown.value("view.range")
        self.that(at and abs(at[0] - 2) < 0.1 and abs(at[1] - 6) < 0.1, "dragging in the curves does so, too", at)
        self.browser.click("document.getElementById('zoom-range')")
        self.that(shown.value("[view.from, view.to]") == at, "one can zoom into it", shown.view())

    def tabs(self, shown):
        shown.press("0", "Escape")
        shown.tab("temporary")
        rows = shown.rows()
        self.that(
            len(rows) == 1 and rows[0][2] == "parse_request ← serve ← main" and rows[0][0] == "117 KiB",
            "temporary blocks have their sites",
            rows,
        )
        shown.choose("measure", "count")
        self.that(shown.rows()[0][0] == "300", "also by their number", shown.rows())
        shown.choose("within", "0")
        self.that(
            shown.rows() == [] and "so soon" in shown.text("why"), "those of fewer events are fewer", shown.rows()
        )
        shown.tab("sizes")
        shown.wait("document.querySelectorAll('#histograms table').length === 2")
        counts = shown.value(
            "[...document.querySelectorAll('#histograms table')].map(table => "
            "[...table.rows].map(row => [...row.cells].slice(0, 2).map(cell => cell.innerText)))"
        )
        sums = [sum(int(count.replace(",", "")) for _, count in rows) for rows in counts]
        self.that(
            sums == [len(self.blocks)] * 2 and ["256 B", "300"] in counts[0],
            "sizes and lifetimes have each block",
            counts,
        )
        stay = str(sum(math.isnan(block.end) for block in self.blocks))
        self.that(counts[1][-1] == ["lives at the end", stay], "and those that stay", counts[1])
        shown.tab("holders")
        shown.wait("document.querySelectorAll('#table tbody tr').length > 0")
        rows = shown.rows()
        self.that(
            rows == [["3", "7.0 KiB", "cache_put ← main"], ["1", "4.0 KiB", "load_table ← serve ← main"]],
            "sites hold nearly empty runs",
            rows,
        )
        shown.tab("lives")

    def compared(self, shown):
        self.that(shown.value("document.querySelectorAll('.picture').length") == 2, "two recordings have two pictures")
        rows = shown.rows()
        head = shown.value("[...document.querySelectorAll('#table th')].map(cell => cell.innerText)")
        self.that(
            head[:3] == ["more", "first file", "second file"]
            and all(len(row) == 4 and row[0].startswith("+") for row in rows)
            and rows[0][:3] == ["+160 KiB", "160 KiB", "320 KiB"],
            "the table has what is more",
            (head, rows),
        )
        self.that(
            "→" in shown.text("range-sum") and "live (2)" in shown.text("curves"),
            "and sums and curves of both",
            shown.text("range-sum"),
        )
        hue = shown.value(
            "[...document.querySelectorAll('#graph .bar')].find(bar => bar.textContent === 'load_table')"
            ".style.background"
        )
        red, green, blue = map(int, re.findall(r"\d+", hue)[:3]) if hue.startswith("rgb") else (8, 0, 0)
        self.that(hue.startswith("hsl(8 ") or red > max(green, blue), "more is red in the flame graph", hue)
        shown.tab("holders")
        shown.wait("document.querySelectorAll('#table tbody tr').length > 0")
        rows = shown.rows()
        self.that(
            [row[:3] for row in rows] == [["+3", "3", "6"], ["0", "1", "1"]] and rows[0][3].startswith("cache_put"),
            "nearly empty runs are those of both, with what is more",
            rows,
        )
        why = shown.text("why")
        self.that("1: At 10" in why and "2: At 10" in why, "and it is said of which moments", why)
        shown.tab("lives")
