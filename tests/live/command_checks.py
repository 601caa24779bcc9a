"""The commands: what they say of processes that run."""

import base64
import fcntl
import json
import os
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import termios
import threading
import types
from pathlib import Path

import live
from support import (ACRE, FOLDER, LIBRARY, acre, as_json, as_json_raw, ask_raw, clean_environment, ends_well, eventually,
                     is_one_line, path_of, run, tasks)


class InExec(live.Process):
    """As a process looks after the kernel has taken its old memory and before it has laid out the new arguments."""

    def read(self, name):
        return b"" if name in ("cmdline", "environ") else super().read(name)


def check_run(checks, work):
    with subprocess.Popen([ACRE, "run", "--lib", LIBRARY, "--", work.program, "idle"], stdout=subprocess.PIPE, text=True,
                          env=clean_environment()) as process:
        ended = acre("stats", process.pid)  # which may come before it has become the program
        checks.that(ended.returncode == 0 and ended.stdout.startswith(f"acre ") and f"process {process.pid}\n" in ended.stdout,
                    "a process that acre run has started can be asked", ended)
        process.terminate()
    with work.running("idle") as process:
        checks.that(InExec(process.pid).may_get_socket(), "one whose arguments are not there yet, in an exec, is waited for")
    seen = run([ACRE, "run", "--lib", LIBRARY, "--", "printenv", "ACRE_CONF"],
               environment=clean_environment(ACRE_CONF="control:false")).stdout
    checks.that(seen == "control:true,control:false\n", "acre run leaves ACRE_CONF the last word", seen)
    with work.running("idle", conf="control:true,control:false") as process:
        checks.that(set(tasks(process.pid)) == {"subject"}, "and without the option there is no thread")


def check_ps(checks, work):
    with work.running("dirty") as first, work.running("idle", program=work.static) as second:
        for process in (first, second):
            live.ask(process.pid, "info")
        rows = {row["pid"]: row for row in as_json(checks, "ps", "--json")}
        checks.that({first.pid, second.pid} <= set(rows), "acre ps lists the processes, a static one too", rows)
        row = rows[first.pid]
        checks.that(row["dirty"] >= 30 << 20 < row["resident"] and row["command"].endswith("subject dirty"),
                    "acre ps says what they hold", row)
        table = acre("ps").stdout.splitlines()
        checks.that(table[0].split()[:3] == ["PID", "USER", "LIVE"]
                    and any(line.split()[0] == str(second.pid) for line in table), "acre ps prints a table", table)
        first.kill()
        first.wait()
        checks.that(os.path.exists(path_of(first.pid)), "a process that was killed leaves its socket")
        half_made = Path(FOLDER, f".{first.pid}")  # it was killed before its socket had its last name
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(half_made))
        rows = {row["pid"] for row in as_json(checks, "ps", "--json")}
        checks.that(first.pid not in rows and second.pid in rows and not os.path.exists(path_of(first.pid))
                    and not half_made.exists() and os.path.exists(path_of(second.pid)), "acre ps removes it, and no other")
        checks.that(ends_well(second) and not os.path.exists(path_of(second.pid)), "one that ends takes its socket along")


def check_odd_names(checks, work):
    """A program may name itself as it likes, and be called with any text."""
    program = work.folder / "\x1b]0;a\x07\r\u202e\n1 root"
    shutil.copy(work.program, program)
    with work.running("dirty", program=program, more={"LD_PRELOAD": LIBRARY}) as process:
        live.ask(process.pid, "info")
        for words in (("ps",), ("why", process.pid), ("why", process.pid, "--watch", "-n", "1"),
                      ("doctor", process.pid), ("top", "-n", "1")):
            ended = acre(*words)
            odd = sorted({letter for letter in ended.stdout + ended.stderr if not letter.isprintable()} - {"\n"})
            told = [line for line in ended.stdout.split("\n") if str(process.pid) in line or "\\x1b" in line]
            checks.that(not odd and any(r"\x1b]0;a\x07\r\u202e\n1 root" in line for line in told),
                        f"acre {words[0]} of a program with an odd name: one line, without control characters", (odd, ended))
        screen = on_terminal("top", "-n", "1")
        checks.that("\x1b]0;" not in screen and r"\x1b]0;a" in screen, "acre top's screen neither", repr(screen))


def check_stats(checks, work):
    with work.running("idle") as process:
        report = as_json(checks, "stats", process.pid, "--json")["acre"]
        checks.that(report["pid"] == process.pid and report["options"]["control"] is True
                    and report["process"]["allocated"] <= report["process"]["mapped"], "acre stats PID --json", report)
        checks.that("\nall arenas\n" in acre("stats", process.pid, "--text").stdout, "acre stats PID --text")
        checks.that(acre("stats", process.pid, "--openmetrics").stdout.endswith("# EOF\n"), "acre stats PID --openmetrics")
        checks.that(acre("stats").returncode == 2 and acre("stats", "--nonsense", "5").returncode == 2
                    and acre("stats", "abc").returncode == 2, "acre stats with wrong arguments")


def check_ctl(checks, work):
    with work.running("dirty") as process:
        pid = process.pid
        checks.that(acre("ctl", pid, "opt.dirty_decay_ms").stdout == "10000\n", "acre ctl reads")
        checks.that(acre("ctl", pid, "opt.dirty_decay_ms", "5000").stdout == "5000\n"
                    and acre("ctl", pid, "opt.dirty_decay_ms").stdout == "5000\n", "acre ctl writes")
        checks.that(acre("ctl", pid, "opt.stats_print").stdout == "false\n", "acre ctl reads a bool")
        checks.that(as_json(checks, "ctl", pid, "version", "--json")["type"] == "const char *", "acre ctl --json")
        names = acre("ctl", pid).stdout.splitlines()
        checks.that(any(line.split()[0] == "arena.#.purge" and line.endswith("does something") for line in names)
                    and not any(line.startswith("thread.") for line in names), "acre ctl lists the names", names)
        dirty = int(acre("ctl", pid, "stats.dirty").stdout)
        done = acre("ctl", pid, "arena.4096.purge")
        after = int(acre("ctl", pid, "stats.dirty").stdout)
        checks.that(dirty >= 30 << 20 and done.returncode == 0 and not done.stdout and after < dirty >> 4,
                    "acre ctl does what a name stands for, and figures are those of now", (dirty, done, after))
        for arguments, words in ((("no.such",), ("there is no name 'no.such'",)),
                                 (("opt.stats_print", "7"), ("true or false",)),
                                 (("opt.dirty_decay_ms", "soon"), ("'soon'", "number")),
                                 (("opt.dirty_decay_ms", "99999999999999999999999"), ("number",)),
                                 (("max_background_threads", "5000000"), ("out of the range",)),
                                 (("opt.arenas", "4"), ("cannot be changed",)),
                                 (("version", "2"), ("cannot be changed",)),
                                 (("arena.0.purge", "1"), ("takes no value",)),
                                 (("arena.99.purge",), ("there is no name",)),
                                 (("prof.dump",), ("prof.dump", "where a file")),
                                 (("thread.arena",), ("only be used by the program itself",)),
                                 (("a" * 3000,), ("at most",))):
            ended = acre("ctl", pid, *arguments)
            checks.that(is_one_line(ended, *words), f"acre ctl {' '.join(arguments)[:40]}: one line", ended)
        checks.that(acre("ctl").returncode == 2 and acre("ctl", pid, "a", "b", "c").returncode == 2
                    and acre("ctl", pid, "a\nb").returncode == 2, "acre ctl with wrong arguments")


def check_background_thread(checks, work):
    def has_thread():  # it gives itself its name, when it comes to run
        return "acre-decay" in tasks(process.pid)

    with work.running("dirty", conf="control:true,dirty_decay_ms:100") as process:
        dirty = int(acre("ctl", process.pid, "stats.dirty").stdout)
        heaps = acre("ctl", process.pid, "stats.threads").stdout
        on = acre("ctl", process.pid, "background_thread", "true")
        checks.that(on.stdout == "true\n" and eventually(has_thread), "a background thread is made for an idle program", on)
        gone = eventually(lambda: int(acre("ctl", process.pid, "stats.dirty").stdout) < dirty >> 4)
        checks.that(dirty >= 30 << 20 and gone, "and it returns the dirty pages", dirty)
        acre("ctl", process.pid, "background_thread", "false")
        checks.that(eventually(lambda: "acre-decay" not in tasks(process.pid)), "it can be ended", tasks(process.pid).keys())
        acre("ctl", process.pid, "background_thread", "true")
        checks.that(eventually(has_thread), "and be made again", heaps)
        checks.that(ends_well(process), "and the program ends with it")


def check_purge(checks, work):
    with work.running("dirty") as process:
        before = as_json(checks, "why", process.pid, "--json")
        text = acre("purge", process.pid).stdout
        after = as_json(checks, "why", process.pid, "--json")
        checks.that(re.match(rf"process {process.pid} returned 3\d\.\d MiB to the system", text), "acre purge says what it did", text)
        checks.that(before["resident"] - after["resident"] > 29 << 20 and after["parts"]["dirty"] < 1 << 20,
                    "acre purge returns memory", (before["parts"], after["parts"]))
        checks.that(as_json(checks, "purge", process.pid, "--json")["dirty"] < 1 << 20, "acre purge --json")
        checks.that(acre("purge").returncode == 2, "acre purge without a process")


def check_why(checks, work):
    with work.running("dirty") as process:
        found = as_json(checks, "why", process.pid, "--json")
        resident = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) << 10
        checks.that(sum(found["parts"].values()) == found["resident"] and abs(found["resident"] - resident) < 1 << 20,
                    "acre why: the parts are the resident memory", (found, resident))
        checks.that(found["parts"]["dirty"] > 29 << 20 and sum(found["not_heap"].values()) == found["parts"]["not_heap"],
                    "acre why finds what is dirty, and what is no heap", found)
        text = acre("why", process.pid).stdout
        for words in ("are resident\n", "\n[", "live", "rounding", "cached", "held by live blocks", "dirty",
                      "returned within 10 s", "metadata", "not heap", "files: code and data", f"`acre purge {process.pid}`",
                      f"`acre ctl {process.pid} background_thread true`"):
            checks.that(words in text, f"acre why says {words.strip()!r}", text)
        bar = re.search(r"^\[(\S+)\]$", text, re.M)[1]
        checks.that(abs(bar.count("d") / len(bar) - found["parts"]["dirty"] / found["resident"]) < 0.05,
                    "the bar shows the parts", bar)
        acre("ctl", process.pid, "opt.dirty_decay_ms", "-1")
        checks.that("kept: dirty_decay_ms is negative" in acre("why", process.pid).stdout, "acre why knows the options")
        check_screen(checks, process.pid)
    with work.running("nearly_empty") as process:
        found = as_json(checks, "why", process.pid, "--json")
        worst = found["held_by"][0]
        checks.that(worst["size"] in (208, 224, 240) and worst["live"] < worst["blocks"] / 50
                    and found["parts"]["held"] > 30 << 20 and found["parts"]["held"] > 0.7 * found["resident"],
                    "acre why names the class whose few blocks hold runs", found)
        text = acre("why", process.pid).stdout
        checks.that("few blocks keep these runs" in text and f"  blocks of {worst['size']} bytes: " in text,
                    "acre why says so in words", text)
        checks.that(acre("why").returncode == 2, "acre why without a process")
    with work.running("rounded") as process:
        found = as_json(checks, "why", process.pid, "--json")
        checks.that(10 << 20 < found["parts"]["rounding"] < 12 << 20 and found["rounded_up"][0]["size"] == 1408,
                    "acre why: what blocks are larger by than was asked for", found)
        text = acre("why", process.pid).stdout
        checks.that("100000 blocks of 1408 bytes, for which about 1300 were asked for" in text, "and says so", text)


def without_colours(text):
    return re.sub(r"\033\[[0-9;]*m", "", text).replace("\r", "")


def check_screen(checks, pid):
    """What acre why prints on terminals."""
    text = on_terminal("why", str(pid))
    bar = re.search(r"^\[(.*)\]\r$", text, re.M)[1]
    checks.that("\033[48;5;" in bar and re.fullmatch(r"[Lrchdm.]+", without_colours(bar)),
                "on a terminal the bar has colours, and letters too", bar)
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        text = on_terminal("why", str(pid), environment=more)
        checks.that("\033" not in text and "are resident" in text, f"none with {more}", text)
    for columns in (60, 80, 120, 200):
        lines = without_colours(on_terminal("why", str(pid), columns=columns)).split("\n")
        checks.that(max(map(len, lines)) <= columns and any("acre's own structures" in line for line in lines),
                    f"acre why wraps to {columns} columns", lines)


def check_why_adds_up(checks, work):
    """Every list is as much as the part that it stands under, in figures and in what is printed."""
    import why_command
    import why_figures
    with work.running("nearly_empty", conf="control:true,prof:true,prof_sample:4096") as process:
        found = as_json(checks, "why", process.pid, "--json")
        text = acre("why", process.pid).stdout
        checks.that(all(row["live"] for row in found["held_by"]), "no class of which nothing lives is held by live blocks", found)
        lists = why_command.lists(found)
        for part, shown in lists.items():
            for title, rows in shown:
                checks.that(sum(size for size, _ in rows) == found["parts"][part], f"what is listed is all of {part} {title}",
                            (rows, found["parts"]))
        checks.that(len(lists["held"]) == 2 and len(lists["not_heap"]) == 2, "call sites and mappings are listed", lists)
        for name, (part, key) in {"held_by": ("held", "held"), "rounded_up": ("rounding", "rounding"),
                                  "call_sites": ("held", "bytes"), "largest_not_heap": ("not_heap", "bytes")}.items():
            checks.that(found["rest"][name] + sum(row[key] for row in found[name]) == found["parts"][part],
                        f"JSON has the rest of {name}", found)
        checks.that(f"`acre heap --by held_space {process.pid}`" in text and "run --profile" not in text,
                    "with the profiler on the advice is acre heap", text)
    empty = {"size": 64, "live": 0, "private_list": 1, "deferred": 100, "remote_list": 0, "uncarved": 0, "outbox": 0,
             "free": 50, "runs": 3, "owned": 2, "rounding": 0}
    rows = list(why_figures.classes_of({"process": {"threads": 1}, "merged": {"classes": [empty, {**empty, "live": 1}]}}))
    checks.that(rows[0]["held"] == 0 and rows[0]["cached"] == 151 * 64 and rows[1]["held"] > 0
                and rows[1]["held"] + rows[1]["cached"] == 151 * 64, "runs in which nothing lives are cached", rows)
    figures = dict.fromkeys(("requested", "rounding", "run_rest", "transit", "dirty", "muzzy", "purging", "metadata"), 0)
    free = {**empty, "free": 100}
    resident = types.SimpleNamespace(heap=1 << 20, rest={"other": 0})
    classes = list(why_figures.classes_of({"process": {"threads": 1}, "merged": {"classes": [free]}}))
    parts, _ = why_figures.parts_of({"process": {**figures, "requested": 1 << 20}}, classes, resident)
    checks.that(parts["live"] == 1 << 20 and parts["cached"] == 0,
                "what is not resident is rather taken for free blocks than for live ones", parts)


def check_watch(checks, work):
    with work.running("grows", conf="control:true,prof:true,prof_sample:4096") as process:
        ended = acre("why", process.pid, "--watch", "-n", "3", "-d", "0.5", "--json")
        looks = [json.loads(line) for line in ended.stdout.splitlines()]
        checks.that(len(looks) == 3 and [look["look"] for look in looks] == [1, 2, 3], "acre why --watch --json: a line a look", ended)
        first, last = looks[0], looks[-1]
        checks.that(first["live"]["growth"] == 0 and not first["classes"]["rows"], "nothing has grown at the first look", first)
        grown = next(row for row in last["classes"]["rows"] if row["size"] == 3264)
        checks.that(last["live"]["growth"] > 100000 and grown["growth"] > 0
                    and last["tags"]["rows"][0]["tag"] == "growing", "what grew, by class and by tag", last)
        site = last["call_sites"]["rows"][0]
        checks.that("grow" in site["stack"] and site["growth"] > 0, "and by call site", site)
        checks.that(abs(grown["in_an_hour"] * last["seconds"] / 3600 - grown["growth"]) < 0.01 * grown["growth"] + 1,
                    "what that is in an hour", last)
        for name, whole in (("classes", last["live"]["growth"]), ("tags", last["live"]["growth"]),
                            ("call_sites", last["call_sites"]["growth"])):
            found = last[name]
            checks.that(sum(row["growth"] for row in found["rows"]) + found["rest"] == whole, f"{name} add up", found)
        text = acre("why", process.pid, "--watch", "-n", "2", "-d", "0.3").stdout
        for words in ("resident; what grows", "by size class", "blocks of 3264 bytes", "grow < main", "by tag", "growing",
                      "in an hour"):
            checks.that(words in text, f"acre why --watch says {words!r}", text)
        lines = without_colours(on_terminal("why", str(process.pid), "--watch", "-n", "2", "-d", "0.3", columns=80)).split("\n")
        checks.that(max(len(re.sub(r"\033\[[0-9;]*[A-Za-z]", "", line)) for line in lines) <= 80, "in 80 columns", lines)
    with work.running("grows") as process:
        text = acre("why", process.pid, "--watch", "-n", "2", "-d", "0.2").stdout
        checks.that(f"`acre ctl {process.pid} prof.active true`" in text, "without the profiler it says how to begin", text)
    checks.that(acre("why", "1", "--watch", "-d", "0").returncode == 2 and acre("why", "1", "--watch", "-n", "0").returncode == 2,
                "acre why --watch with wrong arguments")


def check_heap(checks, work):
    with work.running("nearly_empty", conf="control:true,prof:true,prof_sample:4096") as process:
        table = acre("heap", "--by", "inuse_space", process.pid)
        checks.that(table.returncode == 0 and re.search(r"^ *\d.* main$", table.stdout, re.M),
                    "acre heap PID names the functions that hold memory", table)
        found = as_json(checks, "why", process.pid, "--json")
        sites = [site for site in found["call_sites"] or () if "main" in site["stack"]]
        checks.that(sites and abs(sites[0]["bytes"] / found["parts"]["held"] - 1) < 0.5,
                    "acre why: who allocated the few blocks that hold runs", found)
        checks.that(re.search(r"iB  main\b", acre("why", process.pid).stdout), "acre why says so in words")
        for kind in ("peak", "growth", "text"):
            made = base64.b64decode(as_json_raw(process.pid, "heap", kind)["profile"], validate=True)
            checks.that(made.startswith(b"heap profile: " if kind == "text" else b"\x1f\x8b") and len(made) > 100,
                        f"the verb heap, {kind}", made[:100])
        for name, start in (("a.peak.pb.gz", b"\x1f\x8b"), ("a.growth.pb.gz", b"\x1f\x8b"), ("a.heap", b"heap profile: ")):
            path = work.folder / name
            ended = acre("heap", "--save", path, process.pid)
            checks.that(ended.returncode == 0 and path.read_bytes().startswith(start), f"acre heap --save {name}", ended)
            shown = acre("heap", path)
            checks.that(shown.returncode == 0 and shown.stdout, f"and acre heap reads {name}", shown)
        checks.that(acre("heap", "--save", path, path).returncode == 2, "acre heap --save without a process")
        checks.that(b"error: a heap profile is live" in ask_raw(path_of(process.pid), b"heap all\n"), "the verb heap, wrongly")
    with work.running("idle") as process:
        refused = acre("heap", process.pid)
        checks.that(is_one_line(refused, "the heap profiler is off"), "acre heap: the profiler is off", refused)
        checks.that(as_json(checks, "why", process.pid, "--json")["call_sites"] is None, "acre why without the profiler")
        acre("ctl", process.pid, "prof.active", "true")
        begun = acre("heap", process.pid)
        checks.that(begun.returncode == 0 and "nothing is sampled yet" in begun.stdout
                    and f"`acre ctl {process.pid} prof.reset 16`" in begun.stdout, "it can be told to begin", begun)
        acre("ctl", process.pid, "prof.active", "false")
        ended = acre("heap", process.pid)
        checks.that(ended.returncode == 0 and f"`acre ctl {process.pid} prof.active true`" in ended.stdout, "and to end", ended)
    checks.that(is_one_line(acre("heap", "999999999"), "there is no process"), "acre heap: no such process")


def check_exec(checks, work):
    """This process is asked, and ends its first answers early, as one does that becomes another program."""
    path = next(live.Process(os.getpid()).socket_paths())
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    answers = []

    def serve(listener):
        for answer in answers:
            client, _ = listener.accept()
            with client:
                client.recv(100)
                client.sendall(answer)

    for early in (live.MOST_EXECS, live.MOST_EXECS + 1):
        answers[:] = [b"ok\nhal"] * early + [b"ok\nwhole\0"] * (early <= live.MOST_EXECS)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            server = threading.Thread(target=serve, args=(listener,))
            server.start()
            try:
                said = live.ask(os.getpid(), "info")
            except live.LiveError as error:
                said = str(error)
            server.join()
        os.unlink(path)
        wanted = said == "whole" if early <= live.MOST_EXECS else "ended its answer too early" in said
        checks.that(wanted, f"a process that ends {early} answers early", said)


def check_call_sites(checks, work):
    """What a process says that knows who holds its runs."""
    import why_command
    parts = dict.fromkeys((name for name, *_ in why_command.PARTS), 1 << 20)
    explanation = {"pid": 1, "command": "p", "resident": 7 << 20, "swapped": 0, "parts": parts, "largest_not_heap": [],
                   "not_heap": {"files": 1 << 20}, "held_by": [], "rounded_up": [], "dirty_is_returned": "kept",
                   "call_sites": [{"bytes": 1 << 20, "stack": ["make_node<int, A<B> >(C const&)", "parse", "main"]}],
                   "untouched": dict.fromkeys(parts, 0), "rest": {"held_by": 1 << 20, "call_sites": 0, "rounded_up": 1 << 20,
                   "largest_not_heap": 1 << 20}, "pages": {"runs": 8 << 20, "live": 3 << 20, "returned": 0},
                   "left_out": {"held_by": 1, "call_sites": 0}, "advice": []}
    explanation["left_out"] |= {"rounded_up": 0, "largest_not_heap": 1}
    text = "\n".join(why_command.lines_of(explanation, False))
    checks.that("1.0 MiB  make_node < parse < main" in text and "1 class more" in text, "acre why shows call sites", text)


def on_terminal(*arguments, keys=b"", environment=None, columns=80, lines=40):
    """What a command writes to a terminal of this size."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            os.environ.pop(name, None)
        os.environ.update({"TERM": "xterm-256color", **(environment or {})})
        os.execv(ACRE, [str(ACRE), *arguments])
    text = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 20)
        try:
            part = os.read(terminal, 1 << 16) if ready else b""
        except OSError:
            part = b""
        if not part:
            break
        text += part
        if keys and b"sorted by" in text:
            os.write(terminal, keys)
            keys = b""
    os.close(terminal)
    os.waitpid(pid, 0)
    return text.decode(errors="replace")
