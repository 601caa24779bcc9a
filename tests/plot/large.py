"""What `acre plot` takes for a recording of many events, and what its page takes in a browser. No test: it is run by hand.

    tests/plot/large.py 100000000                   # records, plots, opens; some minutes and 200 MB of disk
    tests/plot/large.py 100000000 --into FILE       # also adds the result to FILE, as a line of JSON

ACRE_LIB names the library. The recording has the call stacks of a sample.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "profile")]

import browser as browsers

STACKS = "256K"
# In the page, before its own scripts: when a tile of the picture is drawn first.
WATCH = """
const look = () => {
  let drawn = false;
  try { drawn = [...images[0].tiles.planes.values()].some(tile => tile.bytes) && images[0].shownLevel !== undefined; }
  catch {}
  if (drawn) requestAnimationFrame(() => { window.firstPicture = performance.now(); });
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def run_measured(words, where):
    """-> seconds, bytes that the largest of its processes had resident"""
    start = time.monotonic()
    process = subprocess.Popen(list(map(str, words)), cwd=where, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{words[0]} {words[1]} has failed")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def family(pid):
    """The process and all that come from it."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            pass
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def proportional(pid):
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


class Watched:
    """The most memory that a process and its children take, shared pages by their parts."""

    def __init__(self, pid):
        self.pid, self.most, self.ends = pid, 0, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.ends.is_set():
            self.most = max(self.most, sum(map(proportional, family(self.pid))))
            self.ends.wait(0.1)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


def open_page(page, folder):
    """-> seconds to the first picture, seconds until all is there, bytes of memory, of it without a page"""
    browser = browsers.Browser(browsers.find(), folder)
    try:
        empty = sum(map(proportional, family(browser.process.pid)))
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        with Watched(browser.process.pid) as memory:
            browser.open(page)
            browser.wait_for("window.firstPicture && document.documentElement.dataset.ready === 'true'")
            ready = browser.value("performance.now()") / 1000
            browser.value("setTime(view.most * 0.5, view.most * 0.5001)")  # what a user does next: blocks one by one
            browser.value("images[0].setAddresses(0, 100000)")
            browser.value("new Promise(done => setTimeout(done, 1000))")
        first = browser.value("window.firstPicture") / 1000
        problems = browser.problems()
    finally:
        browser.close()
    if problems:
        sys.exit(f"the page had errors: {problems}")
    return first, ready, memory.most, empty


def measure(events, threads, folder):
    acre, library = SOURCE / "acre", os.environ.get("ACRE_LIB", SOURCE / "build/release/libacre.so")
    program, file, page = folder / "large", folder / "large.actrace", folder / "large.html"
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-pthread", HERE / "large.c", "-o", program], check=True)
    words = [acre, "record", "--lib", library, f"--stacks={STACKS}", "-o", file, "--", program, threads, events]
    record_s, _ = run_measured(words, folder)
    info = json.loads(subprocess.run([acre, "trace", file, "--info", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    plot_s, plot_bytes = run_measured([acre, "plot", file, "-o", page], folder)
    first, ready, browser_bytes, empty_bytes = open_page(page, folder)
    return {
        "events": sum(process["events"] for process in info["processes"]),
        "threads": threads,
        "stacks": STACKS,
        "record_s": round(record_s, 1),
        "file_bytes": file.stat().st_size,
        "plot_s": round(plot_s, 1),
        "plot_peak_bytes": plot_bytes,
        "page_bytes": page.stat().st_size,
        "first_picture_s": round(first, 2),
        "ready_s": round(ready, 2),
        "browser_peak_bytes": browser_bytes,
        "browser_empty_bytes": empty_bytes,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "date": time.strftime("%Y-%m-%d"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("events", type=int, nargs="?", default=100_000_000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--into", metavar="FILE", help="add the result to FILE")
    options = parser.parse_args()
    if browsers.find() is None:
        sys.exit("no browser is installed (chromium-headless-shell)")
    with tempfile.TemporaryDirectory(prefix="acre-plot-", ignore_cleanup_errors=True) as folder:
        result = measure(options.events, options.threads, Path(folder))
    for name, value in result.items():
        print(f"{name:20} {f'{value / 2**20:,.1f} MiB' if name.endswith('_bytes') else value}")
    if options.into:
        with open(options.into, "a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
