"""Running processes asked from outside: every command, every error, and clients and programs that behave badly.

Exit code 0: all well, 1: not. ACRE_LIB names the library, beside which is the archive.
"""

import contextlib
import json
import os
import pty
import random
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
sys.path.insert(0, str(HERE.parent / "package"))
sys.path.insert(0, str(SOURCE / "cli"))

import live
from checks import Checks, check_page, clean_environment, run

LIBRARY = Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()
ACRE = SOURCE / "acre"
NOBODY = 65534
FOLDER = f"/tmp/acre-{os.geteuid()}"
CLIENT_MASK = 0xfffffffe7ffbfeff  # all signals but KILL, STOP, and the two that the C library keeps for itself


class Work:
    def __init__(self, folder):
        self.folder = folder
        self.program = folder / "subject"
        self.static = folder / "subject_static"
        source = HERE / "programs/subject.c"
        subprocess.run(["gcc", "-O0", "-pthread", source, "-o", self.program], check=True)
        subprocess.run(["gcc", "-O0", "-pthread", "-static", source, LIBRARY.parent / "libacre.a", "-o", self.static],
                       check=True)

    @contextlib.contextmanager
    def running(self, what, program=None, conf="control:true", preload=True, lines=1, **options):
        """-> the process, and the lines in which it has said so far what it does."""
        environment = clean_environment(ACRE_CONF=conf, **options.pop("more", {}))
        environment.pop("XDG_RUNTIME_DIR", None)
        environment.update(options.pop("runtime", {}))
        if preload and program is None:
            environment["LD_PRELOAD"] = str(LIBRARY)
        process = subprocess.Popen([program or self.program, what], env=environment, stdout=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, text=True, **options)
        try:
            process.told = [process.stdout.readline().strip() for _ in range(lines)]
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()


def acre(*arguments, **options):
    environment = clean_environment(CI="true")
    environment.pop("XDG_RUNTIME_DIR", None)
    return run([ACRE, *arguments], environment=options.pop("environment", environment), **options)


def as_json(checks, *arguments):
    ended = acre(*arguments)
    try:
        return json.loads(ended.stdout)
    except ValueError:
        checks.that(False, f"acre {' '.join(map(str, arguments))} prints JSON", ended)
        raise


def is_one_line(ended, *words):
    return (ended.returncode == 1 and not ended.stdout and ended.stderr.startswith("acre: ")
            and ended.stderr.count("\n") == 1 and all(word in ended.stderr for word in words))


def ends_well(process):
    process.send_signal(signal.SIGTERM)
    return process.wait(60) == 0


def eventually(holds, seconds=20):
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def path_of(pid):
    return f"{FOLDER}/{pid}.sock"


def tasks(pid):
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        found[(task / "comm").read_text().strip()] = (task / "status").read_text()
    return found


# --- The commands -----------------------------------------------------------------------------------------------

def check_run(checks, work):
    with subprocess.Popen([ACRE, "run", "--lib", LIBRARY, "--", work.program, "idle"], stdout=subprocess.PIPE, text=True,
                          env=clean_environment()) as process:
        process.stdout.readline()
        ended = acre("stats", process.pid)
        checks.that(ended.returncode == 0 and ended.stdout.startswith(f"acre ") and f"process {process.pid}\n" in ended.stdout,
                    "a process that acre run has started can be asked", ended)
        process.terminate()
    seen = run([ACRE, "run", "--lib", LIBRARY, "--", "printenv", "ACRE_CONF"],
               environment=clean_environment(ACRE_CONF="control:false")).stdout
    checks.that(seen == "control:true,control:false\n", "acre run leaves ACRE_CONF the last word", seen)
    with work.running("idle", conf="control:true,control:false") as process:
        checks.that(set(tasks(process.pid)) == {"subject"}, "and without the option there is no thread")
        checks.that(is_one_line(acre("stats", process.pid), "without the option control"),
                    "without the option: one line", acre("stats", process.pid))


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
        rows = {row["pid"] for row in as_json(checks, "ps", "--json")}
        checks.that(first.pid not in rows and second.pid in rows and not os.path.exists(path_of(first.pid))
                    and os.path.exists(path_of(second.pid)), "acre ps removes it, and no other")
        checks.that(ends_well(second) and not os.path.exists(path_of(second.pid)), "one that ends takes its socket along")


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
                                 (("prof.dump",), ("heap profiler",)),
                                 (("thread.arena",), ("only be used by the program itself",)),
                                 (("a" * 3000,), ("at most",))):
            ended = acre("ctl", pid, *arguments)
            checks.that(is_one_line(ended, *words), f"acre ctl {' '.join(arguments)[:40]}: one line", ended)
        checks.that(acre("ctl").returncode == 2 and acre("ctl", pid, "a", "b", "c").returncode == 2
                    and acre("ctl", pid, "a\nb").returncode == 2, "acre ctl with wrong arguments")


def check_background_thread(checks, work):
    with work.running("dirty", conf="control:true,dirty_decay_ms:100") as process:
        dirty = int(acre("ctl", process.pid, "stats.dirty").stdout)
        heaps = acre("ctl", process.pid, "stats.threads").stdout
        on = acre("ctl", process.pid, "background_thread", "true")
        checks.that(on.stdout == "true\n" and "acre-decay" in tasks(process.pid), "a background thread is made for an idle program", on)
        gone = eventually(lambda: int(acre("ctl", process.pid, "stats.dirty").stdout) < dirty >> 4)
        checks.that(dirty >= 30 << 20 and gone, "and it returns the dirty pages", dirty)
        acre("ctl", process.pid, "background_thread", "false")
        checks.that(eventually(lambda: "acre-decay" not in tasks(process.pid)), "it can be ended", tasks(process.pid).keys())
        acre("ctl", process.pid, "background_thread", "true")
        checks.that("acre-decay" in tasks(process.pid) and ends_well(process), "and be made again", heaps)


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
        for words in ("are resident\n", "\n[", "live", "rounding", "cached by threads", "held by nearly empty runs", "dirty",
                      "returned within 10 s", "metadata", "not heap", "files: code and data", f"`acre purge {process.pid}`",
                      f"`acre ctl {process.pid} background_thread true`"):
            checks.that(words in text, f"acre why says {words.strip()!r}", text)
        bar = re.search(r"^\[(\S+)\]$", text, re.M)[1]
        checks.that(abs(bar.count("d") / len(bar) - found["parts"]["dirty"] / found["resident"]) < 0.05,
                    "the bar shows the parts", bar)
        acre("ctl", process.pid, "opt.dirty_decay_ms", "-1")
        checks.that("kept: dirty_decay_ms is negative" in acre("why", process.pid).stdout, "acre why knows the options")
        checks.that("\033[48;5;" in on_terminal("why", str(process.pid)), "on a terminal the bar has colours")
    with work.running("nearly_empty") as process:
        found = as_json(checks, "why", process.pid, "--json")
        worst = found["held_by"][0]
        checks.that(worst["size"] in (208, 224, 240) and worst["live"] < worst["blocks"] / 50
                    and found["parts"]["held"] > 30 << 20 and found["parts"]["held"] > 0.7 * found["resident"],
                    "acre why names the class whose few blocks hold runs", found)
        text = acre("why", process.pid).stdout
        checks.that("few blocks keep these runs" in text and f"in blocks of {worst['size']} bytes" in text,
                    "acre why says so in words", text)
        checks.that(acre("why").returncode == 2, "acre why without a process")


def check_heap(checks, work):
    with work.running("nearly_empty", conf="control:true,prof:true,prof_sample:4096") as process:
        table = acre("heap", "--by", "inuse_space", process.pid)
        checks.that(table.returncode == 0 and re.search(r"^ *\d.* main$", table.stdout, re.M),
                    "acre heap PID names the functions that hold memory", table)
        checks.that(not list(Path(path_of(process.pid)).parent.glob("*.heap.*")), "its file is removed")
        found = as_json(checks, "why", process.pid, "--json")
        sites = [site for site in found["call_sites"] or () if "main" in site["stack"]]
        checks.that(sites and abs(sites[0]["bytes"] / found["parts"]["held"] - 1) < 0.5,
                    "acre why: who allocated the few blocks that hold runs", found)
        checks.that("held by main" in acre("why", process.pid).stdout, "acre why says so in words")
        for kind in ("peak", "growth", "text"):
            written = Path(as_json_raw(process.pid, "heap", kind)["file"])
            checks.that(written.stat().st_size > 100 and written.stat().st_uid == os.getuid(), f"the verb heap, {kind}")
            written.unlink()
        checks.that(b"error: a heap profile is live" in ask_raw(path_of(process.pid), b"heap all\n"), "the verb heap, wrongly")
    with work.running("idle") as process:
        refused = acre("heap", process.pid)
        checks.that(is_one_line(refused, "the heap profiler is off"), "acre heap: the profiler is off", refused)
        checks.that(as_json(checks, "why", process.pid, "--json")["call_sites"] is None, "acre why without the profiler")
        acre("ctl", process.pid, "prof.active", "true")
        checks.that(acre("heap", process.pid).returncode == 0, "it can be told to begin", acre("heap", process.pid))
    checks.that(is_one_line(acre("heap", "999999999"), "there is no process"), "acre heap: no such process")


def as_json_raw(pid, *words):
    return json.loads(ask_raw(path_of(pid), " ".join(words).encode() + b"\n").partition(b"\n")[2].rstrip(b"\0"))


def check_call_sites(checks):
    """What a process says that knows who holds its runs."""
    import why_command
    parts = dict.fromkeys((name for name, *_ in why_command.PARTS), 1 << 20)
    explanation = {"pid": 1, "command": "p", "resident": 7 << 20, "swapped": 0, "parts": parts, "largest_not_heap": [],
                   "not_heap": {"files": 1 << 20}, "held_by": [], "dirty_is_returned": "kept",
                   "call_sites": [{"bytes": 1 << 20, "stack": ["make_node", "parse", "main"]}],
                   "advice": []}
    text = "\n".join(why_command.lines_of(explanation, False))
    checks.that("1.0 MiB held by make_node < parse < main" in text, "acre why shows call sites", text)


def on_terminal(*arguments, keys=b"", environment=None):
    """What a command writes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
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


def check_top(checks, work):
    with work.running("dirty") as process:
        ended = acre("top", "-n", "2", "-d", "0.1")
        lines = [line for line in ended.stdout.splitlines() if line.strip().startswith(str(process.pid))]
        checks.that(ended.returncode == 0 and len(lines) == 2, "acre top without a terminal prints tables", ended)
        text = on_terminal("top", "-d", "30", keys=b"dq")
        checks.that("sorted by dirty pages" in text.replace("\033[K", "") or "dirty pages" in text, "acre top on a terminal takes keys", text)
        checks.that(str(process.pid) in text, "acre top shows the process on a terminal", text)
        checks.that(acre("top", "-d", "x").returncode == 2 and acre("top", "-n", "0").returncode == 2
                    and acre("top", "what").returncode == 2, "acre top with wrong arguments")


# --- Errors -----------------------------------------------------------------------------------------------------

def check_errors(checks, work):
    dead = subprocess.Popen(["true"])
    dead.wait()
    checks.that(is_one_line(acre("stats", dead.pid), f"there is no process {dead.pid}"), "a dead process: one line")
    zombie = subprocess.Popen(["true"])
    eventually(lambda: "State:\tZ" in Path(f"/proc/{zombie.pid}/status").read_text())
    checks.that(is_one_line(acre("purge", zombie.pid), "has ended"), "a zombie: one line", acre("purge", zombie.pid))
    zombie.wait()
    with subprocess.Popen(["sleep", "100"]) as other:
        for command in (("stats",), ("ctl",), ("purge",), ("why",)):
            ended = acre(*command, other.pid)
            checks.that(is_one_line(ended, "does not run on acre"), f"acre {command[0]} of a process without acre: one line", ended)
        other.kill()
    with work.running("idle") as process:
        live.ask(process.pid, "info")
        process.send_signal(signal.SIGSTOP)
        eventually(lambda: all("State:\tT" in status for status in tasks(process.pid).values()))
        live.PATIENCE_S, before = 1, live.PATIENCE_S
        try:
            live.ask(process.pid, "info")
            checks.that(False, "a process that is stopped does not answer")
        except live.LiveError as error:
            checks.that("stopped" in str(error), "a process that is stopped: one line", error)
        live.PATIENCE_S = before
        process.send_signal(signal.SIGCONT)
        checks.that(live.ask(process.pid, "info"), "it answers when it goes on")


def ask_raw(path, data):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(path)
        with contextlib.suppress(BrokenPipeError):
            client.sendall(data)
        answer = b""
        while not answer.endswith(b"\0") and (part := client.recv(1 << 16)):
            answer += part
        return answer


def check_users(checks, work):
    if os.geteuid() != 0:
        print("only root can be two users: not checked")
        return
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with work.running("idle") as process:
        live.ask(process.pid, "info")
        ended = acre("stats", process.pid, **as_nobody)
        checks.that(is_one_line(ended, "belongs to root", "only that user and root"), "another user's process: one line", ended)
        # Even if the folder lets that user in, the process does not.
        try:
            os.chmod(FOLDER, 0o755)
            os.chmod(path_of(process.pid), 0o666)
            code = ("import sys; sys.path.insert(0, sys.argv[1]); import run; "
                    "print(run.ask_raw(sys.argv[2], b'purge\\n'))")
            ended = run(["/usr/bin/python3", "-c", code, HERE, path_of(process.pid)],
                        environment=clean_environment(PYTHONDONTWRITEBYTECODE="1"), **as_nobody)
            checks.that("error: only the user of this process and root may ask it" in ended.stdout,
                        "the process itself refuses other users", ended)
        finally:
            os.chmod(FOLDER, 0o700)
    with work.running("idle", **as_nobody) as process:
        ended = acre("stats", process.pid, **as_nobody)
        checks.that(ended.returncode == 0, "nobody asks nobody's process", ended)
        checks.that(acre("stats", process.pid).returncode == 0, "root asks nobody's process")
        rows = {row["pid"]: row["user"] for row in as_json(checks, "ps", "--json")}
        checks.that(rows.get(process.pid) == "nobody", "acre ps of root shows all users", rows)
        with work.running("idle") as mine:
            live.ask(mine.pid, "info")
            seen = json.loads(acre("ps", "--json", **as_nobody).stdout)
            checks.that(process.pid in [row["pid"] for row in seen] and mine.pid not in [row["pid"] for row in seen],
                        "acre ps of a user shows that user's", seen)


def check_refusals(checks, work):
    """A folder in the way, and a system that gives no thread at first."""
    if os.geteuid() != 0:
        print("only root can be in the way of another user: not checked")
        return
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    theirs, aside = Path(f"/tmp/acre-{NOBODY}"), Path(f"/tmp/acre-{NOBODY}-aside-{os.getpid()}")
    if theirs.exists():
        theirs.rename(aside)
    try:
        theirs.mkdir(0o777)
        with work.running("idle", **as_nobody) as process:
            ended = acre("stats", process.pid)
            checks.that(is_one_line(ended, "no socket", str(theirs)) and not list(theirs.iterdir()),
                        "a folder that is another user's is not used: one line", ended)
        theirs.rmdir()
        theirs.symlink_to(work.folder)
        with work.running("idle", **as_nobody) as process:
            ended = acre("stats", process.pid)
            checks.that(is_one_line(ended, "no socket") and not list(work.folder.glob("*.sock")), "no link is followed", ended)
        theirs.unlink()
    finally:
        if aside.exists():
            aside.rename(theirs)
    with work.running("work_alone", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 100)), **as_nobody) as process:
        if "acre-control" in tasks(process.pid):
            print("this system gives threads beyond RLIMIT_NPROC: not checked")
            return
        subprocess.run(["/usr/bin/python3", "-c", "import resource, sys; "
                        "resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NPROC, (100, 100))", str(process.pid)],
                       check=True, **as_nobody)
        checks.that(eventually(lambda: "acre-control" in tasks(process.pid), 60) and live.ask(process.pid, "info")
                    and ends_well(process), "a thread that was refused is asked for again")


def check_folders(checks, work):
    with tempfile.TemporaryDirectory() as runtime:
        with work.running("idle", runtime={"XDG_RUNTIME_DIR": runtime}) as process:
            checks.that(acre("stats", process.pid).returncode == 0 and os.listdir(f"{runtime}/acre") == [f"{process.pid}.sock"]
                        and os.stat(f"{runtime}/acre").st_mode & 0o777 == 0o700, "XDG_RUNTIME_DIR is used")
        os.chmod(runtime, 0o777)  # anyone could put something there
        with work.running("idle", runtime={"XDG_RUNTIME_DIR": runtime}) as process:
            checks.that(acre("stats", process.pid).returncode == 0 and os.path.exists(path_of(process.pid)),
                        "one that others may write to is not")
        with work.running("idle", runtime={"XDG_RUNTIME_DIR": runtime + "/" + "x" * 200}) as process:
            checks.that(acre("stats", process.pid).returncode == 0, "nor one that is not there")
    with work.running("idle", preexec_fn=lambda: os.umask(0o777)) as process:
        checks.that(acre("stats", process.pid).returncode == 0, "a umask changes nothing")
        os.unlink(path_of(process.pid))
        checks.that(eventually(lambda: acre("stats", process.pid).returncode == 0, 60), "a socket that was removed comes again")


# --- Programs ---------------------------------------------------------------------------------------------------

def check_thread(checks, work):
    with work.running("idle") as process:
        live.ask(process.pid, "info")
        found = tasks(process.pid)
        mask = int(re.search(r"SigBlk:\t(\w+)", found["acre-control"])[1], 16) if "acre-control" in found else 0
        checks.that(set(found) == {"subject", "acre-control"} and mask == CLIENT_MASK,
                    "the thread has its name, and all signals blocked", (found.keys(), hex(mask)))
        descriptors = sorted(os.listdir(f"/proc/{process.pid}/fd"))
        checks.that(descriptors == ["0", "1", "2"], "the program has no descriptor more", descriptors)
        before = live.statistics(process.pid)["process"]
        for request in ("stats json", "stats text", "ctl", "ctl stats.allocated", "ctl no.such", "info", "regions", "nonsense", "purge"):
            with contextlib.suppress(live.LiveError):
                for _ in range(10):
                    live.ask(process.pid, request)
        after = live.statistics(process.pid)["process"]
        same = ("allocated", "active", "small_blocks", "large_blocks", "threads", "refills", "new_runs")
        checks.that(all(before[key] == after[key] for key in same), "requests allocate nothing", (before, after))
    checks.that(process.returncode is not None, "it ended")


def check_fork_and_exec(checks, work):
    with work.running("fork", lines=2) as process:
        pids = dict(line.split() for line in process.told)
        told = {name: live.ask_json(int(pid), "info")["pid"] for name, pid in pids.items()}
        checks.that(told == {name: int(pid) for name, pid in pids.items()} and len(set(told.values())) == 2,
                    "the child of a fork answers for itself, as does its parent", (told, pids))
        child = int(pids["child"])
        os.kill(child, signal.SIGTERM)
        gone = eventually(lambda: not os.path.exists(path_of(child)))
        checks.that(gone and live.ask(process.pid, "info"), "the child's end leaves the parent's socket")
        checks.that(ends_well(process), "and both end well")
    with work.running("exec", lines=2) as process:
        checks.that(live.ask_json(process.pid, "info")["pid"] == process.pid and process.told[1] == f"ready {process.pid}",
                    "after exec the new program answers", process.told)
    with work.running("exec_other") as process:
        live.ask(process.pid, "info")
        process.send_signal(signal.SIGTERM)
        eventually(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
        checks.that(is_one_line(acre("stats", process.pid), "does not run on acre"), "one without acre does not")
        acre("ps")
        checks.that(not os.path.exists(path_of(process.pid)), "and acre ps removes what the old one left")
    with work.running("forks") as process:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            live.ask(process.pid, "stats json")
        checks.that(ends_well(process), "a program that forks all the time is asked all the time")


def check_descriptors(checks, work):
    with work.running("close") as process:
        eventually(lambda: not os.listdir(f"/proc/{process.pid}/fd"))
        checks.that(acre("stats", process.pid).returncode == 0 and acre("ctl", process.pid, "version").returncode == 0,
                    "a program that closes all descriptors still answers")
        checks.that(ends_well(process), "and ends well")
    with work.running("open") as process:
        for _ in range(300):
            live.ask(process.pid, "info")
        checks.that(ends_well(process), "the numbers of its descriptors are never taken")


def check_last_thread(checks, work):
    with work.running("last") as process:
        checks.that(process.told == ["buffered"] and process.wait(60) == 0 and not os.path.exists(path_of(process.pid)),
                    "a program whose threads have all ended ends, and what it wrote gets out", process.told)
    with work.running("last", lines=0) as process:
        with contextlib.suppress(live.LiveError):
            live.ask(process.pid, "ctl background_thread true")
        told = process.stdout.read()
        checks.that(told == "buffered\n" and process.wait(60) == 0, "with a background thread made from outside, too", told)


def check_static(checks, work):
    with work.running("dirty", program=work.static) as process:
        checks.that(acre("stats", process.pid).returncode == 0, "a static program answers")
        found = as_json(checks, "why", process.pid, "--json")
        checks.that(found["parts"]["dirty"] > 29 << 20, "acre why of a static program", found)


# --- Clients ----------------------------------------------------------------------------------------------------

def hostile(path, clients):
    """Connections that say nonsense, half of something, or nothing, and that never read."""
    generator = random.Random(5)
    for turn in range(120):
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        if client.connect_ex(path) != 0:
            client.close()
            continue
        with contextlib.suppress(OSError):
            match turn % 6:
                case 0: client.send(generator.randbytes(generator.randrange(1, 3000)))
                case 1: client.send(b"stats js")
                case 2: client.send(b"stats text\n" * 200)
                case 3: client.send(b"\0\n\xff\xfe ctl \r\n")
                case 4:
                    client.send(b"stats json\n")
                    client.close()
                    continue
        clients.append(client)


def check_hostile(checks, work):
    with work.running("work") as process:
        live.ask(process.pid, "info")
        path, clients = path_of(process.pid), []
        first = live.statistics(process.pid)["process"]["refills"]
        for _ in range(3):
            hostile(path, clients)
        # Behind all who wait there; each of them has a second.
        live.PATIENCE_S, before = 120, live.PATIENCE_S
        checks.that(live.ask_json(process.pid, "info")["pid"] == process.pid, "who behaves is served among hostile clients")
        live.PATIENCE_S = before
        for client in clients:
            client.close()
        checks.that(live.statistics(process.pid)["process"]["refills"] > first and ends_well(process),
                    "the program works on, and its blocks keep what they hold")
    with work.running("idle") as process:
        live.ask(process.pid, "info")
        path = path_of(process.pid)
        for said, wanted in ((b"\n", b"error: a request begins with a verb"), (b"x" * 5000, b"error: a request is a line of at most"),
                             (b"in\x01fo\n", b"error: a request has no control characters"),
                             (b"info", b"error: no whole line came within a second"),
                             (b"frobnicate\n", b"error: there is no verb 'frobnicate'")):
            told = ask_raw(path, said)
            checks.that(told.startswith(wanted) and told.endswith(b"\n\0"), f"a client that says {said[:20]!r} is told", told)
        with socket.socket(socket.AF_UNIX) as never:  # has to be dropped, or nobody else is ever served
            never.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            never.connect(path)
            never.sendall(b"ctl\n")
            checks.that(live.ask(process.pid, "info"), "a client that never reads is dropped")


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="acre-live-") as folder:
        os.chmod(folder, 0o755)
        work = Work(Path(folder))
        os.environ.pop("XDG_RUNTIME_DIR", None)
        for check in (check_run, check_ps, check_stats, check_ctl, check_background_thread, check_purge, check_why,
                      check_heap, check_top, check_errors, check_users, check_refusals, check_folders, check_thread,
                      check_fork_and_exec, check_descriptors, check_last_thread, check_static, check_hostile):
            if len(sys.argv) == 1 or check.__name__.removeprefix("check_") in sys.argv[1:]:
                check(checks, work)
        check_call_sites(checks)
        if len(sys.argv) == 1 or "page" in sys.argv[1:]:
            check_page(checks, SOURCE / "docs/live.md", LIBRARY, 9)
    print(f"{checks.count - len(checks.failures)} of {checks.count} checks hold")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
