"""Processes without the option control, which open their socket when a file asks for it."""

import os
import shutil
import signal
import time
from pathlib import Path

import live
import on_request as asking
from support import FOLDER, NOBODY, acre, as_json, ends_well, eventually, is_one_line, path_of, tasks


def has_control(pid):
    return "acre-control" in tasks(pid)


def requests():
    return [name for name in os.listdir(FOLDER) if name.endswith(".ask")] if os.path.isdir(FOLDER) else []


def check_on_request(checks, work):
    with work.running("work", conf="") as process:
        checks.that(not has_control(process.pid), "without the option there is no thread")
        ended = acre("why", process.pid)
        checks.that(ended.returncode == 0 and "are resident" in ended.stdout and not ended.stderr,
                    "a process that allocates opens its socket when it is asked", ended)
        checks.that(has_control(process.pid) and f"{process.pid}.ask" not in requests(), "and takes the request away", requests())
        checks.that(process.pid in [row["pid"] for row in live_rows()], "acre ps has it from then on")
        checks.that(ends_well(process) and not os.path.exists(path_of(process.pid)), "it ends well, and takes the socket along")
    with work.running("work", program=work.static, conf="") as process:
        checks.that(acre("stats", process.pid).returncode == 0, "so does a static program")
    with work.running("dirty", conf="background_thread:true") as process:
        checks.that(acre("stats", process.pid).returncode == 0, "and one that is idle, by its background thread")
    with work.running("work_when_told", conf="") as process:
        ended = acre("stats", process.pid)
        checks.that(is_one_line(ended, "runs on acre without the option control", "opened no socket", "once it allocates",
                                "the request stays"), "one that is idle: one line", ended)
        checks.that(not has_control(process.pid) and f"{process.pid}.ask" in requests(), "no thread, and the request waits")
        process.send_signal(signal.SIGUSR1)
        checks.that(eventually(lambda: has_control(process.pid)) and acre("stats", process.pid).returncode == 0,
                    "once it works it answers")
        checks.that(ends_well(process), "and ends well")
    with work.running("work", conf="control_on_request:false") as process:
        ended = acre("stats", process.pid)
        checks.that(is_one_line(ended, "control_on_request") and not has_control(process.pid), "the option forbids it", ended)
    acre("ps")
    checks.that(f"{process.pid}.ask" not in requests(), "acre ps removes requests for processes that are gone", requests())


def check_ps_all(checks, work):
    with work.running("work", conf="") as first, work.running("dirty", conf="background_thread:true") as second:
        pids = {first.pid, second.pid}
        checks.that(not pids & {row["pid"] for row in as_json(checks, "ps", "--json")}
                    and pids <= {row["pid"] for row in as_json(checks, "ps", "--all", "--json")}, "acre ps --all asks all")


def live_rows():
    return [{"pid": process.pid} for process, _ in live.everyone()]


def check_child(checks, work):
    with work.running("fork_when_told", conf="") as process:
        live.ask(process.pid, "info")
        process.send_signal(signal.SIGUSR1)
        child = int(process.stdout.readline().split()[1])
        time.sleep(1.5)
        checks.that(not has_control(child) and live.ask_json(process.pid, "info")["pid"] == process.pid,
                    "the child of one that was asked has no socket")
        checks.that(live.ask_json(child, "info")["pid"] == child, "until it is asked itself")
        os.kill(child, signal.SIGTERM)
        checks.that(ends_well(process), "both end well")


def check_no_requests(checks, work):
    def in_folder(process):
        return Path(FOLDER) / f"{process.pid}.ask"

    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    with (work.running("work", conf="") as first, work.running("work", conf="") as second,
          work.running("work", conf="") as third):
        in_folder(first).touch()
        os.chown(in_folder(first), NOBODY, NOBODY)
        in_folder(second).symlink_to("/etc/passwd")
        in_folder(third).mkdir()
        processes = {"another's file": first, "a link": second, "a folder": third}
        eventually(lambda: any(has_control(process.pid) for process in processes.values()), 2.5)
        for what, process in processes.items():
            checks.that(not has_control(process.pid) and os.path.lexists(in_folder(process)), f"{what} is no request")
        in_folder(first).unlink()
        in_folder(second).unlink()
        in_folder(third).rmdir()


def check_users_of_requests(checks, work):
    if os.geteuid() != 0:
        print("only root can be two users: not checked")
        return
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    check_no_requests(checks, work)
    for asker in (as_nobody, {}):
        with work.running("work", conf="", **as_nobody) as process:
            ended = acre("stats", process.pid, **asker)
            checks.that(ended.returncode == 0, f"{'nobody' if asker else 'root'} asks nobody's process for a socket", ended)
    with work.running("work", conf="") as process:
        ended = acre("stats", process.pid, **as_nobody)
        checks.that(is_one_line(ended, "belongs to root") and not has_control(process.pid), "nobody cannot ask root's", ended)
    root = work.folder / "root"
    (root / "tmp").mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    shutil.copy(work.static, root / "subject")
    with work.running("work", program="/subject", preload=False, conf="", preexec_fn=lambda: os.chroot(root)) as process:
        checks.that(acre("stats", process.pid).returncode == 0 and (root / f"tmp/acre-0/{process.pid}.sock").exists(),
                    "a process in another root is asked there")
    asking.ask(live.Process(os.getpid()))
    checks.that(f"{os.getpid()}.ask" in requests(), "a request lies in the run folder")
    os.unlink(f"{FOLDER}/{os.getpid()}.ask")
