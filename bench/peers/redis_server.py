"""redis-server under redis-benchmark: mixed value sizes, lists. Only the server is preloaded."""

import hashlib
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

START_LIMIT = 10
TIME_LIMIT = 120


class ServerFailed(Exception):
    pass


def loads(percent, fragmenting):
    """redis-benchmark's arguments, one run after the other."""

    def some(count):
        return ["-n", str(max(100, count * percent // 100))]

    keys = ["-r", str(max(10, 500 * percent))]
    deletes_and_other_sizes = [
        [*some(75_000), *keys, "DEL", "key:__rand_int__"],
        [*some(75_000), *keys, "-d", "300", "-t", "set"],
    ]
    return [
        [*some(250_000), *keys, "-d", "60", "-t", "set,get"],
        [*some(125_000), *keys, "-d", "1000", "-t", "set,get"],
        *(deletes_and_other_sizes if fragmenting else []),
        [*some(250_000), "-d", "100", "-t", "lpush"],
        [*some(20_000), "-d", "100", "-t", "lrange_100"],
        [*some(2_000), "-d", "100", "-t", "lrange_600"],
    ]


class Client:
    """Just enough of redis's protocol for single replies and flat arrays."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rb")

    def ask(self, *words):
        self.socket.sendall(" ".join(words).encode() + b"\r\n")
        return self.reply()

    def reply(self):
        line = self.stream.readline().rstrip()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return self.stream.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return rest

    def close(self):
        self.stream.close()
        self.socket.close()


def connect(server, path):
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and server.poll() is None:
        try:
            client = Client(path)
            if client.ask("PING") == b"PONG":
                return client
        except OSError:
            time.sleep(0.01)
    raise ServerFailed("redis-server did not start")


def costs(pid):
    proc = Path("/proc") / str(pid)
    # After the name in parentheses: field 10 is minor faults, 14 and 15 are ticks in user and system mode.
    fields = (proc / "stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return {
        "cpu_s": ticks / os.sysconf("SC_CLK_TCK"),
        "peak_kib": int(status["VmHWM"].split()[0]),
        "minor_faults": int(fields[7]),
    }


def drive(server, path, lib, work, env):
    client = connect(server, path)
    # libjemalloc is there too, since Debian's redis links it; what is preloaded goes before it.
    if str(lib) not in (Path("/proc") / str(server.pid) / "maps").read_text():
        raise ServerFailed(f"{lib.name} is not in the server's maps")
    begin = time.perf_counter()
    for load in work:
        command = ["redis-benchmark", "-s", path, "-q", "-P", "16", "-c", "20", *load]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode != 0 or server.poll() is not None:
            raise ServerFailed(f"the server broke under {' '.join(load)}: {done.stderr.strip()[-200:]}")
    wall = time.perf_counter() - begin
    # Which keys there are depends on redis-benchmark's dice; the list does not.
    seen = [client.ask("LLEN", "mylist"), client.ask("LRANGE", "mylist", "0", "99")]
    checksum = hashlib.sha256(repr(seen).encode()).hexdigest()[:16]
    sample = {"wall_s": wall, **costs(server.pid), "checksum": checksum}
    client.ask("SHUTDOWN", "NOSAVE")
    client.close()
    return sample


def measure(lib, percent, env, fragmenting):
    with tempfile.TemporaryDirectory(prefix="redis.") as folder:
        path = f"{folder}/socket"
        command = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder]
        command += ["--save", "", "--appendonly", "no", "--loglevel", "warning"]
        server_env = {**env, "LD_PRELOAD": str(lib)}
        with open(f"{folder}/log", "wb") as log:
            server = subprocess.Popen(command, env=server_env, stdout=log, stderr=log)
        try:
            return drive(server, path, lib, loads(percent, fragmenting), env)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"redis-benchmark was not done after {TIME_LIMIT} s") from None
        except (OSError, ValueError) as error:
            raise ServerFailed(f"the server went away: {error}") from None
        finally:
            try:
                server.wait(timeout=5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
