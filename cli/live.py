"""Running processes on acre, asked at their control sockets (docs/live.md)."""

import base64
import contextlib
import errno
import json
import mmap
import os
import pwd
import re
import socket
import stat
import struct
import time

import on_request
from say import fail

PATIENCE_S = 15     # more than the process gives a client
GLANCE_S = 3        # where one of many does not answer
MOST_EXECS = 3      # while it is asked
START_S = 5         # in which a process that has just begun makes its socket
REPLY_END = b"\0"


class LiveError(Exception):
    """One line that says why a process cannot be asked, or what it said."""


class EndedEarly(LiveError):
    """The process has closed the connection."""


def one_line(text):
    """Text of another program's as a terminal may have it: line ends, escapes and the like as \\n, \\x1b, \\u202e."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


# --- What /proc says --------------------------------------------------------------------------------------------

def program_of(pid):
    """The program of an `acre run` that waits for its end, which people mean by that number; else the same."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        if b"run" not in words or not any(os.path.basename(word) == b"acre.py" for word in words[:5]):
            return pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        return int(children[0]) if len(children) == 1 else pid
    except OSError:
        return pid


class Process:
    """May raise LiveError: there is no such process."""

    def __init__(self, pid):
        self.pid = pid = program_of(pid)
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace", newline="\n") as lines:
                fields = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        except (OSError, ValueError):
            raise LiveError(f"there is no process {pid}") from None
        if fields.get("Tgid", str(pid)) != str(pid):
            raise LiveError(f"{pid} is a thread of process {fields['Tgid']}, and no process")
        if fields.get("State", "").startswith(("Z", "X")):
            raise LiveError(f"process {pid} has ended")
        self.name = one_line(fields["Name"])
        self.stopped = fields.get("State", "").startswith(("T", "t"))
        self.users = [int(number) for number in fields["Uid"].split()]
        self.user = self.users[0]  # who may ask it
        # Its number as it sees it, in a container.
        self.own_pid = int(fields.get("NSpid", str(pid)).split()[-1])

    def __str__(self):
        return f"process {self.pid} ({self.name})"

    def read(self, name):
        try:
            with open(f"/proc/{self.pid}/{name}", "rb") as file:
                return file.read()
        except OSError:
            return b""

    def command(self):
        words = self.read("cmdline").rstrip(b"\0").split(b"\0")
        return one_line(" ".join(word.decode(errors="replace") for word in words)) or f"[{self.name}]"

    def is_dumpable(self):
        """One that is not has files here that are root's."""
        try:
            return os.stat(f"/proc/{self.pid}/environ").st_uid == self.users[1]
        except OSError:
            return True

    def environment(self, name):
        for entry in self.read("environ").split(b"\0"):
            if entry.startswith(name.encode() + b"="):
                return os.fsdecode(entry.split(b"=", 1)[1])
        return None

    def has_environment(self):
        """A program that writes its title over its arguments may have written it over the environment, too."""
        return b"=" in self.read("environ")

    def folders(self):
        """Where its socket may be."""
        runtime = self.environment("XDG_RUNTIME_DIR")
        if runtime and runtime.startswith("/"):
            yield f"{runtime}/acre"
        for user in dict.fromkeys(self.users):
            yield f"/tmp/acre-{user}"

    def socket_paths(self):
        for folder in self.folders():
            yield f"{folder}/{self.own_pid}.sock"
            yield f"/proc/{self.pid}/root{folder}/{self.own_pid}.sock"  # as a container sees it

    def is_mine(self):
        return os.geteuid() in (0, self.user)

    def has_library(self):
        return b"libacre" in self.read("maps")

    def has_archive(self):
        """A program that is linked with the archive: the name of a thread of acre's is in its file."""
        try:
            with open(f"/proc/{self.pid}/exe", "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
                return data.find(b"acre-control\0") >= 0
        except (OSError, ValueError):
            return False

    def is_on_acre(self):
        return self.has_library() or self.has_archive()

    def has_background_thread(self):
        tasks = []
        with contextlib.suppress(OSError):
            tasks = os.listdir(f"/proc/{self.pid}/task")
        return any(self.read(f"task/{task}/comm") == b"acre-decay\n" for task in tasks)

    def is_itself_alone(self):
        """It has one user, and is dumpable: otherwise it answers nobody."""
        return len(set(self.users)) == 1 and self.is_dumpable()

    def age_s(self):
        """May raise LiveError: it has ended meanwhile."""
        fields = self.read("stat").rpartition(b")")[2].split()
        if len(fields) < 20:
            raise LiveError(f"{self} has ended")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")

    def is_in_exec(self):
        """It becomes another program: it has a file, which the kernel's threads have not, and no arguments yet."""
        with contextlib.suppress(OSError):
            return self.read("cmdline") == b"" and os.readlink(f"/proc/{self.pid}/exe") != ""
        return False

    def may_get_socket(self):
        """It has been told to make one, or is `acre run` before it becomes the program. A static program shows nothing
        else of acre."""
        if self.age_s() < START_S and (self.is_in_exec() or re.search(r"(^|[/ ])acre(\.py)? (\S+ )*run ", self.command())):
            return True
        said = re.findall(r"(?:^|,)\s*control:(\w+)", self.environment("ACRE_CONF") or "")
        if not said or said[-1] != "true":
            return False
        return self.has_library() or self.age_s() < START_S


def user_name(number):
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


# --- Asking -----------------------------------------------------------------------------------------------------

def open_socket(process, patience_s):
    """Connected to this very process; None: it has no socket."""
    for path in process.socket_paths():
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(patience_s)
        try:
            connect(client, path, patience_s)
            pid, _, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if pid == process.pid:
                return client
        except OSError:
            pass
        client.close()
    return None


def connect(client, path, patience_s):
    """Waits for its turn where many clients do."""
    end = time.monotonic() + patience_s
    while True:
        try:
            return client.connect(path)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def why_no_socket(process):
    if not process.is_mine():
        return (f"{process} belongs to {user_name(process.user)}: only that user and root may ask it")
    if not process.is_itself_alone():
        return (f"{process} answers nobody, if it runs on acre at all: it has changed its user since it started, has more than "
                "one, or is not dumpable")
    if process.has_library() and process.may_get_socket():
        return (f"{process} has the option control, but no socket: {list(process.folders())[-1]} may be another user's, or "
                "the process has changed its user since it started, or the system refused a thread, or is older than Linux 5.9")
    if process.is_on_acre():
        return (f"{process} runs on acre without the option control, which `acre run` sets, and has opened no socket within "
                f"{on_request.wait_s(process)} s: it does so once it allocates, or has a background thread, unless "
                "control_on_request is false; the request stays, so try again later")
    return f"{process} does not run on acre"


def ask(pid, *words, patience_s=None, errors="replace"):
    """The body of the answer; errors: what becomes of bytes that are no UTF-8. May raise LiveError. A process that becomes
    another program (exec) while it is asked is asked again."""
    for _ in range(MOST_EXECS):
        with contextlib.suppress(EndedEarly):
            return ask_once(pid, words, patience_s, errors)
    return ask_once(pid, words, patience_s, errors)


def ask_once(pid, words, patience_s, errors):
    process = Process(pid)
    patience_s = patience_s or PATIENCE_S
    end = time.monotonic() + START_S
    client = open_socket(process, patience_s)
    while client is None and process.is_mine() and process.may_get_socket() and time.monotonic() < end:
        time.sleep(0.02)
        process = Process(pid)
        client = open_socket(process, patience_s)
    may_ask = process.is_mine() and process.is_itself_alone() and process.is_on_acre()
    if client is None and may_ask and not process.may_get_socket():  # with the option control it looks for no request
        client = on_request.opened([process], lambda asked: open_socket(asked, patience_s)).get(process)
    if client is None:
        raise LiveError(why_no_socket(process))
    with client:
        return exchange(client, process, words, errors)


def exchange(client, process, words, errors):
    answer = bytearray()
    try:
        with contextlib.suppress(BrokenPipeError):  # it has refused before it was asked
            client.sendall(" ".join(words).encode("utf-8", "surrogateescape") + b"\n")
        while not answer.endswith(REPLY_END):
            part = client.recv(1 << 16)
            if not part:
                raise EndedEarly(f"{process} ended its answer too early")
            answer += part
    except (TimeoutError, socket.timeout):  # two classes before Python 3.10
        state = ", which is stopped," if process.stopped else ""
        raise LiveError(f"{process}{state} does not answer") from None
    except OSError as error:
        if error.errno in (errno.ECONNRESET, errno.EPIPE) and not os.path.exists(f"/proc/{process.pid}"):
            raise LiveError(f"{process} has ended") from None
        kind = EndedEarly if error.errno == errno.ECONNRESET else LiveError
        raise kind(f"{process} does not answer: {error.strerror}") from None
    status, _, body = answer[:-1].decode("utf-8", errors).partition("\n")
    if status == "ok":
        return body
    raise LiveError(status.removeprefix("error: "))


def ask_json(pid, *words, patience_s=None):
    text = ask(pid, *words, patience_s=patience_s)
    try:
        return json.loads(text)
    except ValueError:
        raise LiveError(f"process {pid} said what this version of acre does not understand: {text[:80]!r}") from None


def heap_profile(pid, kind="live"):
    """The bytes of a profile that the process makes now: live, peak, growth or text."""
    return base64.b64decode(ask_json(pid, "heap", kind)["profile"])


def statistics(pid, letters="", patience_s=None):
    return ask_json(pid, "stats", "json", *([letters] if letters else []), patience_s=patience_s)["acre"]


FIGURES_ALONE = "gmablxe"  # the letters that leave the process's own figures


# --- All of them ------------------------------------------------------------------------------------------------

def wake_everyone():
    """Asks all processes that run on acre's library to open their sockets, and waits for them."""
    asleep = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(LiveError):
            process = Process(int(name))
            if (process.is_mine() and process.is_itself_alone() and not process.stopped and process.has_library()
                    and not any(map(is_socket, process.socket_paths()))):
                asleep.append(process)
    for client in on_request.opened(asleep, lambda process: open_socket(process, GLANCE_S)).values():
        client.close()


def with_sockets():
    """The processes that have a socket, none that is stopped; root sees those of all users."""
    remove_dead_sockets()
    for name in sorted(filter(str.isdecimal, os.listdir("/proc")), key=int):
        with contextlib.suppress(LiveError):
            process = Process(int(name))
            if process.is_mine() and not process.stopped and any(map(is_socket, process.socket_paths())):
                yield process


def everyone():
    """(process, its figures) of each that answers."""
    for process in with_sockets():
        with contextlib.suppress(LiveError):
            yield process, statistics(process.pid, FIGURES_ALONE, GLANCE_S)


def is_socket(path):
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def own_folders():
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    for folder in ([f"{runtime}/acre"] if runtime else []) + [f"/tmp/acre-{os.geteuid()}"]:
        with contextlib.suppress(OSError):
            if os.lstat(folder).st_uid == os.geteuid() and not os.path.islink(folder):
                yield folder


def remove_dead_sockets():
    """A process that was killed leaves its socket behind, perhaps under the name .PID that a socket has at first. One
    that lives has listened before its socket got its last name."""
    for folder in own_folders():
        on_request.forget_dead(folder)
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            is_first_name = name[0] == "." and not os.path.exists(f"/proc/{name[1:]}")
            if not (name.endswith(".sock") or is_first_name) or not is_socket(path):
                continue
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, contextlib.suppress(OSError):
                client.setblocking(False)
                if client.connect_ex(path) == errno.ECONNREFUSED:
                    os.unlink(path)


# --- For the commands -------------------------------------------------------------------------------------------

@contextlib.contextmanager
def reported(command):
    """Ends the command with one line."""
    try:
        yield
    except LiveError as error:
        fail(f"{command}: {error}")


def human(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
