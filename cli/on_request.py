"""A process on acre without the option control opens its socket when a file in the run folder asks for it
(docs/live.md)."""

import contextlib
import os
import time

WAIT_S = 4              # a process that allocates looks once a second
WAIT_FOR_THREAD_S = 12  # a background thread without work looks every five seconds, and naps
STEP_S = 0.02


def wait_s(process):
    return WAIT_FOR_THREAD_S if process.has_background_thread() else WAIT_S


def open_tmp(process):
    """A descriptor of /tmp as the process sees it. In another root no link leads out of that root."""
    root = f"/proc/{process.pid}/root"
    try:
        if not os.path.samefile(root, "/"):
            top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                return os.open("tmp", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            finally:
                os.close(top)
    except PermissionError:
        pass  # its root is not for us to see, so it is ours as a rule
    return os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY)


def open_run_folder(process):
    """Makes it if there is none. May raise OSError."""
    name, tmp = f"acre-{process.user}", open_tmp(process)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=tmp)
            os.chown(name, process.user, -1, dir_fd=tmp, follow_symlinks=False)
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=tmp)
    finally:
        os.close(tmp)
    if os.fstat(folder).st_uid != process.user:
        os.close(folder)
        raise PermissionError(f"/tmp/{name} is another user's")
    return folder


def ask(process):
    """Puts the file there. It is the process's user's, also when root makes it. The process takes it away; until it
    looks, the file stays, also when nobody waits any more. May raise OSError."""
    folder = open_run_folder(process)
    try:
        with contextlib.suppress(FileExistsError):
            file = os.open(f"{process.own_pid}.ask", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600,
                           dir_fd=folder)
            try:
                os.fchown(file, process.user, -1)
            finally:
                os.close(file)
    finally:
        os.close(folder)


def opened(processes, connect):
    """-> {process: what connect(process) returned} of those that have opened their socket in time."""
    found, end = {}, 0
    for process in processes:
        with contextlib.suppress(OSError):
            ask(process)
            end = max(end, time.monotonic() + wait_s(process))
    while len(found) < len(processes) and time.monotonic() < end:
        for process in processes:
            if process not in found and (client := connect(process)):
                found[process] = client
        if not any(os.path.exists(f"/proc/{process.pid}") for process in processes if process not in found):
            break
        time.sleep(STEP_S)
    return found


def forget_dead(folder):
    """Removes requests for processes that are gone."""
    for name in os.listdir(folder):
        number, _, kind = name.partition(".")
        if kind == "ask" and number.isdecimal() and not os.path.exists(f"/proc/{number}"):
            with contextlib.suppress(OSError):
                os.unlink(f"{folder}/{name}")
