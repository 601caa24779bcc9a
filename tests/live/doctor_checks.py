"""acre doctor: what it finds of machines, installations and processes of every kind."""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from checks import clean_environment
from command_checks import on_terminal, without_colours
from support import HERE, LIBRARY, acre

OWN_MALLOC = """
#include <stddef.h>
#include <string.h>
static char memory[1 << 24] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t size) { void *at = memory + used; used += (size + 31) / 16 * 16; return at; }
void *mi_malloc(size_t size) { return malloc(size); }
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *old, size_t size) { void *block = malloc(size); return old ? memcpy(block, old, size) : block; }
"""


def findings(checks, *arguments, environment=None):
    ended = acre("doctor", "--json", *arguments, **({"environment": environment} if environment else {}))
    told = json.loads(ended.stdout)["findings"]
    checks.that(ended.returncode == any(row["state"] == "problem" for row in told) and (environment or not ended.stderr),
                "acre doctor ends with 1 if something is wrong", ended)
    return told


def rows(told, check):
    return [row for row in told if row["check"] == check]


def build(work, name, *arguments):
    program = work.folder / name
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-pthread", HERE / "programs/subject.c", *arguments, "-o", program],
                   check=True)
    return program


def check_doctor(checks, work):
    told = findings(checks)
    checks.that({"kernel", "platform", "overcommit", "max_map_count", "huge pages", "memory pressure", "cgroup", "library",
                 "settings", "run folder", "names of functions"} <= {row["check"] for row in told}
                and not any(row["section"] == "process" for row in told), "without a process: machine and installation", told)
    checks.that(all(row["do"] for row in told if row["state"] == "problem"), "whatever is wrong has what to do", told)
    checks.that(acre("doctor", "abc").returncode == 2 and acre("doctor", "1", "2").returncode == 2, "with wrong arguments")
    ended = acre("doctor", "999999999")
    checks.that(ended.returncode == 1 and ended.stderr.count("\n") == 1 and "there is no process" in ended.stderr, "no such process")
    check_ways(checks, work)
    check_others(checks, work)
    check_socket(checks, work)
    check_machine(checks)
    check_environment(checks)
    for columns in (80, 120, 200):
        lines = without_colours(on_terminal("doctor", str(os.getpid()), columns=columns)).split("\n")
        checks.that(max(map(len, lines)) <= columns and f"Process {os.getpid()}" in lines, f"it fits {columns} columns", lines)


def check_ways(checks, work):
    """How acre got into a process."""
    link = build(work, "linked", LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")
    folder = work.folder / "jemalloc"
    folder.mkdir()
    (folder / "stub.c").write_text("int jemalloc_stub;\n")
    subprocess.run(["gcc", "-shared", "-Wl,-soname,libjemalloc.so.2", folder / "stub.c", "-o", folder / "stub.so"], check=True)
    named = build(work, "named", "-Wl,--no-as-needed", folder / "stub.so")
    (folder / "libjemalloc.so.2").symlink_to(LIBRARY)
    soname = {"LD_PRELOAD": "libacre.so.1", "LD_LIBRARY_PATH": str(LIBRARY.parent)}
    for words, options in (("preloaded (LD_PRELOAD)", {}), ("preloaded (LD_PRELOAD)", {"program": work.program, "more": soname}),
                           ("by a link", {"program": link}),
                           ("by a static link", {"program": work.static}),
                           ("under jemalloc's name", {"program": named, "more": {"LD_LIBRARY_PATH": str(folder)}}),
                           ("under jemalloc's name", {"program": named, "more": {
                               "LD_LIBRARY_PATH": str(LIBRARY.parent / "faces/jemalloc")}})):  # a filter
        with work.running("idle", **options) as process:
            told = findings(checks, process.pid)
            row = rows(told, "allocator")[0]
            checks.that(row["state"] == "ok" and row["found"].startswith("acre, ") and words in row["found"],
                        f"acre is there {words}", row)
            checks.that(not rows(told, "conflict") and rows(told, "socket")[0]["state"] == "ok" and rows(told, "version"),
                        "and can be asked", told)
            checks.that(rows(told, "stacks") and rows(told, "symbols")[0]["state"] == "ok", "its stacks are looked at", told)
    title = subprocess.Popen(["perl", "-e", '$0 = "title" x 2000; $| = 1; print "ready\\n"; sleep 100'], env={"LD_PRELOAD": str(LIBRARY)},
                             stdout=subprocess.PIPE)
    title.stdout.readline()
    row = rows(findings(checks, title.pid), "allocator")[0]
    checks.that(b"LD_PRELOAD" not in Path(f"/proc/{title.pid}/environ").read_bytes() and row["found"].startswith("acre, preloaded"),
                "acre is seen where the program has written its title over the environment", row)
    title.kill()
    title.wait()
    with work.running("idle", program=link) as process:
        checks.that("with frame pointers" in rows(findings(checks, process.pid), "stacks")[0]["found"], "frame pointers are seen")
    stripped = build(work, "stripped", "-s", "-fomit-frame-pointer", "-O2")
    with work.running("idle", program=stripped) as process:
        told = findings(checks, process.pid)
        checks.that(rows(told, "symbols")[0]["state"] == "note" and "without frame pointers" in rows(told, "stacks")[0]["found"],
                    "and so is what is missing", told)
    copy = work.folder / "libacre.so.1"
    shutil.copy(LIBRARY, copy)
    with work.running("idle", more={"LD_PRELOAD": str(copy)}, program=stripped) as process:
        copy.unlink()
        told = findings(checks, process.pid)
        checks.that(any("has been replaced" in row["found"] for row in rows(told, "library"))
                    and "acre, preloaded" in rows(told, "allocator")[0]["found"], "a library that was replaced", told)


def check_others(checks, work):
    with subprocess.Popen(["sleep", "100"]) as other:
        told = findings(checks, other.pid)
        checks.that("glibc's malloc" in rows(told, "allocator")[0]["found"] and "acre run" in rows(told, "allocator")[0]["do"]
                    and not rows(told, "socket"), "a process on glibc's malloc", told)
        other.kill()
    (work.folder / "own.c").write_text(OWN_MALLOC)
    own = build(work, "own", "-fno-builtin", work.folder / "own.c")
    with work.running("idle", program=own, more={"LD_PRELOAD": str(LIBRARY)}) as process:
        told = findings(checks, process.pid)
        row = rows(told, "allocator")[0]
        checks.that(row["state"] == "problem" and "mimalloc, although libacre.so is loaded" in row["found"],
                    "a program whose own malloc comes first", row)
    (work.folder / "other.c").write_text("void *je_malloc(unsigned long size) { return (void *)size; }\n")
    for name in ("libjemalloc.so.2", "libasan.so.8"):
        library = work.folder / name
        subprocess.run(["gcc", "-shared", "-fPIC", work.folder / "other.c", "-o", library], check=True)
        program = build(work, f"with_{name}", "-Wl,--no-as-needed", library)
        with work.running("idle", program=program, more={"LD_PRELOAD": str(LIBRARY)}) as process:
            told = findings(checks, process.pid)
            row = rows(told, "conflict")[0]
            checks.that(row["state"] == ("problem" if "asan" in name else "note") and name in row["found"] and row["do"],
                        f"{name} beside acre", told)


def check_socket(checks, work):
    with work.running("idle", conf="") as process:
        row = rows(findings(checks, process.pid), "socket")[0]
        checks.that(row["state"] == "note" and "while it allocates" in row["found"] and "control:true" in row["do"],
                    "a socket that is not open yet", row)
    with work.running("idle", conf="control_on_request:false") as process:
        row = rows(findings(checks, process.pid), "socket")[0]
        checks.that(row["state"] == "problem" and "control_on_request" in row["do"], "one that does not open", row)


@contextlib.contextmanager
def made_up(texts):
    """A machine whose files in /proc and /sys say this."""
    import doctor_machine
    before = doctor_machine.text_of
    doctor_machine.text_of = lambda path: texts.get(path, before(path))
    try:
        yield doctor_machine
    finally:
        doctor_machine.text_of = before


def check_machine(checks):
    thp = "/sys/kernel/mm/transparent_hugepage"
    full = {"/proc/self/cgroup": "0::/a/b", "/sys/fs/cgroup/a/b/memory.max": "max", "/sys/fs/cgroup/a/b/memory.high": "max",
            "/sys/fs/cgroup/a/b/memory.current": "5", "/sys/fs/cgroup/a/memory.max": "1000000",
            "/sys/fs/cgroup/a/memory.high": "max", "/sys/fs/cgroup/a/memory.current": "900000"}
    for check, state, texts in (
            ("overcommit", "problem", {"/proc/sys/vm/overcommit_memory": "2",
                                       "/proc/meminfo": "CommitLimit:  1000 kB\nCommitted_AS:  950 kB"}),
            ("overcommit", "note", {"/proc/sys/vm/overcommit_memory": "2",
                                    "/proc/meminfo": "CommitLimit:  1000 kB\nCommitted_AS:  50 kB"}),
            ("max_map_count", "note", {"/proc/sys/vm/max_map_count": "1000"}),
            ("huge pages", "note", {f"{thp}/enabled": "always madvise [never]"}),
            ("huge pages", "ok", {f"{thp}/enabled": "[always] madvise never"}),
            ("huge pages, defrag", "note", {f"{thp}/enabled": "[always] madvise never", f"{thp}/defrag": "[always] defer never"}),
            ("memory pressure", "note", {"/proc/pressure/memory": ""}),
            ("cgroup", "note", full), ("cgroup", "ok", {**full, "/sys/fs/cgroup/a/memory.current": "100"})):
        with made_up(texts) as machine:
            row = rows(machine.machine(None), check)[0]
        checks.that(row["state"] == state and (state == "ok" or row["do"]), f"{check}: {state}", row)
    import doctor_machine
    import platform
    release, platform.release = platform.release, lambda: "5.4.0-generic"
    row = rows(doctor_machine.machine(None), "kernel")[0]
    platform.release = release
    checks.that(row["state"] == "problem" and "5.9" in row["found"], "an old kernel", row)


def check_environment(checks):
    told = findings(checks, environment=clean_environment(ACRE_CONF="no_such:1", MALLOC_ARENA_MAX="1",
                                                          LD_PRELOAD="/nowhere/libjemalloc.so.2"))
    wrong = rows(told, "settings")
    checks.that(wrong[0]["state"] == "problem" and "no_such" in wrong[0]["found"], "a wrong setting", wrong)
    checks.that(rows(told, "glibc's settings")[0]["state"] == "note", "settings of glibc's", told)
    checks.that(rows(told, "preload")[0]["state"] == "problem", "another allocator that is preloaded", told)
