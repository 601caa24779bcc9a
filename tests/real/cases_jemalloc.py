"""Programs that are linked with jemalloc, on acre under jemalloc's name: nothing is preloaded, the loader finds acre."""

import re
import shutil
import time
from pathlib import Path

from harness import Failure, case, text

TOLERANCE = 0.05  # of what /proc says
PATIENCE = 3  # seconds for which they may disagree


def as_jemalloc(side):
    """Return the environment in which the loader finds the library, on that side, as libjemalloc.so.2."""
    env = {name: value for name, value in side.env.items() if name != "LD_PRELOAD"}
    if side.lib:
        folder = side.dir / "as-jemalloc"
        folder.mkdir()
        (folder / "libjemalloc.so.2").symlink_to(side.lib)
        env["LD_LIBRARY_PATH"] = str(folder)
    return env


# redis


def resident_for_allocation(pid):
    """Return what /proc says is resident in anonymous memory, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+) kB", status, re.M).group(1)) << 10


def check_figures(info, pid, when):
    """INFO memory's figures, as redis got them from the allocator, against /proc.

    Redis asks its allocator ten times a second, and tells in between what it heard last: a disagreement counts only
    if it stays.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return compare_figures(info(), pid, when)
        except Failure:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def compare_figures(info, pid, when):
    figures = {name: int(value) for name, value in re.findall(r"^(\w+):(\d+)\r?$", info, re.M)}
    allocated, active, resident = (figures[f"allocator_{name}"] for name in ("allocated", "active", "resident"))
    seen = resident_for_allocation(pid)
    if abs(resident - seen) > TOLERANCE * seen:
        raise Failure(f"{when}: allocator_resident is {resident}, /proc says {seen}")
    if not allocated <= active <= resident * (1 + TOLERANCE):
        raise Failure(f"{when}: allocated {allocated}, active {active}, resident {resident}")
    used = figures["used_memory"]
    if abs(allocated - used) > TOLERANCE * used:
        raise Failure(f"{when}: redis counts {used} bytes, the allocator {allocated}")
    return resident


@case("redis-as-jemalloc", needs={"redis-server": "redis-server", "redis-cli": "redis-tools"}, probes=[], quick=True,
      timeout=120)
def redis_as_jemalloc(side):
    env = as_jemalloc(side)
    side.env = env
    socket = side.dir / "redis.sock"
    server = side.start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", side.dir,
                         "--enable-debug-command", "yes"])

    def cli(*words):
        reply = text(side.run(["redis-cli", "-s", socket, *words])).strip()
        if reply.startswith(("ERR", "(error)")):
            raise Failure(f"redis answers {reply[:200]!r} to {' '.join(words)}")
        return reply

    def info():
        return cli("INFO", "memory")

    side.wait_until(socket.exists, server, "redis-server")
    side.require_mapped(server.pid, "redis-server")
    maps = Path(f"/proc/{server.pid}/maps").read_text()
    if side.lib and "libjemalloc" in maps:
        raise Failure("jemalloc itself is loaded, too", maps)
    result = {"allocator": info().partition("mem_allocator:")[2].split("-")[0]}

    cli("DEBUG", "POPULATE", str(200000 * side.scale), "key", "300")
    cli("DEBUG", "POPULATE", str(100000 * side.scale), "small", "20")
    full = check_figures(info, server.pid, "when full")
    cli("EVAL", f"for i=0,{200000 * side.scale - 1},2 do redis.call('DEL', 'key:'..i) end", "0")
    result["digest"] = cli("DEBUG", "DIGEST")
    check_figures(info, server.pid, "when half of it is deleted")
    for words in (("MEMORY", "STATS"), ("MEMORY", "DOCTOR"), ("MEMORY", "MALLOC-STATS")):
        if len(cli(*words)) < 100:
            raise Failure(f"{' '.join(words)} says nothing")
    cli("FLUSHALL")
    result["purge"] = cli("MEMORY", "PURGE")
    empty = resident_for_allocation(server.pid)
    if empty > full / 3:
        raise Failure(f"of {full} bytes {empty} are left after MEMORY PURGE")
    side.notes.append(f"{full >> 20} MiB resident, {empty >> 20} MiB after MEMORY PURGE")
    side.run(["redis-cli", "-s", socket, "SHUTDOWN", "NOSAVE"])
    side.stop(server, "redis-server")
    return result


# The tests of the Rust crate that wraps mallctl

CRATE = "tikv-jemalloc-ctl"
MANIFEST = f"""[package]
name = "fetch"
version = "0.1.0"
edition = "2021"
[lib]
path = "fetch.rs"
[dependencies]
{CRATE} = "=0.6.1"
"""
FEATURES = "stats,use_std,tikv-jemalloc-sys/unprefixed_malloc_on_supported_platforms"
DEBIANS_JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def run_tests(side, crate, env):
    """Debian's jemalloc, to hold acre's results against, divides by zero now and then in one of them."""
    tries = 1 if side.lib else 4
    while True:
        try:
            return side.run(["cargo", "test", "--no-fail-fast", "--features", FEATURES], cwd=crate, env=env)
        except Failure as failure:
            tries -= 1
            if tries == 0 or "SIGFPE" not in failure.tail:
                raise


@case("jemalloc-ctl", needs={"cargo": "cargo-web", "cc": "gcc", str(DEBIANS_JEMALLOC): "libjemalloc2"}, probes=[],
      timeout=600)
def jemalloc_ctl(side):
    fetch, crate, link = side.dir / "fetch", side.dir / "crate", side.dir / "libjemalloc.so"
    fetch.mkdir()
    (fetch / "Cargo.toml").write_text(MANIFEST)
    (fetch / "fetch.rs").touch()
    env = {name: value for name, value in side.env.items() if name != "LD_PRELOAD"}
    side.run(["cargo", "vendor", "--quiet"], cwd=fetch, env=env)
    shutil.copytree(fetch / "vendor" / CRATE, crate)

    # Instead of a jemalloc of its own making, the crate below links this one.
    link.symlink_to(side.lib or DEBIANS_JEMALLOC)
    env["JEMALLOC_OVERRIDE"] = str(link)
    if side.lib:
        env["LD_LIBRARY_PATH"] = str(side.lib.parent)
    told = text(side.run(["cargo", "test", "--quiet", "--lib", "--features", FEATURES, "version_read", "--",
                          "--nocapture"], cwd=crate, env=env))
    if ('"5.' in told) == bool(side.lib):
        raise Failure("the tests run on another library than they should", told)
    output = text(run_tests(side, crate, env))
    results = sorted(re.findall(r"^test (.+?) \.\.\. (\w+)", re.sub(r" - compile", "", output), re.M))
    if len(results) < 50:
        raise Failure("the crate's tests did not all run", output)
    side.notes.append(f"{len(results)} tests")
    return {"results": "\n".join(map(" ".join, results)).encode()}
