"""Clients that are slow, silent, too many, half open, or that never read; and links where the socket is to be.

The bounds are those of src/live/clients.h and reply.h. How long something takes is nowhere asserted: what is, is the
order of events, and that they come.
"""

import contextlib
import os
import random
import select
import socket
import threading
import time
from pathlib import Path

import live
from support import ask_raw, ends_well, eventually, path_of

MOST = 16  # clients whose requests are on their way: src/live/clients.h
LONG_ANSWER = 400_000  # bytes: more than the kernel keeps for a client that does not read


def connected(path, said=b"", seconds=30):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(seconds)
    live.connect(client, path, seconds)
    if said:
        client.sendall(said)
    return client


def all_of(client):
    """What the client is sent until it is cut off."""
    told = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            told += part
    return told


def is_untold(client):
    """It is connected, and was sent nothing so far."""
    return not select.select([client], [], [], 0)[0]


def descriptors_of_thread(pid):
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text() == "acre-control\n":
            return len(os.listdir(task / "fd"))
    return None


def info(pid):
    with connected(path_of(pid), b"info\n") as client:
        return all_of(client).startswith(b"ok\n")


def hostile(path):
    """-> connections that say nonsense, half of something, or nothing, and that never read."""
    generator, clients = random.Random(5), []
    for turn in range(60):
        client = connected(path)  # waits for room in the queue
        client.setblocking(False)
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
    return clients


def check_hostile(checks, work):
    with work.running("work") as process:
        live.ask(process.pid, "info")
        clients = hostile(path_of(process.pid))
        # Behind all who wait there; each of them has a second.
        live.PATIENCE_S, usual = 120, live.PATIENCE_S
        checks.that(live.ask_json(process.pid, "info")["pid"] == process.pid, "who behaves is served among hostile clients")
        live.PATIENCE_S = usual
        for client in clients:
            client.close()

        def refills():
            return live.statistics(process.pid)["process"]["refills"]
        before = refills()
        checks.that(eventually(lambda: refills() > before, 60), "the program works on")
        checks.that(ends_well(process), "and its blocks keep what they hold", process.returncode)
    with work.running("idle") as process:
        live.ask(process.pid, "info")
        path = path_of(process.pid)
        for said, wanted in ((b"\n", b"error: a request begins with a verb"), (b"x" * 5000, b"error: a request is a line of at most"),
                             (b"in\x01fo\n", b"error: a request has no control characters"),
                             (b"info", b"error: no whole line came within a second"),
                             (b"frobnicate\n", b"error: there is no verb 'frobnicate'")):
            told = ask_raw(path, said)
            checks.that(told.startswith(wanted) and told.endswith(b"\n\0"), f"a client that says {said[:20]!r} is told", told)


def check_slow(checks, work):
    with work.running("idle") as process:
        live.ask(process.pid, "info")
        path = path_of(process.pid)

        def among_the_silent():
            with contextlib.ExitStack() as open_clients:
                silent = [open_clients.enter_context(connected(path, b"inf" if turn % 2 else b"")) for turn in range(MOST - 1)]
                return info(process.pid) and all(map(is_untold, silent))
        checks.that(eventually(among_the_silent, 60), "clients that say nothing keep nobody waiting")

        with connected(path) as client:
            for byte in b"i" * 300:  # one now and then, more than a minute for all
                with contextlib.suppress(OSError):
                    client.send(bytes([byte]))
                if not is_untold(client):
                    break
                time.sleep(0.25)
            told = all_of(client)
        checks.that(told == b"error: no whole line came within a second\n\0", "one that says a byte now and then is cut off", told)
        with connected(path) as client:
            with contextlib.suppress(OSError):
                client.sendall(b"x" * (1 << 20))
            told = all_of(client)
        checks.that(told.startswith(b"error: a request is a line of at most 2047 bytes"), "a request of 1 MiB is cut off", told)
        checks.that(info(process.pid), "and then the next one is served")


def check_flood(checks, work):
    with work.running("work") as process:
        live.ask(process.pid, "info")
        path, ends, seen, told = path_of(process.pid), threading.Event(), [], set()

        def flood():
            held = []
            while not ends.is_set():
                with contextlib.suppress(OSError):
                    held.append(connected(path))
                if len(held) > 30:
                    with held.pop(0) as client:
                        told.add(all_of(client))
                time.sleep(0.02)
            for client in held:
                client.close()

        threads = [threading.Thread(target=flood) for _ in range(3)]
        for thread in threads:
            thread.start()
        before = live.statistics(process.pid)["process"]["refills"]
        for _ in range(10):
            seen.append((info(process.pid), descriptors_of_thread(process.pid)))
        goes = eventually(lambda: any(b"16 clients have connected after this one" in text for text in told))
        works = eventually(lambda: live.statistics(process.pid)["process"]["refills"] > before)
        ends.set()
        for thread in threads:
            thread.join()
        checks.that(all(answered for answered, _ in seen), "among clients without number one that asks is answered", seen)
        checks.that(max(count for _, count in seen) <= MOST + 2, "the thread has a bounded number of descriptors", seen)
        checks.that(goes, "those that have stayed longest are told to go", told)
        checks.that(works and ends_well(process), "the program works on")


def check_never_reads(checks, work):
    # 48 arenas are a long answer: more than the kernel keeps for a client.
    with work.running("crowd", conf="control:true,arenas:48,prof:true") as process:
        eventually(lambda: len(live.ask(process.pid, "stats", "text")) > LONG_ANSWER)  # once its threads have arenas
        path = path_of(process.pid)
        with connected(path, b"stats text\n") as client:
            eventually(lambda: not is_untold(client))
            checks.that(info(process.pid), "behind one who never reads a long answer, the next one is served")
            told = all_of(client)
        checks.that(told.startswith(b"ok\n") and not told.endswith(b"\0"), "and the first one is cut off", len(told))
        before = live.statistics(process.pid)["process"]["refills"]
        clients = [connected(path, request) for request in (b"heap\n", b"leaks\n", b"ctl\n", b"regions\n")]
        checks.that(eventually(lambda: live.statistics(process.pid)["process"]["refills"] > before),
                    "the program works on while others never read")
        for client in clients:
            client.close()
        checks.that(ends_well(process), "and ends well")


def check_half_open(checks, work):
    with work.running("idle") as process:
        live.ask(process.pid, "info")
        path = path_of(process.pid)
        for said, wanted, what in ((b"", b"", "says nothing more is dropped"), (b"inf", b"", "has said half a line is dropped"),
                                   (b"info\n", b"ok\n", "has said its line is answered")):
            with connected(path, said) as client:
                client.shutdown(socket.SHUT_WR)
                told = all_of(client)
            checks.that(told.startswith(wanted) and bool(told) == bool(wanted), f"a client that is half open and {what}", told)
        with connected(path) as client:
            client.shutdown(socket.SHUT_RD)
            client.sendall(b"stats json\n")
            checks.that(info(process.pid), "one that takes no answer is dropped")


def check_links(checks, work):
    """Links under the names that the socket gets: nothing is written through them."""
    victim = work.folder / "victim"
    victim.write_text("as it was\n")
    victim.chmod(0o640)

    def put_links():
        os.makedirs(os.path.dirname(path_of(1)), 0o700, exist_ok=True)
        for name in (path_of(os.getpid()), f"{os.path.dirname(path_of(1))}/.{os.getpid()}"):
            os.symlink(victim, name)

    with work.running("idle", preexec_fn=put_links) as process:
        answered = eventually(lambda: not os.path.islink(path_of(process.pid))) and info(process.pid)
        same = (victim.read_text(), victim.stat().st_mode & 0o777) == ("as it was\n", 0o640)
        first = f"{os.path.dirname(path_of(1))}/.{process.pid}"
        checks.that(answered and same and not os.path.lexists(first), "links where the socket is to be are replaced, not followed",
                    (answered, victim.read_text(), oct(victim.stat().st_mode)))
        checks.that(ends_well(process) and victim.exists(), "and what they led to stays")
