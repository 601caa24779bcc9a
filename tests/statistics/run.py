#!/usr/bin/env python3
"""The statistics as programs read them: JSON and OpenMetrics.

The library is taken from ACRE_LIB. Exit status: 0 all well, 1 not, 77 the parser of OpenMetrics is missing.
"""

import ctypes
import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

SOURCE = Path(os.environ.get("ACRE_SOURCE", Path(__file__).resolve().parents[2]))
LIBRARY = os.environ.get("ACRE_LIB", str(SOURCE / "build/release/libacre.so"))
SKIPPED = 77
PARTS = ("live_small", "live_large", "live_huge", "private_lists", "deferred", "remote_lists", "uncarved", "outboxes",
         "run_free", "run_rest", "transit", "dirty", "muzzy", "purging", "clean", "metadata", "metadata_unused")

# Threads that allocate, free each other's objects and end, and some that stay.
PROGRAM = """
import threading
kept = []
def work():
    mine = [bytes(i % 3000) for i in range(20000)]
    kept.append(mine[::3])
    kept[0][:100] = []
for _ in range(6):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
kept.append([bytearray(1 << 20), bytearray(100 << 20)])
"""

# What programs may call a tag, and what becomes of it.
STRANGE = {b"other": "other", b"a\nb\r\tc\x01\x1f\x7f": "a\nb\r\tc\x01\x1f\x7f", b"\\ \\n {}=,#": "\\ \\n {}=,#",
           "ä €\U0001f600".encode(): "ä €\U0001f600", b"\xff\xc3": "\ufffdff\ufffdc3",
           b"\xc0\xafx\xe4": "\ufffdc0\ufffdafx\ufffde4",
           b"\xed\xa0\x80": "\ufffded\ufffda0\ufffd80", b"\xf4\x90\x80": "\ufffdf4\ufffd90\ufffd80", b"\xe2\x82": "\ufffde2\ufffd82",
           b"'" * 63: "'" * 63}
FIRST_TAG = {"name": 'a "tag"', "live": 112, "allocated": 224, "peak": 224, "limit": 1000, "refused": 1}
NO_LIMIT = 2**64 - 1

failures = []


def that(holds, what, detail=""):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}\n  {str(detail)[:2000]}")


def at_exit(form):
    """What a program prints when it ends."""
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, PYTHONMALLOC="malloc",
                       ACRE_CONF=f"stats_print:true,stats_format:{form}")
    done = subprocess.run(["/usr/bin/python3", "-I", "-S", "-c", PROGRAM], env=environment, capture_output=True,
                          text=True, timeout=100)
    that(done.returncode == 0, f"the program ends well with {form}", done)
    return done.stderr


class Library:
    """The library, loaded beside python's own allocator."""

    WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)

    def __init__(self):
        self.acre = ctypes.CDLL(LIBRARY)
        self.acre.acre_malloc.restype = self.acre.acre_tag.restype = ctypes.c_void_p
        self.acre.acre_free.argtypes = self.acre.acre_tag_enter.argtypes = [ctypes.c_void_p]
        self.acre.acre_tag_limit.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.blocks = [self.acre.acre_malloc(size) for size in (1, 100, 5000, 70000, 70 << 20) for _ in range(50)]

        tag = self.acre.acre_tag(b'a "tag"')
        self.acre.acre_tag_limit(tag, 1000)
        self.acre.acre_tag_enter(tag)
        self.blocks += [self.acre.acre_malloc(size) for size in (100, 100, 2000)]
        self.acre.acre_tag_pop()
        self.acre.acre_free(self.blocks[-2])
        for name in STRANGE:
            self.acre.acre_tag(name)

    def collected(self, call):
        parts = []
        write = self.WRITE(lambda _, text: parts.append(text.decode()))
        return call(write), "".join(parts)

    def print(self, form):
        return self.collected(lambda write: self.acre.acre_stats_print(form.encode(), write, None))

    def letters(self, opts):
        return self.collected(lambda write: self.acre.acre_malloc_stats_print(write, None, opts.encode()))[1]


class Stat(ctypes.Structure):
    """struct acre_stat of include/acre/acre.h."""
    _fields_ = [("scope", ctypes.c_char_p), ("name", ctypes.c_char_p), ("unit", ctypes.c_char_p),
                ("counter", ctypes.c_int), ("ctl_name", ctypes.c_char_p), ("help", ctypes.c_char_p),
                ("pages", ctypes.c_int)]


def all_stats(acre):
    stats, stat = [], Stat()
    while acre.acre_stat_info(len(stats), ctypes.byref(stat)) == 0:
        stats.append({"scope": stat.scope.decode(), "name": stat.name.decode(), "unit": stat.unit.decode(),
                      "kind": "counter" if stat.counter else "gauge", "ctl": stat.ctl_name.decode(),
                      "help": stat.help.decode()})
    return stats


def check_adds_up(process, where):
    that(process["mapped"] == sum(process[part] for part in PARTS), f"{where}: mapped is the sum of its parts", process)
    that(process["allocated"] <= process["active"] <= process["resident"] <= process["mapped"],
         f"{where}: allocated, active, resident, mapped", process)


def names_of(stats, scope):
    return [stat["name"] for stat in stats if stat["scope"] == scope]


def check_tags(tags):
    nothing = {"live": 0, "allocated": 0, "peak": 0, "limit": None, "refused": 0}
    that(tags == [FIRST_TAG, *({"name": name, **nothing} for name in STRANGE.values())], "json: tags are there", tags)


def check_tags_in_ctl(library):
    def ask(name, kind):
        value = kind()
        size = ctypes.c_size_t(ctypes.sizeof(value))
        error = library.acre.acre_mallctl(name.encode(), ctypes.byref(value), ctypes.byref(size), None,
                                          ctypes.c_size_t(0))
        return error or value.value, error

    that(ask("stats.tags.numbers", ctypes.c_uint) == (len(STRANGE) + 1, 0), "ctl: tags have numbers")
    names = [ask(f"stats.tags.{i}.name", ctypes.c_char_p)[0] for i in range(len(STRANGE) + 1)]
    that(names == [FIRST_TAG["name"].encode(), *STRANGE], "ctl: tags have their names", names)
    figures = {key: ask(f"stats.tags.0.{key}", ctypes.c_uint64)[0] for key in FIRST_TAG if key != "name"}
    that(figures == {key: FIRST_TAG[key] for key in figures}, "ctl: a tag's figures", figures)
    that(ask("stats.tags.1.limit", ctypes.c_uint64)[0] == NO_LIMIT, "ctl: a tag without a limit")
    that(ask("stats.tags.0.live", ctypes.c_uint32)[1] == errno.EINVAL, "ctl: a tag's figure has 64 bits")
    for name in (f"stats.tags.{len(STRANGE) + 1}.live", "stats.tags.99999999999.name", "stats.tags.0.none"):
        that(ask(name, ctypes.c_uint64)[1] == errno.ENOENT, f"ctl: {name} is none")
    tag = library.acre.acre_tag(b"to go")
    number = len(STRANGE) + 1
    that(ask(f"stats.tags.{number}.name", ctypes.c_char_p)[0] == b"to go", "ctl: a tag more")
    library.acre.acre_tag_drop(ctypes.c_void_p(tag))
    that(ask(f"stats.tags.{number}.live", ctypes.c_uint64)[1] == errno.ENOENT, "ctl: a tag that is gone is none")


def check_tags_in_metrics(families):
    for key in ("live", "allocated", "peak", "limit", "refused"):
        unit = "" if key == "refused" else "_bytes"
        found = {sample.labels["tag"]: sample.value for sample in families[f"acre_tag_{key}{unit}"].samples}
        expected = {FIRST_TAG["name"]: FIRST_TAG[key]}
        if key != "limit":
            expected |= dict.fromkeys(STRANGE.values(), 0)
        that(found == expected, f"OpenMetrics: tags, {key}", found)


def check_tags_in_text(text):
    lines = text[text.index("\ntags\n") + 1:].splitlines()
    that(lines[1].split() == ["largest", "ten", "live", "allocated", "peak", "limit", "refused"],
         "text: tags have a head", lines[1])
    that(lines[2].split() == ["a", '"tag"', "112", "224", "224", "1000", "1"],
         "text: the tag with most comes first", lines[2])
    that(lines[4].startswith("  a?b??c??? ") and lines[3].split()[-2:] == ["none", "0"], "text: other tags", lines[3:5])
    that(len(STRANGE) == 10 and lines[12] == "" and lines[11] != "", "text: ten of eleven tags", lines[:15])


def check_json(library, stats):
    error, text = library.print("json")
    that(error == 0, "acre_stats_print writes JSON", error)
    report = json.loads(text)["acre"]
    check_adds_up(report["process"], "json")
    that(list(report["process"]) == names_of(stats, "process"), "json: process has all figures", report["process"])
    that(report["merged"]["live_large"] == sum(arena["live_large"] for arena in report["arenas"])
         + report["process"]["live_huge"], "json: all arenas are the sum of the arenas")
    check_tags(report["tags"])
    arena = report["arenas"][0]
    that([key for key in arena if not isinstance(arena[key], (dict, list))] == ["number", *names_of(stats, "arena")],
         "json: an arena has all figures", list(arena))
    for entry in arena["classes"]:
        that(list(entry) == ["size", *names_of(stats, "class"), "lock"], "json: a class has all figures", entry)
        that(list(entry["lock"]) == names_of(stats, "lock"), "json: a lock has all figures", entry)
    that(sum(entry["size"] * entry["live"] for entry in arena["classes"]) == arena["live_small"],
         "json: an arena's small blocks are those of its classes", arena)
    that(all(list(entry) == ["most_pages", *names_of(stats, "length")] for entry in arena["lengths"]),
         "json: lengths have all figures", arena["lengths"])
    that(report["options"]["stats_format"] == "summary" and report["options"]["background_thread"] is False,
         "json: options", report["options"])
    return report


def check_letters(library):
    def keys(opts):
        report = json.loads(library.letters("J" + opts))["acre"]
        inner = report.get("merged") or (report.get("arenas") or [{}])[0]
        return set(report) | {"." + key for key in inner if isinstance(inner[key], (dict, list))}

    whole = keys("")
    that(whole == {"version", "pid", "page", "options", "process", "locks", "merged", "arenas", "tags", ".locks", ".classes",
                   ".lengths"}, "J: all parts", whole)
    for opts, missing in (("g", {"page", "options"}), ("m", {"merged"}), ("a", {"arenas"}), ("b", {".classes"}),
                          ("x", {"locks", ".locks"}), ("le", {".lengths"}), ("d", set()), ("h", set())):
        that(keys(opts) == whole - missing, f"letters J{opts}", whole ^ keys(opts))
    for opts, gone in (("l", "large"), ("e", "dirty_runs")):
        lengths = json.loads(library.letters("J" + opts))["acre"]["merged"]["lengths"]
        that(lengths and all(gone not in entry for entry in lengths), f"letters J{opts}", lengths)
    text = library.letters("")
    for title, letter in (("\noptions\n", "g"), ("\nall arenas\n", "m"), ("\narena 0\n", "a"), ("  class  ", "b"),
                          ("  lock  ", "x")):
        that(title in text and title not in library.letters(letter), f"letter {letter} leaves something out", title)
    that("  large_blocks " in text, "large blocks by length are there")
    that(len(library.letters("gmablxe").splitlines()) < len(text.splitlines()) / 2, "all letters leave little")


def check_openmetrics(text, stats, where):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    families = {family.name: family for family in text_string_to_metric_families(text)}
    that("acre" in families and text.endswith("# EOF\n"), f"{where}: OpenMetrics is whole", text[-200:])
    units = {"bytes": "_bytes", "nanoseconds": "_seconds", "permille": "_ratio"}
    for stat in stats:
        if stat["scope"] == "length" or (stat["scope"] == "tag" and where == "at exit"):  # no lengths; no tags there
            continue
        scope = "" if stat["scope"] == "process" else stat["scope"] + "_"
        name = f"acre_{scope}{stat['name']}{units.get(stat['unit'], '')}"
        family = families.get(name)
        that(family is not None and family.type == stat["kind"] and family.documentation == stat["help"]
             and family.samples, f"{where}: {name}", family)
    value = {part: families[f"acre_{part}_bytes"].samples[0].value for part in (*PARTS, "mapped")}
    that(value["mapped"] == sum(value[part] for part in PARTS), f"{where}: mapped is the sum of its parts", value)
    locks = {sample.labels["lock"] for sample in families["acre_lock_acquisitions"].samples}
    that({"ctl", "registry", "pages"} <= locks, f"{where}: locks", locks)
    return families


def check_at_exit(stats):
    report = json.loads(at_exit("json"))["acre"]
    check_adds_up(report["process"], "at exit")
    that(report["process"]["new_runs"] > 100 and report["process"]["refills"] > report["process"]["new_runs"],
         "at exit: threads that ended are counted", report["process"])
    check_openmetrics(at_exit("openmetrics"), stats, "at exit")
    text = at_exit("text")
    that(text.startswith("acre ") and "\nall arenas\n" in text, "at exit: text", text[:300])
    that(len(at_exit("summary").splitlines()) < 15, "at exit: a summary")


def check_under_load(library):
    """Threads in ctypes calls run without python's lock."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            blocks = [library.acre.acre_malloc(50 + i * 9) for i in range(500)]
            for block in blocks:
                library.acre.acre_free(ctypes.c_void_p(block))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        check_adds_up(json.loads(library.print("json")[1])["acre"]["process"], "under load")
    stop.set()
    for thread in threads:
        thread.join()


def main():
    try:
        import prometheus_client.openmetrics.parser  # noqa: F401
    except ImportError:
        print("skipped: python3-prometheus-client is not installed")
        return SKIPPED
    library = Library()
    stats = all_stats(library.acre)
    check_json(library, stats)
    check_letters(library)
    check_tags_in_metrics(check_openmetrics(library.print("openmetrics")[1], stats, "call"))
    check_tags_in_text(library.letters(""))
    check_tags_in_ctl(library)
    that(library.print("yaml") == (22, ""), "a format that is none is EINVAL")
    check_at_exit(stats)
    check_under_load(library)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
