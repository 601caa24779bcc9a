"""acre-trace with a program that records as one on acre does (program.cc): run.py ACRE_TRACE PROGRAM

Exit code 0: all well, 1: not.
"""

import base64
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/package"))

import chunks
from checks import Checks, clean_environment

TIME_LIMIT_S = 120


class Tool:
    def __init__(self, tool, program, work):
        self.tool, self.program, self.work = tool, program, work
        self.number = 0
        self.environment = clean_environment()

    def __call__(self, *words, **options):
        return subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True, timeout=TIME_LIMIT_S,
                              stdin=subprocess.DEVNULL, env=self.environment, **options)

    def new_path(self):
        self.number += 1
        return self.work / f"{self.number}.actrace"

    def collect(self, *program, options=(), **settings):
        """-> what acre-trace said, the file"""
        path = self.new_path()
        return self("collect", "-o", path, *options, "--", self.program, *program, **settings), path

    def begin(self, *program, options=(), stdin=None):
        path = self.new_path()
        return subprocess.Popen([self.tool, "collect", "-o", path, *options, "--", self.program, *map(str, program)],
                                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment), path

    def check(self, path):
        ended = self("check", path, "--json")
        return json.loads(ended.stdout) if ended.stdout else {"sound": False, "problems": [ended.stderr]}

    def processes(self, path):
        return json.loads(self("info", path, "--json").stdout)["processes"]


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(holds, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (found := holds()):
            return found
        time.sleep(0.01)
    return holds()


def check_threads(checks, tool):
    ended, path = tool.collect("threads", 4, 100000)
    found = tool.check(path)
    checks.that(ended.returncode == 0 and ended.stderr.count("\n") == 1 and
                f"wrote {path}: 400000 events" in ended.stderr, "a line says what was written", ended)
    checks.that(found["sound"] and found["events"] == 400000 and found["lanes"] == 4 and found["has_index"],
                "all events of four threads that wait for the collector are there, in an order that can be", found)
    checks.that(found["excused"] == found["frees_of_earlier_blocks"] == 0, "and nothing is excused", found)
    parts = chunks.chunks(path)
    kinds = {part["type"] for part in parts}
    checks.that(kinds >= {chunks.EVENTS, chunks.PROCESS_START, chunks.THREAD, chunks.PROCESS_END, chunks.CLOCK,
                          chunks.MEMORY, chunks.MAPPINGS, chunks.INDEX}, "the file has chunks of all types", kinds)
    start = json.loads(next(part for part in parts if part["type"] == chunks.PROCESS_START)["payload"])
    checks.that(start["argv"] == [tool.program, "threads", "4", "100000"] and start["parent"] is None and
                start["exe"] == os.path.realpath(tool.program), "the process's command is there", start)
    maps = next(part for part in parts if part["type"] == chunks.MAPPINGS)["payload"].decode()
    checks.that(f" {os.path.realpath(tool.program)}\n" in maps and "build-id " in maps, "so are its mappings", maps)
    samples = [struct.unpack_from("<4Q", part["payload"], at) for part in parts if part["type"] == chunks.MEMORY
               for at in range(0, part["raw_bytes"], 32)]
    checks.that(samples and all(mapped > resident > 0 for _, mapped, resident, _ in samples), "and its memory", samples)
    clocks = [struct.unpack_from("<3Q", part["payload"]) for part in parts if part["type"] == chunks.CLOCK]
    checks.that(len(clocks) >= 2 and clocks == sorted(clocks), "and pairs of clocks", clocks)


def plotted(path):
    """-> the lines of a plot's data by name; a function that reads their arrays"""
    found = {line["name"]: line for line in map(json.loads, path.read_text().splitlines())}

    def array(name):
        kind = {"u8": "B", "u32": "I", "f32": "f", "f64": "d"}[found[name]["type"]]
        data = zlib.decompress(base64.b64decode(found[name]["data"]), -15)
        return struct.unpack(f"<{found[name]['count']}{kind}", data)
    return found, array


def check_plot(checks, tool):
    _, path = tool.collect("threads", 3, 20000)
    data = path.with_suffix(".plot")
    ended = tool("plot", path, "-o", data)
    checks.that(ended.returncode == 0 and ended.stderr == "", "a recording is plotted without a word", ended)
    found, array = plotted(data)
    meta, counts = found["meta"], tool.check(path)
    checks.that(meta["events"] == counts["events"] and meta["notes"] == [] and len(meta["threads"]) == 3,
                "all of it", meta)
    checks.that(sum(array("curve:alloc_count")) == counts["allocations"] and
                sum(array("curve:free_count")) == counts["frees"], "each event is in a curve", counts)
    live = {}
    for line in tool("print", path, "--json").stdout.splitlines():
        event = json.loads(line)
        if event["kind"] == "malloc":
            live[event["address"]] = event["size"]
        elif event["kind"] == "free":
            del live[event["address"]]
    checks.that(array("curve:live_min")[-1] <= sum(live.values()) <= array("curve:live_bytes")[-1],
                "what lives at the end is what the events leave", sum(live.values()))
    blocks = found["blocks:0:0:0"]
    named = blocks["columns"]["from"]["count"]
    checks.that(blocks["complete"] and blocks["count_all"] == named == counts["allocations"], "each block is named",
                named)
    checks.that(any(array("tile:0:0:0")[:65536]), "and they are in the image", sorted(found))
    _, path = tool.collect("fork", 300)
    ended = tool("plot", path, "-o", data, "--process", 1, "--from", 0, "--to", 1e9)
    checks.that(ended.returncode == 0 and plotted(data)[0]["meta"]["process"] == 1, "a forked child by itself", ended)
    ended = tool("plot", path, "-o", data, "--process", 9)
    checks.that(ended.returncode == 1 and "has no process 9" in ended.stderr, "a process that there is not", ended)
    ended = tool("plot", path, "-o", "/dev/full")
    checks.that(ended.returncode == 1 and "cannot write '/dev/full': No space left on device" in ended.stderr,
                "a full disk", ended)


def check_ends(checks, tool):
    ended, path = tool.collect("kill", 500)
    found = tool.check(path)
    checks.that(ended.returncode == -signal.SIGKILL, "who starts it sees how the program ended", ended)
    checks.that(found["sound"] and found["events"] >= 500 and found["excused"] == 0,
                "a kill in the midst of allocations loses nothing", found)
    process, = tool.processes(path)
    checks.that((process["end"], process["status"]) == ("signal", 9), "the file says that a signal ended it", process)
    ended, path = tool.collect("exit", 7)
    checks.that(ended.returncode == 7 and tool.processes(path)[0]["status"] == 7, "an exit code is passed on", ended)
    ended, path = tool.collect("exec", 1000)
    first, second = tool.processes(path)
    checks.that(ended.returncode == 0 and (first["end"], second["end"]) == ("exec", "exit") and
                (first["events"], second["events"]) == (1, 1000), "an exec begins another process", [first, second])
    path = tool.new_path()
    ended = tool("collect", "-o", path, "--", "true")
    checks.that(ended.returncode == 0 and
                ended.stderr == "acre record: nothing was recorded: acre was not loaded in true\n",
                "a program without acre is told as such", ended)
    for name, code in (("/no/such/program", 127), ("/etc/passwd", 126)):
        ended = tool("collect", "-o", path, "--", name)
        checks.that(ended.returncode == code and ended.stderr.count("\n") == 1, f"{name}: {code} and a line", ended)


def check_forks(checks, tool):
    ended, path = tool.collect("fork", 20000)
    found = tool.check(path)
    checks.that(ended.returncode == 3 and found["sound"] and found["events"] == 80000, "a forked child is recorded",
                found)
    checks.that(found["frees_of_earlier_blocks"] == 0, "its frees of its parent's blocks are known", found)
    parent, child = tool.processes(path)
    checks.that(child["start"]["parent"] == parent["process"], "the file says whose child it is", child)
    ended, path = tool.collect("daemon", 1)
    parent, child = tool.processes(path)
    checks.that(ended.returncode == 5 and child["events"] == 100 and child["end"] in ("exit", "unknown"),
                "a process that the program leaves behind is recorded to its end", [ended, child])


def check_child_that_is_gone(checks, tool):
    """It has ended before the collector looks at it."""
    collector, path = tool.begin("fork, when told", 100, stdin=subprocess.PIPE)
    collector.stdout.readline()
    wait_for(lambda: path.exists() and path.stat().st_size > 1000)  # what the program is has been written
    collector.send_signal(signal.SIGSTOP)
    collector.stdin.write("\n")
    collector.stdin.close()
    collector.stdout.readline()  # it is done
    collector.send_signal(signal.SIGCONT)
    collector.wait(20)
    parent, child = tool.processes(path)
    same = ("exe", "argv")
    checks.that([child["start"][of] for of in same] == [parent["start"][of] for of in same] and child["events"] == 200,
                "a child that ended before anybody looked is what its parent is", [parent, child])
    maps = [part["process"] for part in chunks.chunks(path) if part["type"] == chunks.MAPPINGS and part["raw_bytes"] > 0]
    checks.that(child["process"] in maps, "with its mappings", maps)


def check_disorder(checks, tool):
    ended, path = tool.collect("disorder", 20000)
    found = tool("check", path)
    checks.that(ended.returncode == 0 and found.returncode == 1 and "does not have its shard" in found.stdout,
                "a takeover that was left out is found", found)


def check_signals(checks, tool):
    collector, path = tool.begin("slow", 60)
    collector.stdout.readline()  # some events are there
    collector.send_signal(signal.SIGINT)  # as a terminal does, to both: this one has not got it
    time.sleep(0.2)
    checks.that(collector.poll() is None, "the program's SIGINT is not the collector's end")
    collector.send_signal(signal.SIGTERM)
    checks.that(collector.wait(20) == -signal.SIGTERM, "a SIGTERM goes to the program", collector.poll())
    found = tool.check(path)
    checks.that(found["sound"] and found["events"] >= 20 and tool.processes(path)[0]["status"] == signal.SIGTERM,
                "what was recorded until then is there", found)


def check_killed_collector(checks, tool):
    """The program goes on, and what was written is read."""
    collector, path = tool.begin("threads", 1, 30000000)
    program = wait_for(lambda: children_of(collector.pid))[0]
    wait_for(lambda: path.exists() and path.stat().st_size > 500000)
    collector.kill()
    collector.wait()
    checks.that(os.path.exists(f"/proc/{program}"), "a killed collector leaves the program alone")
    os.kill(program, signal.SIGKILL)
    found = tool.check(path)
    checks.that(found["sound"] and not found["has_index"] and found["events"] > 10000,
                "a file without its end is read", found)
    text = tool("check", path)
    checks.that("there is no index" in text.stdout, "and it is said", text)


def check_bounds(checks, tool):
    ended, path = tool.collect("slow", 3, options=("--for", "1"))
    process, = tool.processes(path)
    checks.that(ended.returncode == 0 and "all\n" in ended.stdout, "--for leaves the program running", ended)
    checks.that(process["end"] == "runs" and 0 < process["events"] < 300, "and ends the recording", process)
    limit = 4 << 20
    ended, path = tool.collect("threads", 2, 1500000, options=("--limit", limit))
    found = tool.check(path)
    size = sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))
    checks.that("the oldest events were dropped" in ended.stderr and not path.exists() and size <= limit,
                "--limit bounds the files", [ended, size])
    checks.that(found["sound"] and 100000 < found["events"] < 3000000 and size > limit / 2,
                "and the last events are sound", found)
    events = [json.loads(line) for line in tool("print", path, "--json", "--stacks", "--size", 600).stdout.splitlines()]
    frames = {tuple(event.get("frames", ())) for event in events}
    checks.that(len(events) > 50 and frames == {("0x1000", "0x500"), ("0x2000", "0x500")},
                "stacks that were named in segments which are gone are known", [len(events), frames])
    for segment in path.parent.glob(path.name + ".*"):
        parts = chunks.chunks(segment)
        lanes = [{(part["process"], part["lane"]) for part in parts if part["type"] == kind}
                 for kind in (chunks.EVENTS, chunks.THREAD)]
        checks.that(lanes[0] and lanes[0] <= lanes[1] and any(part["type"] == chunks.PROCESS_START for part in parts),
                    f"{segment.suffix} says what its processes and threads are", lanes)
    ended, path = tool.collect("threads", 1, 1000, options=("--limit", limit))
    checks.that(path.exists() and tool.check(path)["events"] == 1000, "a short recording with a bound is one file",
                ended)


def check_full_disk(checks, tool):
    ended = tool("collect", "-o", "/dev/full", "--", tool.program, "exit", 0)
    checks.that(ended.returncode == 1 and ended.stderr.count("\n") == 1 and
                ended.stderr.startswith("acre record: cannot write '/dev/full': No space left"),
                "a disk that is full from the beginning: a line", ended)
    ended = tool("collect", "-o", "/no/such/folder/a", "--", tool.program, "exit", 0)
    checks.that(ended.returncode == 1 and
                ended.stderr == "acre record: cannot write '/no/such/folder/a': No such file or directory\n",
                "a folder that is not there: a line", ended)

    folder = tool.work / "small"
    folder.mkdir()
    path = folder / "a.actrace"
    mount = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*mount, "mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode != 0:
        print("skip  no file system may be mounted here: a disk that becomes full")
        return
    script = (f"mount -t tmpfs -o size=300k none '{folder}' && '{tool.tool}' collect -o '{path}' -- '{tool.program}' "
              f"threads 3 100000; echo $?; '{tool.tool}' check --json '{path}'")
    ended = subprocess.run([*mount, "sh", "-c", script], capture_output=True, text=True, timeout=TIME_LIMIT_S)
    code, _, found = ended.stdout.partition("\n")
    checks.that(code == "0" and ended.stderr.count("\n") == 1 and "No space left" in ended.stderr and
                "the program goes on" in ended.stderr, "a disk that becomes full: a line, and the program goes on",
                ended)
    found = json.loads(found)
    checks.that(found["sound"] and found["events"] > 10000 and found["damaged_bytes"] == 0,
                "what was written is whole", found)


def check_attach(checks, tool):
    path = tool.new_path()
    collector = subprocess.Popen([tool.tool, "collect", "-o", path, "--attach"], stdout=subprocess.PIPE, text=True,
                                 stderr=subprocess.PIPE, env=tool.environment)
    setting = collector.stdout.readline().strip()
    time.sleep(0.5)
    checks.that(collector.poll() is None, "a collector waits for a program that is told of it")
    again = tool("collect", "-o", path, "--attach")
    checks.that(again.returncode == 1 and "is being written by another recording" in again.stderr,
                "two recordings into one file: a line", again)
    subprocess.run([tool.program, "threads", "2", "10000"], env=dict(tool.environment, ACRE_CONF=f"record:{setting}"))
    checks.that(collector.wait(20) == 0 and tool.check(path)["events"] == 20000, "and ends with it",
                collector.stderr.read())
    earlier = path.read_bytes()
    for options in ((), ("--limit", str(4 << 20)), ("--for", "0.1")):
        with subprocess.Popen([tool.tool, "collect", "-o", path, *options, "--attach"], stdout=subprocess.PIPE,
                              env=tool.environment) as collector:
            collector.stdout.readline()
            time.sleep(0.3)  # it writes the time each 100 ms
            checks.that(collector.poll() is None and path.read_bytes() == earlier,
                        "one that nobody joins waits, and leaves an earlier recording as it is", options)
            collector.terminate()
        checks.that(collector.returncode == 0 and path.read_bytes() == earlier and
                    not list(path.parent.glob(f"{path.name}.*")), "it leaves nothing at its end", options)
    path = tool.new_path()
    collector = subprocess.Popen([tool.tool, "collect", "-o", path, "--attach"], stdout=subprocess.PIPE, text=True,
                                 stderr=subprocess.PIPE, env=tool.environment)
    setting = collector.stdout.readline().strip()
    program = subprocess.Popen([tool.program, "slow", "60"], stdout=subprocess.PIPE, text=True,
                               env=dict(tool.environment, ACRE_CONF=f"record:{setting}"))
    program.stdout.readline()
    collector.send_signal(signal.SIGINT)
    code = collector.wait(20)
    checks.that(code == 0 and program.poll() is None and tool.processes(path)[0]["end"] == "runs",
                "SIGINT ends such a recording, and not the program", code)
    program.kill()
    program.wait()


def check_print(checks, tool):
    _, path = tool.collect("fork", 100)
    lines = [json.loads(line) for line in tool("print", path, "--json", "--all").stdout.splitlines()]
    kinds = {line["kind"] for line in lines}
    checks.that({"malloc", "free", "takeover", "sync", "cut", "end"} <= kinds, "print --all prints all kinds", kinds)
    text = tool("print", path).stdout.splitlines()
    checks.that(len(text) == 400, "print prints what allocates and frees", len(text))
    def count(*words):
        return len(tool("print", path, *words).stdout.splitlines())
    checks.that(count("--kind", "free") == 200 and count("--size", "64") == 100 and count("--size", "0-63") == 100
                and count("--process", 1) == 200 and count("--address", "0x7f0000000000-0x7f000000003f") == 4,
                "filters choose events")
    thread = lines[-1]["thread"]
    checks.that(0 < count("--thread", thread) < 400, "also by thread")
    _, slow = tool.collect("slow", 1)
    parts = [len(tool("print", slow, *words).stdout.splitlines()) for words in (("--to", "0.5"), ("--from", "0.5"))]
    checks.that(sum(parts) == 100 and min(parts) > 10, "and by time", parts)
    for words in (("--kind", "frobnicate"), ("--size", "9-3"), ("--from", "soon"), ("--process", "-1")):
        ended = tool("print", path, *words)
        checks.that(ended.returncode == 2 and ended.stderr.count("\n") == 1, f"{' '.join(words)}: 2 and a line", ended)
    def shell(script):
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    piped = shell(f"'{tool.tool}' print '{path}' --all | head -n 1")
    checks.that(piped.returncode == 0 and not piped.stderr and piped.stdout.count("\n") == 1, "a broken pipe is quiet",
                piped)
    full = shell(f"'{tool.tool}' print '{path}' >/dev/full")
    checks.that(full.returncode == 1 and full.stderr.count("\n") == 1, "a full stdout: a line", full)
    data = bytearray(path.read_bytes())
    events = next(part for part in chunks.chunks(path) if part["type"] == chunks.EVENTS)
    data[events["offset"] + 70] ^= 1
    path.write_bytes(data)
    ended = tool("print", path)
    checks.that(ended.returncode == 1 and ended.stderr.count("\n") == 1 and "damaged" in ended.stderr and ended.stdout,
                "of a damaged file what is whole is printed, and a line says what is not", ended)


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="acre-trace-", ignore_cleanup_errors=True) as folder:
        tool = Tool(*sys.argv[1:3], Path(folder))
        for check in (check_threads, check_ends, check_forks, check_child_that_is_gone, check_disorder, check_signals,
                      check_killed_collector, check_bounds, check_full_disk, check_attach, check_print, check_plot):
            check(checks, tool)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
