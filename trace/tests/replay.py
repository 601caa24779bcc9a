"""acre-trace schedule and acre-replay: replay.py ACRE_TRACE ACRE_REPLAY PROGRAM OVERLAPPING_MALLOC [LIBACRE]

What the player had is held against what the events say, as `acre-trace print` has them."""

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from run import Checks, Tool

THREADS = """
import os, queue, threading
passed = queue.Queue(50)
def consume():
    while passed.get() is not None:
        pass
threads = [threading.Thread(target=consume) for _ in range(3)]
for thread in threads: thread.start()
kept = []
for i in range(4000):
    passed.put(bytearray(600 + i % 3000))
    if i % 7 == 0: kept.append(bytearray(1000)); kept[-1].extend(bytes(5000))
    if i % 100 == 0: kept[0].extend(bytes(50000))
    if i == 2000:
        child = os.fork()
        if child == 0:
            more = [bytearray(700) for _ in range(500)]
            kept.clear()
            os._exit(0)
        os.waitpid(child, 0)
for _ in threads: passed.put(None)
for thread in threads: thread.join()
"""

NO_HUGE_PAGES = "huge_pages:never"
GROWS = """
import time
kept = []
for i in range(40000):
    kept.append(b"x" * (100 + i % 3000))
    if i % 5 == 0: kept[i // 2] = None
time.sleep(0.4)
"""


class Replay(Tool):
    def __init__(self, tool, player, program, bad, library, work):
        super().__init__(tool, program, work)
        self.player, self.bad, self.library = player, bad, library

    def schedule(self, path, *words):
        """-> what acre-trace says of it, the schedule"""
        made = path.with_suffix(".schedule")
        ended = self("schedule", path, "-o", made, "--json", *words)
        return json.loads(ended.stdout), made

    def play(self, schedule, *words, preload=None, **settings):
        environment = dict(os.environ, **settings, **({"LD_PRELOAD": str(preload)} if preload else {}))
        return subprocess.run([self.player, *words, schedule], capture_output=True, text=True, timeout=60,
                              env=environment)

    def allocators(self):
        return [None] + [self.library] * (self.library is not None)

    def curve(self, path, process=0):
        """Bytes that live after each event of a block."""
        live, moves, bytes_now, curve = {}, {}, 0, [0]
        for line in self("print", path, "--json", "--process", process).stdout.splitlines():
            event = json.loads(line)
            kind, lane = event["kind"], event["lane"]
            # Of a realloc, the block that it left may come first.
            if kind in ("realloc", "realloc-from"):
                other = moves.pop(lane, None)
                if other is None:
                    moves[lane] = event
                    continue
                left, got = (event, other) if kind == "realloc-from" else (other, event)
                bytes_now += got["size"] - live.pop(left["address"])
                live[got["address"]] = got["size"]
            elif kind in ("malloc", "calloc", "aligned", "resize"):
                bytes_now += event["size"] - live.get(event["address"], 0)
                live[event["address"]] = event["size"]
            elif kind in ("free", "sized-free"):
                bytes_now -= live.pop(event["address"])
            else:
                continue
            curve.append(bytes_now)
        return curve


def is_part_of(samples, curve):
    """Each sample is found in the curve, behind the one before it."""
    rest = iter(curve)
    return all(any(value == bytes_then for bytes_then in rest) for value in samples)


def check_play(checks, tool, name, path):
    said, schedule = tool.schedule(path)
    curve = tool.curve(path)
    checks.that(said.get("earlier") == said.get("contradictions") == 0 and said["peak_bytes"] == max(curve),
                f"{name}: the schedule has all of it", said)
    sums = set()
    for preload in tool.allocators():
        for words in ([], ["--touch", "none", "--latency"], ["--touch", "ends"]):
            ended = tool.play(schedule, *words, preload=preload)
            found = json.loads(ended.stdout) if ended.returncode == 0 else {}
            checks.that(found.get("operations") == said["operations"] and found["threads"] == said["threads"] and
                        ("latency_ns" in found) == ("--latency" in words),
                        f"{name} plays on {preload or 'glibc'} {' '.join(words)}", ended.stderr or found)
            live = [sample[1] for sample in found.get("samples", [])]
            checks.that(len(live) > 20 and is_part_of(live, curve) and live[-1] == curve[-1],
                        "what lives is exactly what was recorded", live)
            if "latency_ns" in found:
                calls = found["latency_ns"]
                checks.that(calls["malloc"]["calls"] + calls["free"]["calls"] == said["operations"], "calls are timed",
                            calls)
            sums.add(found.get("checksum"))
            most = max((sample[2] for sample in found.get("samples", [])), default=0)
            checks.that(found["peak_resident_bytes"] >= most > 0 and
                        (words != [] or found["peak_resident_bytes"] > 0.9 * said["peak_bytes"]),
                        "resident memory is that of the blocks", found["peak_resident_bytes"])
    checks.that(len(sums) == 1, "and all do the same", sums)
    return said, schedule


def check_errors(checks, tool, schedule):
    if tool.library:  # without a sanitizer, which has a malloc of its own
        ended = tool.play(schedule, preload=tool.bad)
        checks.that(ended.returncode == 1 and not ended.stdout and ended.stderr.count("\n") == 1 and
                    "a block is not what was written to it" in ended.stderr, "blocks that overlap are found", ended)
    data = schedule.read_bytes()
    damaged = schedule.with_suffix(".damaged")
    for size in (0, 7, 60, 1000, len(data) // 2, len(data) - 1):
        damaged.write_bytes(data[:size])
        ended = tool.play(damaged)
        checks.that(ended.returncode == 1 and ended.stderr.count("\n") == 1, f"cut off after {size} bytes: a line",
                    ended)
    for words in (["--touch", "some", schedule], [], ["--frobnicate", schedule], [schedule, schedule]):
        ended = subprocess.run([tool.player, *words], capture_output=True, text=True)
        checks.that(ended.returncode == 2 and ended.stderr.count("\n") == 1, f"{words[:-1]}: 2 and a line", ended)
    nothing = tool.work / "nothing.actrace"
    said, made = tool.schedule(nothing)
    ended = tool("schedule", nothing, "-o", made)
    checks.that(ended.returncode == 1 and ended.stderr == f"acre replay: {said['error']}\n", "no file: a line", ended)


class Words:
    """A schedule in memory (trace/replay/format.h), to be damaged."""

    WAIT, TIME = 7, 10

    def __init__(self, schedule):
        self.data = bytearray(schedule.read_bytes())
        _, self.threads, _, _, entries = struct.unpack_from("<8sIIQQ", self.data)
        self.places = []  # of all words
        for thread in range(self.threads):
            _, piece = struct.unpack_from("<QQ", self.data, entries + 16 * thread)
            while piece != 0:
                following, count = struct.unpack_from("<QQ", self.data, piece)
                self.places += range(piece + 16, piece + 16 + 8 * count, 8)
                piece = following

    def of(self, operation):
        return [at for at in self.places if self.data[at] & 15 == operation]

    def count(self, thread):
        """Words of a thread."""
        entries = struct.unpack_from("<Q", self.data, 24)[0]
        return struct.unpack_from("<Q", self.data, entries + 16 * thread)[0]

    def change(self, at, change):
        struct.pack_into("<Q", self.data, at, change(struct.unpack_from("<Q", self.data, at)[0]))


def check_damage(checks, tool, schedule):
    """Whatever is in a schedule, its player comes to an end, with a line if it is not well."""
    damaged = schedule.with_suffix(".damaged")

    def play(words, *options):
        """-> its exit code and what it said"""
        damaged.write_bytes(words.data)
        try:
            ended = tool.play(damaged, *options)
        except subprocess.TimeoutExpired:
            return None, "it waits forever"
        return ended.returncode, ended.stderr

    words = Words(schedule)
    for at in words.of(Words.WAIT):  # for the other's end
        words.change(at, lambda word: word & 0xFFFFFFFF | (words.count(word >> 5 & 0x7FFFFFF) - 1) << 32)
    code, text = play(words)
    checks.that(code == 1 and "threads wait for each other" in text and text.count("\n") == 1,
                "threads that wait for each other: a line", text)
    words = Words(schedule)
    words.change(words.of(Words.TIME)[-1], lambda word: word | 1 << 62)
    code, text = play(words, "--pace")
    checks.that(code == 1 and text.count("\n") == 1, "a time in years: a line", text)
    random, wrong = Random(1), []
    for _ in range(150):
        words = Words(schedule)
        for _ in range(random.randint(1, 3)):
            at = random.choice((random.choice(words.places), random.choice(words.of(Words.WAIT)),
                                random.randrange(0, len(words.data) - 8, 8)))
            words.change(at, lambda word: word ^ 1 << random.randrange(64))
        code, text = play(words, *random.choice(([], ["--pace"], ["--touch", "none"])))
        if (code, text.count("\n")) not in ((0, 0), (1, 1)):
            wrong.append((code, text))
    checks.that(not wrong, "any bits may be wrong: a line, or none", wrong)


def check_pace(checks, tool):
    _, path = tool.collect("slow", 1)
    said, schedule = tool.schedule(path)
    found = json.loads(tool.play(schedule, "--pace").stdout)
    checks.that(said["seconds"] > 0.9 and all(sample[0] >= sample[3] for sample in found["samples"]),
                "with --pace nothing comes before its time", found)


def check_real(checks, tool):
    """A program on acre: threads that free each other's blocks, and a fork."""
    path = tool.work / "threads.actrace"
    environment = dict(os.environ, PYTHONMALLOC="malloc")
    ended = subprocess.run([tool.tool, "collect", "-o", path, "--preload", tool.library, "--", "/usr/bin/python3", "-c",
                            THREADS], capture_output=True, text=True, env=environment)
    checks.that(ended.returncode == 0, "a program on acre is recorded", ended)
    said, _ = check_play(checks, tool, "a producer with consumers", path)
    checks.that(said["threads"] == 4 and said["waits"] > 100 and said["other_processes"] == 1,
                "its threads wait for each other", said)
    child, schedule = tool.schedule(path, "--process", 1)
    checks.that(child["inherited"] > 1000 and child["earlier"] == 0, "a child begins with its parent's blocks", child)
    for preload in tool.allocators():
        ended = tool.play(schedule, preload=preload)
        checks.that(ended.returncode == 0, f"and plays on {preload or 'glibc'}", ended.stderr)


def check_memory(checks, tool):
    """A program that writes to all that it allocates. Whether the system has huge pages is its own affair."""
    path = tool.work / "grows.actrace"
    subprocess.run([tool.tool, "collect", "-o", path, "--preload", tool.library, "--conf", NO_HUGE_PAGES, "--",
                    "/usr/bin/python3", "-c", GROWS],
                   check=True, capture_output=True, env=dict(os.environ, PYTHONMALLOC="malloc"))
    said, schedule = tool.schedule(path)
    found = json.loads(tool.play(schedule, preload=tool.library, ACRE_CONF=NO_HUGE_PAGES).stdout)
    for name in ("peak", "mean"):
        program, replay = said[f"resident_{name}"], found[f"{name}_resident_bytes"]
        checks.that(abs(replay / program - 1) < 0.03, f"{name} memory is the program's within 3 %", (program, replay))


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="acre-replay-", ignore_cleanup_errors=True) as folder:
        library = sys.argv[5] if len(sys.argv) > 5 else None
        tool = Replay(*sys.argv[1:5], library, Path(folder))
        _, path = tool.collect("threads", 4, 5000)
        _, schedule = check_play(checks, tool, "threads that free each other's blocks", path)
        check_errors(checks, tool, schedule)
        _, path = tool.collect("threads", 4, 400)
        _, schedule = tool.schedule(path)
        check_damage(checks, tool, schedule)
        _, path = tool.collect("fork", 2000)
        check_play(checks, tool, "a program that forks", path)
        check_pace(checks, tool)
        if library:
            check_real(checks, tool)
            check_memory(checks, tool)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
