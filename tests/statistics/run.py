#!/usr/bin/env python3
"""The statistics as programs read them: JSON, OpenMetrics, and the tables of docs/statistics.md.

The library is taken from ACRE_LIB. Exit status: 0 all well, 1 not, 77 the parser of OpenMetrics is missing.
"""

import ctypes
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
        self.acre.acre_tag(b"other")

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
                ("counter", ctypes.c_int), ("ctl_name", ctypes.c_char_p), ("help", ctypes.c_char_p)]


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
    that(tags == [{"name": 'a "tag"', "live": 112, "allocated": 224, "peak": 224, "limit": 1000, "refused": 1},
                  {"name": "other", "live": 0, "allocated": 0, "peak": 0, "limit": None, "refused": 0}],
         "json: tags are there", tags)


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
        if stat["scope"] == "length":
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


def table_rows(stats, scope):
    return [f"| `{stat['name']}` | {stat['kind']} | {stat['unit']} | `{stat['ctl']}` | {stat['help']} |"
            for stat in stats if stat["scope"] == scope]


def check_page(stats):
    lines = (SOURCE / "docs/statistics.md").read_text().splitlines()
    for scope in ("process", "arena", "class", "lock", "length"):
        start = lines.index(f"### {scope}")
        first = next(at for at in range(start, len(lines)) if lines[at].startswith("|---"))
        rows = []
        for line in lines[first + 1:]:
            if not line.startswith("|"):
                break
            rows.append(line)
        that(rows == table_rows(stats, scope), f"docs/statistics.md has the {scope} figures of the library",
             "\n".join(table_rows(stats, scope)))


def main():
    if "--tables" in sys.argv:  # for docs/statistics.md
        for scope in ("process", "arena", "class", "lock", "length"):
            print("\n".join([f"### {scope}", "", "| name | kind | unit | in ctl | meaning |", "|---|---|---|---|---|",
                             *table_rows(all_stats(ctypes.CDLL(LIBRARY)), scope), ""]))
        return 0
    try:
        import prometheus_client.openmetrics.parser  # noqa: F401
    except ImportError:
        print("skipped: python3-prometheus-client is not installed")
        return SKIPPED
    library = Library()
    stats = all_stats(library.acre)
    check_json(library, stats)
    check_letters(library)
    check_openmetrics(library.print("openmetrics")[1], stats, "call")
    that(library.print("yaml") == (22, ""), "a format that is none is EINVAL")
    check_at_exit(stats)
    check_under_load(library)
    check_page(stats)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
