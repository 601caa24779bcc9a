"""Servers on unix sockets: redis under its benchmark, mariadb with concurrent clients."""

import os
import random
import re
import subprocess

from harness import Failure, case, exit_text, text

# redis


def redis_commands(count):
    """Return commands in redis's own protocol: values of all types and sizes, changed and deleted at random."""
    rng = random.Random(4)

    def encode(*words):
        parts = [str(word).encode() if not isinstance(word, bytes) else word for word in words]
        return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)

    def blob():
        return rng.randbytes(rng.choice((3, 20, 60, 300, 4000)) + rng.randrange(40)).hex()

    makers = [
        lambda: ("SET", f"s{rng.randrange(20000)}", blob()),
        lambda: ("APPEND", f"s{rng.randrange(2000)}", blob()),
        lambda: ("SETRANGE", f"s{rng.randrange(2000)}", rng.randrange(3000), "xyz"),
        lambda: ("RPUSH", f"l{rng.randrange(500)}", blob(), blob(), blob()),
        lambda: ("LPOP", f"l{rng.randrange(500)}", rng.randint(1, 5)),
        lambda: ("HSET", f"h{rng.randrange(500)}", f"f{rng.randrange(1000)}", blob()),
        lambda: ("HDEL", f"h{rng.randrange(500)}", f"f{rng.randrange(1000)}"),
        lambda: ("SADD", f"t{rng.randrange(300)}", rng.randrange(2000), blob()),
        lambda: ("ZADD", f"z{rng.randrange(300)}", rng.randrange(10**6), f"m{rng.randrange(3000)}"),
        lambda: ("ZREMRANGEBYRANK", f"z{rng.randrange(300)}", 0, rng.randrange(3)),
        lambda: ("XADD", f"x{rng.randrange(50)}", f"{next(clock)}-1", "field", blob()),
        lambda: ("DEL", f"{rng.choice('slhtz')}{rng.randrange(500)}"),
        lambda: ("SUNIONSTORE", "t-union", f"t{rng.randrange(300)}", f"t{rng.randrange(300)}"),
        lambda: ("EVAL", "local t={} for i=1,50 do t[i]=KEYS[1]..i end return redis.call('SET',KEYS[1],"
                 "table.concat(t))", 1, f"s{rng.randrange(20000)}"),
    ]
    clock = iter(range(1, count + 2))
    return b"".join(encode(*rng.choice(makers)()) for _ in range(count))


@case("redis", needs={"redis-server": "redis-server", "redis-benchmark": "redis-tools"},
      probes=[["redis-server", "--version"], ["redis-cli", "--version"]], quick=True, timeout=180)
def redis(side):
    socket = side.dir / "redis.sock"
    server = side.start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", side.dir,
                         "--enable-debug-command", "yes", "--lazyfree-lazy-user-del", "yes",
                         *(("--io-threads", "2") if side.full else ())])

    def cli(*words, stdin=b""):
        reply = side.run(["redis-cli", "-s", socket, *words], stdin=stdin)
        if reply.startswith((b"ERR", b"(error)")):
            raise Failure(f"redis answers {text(reply[:200])!r} to {' '.join(words)}")
        return reply

    side.wait_until(socket.exists, server, "redis-server")
    side.require_mapped(server.pid, "redis-server")
    result = {}
    result["load"] = cli("--pipe", stdin=redis_commands(30000 * side.scale)).splitlines()[-1]
    result["digest"] = cli("DEBUG", "DIGEST")
    result["size"] = cli("DBSIZE")

    # The benchmark uses random keys, in a database of its own: it must run through, and leave the other alone.
    result["benchmark"] = redis_benchmark(side, socket)

    # These ask the allocator about itself. Debian's redis is linked against jemalloc, and calls mallctl.
    for words in (("INFO", "memory"), ("MEMORY", "STATS"), ("MEMORY", "PURGE"), ("MEMORY", "DOCTOR"),
                  ("MEMORY", "MALLOC-STATS"), ("MEMORY", "USAGE", "l1")):
        cli(*words)
    result["digest after the benchmark, per key"] = cli("DEBUG", "DIGEST-VALUE", "l1", "h1", "z1", "t1", "s1")
    cli("-n", "1", "FLUSHDB")
    result["digest after the benchmark"] = cli("DEBUG", "DIGEST")
    result["reload"] = cli("DEBUG", "RELOAD")
    result["digest after the reload"] = cli("DEBUG", "DIGEST")
    cli("BGSAVE")
    side.wait_until(lambda: b"rdb_bgsave_in_progress:0" in cli("INFO", "persistence"), server, "BGSAVE")
    if b"rdb_last_bgsave_status:ok" not in cli("INFO", "persistence"):
        raise Failure("BGSAVE in the forked child failed", text(server.log.read_bytes()))
    side.run(["redis-check-rdb", side.dir / "dump.rdb"])
    side.run(["redis-cli", "-s", socket, "SHUTDOWN", "NOSAVE"])
    side.stop(server, "redis-server")
    return result


def redis_benchmark(side, socket):
    """Run redis-benchmark; return the names of the tests that came to a result."""
    tests = {"set,get,incr,lpush,rpush,lpop,sadd,hset,spop,zadd,zpopmin,mset": 15000, "lrange": 600}
    names = []
    for chosen, requests in tests.items():
        lines = side.run(["redis-benchmark", "-s", socket, "--dbnum", "1", "-n", str(requests * side.scale), "-c", "40",
                          "-P", "8", "-r", "10000", "-d", "200", "-q", "-t", chosen])
        # Six hundred pushes can take less than the millisecond by which redis-benchmark counts: "inf requests".
        found = re.findall(rb"([A-Z_]+[^:\r\n]*): (?:\d+\.\d+|inf) requests", lines)
        if len(set(found)) < min(12, 1 + chosen.count(",")):
            raise Failure("redis-benchmark did not run every test", text(lines))
        names += sorted(set(found))
    return b"\n".join(names)


# mariadb


def mariadb_client(number, rows):
    """Return what one client sends: a table of its own, and changes to a shared one that commute."""
    rng = random.Random(100 + number)
    lines = [f"CREATE TABLE own{number}(id INT PRIMARY KEY, name VARCHAR(80), body TEXT, n BIGINT, KEY(name, n));"]
    for start in range(0, rows, 20):
        values = ",".join(f"({row},'{rng.randbytes(rng.randrange(30)).hex()}',"
                          f"'{rng.randbytes(rng.randrange(400)).hex()}',{rng.randrange(10**9)})"
                          for row in range(start, start + 20))
        lines.append(f"INSERT INTO own{number} VALUES {values};")
        lines.append(f"UPDATE shared SET n=n+{rng.randrange(100)} WHERE id={rng.randrange(50)};")
        lines.append(f"INSERT INTO journal(client, entry) VALUES({number}, '{rng.randbytes(20).hex()}');")
        if start % 200 == 0:
            lines.append(f"SELECT left(name, 2) k, count(*), sum(n), max(body) FROM own{number} GROUP BY k ORDER BY k;")
            lines.append(f"DELETE FROM own{number} WHERE id % 37 = {rng.randrange(37)};")
            lines.append(f"SELECT a.id, b.id, length(concat(a.body, b.body)) FROM own{number} a JOIN own{number} b"
                         " ON a.id < 400 AND a.n < b.n AND a.id % 50 = b.id % 50 ORDER BY 1, 2 LIMIT 200;")
    return "\n".join(lines).encode()


MARIADB_CLIENTS = 8


@case("mariadb", needs={"mariadbd": "mariadb-server", "mariadb": "mariadb-client", "mariadb-slap": "mariadb-client"},
      probes=[["mariadbd", "--no-defaults", "--version"], ["mariadb", "--no-defaults", "--version"]], timeout=300)
def mariadb(side):
    socket, data = side.dir / "mariadb.sock", side.dir / "data"
    user = ["--user=root"] if os.geteuid() == 0 else []
    side.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
              "--skip-test-db", *user])
    server = side.start(["mariadbd", "--no-defaults", *user, f"--datadir={data}", f"--socket={socket}",
                         "--skip-networking", f"--pid-file={side.dir}/pid", "--innodb-buffer-pool-size=64M",
                         "--innodb-flush-log-at-trx-commit=0", "--innodb-use-native-aio=0",
                         "--thread-handling=one-thread-per-connection", "--query-cache-type=1",
                         "--query-cache-size=4M"])
    client = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--batch"]

    def query(sql):
        return side.run([*client, "trial"], stdin=sql.encode())

    side.wait_until(socket.exists, server, "mariadbd")
    side.require_mapped(server.pid, "mariadbd")
    side.run(client, stdin=b"CREATE DATABASE trial;")
    query("CREATE TABLE shared(id INT PRIMARY KEY, n BIGINT);"
          "CREATE TABLE journal(at INT AUTO_INCREMENT PRIMARY KEY, client INT, entry VARCHAR(80)) ENGINE=Aria;"
          "INSERT INTO shared SELECT seq, 0 FROM seq_0_to_49;")

    result = run_mariadb_clients(side, [*client, "trial"])
    side.run(["mariadb-slap", "--no-defaults", f"--socket={socket}", "--user=root", "--auto-generate-sql",
              "--auto-generate-sql-load-type=mixed", "--concurrency=12", "--iterations=2",
              f"--number-of-queries={1000 * side.scale}", "--number-char-cols=4", "--number-int-cols=4"])
    for table in ["shared", *(f"own{number}" for number in range(MARIADB_CLIENTS))]:
        result[f"checksum of {table}"] = query(f"CHECKSUM TABLE {table} EXTENDED; CHECK TABLE {table};")
    result["journal"] = query("SELECT client, entry FROM journal ORDER BY client, entry;")
    side.run(["mariadb-admin", "--no-defaults", f"--socket={socket}", "--user=root", "shutdown"])
    side.stop(server, "mariadbd")
    return result


def run_mariadb_clients(side, command):
    """Run all clients at once; return what each of them printed."""
    clients = []
    for number in range(MARIADB_CLIENTS):
        script = side.dir / f"client{number}.sql"
        script.write_bytes(mariadb_client(number, 1000 * side.scale))
        with open(script, "rb") as source, open(side.dir / f"client{number}.out", "wb") as out:
            clients.append(subprocess.Popen(command, stdin=source, stdout=out, stderr=subprocess.STDOUT, env=side.env))
    result = {}
    for number, process in enumerate(clients):
        try:
            process.wait(timeout=side.remaining())
        except subprocess.TimeoutExpired:
            raise Failure(f"mariadb client {number} hangs") from None
        out = (side.dir / f"client{number}.out").read_bytes()
        if process.returncode != 0:
            raise Failure(f"mariadb client {number} {exit_text(process.returncode)}", text(out[-1000:]))
        result[f"client {number}"] = out
    return result
