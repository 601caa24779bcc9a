"""Recordings of programs on acre: real.py ACRE_TRACE LIBACRE ALLOCATES DELETES

Exit code 0: all well, 1: not.
"""

import collections
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/package"))

import chunks
from checks import Checks, clean_environment

TIME_LIMIT_S = 120
SITES = {"site_malloc": 5001, "site_calloc": 5002, "site_aligned": 5376, "site_new": 5004, "site_realloc": 5005,
         "site_resize": 1000006}


class Recorder:
    def __init__(self, tool, library, program, deletes, work):
        self.tool, self.library, self.program, self.deletes, self.work = tool, library, program, deletes, work
        self.number = 0
        self.environment = clean_environment()

    def __call__(self, *words):
        return subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True, timeout=TIME_LIMIT_S,
                              stdin=subprocess.DEVNULL, env=self.environment)

    def record(self, *program, options=()):
        """-> what acre-trace said, the file"""
        self.number += 1
        path = self.work / f"{self.number}.actrace"
        return self("collect", "-o", path, *options, "--preload", self.library, "--", *program), path

    def check(self, path):
        return json.loads(self("check", path, "--json").stdout)

    def events(self, path, *options):
        return [json.loads(line) for line in self("print", path, "--json", *options).stdout.splitlines()]


def functions(program):
    """name -> its code, as offsets in the file's image"""
    lines = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {words[3]: range(int(words[0], 16), int(words[0], 16) + int(words[1], 16))
            for words in map(str.split, lines) if len(words) == 4}


def image_start(path, program):
    """Where the program lay, by the recording."""
    maps = b"".join(part["payload"] for part in chunks.chunks(path) if part["type"] == chunks.MAPPINGS).decode()
    return min(int(line.split("-")[0], 16) for line in maps.splitlines()
               if line.endswith(os.path.realpath(program)) and not line.startswith("build-id"))


def check_stacks(checks, recorder):
    ended, path = recorder.record(recorder.program, "sites", options=("--stacks", 1))
    found = recorder.check(path)
    checks.that(ended.returncode == 0 and found["sound"] and found["lost"] == 0, "a recording with stacks is sound",
                [ended, found])
    events = recorder.events(path, "--stacks")
    code, start = functions(recorder.program), image_start(path, recorder.program)

    def names(event):
        return [next((name for name, where in code.items() if frame - start in where), None)
                for frame in (int(frame, 16) for frame in event.get("frames", ()))]

    lanes = {}
    for more in (0, 10, 20):
        for site, size in SITES.items():
            wanted = size + more * (256 if site == "site_aligned" else 1)
            event = next((event for event in events if event.get("size") == wanted), {})
            stack = names(event)
            checks.that(stack[:2] == [site, "all_sites"], f"{site}, {more}: its stack is known", [event, stack])
            lanes[more, site] = event
    checks.that("main" in names(lanes[0, "site_malloc"]) and lanes[0, "site_resize"]["kind"] == "resize",
                "it goes on to main, and that of a resize is there", lanes[0, "site_resize"])
    checks.that(lanes[10, "site_new"]["thread"] != lanes[0, "site_new"]["thread"] and
                lanes[20, "site_new"]["process"] == 1, "also in another thread, and in a child", lanes[10, "site_new"])
    plain = recorder.events(path, "--all")
    defined = [event for event in plain if event["kind"] == "stack"]
    number, process = lanes[0, "site_malloc"]["stack"], [event["process"] for event in defined]
    checks.that(len({(event["process"], event["lane"], event["stack"]) for event in defined}) == len(defined) and
                set(process) == {0, 1}, "each lane names a stack once, and the child's lanes do", len(defined))
    alike = [event["frames"] for event in defined if event["stack"] == number]
    checks.that(all(frames == alike[0] for frames in alike), "a number is one stack", alike)
    info = recorder("info", path).stdout
    checks.that("stacks of all allocations\n" in info and json.loads(recorder("info", path, "--json").stdout)["stack_every"] == 1,
                "--info says so", info)
    text = recorder("print", path, "--stacks", "--size", 5001).stdout.splitlines()
    checks.that(f"stack {number}" in text[0] and text[1].strip() == lanes[0, "site_malloc"]["frames"][0],
                "print --stacks prints them", text)


def check_stack_in_child(checks, recorder):
    """A child's lanes name the stacks that its parent has named."""
    ended, path = recorder.record(recorder.program, "same", options=("--stacks", 1))
    blocks = recorder.events(path, "--stacks", "--size", "3000-3001")
    defined = {(event["process"], event["stack"]) for event in recorder.events(path, "--all", "--kind", "stack")}
    checks.that(len(blocks) == 101 and len({event["stack"] for event in blocks}) == 1 and
                blocks[-1]["process"] == 1 and {(event["process"], event["stack"]) for event in blocks} <= defined,
                "a child's first stack, which is its parent's last", [ended, blocks[-2:], defined])


def check_short_program(checks, recorder):
    """The collector is stopped from before the program starts until half a second later, when it would have ended."""
    script = "(unset LD_PRELOAD; sleep 0.5; kill -CONT $PPID) & kill -STOP $PPID; exec \"$0\" sites"
    ended, path = recorder.record("sh", "-c", script, recorder.program, options=("--stacks", 1))
    text = b"".join(part["payload"] for part in chunks.chunks(path) if part["type"] == chunks.MAPPINGS).decode()
    checks.that(ended.returncode == 0 and os.path.realpath(recorder.program) in text,
                "the mappings of a program that ends at once are there", [ended, text])


def check_sampled_stacks(checks, recorder):
    count, size, every = 20000, 1000, 10000
    ended, path = recorder.record(recorder.program, "often", count, options=("--stacks", every))
    events = recorder.events(path, "--size", size)
    share = 1 - math.exp(-size / every)
    found, expected, sigma = sum("stack" in event for event in events), count * share, math.sqrt(count * share)
    checks.that(len(events) == count and abs(found - expected) < 6 * sigma,
                "a sampled recording has the stacks of as many blocks as it should", [ended, len(events), found, expected])
    info = recorder("info", path).stdout
    checks.that("one in 10000 bytes" in info, "and --info says of how many", info)
    _, path = recorder.record(recorder.program, "often", 100)
    events = recorder.events(path)
    checks.that(len(events) >= 200 and not any("stack" in event for event in events), "without --stacks there are none")


def check_pause(checks, recorder):
    _, path = recorder.record(recorder.program, "pause")
    before, after = (recorder.events(path, "--kind", "malloc", "--size", size) for size in (3000, 4000))
    checks.that(len(before) == len(after) == 3 and after[0]["time"] - before[-1]["time"] > 0.5,
                "a pause of the program lies between the events that it lay between", [before, after])


def check_runs(checks, recorder):
    """Each small block lies in a run that has been told, and in none that is gone."""
    ended, path = recorder.record(recorder.program, "churn", 200000)
    runs, outside, blocks, gone = {}, [], 0, 0
    for event in recorder.events(path):
        address = int(event.get("address", "0"), 16)
        if event["kind"] == "run":
            runs[address] = event["pages"] * 4096
        elif event["kind"] == "run-gone":
            gone += runs.pop(address, None) is not None
        elif event["kind"] == "malloc" and event["size"] <= 8192:
            blocks += 1
            if not any(0 <= address - start < size for start, size in runs.items()):
                outside.append(event)
    checks.that(ended.returncode == 0 and blocks > 10000 and gone > 10 and not outside,
                "each small block lies in a run that was made and is not gone", [ended, blocks, gone, outside[:3]])
    figures = recorder.events(path, "--kind", "figures")
    checks.that(all(0 < figure["active"] <= figure["mapped"] and figure["metadata"] > 0 for figure in figures) and
                max(figure["active"] for figure in figures) > 5 << 20 and len(figures) >= 2,
                "acre's own figures are there", figures)
    purged = sum(event["pages"] for event in recorder.events(path, "--kind", "purged"))
    checks.that(purged > 1000, "so are pages that went back", purged)


def check_names(checks, recorder):
    ended, path = recorder.record(recorder.program, "names")
    events = recorder.events(path)
    names = [(event["thread"], event["text"]) for event in events if event["kind"] == "name"]
    block = next((event for event in events if event.get("size") == 100), {})
    checks.that(names == [(block.get("thread"), "late name")], "the name that a thread gives itself is there",
                [ended, names, block])


def check_tags(checks, recorder):
    """Each thread's tag is known, from its first event on, in each of its blocks, and in a child."""
    ended, path = recorder.record(recorder.program, "tags")
    found = recorder.check(path)
    checks.that(ended.returncode == 0 and found["sound"], "a recording with tags is sound", [ended, found])
    inner = 'in "quotes"'
    wanted = [None, "outer", inner, None, inner, "outer", "outer", "outer", None]
    for first in (6000, 7000):
        of = {size: tag for size, tag in zip(range(first, first + 9), wanted)}
        for tag in ("outer", inner):
            sizes = {event["size"] for event in recorder.events(path, "--tag", tag, "--size", f"{first}-{first + 8}")}
            checks.that(sizes == {size for size in of if of[size] == tag}, f"events by the tag {tag}", [first, sizes])
    loop = recorder.events(path, "--tag", "outer", "--size", 6005)
    checks.that(len(loop) == 30000, "also where a lane has several blocks", len(loop))
    text = recorder("print", path, "--kind", "tag").stdout
    checks.that(text.count('"in \\"quotes\\""') == 2 * 2 and text.count('  ""') >= 2 * 2, "text has tags, too", text)


def kinds_of_frees(events):
    """-> {size: {kind: count}}"""
    sizes, kinds = {}, collections.defaultdict(collections.Counter)
    for event in events:
        if "size" in event:
            sizes[event["address"]] = event["size"]
        elif event["kind"] in ("free", "sized-free"):
            kinds[sizes.get(event["address"])][event["kind"]] += 1
    return kinds


def check_sized(checks, recorder):
    """Frees for which the program gives the size are told apart."""
    ended, path = recorder.record(recorder.program, "sized")
    found = recorder.check(path)
    checks.that(ended.returncode == 0 and found["sound"], "a recording with sized frees is sound", [ended, found])
    kinds = kinds_of_frees(recorder.events(path))
    for size in (7000, 7001, 7002, 7003, 7004, 7005, 7006, 400000):
        checks.that(set(kinds[size]) == {"sized-free"}, f"blocks of {size} bytes are freed with their size", kinds[size])
    checks.that(kinds[7006]["sized-free"] == 5000 and kinds[7010] == {"free": 4}, "and blocks of 7010 bytes without",
                [kinds[7006], kinds[7010]])


def check_replaced_delete(checks, recorder):
    """Where the program has its own operator delete, the size is not of the next free."""
    ended, path = recorder.record(recorder.deletes)
    kinds = kinds_of_frees(recorder.events(path))
    checks.that(ended.returncode == 0 and recorder.check(path)["sound"] and kinds[7010] == {"free": 4} and
                not kinds[7000], "a free behind a delete of the program's own has no size", [ended, kinds])


def check_forks(checks, recorder):
    """A child has none of what the threads of its parent did after the fork, also of those that began just then."""
    ended, path = recorder.record(recorder.program, "forks", 300)
    cuts, wrong = collections.defaultdict(dict), []
    for event in recorder.events(path, "--all", "--kind", "cut"):
        cuts[event["process"]][event["of_lane"]] = (event["block"], event["byte"])
    parts = chunks.chunks(path)
    starts = {part["process"]: part["first_ticks"] for part in parts if part["type"] == chunks.PROCESS_START}
    for child, its_cuts in cuts.items():
        for part in parts:
            if part["type"] != chunks.EVENTS or part["process"] != 0 or part["last_ticks"] <= starts[child]:
                continue
            lane, end = part["lane"], (part["block"], part["raw_bytes"])
            if end <= its_cuts[lane] if lane in its_cuts else lane < max(its_cuts):
                wrong.append((child, lane, end, its_cuts.get(lane)))
    checks.that(ended.returncode == 0 and len(cuts) == 300 and not wrong,
                "no child has events from after its fork", [ended, len(cuts), wrong])


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="acre-record-", ignore_cleanup_errors=True) as folder:
        recorder = Recorder(*sys.argv[1:5], Path(folder))
        for check in (check_stacks, check_stack_in_child, check_short_program, check_sampled_stacks, check_pause,
                      check_runs, check_names, check_tags, check_sized, check_replaced_delete, check_forks):
            check(checks, recorder)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
