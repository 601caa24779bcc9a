"""redis-server: lists under redis-benchmark, and values of many sizes of which most are deleted again."""

import random
import socket
import time

from .. import launch
from ..workload import Failed
from .processes import Daemon, Meter, ServerWorkload, confirm, run_client

STEP = 320  # redis-benchmark sends multiples of its clients times its pipeline
BATCH = 200  # commands that our own client sends at once


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
        yield self.set_some(self.keys, [(8, 40), (60, 160), (200, 700), (900, 3000)])
        yield self.delete(0.7)
        yield self.set_some(self.keys // 2, [(300, 1100)])
        yield self.append_to(0.3, 50, 400)
        yield self.delete(0.5)
        yield self.set_some(self.keys // 4, [(30, 90), (1500, 5000)])
        yield self.delete(0.4)
        yield self.get_some(0.8)


class RedisMixed(Redis):
    """What is resident at the end, for each byte of data that is left, shows fragmentation. What the server
    needs without any data does not count."""

    def load(self, server, client, path, percent):
        mix = Mix(max(500, 200_000 * percent // 100))
        wall_s = 0.0
        meter = Meter(server.pids())
        empty_kib = meter.watch.resident_kib()
        with meter:
            for batches in mix.phases():
                begin = time.perf_counter()
                client.send(batches)
                wall_s += time.perf_counter() - begin
        left_kib = meter.watch.resident_kib()
        if int(client.ask("DBSIZE")) != len(mix.stored):
            raise Failed(f"{len(mix.stored)} keys should be stored, not {client.ask('DBSIZE')}")
        per_byte = (left_kib - empty_kib) * 1024 / mix.data_bytes()
        extras = {"left_kib": left_kib, "resident_per_data_byte": round(per_byte, 4)}
        return meter.sample(digest(client), wall_s=wall_s, operations=float(mix.commands), extras=extras)
