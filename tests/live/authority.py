"""Who may ask: programs that change their user while they are asked, and what a client may not tell them."""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import live
from support import FOLDER, LIBRARY, NOBODY, acre, eventually, is_one_line, path_of, tasks

THEIRS = f"/tmp/acre-{NOBODY}"
TOLD_S = 20


def become(process, number, what):
    process.send_signal(number)
    told = process.stdout.readline().split()
    assert told and told[0] == what, told


def connected(path, user):
    """A socket that this user has connected, as the other end sees it."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(TOLD_S)
    os.seteuid(user)
    try:
        client.connect(path)
    finally:
        os.seteuid(0)
    return client


def rest(client):
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while not answer.endswith(b"\0") and (part := client.recv(1 << 16)):
            answer += part
    return answer


def unread(client):
    """Bytes that the other end has not taken yet."""
    return struct.unpack("i", fcntl.ioctl(client, termios.TIOCOUTQ, b"\0" * 4))[0]


def split(process, user, path, first, change, second):
    """What the process says to a request in two parts, between which it changes."""
    with connected(path, user) as client:
        client.sendall(first)
        eventually(lambda: unread(client) == 0, 0.5)
        become(process, *change)
        with contextlib.suppress(BrokenPipeError):
            client.sendall(second)
        return rest(client)


def only_root(check):
    """Only root can be two users."""
    def checked(checks, work):
        if os.geteuid() == 0:
            check(checks, work)
        else:
            print("only root can be two users: not checked")
    checked.__name__ = check.__name__
    return checked


@only_root
def check_daemon(checks, work):
    """A daemon of root's acts for another user, who asks meanwhile and goes on when it is root again."""
    with tempfile.TemporaryDirectory() as folder, work.running("changes", conf="control:true,prof:true") as process:
        live.ask(process.pid, "info")
        become(process, signal.SIGUSR1, "acts_for_other")
        told = acre("stats", process.pid)
        checks.that(is_one_line(told, "more than one user"), "a process that acts for another user answers nobody", told)
        theirs, target = f"{THEIRS}/{process.pid}.sock", Path(folder) / "written.heap"
        opened = eventually(lambda: os.path.exists(theirs), 2)
        if opened:
            told = split(process, NOBODY, theirs, b"ctl prof.dump ", (signal.SIGUSR2, "back"), f"{target}\n".encode())
        checks.that(not target.exists(), "it writes no file as root for that user", (opened, told))
        checks.that(not opened, "and opens no socket to that user", theirs)


@only_root
def check_change_while_asked(checks, work):
    with work.running("changes") as process:
        live.ask(process.pid, "info")
        told = split(process, 0, path_of(process.pid), b"ctl opt.dirty_decay_ms ", (signal.SIGUSR1, "acts_for_other"), b"77\n")
        checks.that(told.startswith(b"error: ") and b"more than one user" in told,
                    "who may ask is settled again when the request is there", told)
        become(process, signal.SIGUSR2, "back")
        checks.that(acre("ctl", process.pid, "opt.dirty_decay_ms").stdout == "10000\n",
                    "what was refused was not done, and a process that is itself again answers")


@only_root
def check_refused_states(checks, work):
    for change, words in (((signal.SIGUSR1, "acts_for_other"), "more than one user"),
                          ((signal.SIGALRM, "has_other_group"), "more than one user or group"),
                          ((signal.SIGHUP, "is_other"), "changed its user"),
                          ((signal.SIGWINCH, "not_dumpable"), "not dumpable")):
        with work.running("changes") as process:
            live.ask(process.pid, "info")
            become(process, *change)
            commands = ("stats",), ("purge",), ("ctl", "version"), ("heap",), ("leaks",)
            with ThreadPoolExecutor(len(commands)) as pool:  # some wait long for a socket
                ends = list(pool.map(lambda command: acre(command[0], process.pid, *command[1:]), commands))
            for (command, *_), ended in zip(commands[:-1], ends):
                checks.that(is_one_line(ended, words), f"{change[1]}: acre {command} is one line", ended)
            checks.that(ends[-1].returncode == 2 and words in ends[-1].stderr, f"{change[1]}: acre leaks likewise", ends[-1])
            ended = acre("stats", process.pid, user=NOBODY, group=NOBODY, extra_groups=[])
            checks.that(is_one_line(ended), f"{change[1]}: one line for the other user, too", ended)
            checks.that(str(process.pid) not in acre("ps").stdout, f"{change[1]}: acre ps leaves it out")


@only_root
def check_worker(checks, work):
    """The child of a root's process that becomes another user for good before it has a socket."""
    with work.running("worker", lines=2) as process:
        child = int(next(line.split()[1] for line in process.told if line.startswith("is_other")))
        eventually(lambda: "acre-control" in tasks(child))
        opened = eventually(lambda: os.path.exists(f"{THEIRS}/{child}.sock"), 2)
        ended = acre("stats", child)
        checks.that(not opened and is_one_line(ended, "changed its user"), "a worker that has changed its user has no socket", ended)
        checks.that(live.ask(process.pid, "info"), "its parent has")


@only_root
def check_capabilities(checks, work):
    """A user's process with rights that this user has not."""
    setpriv = shutil.which("setpriv")
    rights = ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]
    command = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *rights]
    if setpriv is None or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        print("no setpriv, or no ambient capabilities here: not checked")
        return
    program = work.folder / "with_rights"
    program.write_text(f"#!/bin/sh\nexec {' '.join(command)} env LD_PRELOAD=\"$SUBJECT_PRELOAD\" {work.program} \"$@\"\n")
    program.chmod(0o755)
    with work.running("idle", program=program, more={"SUBJECT_PRELOAD": str(LIBRARY)}) as process:
        ended = acre("stats", process.pid, user=NOBODY, group=NOBODY, extra_groups=[])
        checks.that(is_one_line(ended, "capabilities"), "a process with capabilities does not answer its user", ended)
        checks.that(acre("stats", process.pid).returncode == 0, "but root", ended)


def check_paths(checks, work):
    """A client says nowhere where a file is to be, and no file is left."""
    with tempfile.TemporaryDirectory() as folder, work.running("nearly_empty", conf="control:true,prof:true",
                                                               cwd=folder) as process:
        live.ask(process.pid, "info")
        before = sorted(os.listdir(FOLDER))
        for name in ("prof.dump", "leaks.dump", "prof.prefix"):
            for value in ((), (f"{folder}/file",), ("../file",), (f"{FOLDER}/file",)):
                if name == "prof.prefix" and not value:
                    continue
                ended = acre("ctl", process.pid, name, *value)
                checks.that(is_one_line(ended, name, "where a file"), f"acre ctl PID {name} {' '.join(value)} is refused", ended)
        for command in ("heap", "leaks"):
            ended = acre(command, process.pid)
            checks.that(ended.returncode in (0, 23) and ended.stdout, f"acre {command} brings a report", ended)
        more = {name for name in os.listdir(FOLDER) if not re.fullmatch(r"\.?\d+(\.sock|\.ask)?", name)}
        checks.that(not os.listdir(folder) and more <= set(before), "no file was written",
                    (os.listdir(folder), before, os.listdir(FOLDER)))
