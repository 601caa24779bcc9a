"""mariadbd under sysbench: rows selected by their key, by 1 to 100 clients at once, as text queries."""

import contextlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .. import launch
from ..workload import Failed
from .processes import PATH, Daemon, Meter, ServerWorkload, confirm, failures, is_root, run_client

TABLES, ROWS = 4, 10_000
QUERIES = 60_000
SMALL = (
    "--no-defaults",
    "--skip-networking",
    "--skip-grant-tables",
    "--skip-log-bin",
    "--performance-schema=OFF",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=8M",
    "--innodb-log-buffer-size=2M",
    "--aria-pagecache-buffer-size=1M",
    "--key-buffer-size=64K",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-use-native-aio=OFF",
    "--innodb-fast-shutdown=2",  # the data is thrown away
    "--max-connections=200",
)


@contextlib.contextmanager
def served(data, environment, folder):
    """A server on these data. -> (Daemon, socket)"""
    socket = folder / "socket"
    command = ["mariadbd", *SMALL, f"--datadir={data}", f"--socket={socket}", f"--pid-file={folder}/pid"]
    command += [f"--tmpdir={folder}", *(["--user=root"] if is_root() else [])]
    with Daemon("mariadbd", command, environment, folder) as server:
        server.wait_until(lambda: socket.exists() and ask(server, socket, "SELECT 1") == "1\n")
        yield server, socket


def ask(server, socket, sql):
    try:
        return run_client(["mariadb", "--no-defaults", "-S", socket, "-u", "root", "-N", "-B", "-e", sql], server)
    except Failed as failure:
        raise OSError(str(failure)) from None


def sysbench(server, socket, *words):
    common = ["sysbench", "oltp_point_select", f"--mysql-socket={socket}", "--mysql-user=root"]
    common += ["--mysql-db=lab", f"--tables={TABLES}", f"--table-size={ROWS}", "--db-ps-mode=disable"]
    return run_client([*common, "--rand-seed=1963", *words], server)


def make_data(target):
    """A folder of data with sysbench's tables in it, on glibc."""
    environment = launch.clean_environment({"PATH": PATH})
    with tempfile.TemporaryDirectory(prefix="lab.", ignore_cleanup_errors=True) as name, failures():
        folder, data = Path(name), Path(name) / "data"
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db"]
        install += ["--auth-root-authentication-method=normal", f"--tmpdir={folder}", "--innodb-log-file-size=8M"]
        install += ["--user=root"] if is_root() else []
        done = subprocess.run(install, env=environment, capture_output=True, text=True, cwd=folder)
        if done.returncode != 0:
            raise Failed(f"mariadb-install-db failed: {done.stderr.strip()[-300:]}")
        with served(data, environment, folder) as (server, socket):
            ask(server, socket, "CREATE DATABASE lab")
            sysbench(server, socket, "--threads=1", "prepare")
            ask(server, socket, "SET GLOBAL innodb_fast_shutdown = 0")
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(data, partial)
        partial.rename(target)


class MariaDb(ServerWorkload):
    programs = {
        "mariadbd": "mariadb-server-core",
        "mariadb-install-db": "mariadb-server-core",
        "mariadb": "mariadb-client-core",
        "sysbench": "sysbench",
    }

    def data(self, lab):
        version = subprocess.run(["mariadbd", "--version"], env={"PATH": PATH}, capture_output=True, text=True).stdout
        return lab.inputs / f"mariadb-{launch.short_hash(version.encode())}-{TABLES}x{ROWS}"

    def prepare(self, lab):
        super().prepare(lab)
        if not self.data(lab).exists():
            make_data(self.data(lab))

    def drive(self, lab, case, allocator, percent, folder):
        data = folder / "data"
        shutil.copytree(self.data(lab), data)
        environment, witness = launch.server_environment(lab, allocator, folder)
        queries = max(500, QUERIES * percent // 100)
        with served(data, environment, folder) as (server, socket):
            confirm(witness, allocator, server.pids())
            # So every row has been read, and every page is in the buffer pool.
            tables = ", ".join(f"sbtest{number}" for number in range(1, TABLES + 1))
            checksum = launch.short_hash(ask(server, socket, f"USE lab; CHECKSUM TABLE {tables}").encode())
            with Meter(server.pids()) as meter:
                said = sysbench(server, socket, f"--threads={case.threads}", "--time=0", f"--events={queries}", "run")
        return meter.sample(checksum, wall_s=total_time(said, queries), operations=float(queries))


def total_time(said, queries):
    """Of sysbench's report, which must be about as many queries as were asked for."""
    counts = {key: int(value) for key, value in re.findall(r"^\s*(read|ignored errors|reconnects):\s+(\d+)", said, re.M)}
    if counts != {"read": queries, "ignored errors": 0, "reconnects": 0}:
        raise Failed(f"sysbench counted {counts}, not {queries} reads without an error")
    return float(re.search(r"total time:\s+([0-9.]+)s", said)[1])
