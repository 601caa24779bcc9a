"""redis-server: lists under redis-benchmark, and values of many sizes of which most are deleted again."""

import json
import random
import socket
import subprocess
import time

from .. import launch, place
from ..workload import Failed
from .processes import Daemon, Meter, ServerWorkload, confirm, run_client

STEP = 320  # redis-benchmark sends multiples of its clients times its pipeline
BATCH = 200  # commands that our own client sends at once
IDLE_S = 12  # longer than the 10 s in which memory usually decays
WHOLE_IDLE = 25  # percent of the work from which on the idle phase has its whole length


class Client:
    """Just enough of redis's protocol."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(launch.TIME_LIMIT_S)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def ask(self, *words):
        self.socket.sendall(encoded(*words))
        return self.reply()

    def reply(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("the connection was closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return self.stream.read(int(rest) + 2)[:-2] if rest != b"-1" else None
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"-":
            raise Failed(f"redis answered {rest.decode(errors='replace')}")
        return rest

    def send(self, batches):
        """Batches of commands, each sent before the replies to the one before it are read."""
        expected = 0
        for batch in batches:
            self.socket.sendall(b"".join(batch))
            for _ in range(expected):
                self.reply()
            expected = len(batch)
        for _ in range(expected):
            self.reply()


def encoded(*words):
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Redis(ServerWorkload):
    """Where two run at once, each server shares a processor with its client: then cpu_s says most, which is the server's."""

    programs = {"redis-server": "redis-server"}
    at_once = True

    def drive(self, lab, case, allocator, percent, folder):
        path = folder / "socket"
        environment, witness = launch.server_environment(lab, allocator, folder)
        command = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", ""]
        command += ["--appendonly", "no", "--loglevel", "warning", "--enable-debug-command", "local"]
        with Daemon("redis-server", command, environment, folder) as server:
            server.wait_until(lambda: answers(path))
            confirm(witness, allocator, server.pids())
            with Client(path) as client:
                return self.load(server, client, path, percent)

    def load(self, server, client, path, percent):
        """-> Sample"""
        raise NotImplementedError


def answers(path):
    with Client(path) as client:
        return client.ask("PING") == b"PONG"


def digest(client):
    """Of all keys and values, as redis itself computes it."""
    return launch.short_hash(repr([client.ask("DBSIZE"), client.ask("DEBUG", "DIGEST")]).encode())


class RedisLists(Redis):
    """Elements pushed to one list, and ranges read from it."""

    programs = {"redis-server": "redis-server", "redis-benchmark": "redis-tools"}

    def load(self, server, client, path, percent):
        def some(count):
            return max(STEP, count * percent // 100 // STEP * STEP)

        element = "x" * 100
        work = [
            (some(800_000), "LPUSH", "list", element),
            (some(80_000), "LRANGE", "list", "0", "99"),
            (some(8_000), "LRANGE", "list", "0", "599"),
        ]
        with Meter(server.pids()) as meter:
            for count, *words in work:
                common = ["redis-benchmark", "-s", path, "-q", "-P", "16", "-c", "20", "-n", count]
                run_client([*common, *words], server)
        length = int(client.ask("LLEN", "list"))
        if length != work[0][0]:
            raise Failed(f"the list has {length} elements, not {work[0][0]}")
        return meter.sample(digest(client), operations=float(sum(count for count, *_ in work)))


MIXED = [(8, 40), (60, 160), (200, 700), (900, 3000)]  # lengths of values


class Mix:
    """Phases of commands on values of mixed sizes, and what must be stored after them."""

    def __init__(self, keys):
        self.random = random.Random(20060416)
        self.noise = self.random.randbytes(1 << 16)
        self.keys, self.serial = keys, 0
        self.stored = {}  # key -> length of its value
        self.commands = 0

    def data_bytes(self):
        return sum(len(key) + length for key, length in self.stored.items())

    def value(self, first, last):
        length = self.random.randint(first, last)
        at = self.random.randrange(len(self.noise) - length)
        return self.noise[at : at + length]

    def batches(self, commands):
        """Made whole before they are sent, so that the server's time is not the client's."""
        self.commands += len(commands)
        return [commands[at : at + BATCH] for at in range(0, len(commands), BATCH)]

    def set_some(self, count, ranges):
        """New keys; ranges: [(first, last length)], each as likely as any other."""
        commands = []
        for _ in range(count):
            key = f"key:{self.serial:09d}"
            value = self.value(*self.random.choice(ranges))
            self.serial += 1
            self.stored[key] = len(value)
            commands.append(encoded("SET", key, value))
        return self.batches(commands)

    def append_to(self, share, first, last):
        commands = []
        for key in self.chosen(share):
            more = self.value(first, last)
            self.stored[key] += len(more)
            commands.append(encoded("APPEND", key, more))
        return self.batches(commands)

    def get_some(self, share):
        return self.batches([encoded("GET", key) for key in self.chosen(share)])

    def delete(self, share):
        """In an order that has nothing to do with that of their birth."""
        doomed = self.chosen(share)
        for key in doomed:
            del self.stored[key]
        return self.batches([encoded("DEL", key) for key in doomed])

    def chosen(self, share):
        return self.random.sample(list(self.stored), int(len(self.stored) * share))

    def phases(self):
        yield self.set_some(self.keys, MIXED)
        yield self.delete(0.7)
        yield self.set_some(self.keys // 2, [(300, 1100)])
        yield self.append_to(0.3, 50, 400)
        yield self.delete(0.5)
        yield self.set_some(self.keys // 4, [(30, 90), (1500, 5000)])
        yield self.delete(0.4)
        yield self.get_some(0.8)

    def phases_to_little(self):
        """What is left of each page is little, and lies everywhere."""
        yield self.set_some(self.keys, MIXED)
        yield self.delete(0.9)


class Mixing(Redis):
    """Phases of Mix, timed; what is resident behind them. What the server needs without any data does not count."""

    def drive_phases(self, server, client, phases):
        """-> seconds"""
        wall_s = 0.0
        for batches in phases:
            begin = time.perf_counter()
            client.send(batches)
            wall_s += time.perf_counter() - begin
        return wall_s

    def require_stored(self, client, mix):
        stored = int(client.ask("DBSIZE"))
        if stored != len(mix.stored):
            raise Failed(f"{len(mix.stored)} keys should be stored, not {stored}")


class RedisMixed(Mixing):
    """What is resident at the end, for each byte of data that is left, shows fragmentation."""

    def load(self, server, client, path, percent):
        mix = Mix(max(500, 200_000 * percent // 100))
        meter = Meter(server.pids())
        empty_kib = meter.watch.resident_kib()
        with meter:
            wall_s = self.drive_phases(server, client, mix.phases())
        left_kib = meter.watch.resident_kib()
        self.require_stored(client, mix)
        per_byte = (left_kib - empty_kib) * 1024 / mix.data_bytes()
        extras = {"left_kib": left_kib, "resident_per_data_byte": round(per_byte, 4)}
        return meter.sample(digest(client), wall_s=wall_s, operations=float(mix.commands), extras=extras)


class RedisDeleted(Mixing):
    """Nine values of ten are deleted, and then nothing is asked: how fast and how far does memory come back? In the
    extras the data that is left is 1; the time of the idle phase is not judged."""

    def load(self, server, client, path, percent):
        mix = Mix(max(500, 200_000 * percent // 100))
        meter = Meter(server.pids())
        empty_kib = meter.watch.resident_kib()
        with meter:
            wall_s = self.drive_phases(server, client, mix.phases_to_little())
            loaded = len(meter.watch.curve)
            time.sleep(IDLE_S * min(1, percent / WHOLE_IDLE))
        left_kib = meter.watch.resident_kib()
        self.require_stored(client, mix)
        idle = [kib for _, kib in meter.watch.curve[loaded:]] + [left_kib]

        def ratio(kib):
            return round((kib - empty_kib) * 1024 / mix.data_bytes(), 4)

        extras = {"left_kib": left_kib, "idle_ratio": ratio(left_kib), "idle_mean_ratio": ratio(sum(idle) / len(idle))}
        extras |= self.over_pages(server, (left_kib - empty_kib) * 1024, mix.data_bytes())
        return meter.sample(digest(client), wall_s=wall_s, operations=float(mix.commands), extras=extras)

    def over_pages(self, server, left_bytes, data_bytes):
        """What is left over the pages that hold a live small block, which only acre can tell. No allocator that does not
        move blocks can return these pages."""
        pages = sum(live_page_bytes(pid) for pid in server.pids())
        if not pages:
            return {}
        return {"page_ratio": round(pages / data_bytes, 4), "over_pages": round(left_bytes / pages, 4)}


def live_page_bytes(pid):
    """0 for another allocator than acre."""
    done = subprocess.run([place.here().root / "acre", "why", "--json", str(pid)], capture_output=True, text=True)
    return (json.loads(done.stdout)["pages"] or {}).get("live", 0) if done.returncode == 0 else 0
