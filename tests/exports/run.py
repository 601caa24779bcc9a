"""What `acre trace --export` writes, read by the tools that it is for, and what `--import` makes of theirs.

Exit code 0: all well, 1: not.
"""

import difflib
import gzip
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "package"), str(HERE.parent / "profile")]

from browser import Browser, find
from checks import Checks, clean_environment, run
from pprof import Profile, fields

VIEWER = Path("/usr/libexec/valgrind/dh_view.html")  # DHAT's
KEPT, SIZE, DROPPED, DROP, MOVED = 1000, 3000, 500, 200, 200000  # of sites.c
CHILD, CHILD_SIZE = 100, 7000


class Exports:
    def __init__(self, checks, folder):
        self.checks, self.folder, self.environment = checks, folder, clean_environment()
        self.program = folder / "sites"
        subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-builtin", HERE / "sites.c", "-o", self.program,
                        "-pthread"], check=True)
        self.one, self.two, self.sampled = (folder / f"{name}.actrace" for name in ("one", "two", "sampled"))
        for path, rate, words in ((self.one, "", []), (self.two, "", ["child"]), (self.sampled, "=16K", [])):
            checks.succeeds("acre record --stacks", [ROOT / "acre", "record", f"--stacks{rate}", "-o", path, "--",
                                                     self.program, *words], environment=self.environment)

    def trace(self, *words):
        return run([ROOT / "acre", "trace", *words], environment=self.environment)

    def export(self, recording, form, name, *words):
        path = self.folder / name
        said = self.trace(recording, "--export", form, "-o", path, *words)
        if said.returncode != 0 or said.stdout != f"{path}\n":
            self.checks.that(False, f"--export {form} {' '.join(words)}", said)
        return path

    def imported(self, file):
        path = self.folder / f"{file.name}.actrace"
        said = self.trace(file, "--import", "-o", path)
        check = json.loads(self.trace(path, "--check", "--json").stdout)
        self.checks.that(said.returncode == 0 and check["sound"], f"what is imported of {file.name} is sound",
                         f"{said}\n{check}")
        return path

    def profile(self, recording, name, *words):
        """-> the functions of a stack, innermost first -> its values by their kinds"""
        profile, found = Profile(self.export(recording, "pprof", name, *words)), defaultdict(lambda: defaultdict(int))
        names = functions(self.folder / name)
        for stack, values, labels in profile.samples:
            for kind, value in values.items():
                found[tuple(name for at in stack for name in names[at]), labels.get("process", "")][kind] += value
        return found


def functions(path):
    """Of a profile: a location's number -> its functions, innermost first."""
    top = defaultdict(list)
    for number, value in fields(gzip.decompress(path.read_bytes())):
        top[number].append(value)
    texts = [text.decode() for text in top[6]]
    known = {(function := dict(fields(value)))[1]: texts[function.get(2, 0)] for value in top[5]}
    return {dict(fields(value))[1]: [known[dict(fields(line))[1]] for number, line in fields(value) if number == 4]
            for value in top[4]}


def of(samples, function, kind, process=""):
    return sum(values[kind] for (stack, label), values in samples.items() if function in stack and label.endswith(process))


def check_pprof(checks, exports):
    samples = exports.profile(exports.one, "one.pb.gz")
    kept = [of(samples, "keeps", kind) for kind in ("alloc_objects", "alloc_space", "inuse_space", "temporary_objects")]
    checks.that(kept == [KEPT + 1, KEPT * SIZE + 1000, (KEPT - 1) * SIZE, 0], "pprof: what was allocated and lives", kept)
    drops = [of(samples, "drops", kind) for kind in ("alloc_space", "temporary_objects", "temporary_space", "inuse_space")]
    checks.that(drops == [DROPPED * DROP, DROPPED, DROPPED * DROP, 0], "what was temporary", drops)
    fours = [of(found, "fours", "temporary_objects") for found in
             (samples, *(exports.profile(exports.one, f"within{n}.pb.gz", "--within", n) for n in (3, 4)))]
    checks.that(fours == [0, 0, 20], "--within: freed within so many events", fours)
    checks.that(of(samples, "moves", "inuse_space") == MOVED, "a realloc belongs to who called it", samples)
    stack = next(stack for stack, _ in samples if "keeps" in stack)
    checks.that(stack[:3] == ("inlined", "keeps", "main"), "with what was inlined", stack)
    mark, = (json.loads(line) for line in exports.trace(exports.one, "--json", "--kind", "mark").stdout.splitlines())
    samples = exports.profile(exports.one, "half.pb.gz", "--at", f"{mark['time']:.6f}")
    half = [of(samples, "keeps", "inuse_space"), of(samples, "moves", "inuse_space"), of(samples, "moves", "alloc_space")]
    checks.that(half == [KEPT * SIZE, 0, MOVED], "--at: what lived then", half)
    samples = exports.profile(exports.one, "later.pb.gz", "--from", f"{mark['time']:.6f}")
    later = [of(samples, "keeps", "alloc_space"), of(samples, "drops", "alloc_objects"), of(samples, "moves", "inuse_space")]
    checks.that(later[::2] == [1000, MOVED] and DROPPED - 16 <= later[1] <= DROPPED,  # there is a time each 16 events
                "--from: what was allocated since", later)
    samples = exports.profile(exports.two, "two.pb.gz")
    child = [of(samples, "keeps", kind, "1 sites") for kind in ("alloc_space", "inuse_space")]
    checks.that(child == [CHILD * CHILD_SIZE, CHILD * CHILD_SIZE + (KEPT - 1) * SIZE],
                "a forked child has its parent's blocks", child)
    samples = exports.profile(exports.sampled, "sampled.pb.gz")
    share = of(samples, "keeps", "alloc_space") / (KEPT * SIZE)
    checks.that(0.6 < share < 1.5, "a sample stands for all", share)  # 180 samples, give or take 13
    if checks.has("go", "go tool pprof reads profiles"):
        said = run(["go", "tool", "pprof", "-top", "-sample_index=temporary_space", exports.folder / "one.pb.gz"], timeout=200,
                   environment=clean_environment(HOME=exports.folder))
        checks.that(re.search(r"97\.66kB .* drops\n", said.stdout) is not None, "go tool pprof shows it", said)
    said = run([ROOT / "acre", "heap", exports.folder / "one.pb.gz", "-n", 1])
    checks.that(said.stdout.startswith("sites (process ") and "2.9 MiB" in said.stdout, "so does acre heap", said)


def check_dhat(checks, exports):
    path = exports.export(exports.one, "dhat", "dhat.out.json")
    data = json.loads(path.read_text())
    names = [re.sub(r"^0x\w+: | \(.*", "", text) for text in data["ftbl"]]
    kept = max(data["pps"], key=lambda point: point["tb"])
    drops = next(point for point in data["pps"] if names[point["fs"][0]] == "drops")
    checks.that([names[at] for at in kept["fs"][:3]] == ["inlined", "keeps", "main"], "dhat: frames, innermost first", names)
    checks.that((kept["tb"], kept["tbk"], kept["mb"], kept["eb"]) == (KEPT * SIZE, KEPT, KEPT * SIZE, (KEPT - 1) * SIZE)
                and (drops["tbk"], drops["mb"], drops["mbk"], drops["eb"]) == (DROPPED, DROP, 1, 0),
                "dhat: totals, the most at a time, and what lives at the end", [kept, drops])
    peak = sum(point["gb"] for point in data["pps"])
    checks.that(data["tg"] <= data["te"] and kept["gb"] <= peak <= sum(point["mb"] for point in data["pps"])
                and kept["tl"] > drops["tl"], "the peak and lifetimes are possible", data)
    if find() is None or not VIEWER.exists():
        return checks.has("chromium-headless-shell", "DHAT's viewer") and checks.has("valgrind", "DHAT's viewer")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(find(), home)
        try:
            browser.open(VIEWER)
            browser.value(f"(() => {{ const files = new DataTransfer(); files.items.add(new File([{json.dumps(path.read_text())}],"
                          " 'dhat')); gInput.files = files.files; loadFile(); })()")
            browser.wait_for("document.body.innerText.includes('keeps (')")
            text = browser.value("document.body.innerText")
        finally:
            browser.close()
    checks.that(f"Command: {exports.program}" in text and "t-gmax" in text and re.search(r"Total: *[\d,]+ bytes", text)
                and "#1: 0x" in text and "inlined (" in text, "DHAT's viewer shows it", text[:1500])


def check_firefox(checks, exports):
    profile = json.loads(gzip.decompress(exports.export(exports.two, "firefox", "profile.json.gz").read_bytes()))
    texts, problems = profile["shared"]["stringArray"], []

    def inside(what, column, table):
        if any(value is not None and not 0 <= value < table["length"] for value in column):
            problems.append(what)

    for thread in profile["threads"]:
        for name, table in thread.items():
            if isinstance(table, dict) and "length" in table:
                problems += [f"{name}.{column}" for column, values in table.items()
                             if isinstance(values, list) and len(values) != table["length"]]
        inside("prefix", thread["stackTable"]["prefix"], thread["stackTable"])
        inside("frame", thread["stackTable"]["frame"], thread["frameTable"])
        inside("func", thread["frameTable"]["func"], thread["funcTable"])
        inside("stack", thread["nativeAllocations"]["stack"], thread["stackTable"])
        inside("name", thread["funcTable"]["name"], {"length": len(texts)})
        inside("source", thread["funcTable"]["source"], profile["shared"]["sources"])
        if any(a is not None and a >= at for at, a in enumerate(thread["stackTable"]["prefix"])):
            problems.append("a stack stands before the one around it")
    checks.that(not problems and len(profile["threads"]) == len(profile["counters"]) == 2, "firefox: tables fit each other",
                problems)
    parent = profile["threads"][0]
    table = parent["nativeAllocations"]
    lives = sum(table["weight"])
    checks.that(sum(weight for weight in table["weight"] if weight == SIZE) == KEPT * SIZE
                and (KEPT - 1) * SIZE + MOVED <= lives < (KEPT - 1) * SIZE + MOVED + 100_000
                and sum(profile["counters"][0]["samples"]["count"]) == lives, "allocations, frees and live bytes", lives)
    checks.that([mark["text"] for mark in parent["markers"]["data"]] == ['half "time"'], "marks", parent["markers"])
    names = []
    at = table["stack"][table["weight"].index(SIZE)]
    while at is not None:
        names.append(texts[parent["funcTable"]["name"][parent["frameTable"]["func"][parent["stackTable"]["frame"][at]]]])
        at = parent["stackTable"]["prefix"][at]
    checks.that(names[:3] == ["inlined", "keeps", "main"], "stacks", names)


def check_perfetto(checks, exports):
    """By the numbers of the fields in protos/perfetto/trace/trace_packet.proto, track_event.proto …"""
    tracks, values, marks = {}, defaultdict(list), []
    for _, packet in fields(exports.export(exports.two, "perfetto", "trace.perfetto").read_bytes()):
        parts = dict(fields(packet))
        if 60 in parts:
            track = dict(fields(parts[60]))
            tracks[track[1]] = track
        if 11 in parts:
            event = dict(fields(parts[11]))
            if event[9] == 4:
                values[event[11]].append((parts[8], event[30]))
            else:
                marks.append((event[9], event[23], event[11]))
    names = {number: track.get(2, b"").decode() for number, track in tracks.items()}
    processes = [dict(fields(track[3])) for track in tracks.values() if 3 in track]
    threads = [dict(fields(track[4])) for track in tracks.values() if 4 in track]
    checks.that([process[6] for process in processes] == [b"sites"] * 2 and processes[0][1] != processes[1][1]
                and len(threads) >= 3 and all(thread[1] in {process[1] for process in processes} for thread in threads),
                "perfetto: processes and threads", [processes, threads])
    live = [values[number][-1][1] for number, name in names.items() if name == "live bytes"]
    checks.that(0 <= live[0] - (KEPT - 1) * SIZE - MOVED < 100_000 and live[1] - live[0] == CHILD * CHILD_SIZE,
                "live bytes of both", live)
    # The child may have ended before its memory was looked at.
    told = {names[number] for number, track in tracks.items() if 8 in track and max((v for _, v in values[number]), default=0)}
    checks.that(told == {name for number, name in names.items() if 8 in tracks[number]} and len(told) == 5,
                "five counters", [told, names])
    checks.that([(kind, text) for kind, text, _ in marks] == [(3, b'half "time"')] and 4 in tracks[marks[0][2]],
                "a mark on its thread", marks)


def check_heaptrack(checks, exports):
    path = exports.export(exports.one, "heaptrack", "out.heaptrack.gz")
    again = exports.profile(exports.imported(path), "again.pb.gz")
    checks.that(of(again, "keeps", "inuse_space") == (KEPT - 1) * SIZE and of(again, "drops", "temporary_space") == DROPPED * DROP
                and of(again, "inlined", "alloc_objects") == KEPT + 1, "heaptrack: comes back with names", dict(again))
    if not checks.has("heaptrack_print", "heaptrack's files"):
        return
    said = run(["heaptrack_print", path])
    total = re.search(r"^calls to allocation functions: (\d+)", said.stdout, re.M)
    temporary = re.search(r"^temporary memory allocations: (\d+)", said.stdout, re.M)
    checks.that(said.returncode == 0 and total and KEPT + DROPPED + 2 <= int(total[1]) < KEPT + DROPPED + 100
                and DROPPED <= int(temporary[1]) < DROPPED + 20
                and re.search(r"^\d+ calls.*\n(.*\n)?inlined$|\binlined\n", said.stdout, re.M), "heaptrack_print shows it",
                said.stdout[-1500:])
    for words, name in (([], "theirs"), (["--raw"], "raw")):
        ended = run(["heaptrack", *words, "-o", exports.folder / name, exports.program])
        file = next(iter(sorted(exports.folder.glob(f"{name}.*"))), None)
        if not checks.that(ended.returncode == 0 and file, f"heaptrack {' '.join(words)} records", ended):
            continue
        samples = exports.profile(exports.imported(file), f"{name}.pb.gz")
        checks.that(of(samples, "keeps", "alloc_space") == KEPT * SIZE + 1000
                    and of(samples, "inlined", "alloc_objects") == KEPT + 1
                    and of(samples, "drops", "temporary_space") == DROPPED * DROP, "its file has the same sites",
                    dict(samples))


def check_text(checks, exports):
    path = exports.export(exports.two, "text", "calls.txt", "--process", "0")
    text = path.read_text()
    checks.that(text.count(" malloc 3000 = 0x") == KEPT and text.count("calloc 1 200 = ") == DROPPED
                and len(re.findall(r" realloc 0x\w+ 200000 = 0x", text)) == 1 and 'mark half "time"\n' in text,
                "text has the calls", text[:500])
    again = exports.export(exports.imported(path), "text", "again.txt")
    # Calls of two threads at about the same time, on different blocks, may change places.
    by_threads = [sorted(re.sub(r"^[\d.]+ ", "", calls, flags=re.M).splitlines(), key=lambda line: line.split(" ", 1)[0])
                  for calls in (text, again.read_text())]
    checks.that(by_threads[0] == by_threads[1], "and comes back as it was",
                "\n".join([*difflib.unified_diff(*by_threads, lineterm="", n=1)][:40]))
    said = exports.trace(exports.two, "--export", "text", "-o", path)
    checks.that(said.returncode == 0 and said.stderr.count("\n") == 1 and "--process" in said.stderr,
                "of several processes a line says which it is", said)


def check_errors(checks, exports):
    damaged = bytearray(exports.one.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path = exports.folder / "damaged"
    path.write_bytes(damaged)
    said = exports.trace(path, "--export", "pprof", "-o", exports.folder / "damaged.pb.gz")
    checks.that(said.returncode == 1 and "left out" in said.stderr and (exports.folder / "damaged.pb.gz").exists(),
                "of a damaged recording what is whole is exported", said)
    broken = exports.folder / "broken"
    broken.write_bytes(struct.pack("<I", 0xfd2fb528) + b"damaged")
    nothing, out = exports.folder / "nothing", exports.folder / "out"
    for words, code in (([nothing, "--export", "pprof", "-o", out], 1), ([exports.one, "--export", "pprof"], 2),
                        ([exports.one, "--export", "dhat", "-o", out, "--at", "1"], 2),
                        ([exports.one, "--export", "dhat", "-o", out, "--within", "5"], 2),
                        ([exports.one, "--export", "pprof", "-o", out, "--within", "0"], 2), ([exports.one, "-o", out], 2),
                        ([exports.one, "--export", "text", "-o", out, "--size", "5"], 2),
                        ([exports.one, "--export", "text", "-o", out, "--process", "77"], 1),
                        ([exports.one, "--export", "text", "-o", nothing / "out"], 1), ([broken, "--import", "-o", out], 1),
                        ([nothing, "--import", "-o", out], 1), ([exports.program, "--import", "-o", out], 1),
                        ([exports.one, "--import", "-o", exports.one], 1)):
        said = exports.trace(*words)
        what = " ".join(str(word).rpartition("/")[2] for word in words)
        checks.that(said.returncode == code and said.stderr.count("\n") == 1 and not out.exists(), f"{what}: {code} and a line",
                    said)


def main():
    checks = Checks()
    if shutil.which("gcc") is None:
        return 77
    with tempfile.TemporaryDirectory(prefix="acre-exports-", ignore_cleanup_errors=True) as folder:
        exports = Exports(checks, Path(folder))
        for check in (check_pprof, check_dhat, check_firefox, check_perfetto, check_heaptrack, check_text, check_errors):
            check(checks, exports)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
