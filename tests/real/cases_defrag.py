"""Servers that move their blocks together (active defragmentation), built from Debian's sources with acre as jemalloc.

Debian's own redis-server is built without it, which is checked, and is the plain side: both servers get the same
commands, and have to hold the same data in the end. The sources come by `apt-get source`, which keeps its lists in the
case's directory.
"""

import os
import random
import time
from pathlib import Path

from harness import PROJECT, Failure, case, text

NEEDS = {"redis-server": "redis-server", "redis-cli": "redis-tools", "gcc": "gcc", "g++": "g++", "make": "make"}
FRAGMENTED, TIDY = 1.5, 1.15  # allocator_frag_ratio after the deletions, and after the moves
VALUES = 200000
PARTS = 500  # hashes and lists


def encode(*words):
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def commands():
    """Values, hashes and lists of many sizes; then two of three of the values and fields are deleted at random."""
    rng = random.Random(24)
    made, deleted = [], []
    for n in range(VALUES):
        value = f"{n}-" * rng.randint(1, 60)
        made.append(encode("SET", f"key:{n}", value))
        if rng.random() < 2 / 3:
            deleted.append(encode("DEL", f"key:{n}"))
        if n % 4 == 0:
            made.append(encode("HSET", f"hash:{n % PARTS}", f"field:{n}", value))
            made.append(encode("RPUSH", f"list:{n % PARTS}", value))
            if rng.random() < 2 / 3:
                deleted.append(encode("HDEL", f"hash:{n % PARTS}", f"field:{n}"))
    rng.shuffle(deleted)
    return b"".join(made + deleted)


def archive(side):
    """Return the address of the Debian archive that this machine's apt uses."""
    targets = side.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)"])
    codename = Path("/etc/os-release").read_text().partition("VERSION_CODENAME=")[2].split()[0]
    for line in text(targets).splitlines():
        origin, release, address = line.split()
        if (origin, release) == ("Debian", codename):
            return address, codename
    raise Failure("apt has no lists of Debian's packages: run apt-get update")


def fetch(side, package, suite):
    """Unpack the upstream source of Debian's package and return its folder."""
    address, codename = archive(side)
    for folder in ("lists/partial", "cache/archives/partial", "source"):
        (side.dir / folder).mkdir(parents=True)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (side.dir / "sources.list").write_text(f"deb-src [signed-by={keyring}] {address} {suite or codename} main\n")
    apt = ["apt-get", "-o", f"Dir::Etc::sourcelist={side.dir}/sources.list", "-o", "Dir::Etc::sourceparts=-",
           "-o", f"Dir::State::lists={side.dir}/lists", "-o", f"Dir::Cache={side.dir}/cache"]
    side.run([*apt, "update"])
    # Debian's own changes are not needed, and may be of an older state of the archive than the lists.
    side.run([*apt, "source", "--download-only", package], codes=(0, 100))
    sources = list(side.dir.glob(f"{package}_*.orig.tar.*"))
    if len(sources) != 1:
        raise Failure(f"the archive gave no source of {package}", text(side.last_stderr))
    side.run(["tar", "-xf", sources[0], "-C", side.dir / "source", "--strip-components=1"])
    return side.dir / "source"


def build(side, source, program):
    """Build the server as docs/defragmentation.md says, and return its path."""
    compile_with = f"-DUSE_JEMALLOC -I{PROJECT}/include/acre/je -I{PROJECT}/include"
    link_with = f"-Wl,--no-as-needed {side.lib} -Wl,-rpath,{side.lib.parent}"
    side.run(["make", f"-j{len(os.sched_getaffinity(0))}", "MALLOC=libc", "BUILD_TLS=no", "OPTIMIZATION=-O2",
              *(f"{prefix}_CFLAGS={compile_with}" for prefix in ("REDIS", "SERVER")),
              *(f"{prefix}_LDFLAGS={link_with}" for prefix in ("REDIS", "SERVER")), program], cwd=source)
    return source / "src" / program


def check_debians(side):
    """Debian's server has no active defragmentation on any allocator."""
    said = text(side.run(["redis-server", "--port", "0", "--activedefrag", "yes"], codes=(1,)) + side.last_stderr)
    if "Active defragmentation cannot be enabled" not in said:
        raise Failure("Debian's redis-server ends for another reason than its lack of active defragmentation", said)


def defragment(side, package, program, suite):
    check_debians(side)
    side.env.pop("LD_PRELOAD", None)  # the server is linked with it
    server_program = build(side, fetch(side, package, suite), program) if side.lib else "redis-server"
    socket = side.dir / "server.sock"
    server = side.start([server_program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", side.dir,
                         "--enable-debug-command", "yes", "--active-defrag-ignore-bytes", "1mb",
                         "--active-defrag-threshold-lower", "3"])

    def cli(*words, stdin=b""):
        reply = text(side.run(["redis-cli", "-s", socket, *words], stdin=stdin)).strip()
        if reply.startswith(("ERR", "(error)")):
            raise Failure(f"the server answers {reply[:200]!r} to {' '.join(words)}")
        return reply

    def info(name):
        return cli("INFO", "everything").partition(f"\n{name}:")[2].split()[0]

    def wait_for_ratio(good, problem):
        while not good(float(info("allocator_frag_ratio"))):
            if time.monotonic() > side.deadline - 5:
                raise Failure(f"{problem}: allocator_frag_ratio is {info('allocator_frag_ratio')}")
            time.sleep(0.5)
        return info("allocator_frag_ratio")

    side.wait_until(socket.exists, server, program)
    side.require_mapped(server.pid, program)
    if "errors: 0" not in cli("--pipe", stdin=commands()):
        raise Failure("commands fail")
    before = cli("DEBUG", "DIGEST")
    if side.lib:
        high = wait_for_ratio(lambda ratio: ratio > FRAGMENTED, "the deletions leave no fragmentation")
        cli("CONFIG", "SET", "activedefrag", "yes")
        low = wait_for_ratio(lambda ratio: ratio < TIDY, "fragmentation stays")
        if int(info("active_defrag_hits")) == 0:
            raise Failure("the server has moved nothing")
        cli("CONFIG", "SET", "activedefrag", "no")
        side.notes.append(f"fragmentation from {high} to {low}")
        if cli("DEBUG", "DIGEST") != before:
            raise Failure("the data changed while blocks moved")
    cli("SHUTDOWN", "NOSAVE")
    side.stop(server, program)
    return {"digest": before}


@case("redis-defrag", needs=NEEDS, probes=[], timeout=1800)
def redis_defrag(side):
    return defragment(side, "redis", "redis-server", None)


@case("redis8-defrag", needs=NEEDS, probes=[], timeout=1800)
def redis8_defrag(side):
    return defragment(side, "redis", "redis-server", "trixie")


@case("valkey-defrag", needs=NEEDS, probes=[], timeout=1800)
def valkey_defrag(side):
    return defragment(side, "valkey", "valkey-server", "trixie")
