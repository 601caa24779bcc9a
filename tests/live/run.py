"""Running processes asked from outside: every command, every error, and clients and programs that behave badly.

Exit code 0: all well, 1: not. ACRE_LIB names the library, beside which is the archive. Arguments: the checks to make
(see CHECKS below, and page); without them all, most of them at the same time.
"""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from support import (CLIENT_MASK, FOLDER, HERE, LIBRARY, NOBODY, SOURCE, Work, acre, as_json, ends_well, eventually,
                     is_one_line, path_of, tasks)

import authority
import client_checks
import command_checks
import doctor_checks
import live
import on_request_checks
import top_checks
from checks import Checks, check_page, clean_environment, run


# --- Errors -----------------------------------------------------------------------------------------------------

def check_errors(checks, work):
    dead = subprocess.Popen(["true"])
    dead.wait()
    checks.that(is_one_line(acre("stats", dead.pid), f"there is no process {dead.pid}"), "a dead process: one line")
    with subprocess.Popen(["sleep", "100"]) as ends:
        process = live.Process(ends.pid)
        ends.kill()
    try:
        found = process.may_get_socket()
    except live.LiveError as error:
        found = str(error)
    checks.that(found is False or "has ended" in str(found), "a process that ends while it is looked at", found)
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
            code = ("import sys; sys.path.insert(0, sys.argv[1]); import support; "
                    "print(support.ask_raw(sys.argv[2], b'purge\\n'))")
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


# What looks at all processes of the machine, or changes the folder where they meet: alone, before the rest.
ALONE = ("run", "ps", "ps_all", "odd_names", "users")
# Most of the time these wait for what takes its seconds in the library. So the groups run at the same time. In one group are
# those that move another user's folder or look there; top, and clients that keep a process busy, which top asks, too.
TOGETHER = (("stats", "ctl", "background_thread", "purge", "why", "why_adds_up", "watch", "heap", "top", "paths", "errors",
             "thread", "descriptors", "last_thread", "static", "call_sites", "exec", "hostile"),
            ("refused_states", "daemon", "change_while_asked", "worker", "capabilities", "refusals", "users_of_requests"),
            ("folders", "slow", "flood", "never_reads", "half_open", "links", "on_request", "child", "fork_and_exec", "doctor"))
CHECKS = {check.__name__.removeprefix("check_"): check for check in (
    command_checks.check_run, command_checks.check_ps, command_checks.check_stats, command_checks.check_ctl,
    command_checks.check_background_thread, command_checks.check_purge, command_checks.check_why,
    command_checks.check_odd_names, command_checks.check_why_adds_up, command_checks.check_watch,
    command_checks.check_heap, command_checks.check_call_sites, command_checks.check_exec,
    top_checks.check_top, authority.check_daemon, authority.check_change_while_asked, authority.check_refused_states,
    authority.check_worker, authority.check_capabilities, authority.check_paths, check_errors, check_users, check_refusals,
    check_folders, check_thread, check_fork_and_exec, check_descriptors, check_last_thread, check_static,
    client_checks.check_hostile, client_checks.check_slow, client_checks.check_flood, client_checks.check_never_reads,
    client_checks.check_half_open, client_checks.check_links,
    on_request_checks.check_on_request, on_request_checks.check_ps_all, on_request_checks.check_child,
    on_request_checks.check_users_of_requests, doctor_checks.check_doctor)}


def check_together(checks):
    """Each group in a process of its own, which says what it does as it does it."""
    def show(process, name):
        for text in process.stdout:
            print(f"{name}: {text}", end="", flush=True)

    running = []
    for names in TOGETHER:
        process = subprocess.Popen([sys.executable, "-u", __file__, *names], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        reader = threading.Thread(target=show, args=(process, names[0]))
        reader.start()
        running.append((names, process, reader))
    for names, process, reader in running:
        reader.join()
        checks.that(process.wait() == 0, f"{' '.join(names)}: all well")


def main():
    assert sorted(CHECKS) == sorted(sum(TOGETHER, ALONE))
    checks = Checks()
    os.environ.pop("XDG_RUNTIME_DIR", None)
    with tempfile.TemporaryDirectory(prefix="acre-live-") as folder:
        os.chmod(folder, 0o755)
        work = Work(Path(folder))
        for name in sys.argv[1:] or ALONE:
            if name != "page":
                CHECKS[name](checks, work)
    if len(sys.argv) == 1:
        check_together(checks)
    if len(sys.argv) == 1 or "page" in sys.argv[1:]:
        check_page(checks, SOURCE / "docs/live.md", LIBRARY, 9)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
