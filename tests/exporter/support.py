"""What the tests of acre exporter share: programs to be seen, and an exporter that sees no others."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
sys.path.insert(0, str(HERE.parent / "package"))
sys.path.insert(0, str(SOURCE / "cli"))

from checks import clean_environment

LIBRARY = Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()
DASHBOARD = SOURCE / "share/grafana-dashboard.json"
# A user that has no other processes, where the tests may choose one: root's exporter sees all of the machine's.
USER = 54321
AS_USER = {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}
FOLDER = Path(f"/tmp/acre-{USER if AS_USER else os.geteuid()}")


def build(folder):
    program = folder / "holds"
    subprocess.run(["gcc", "-O1", "-g", HERE / "holds.c", "-o", program], check=True)
    os.chmod(folder, 0o755)
    return program


@contextlib.contextmanager
def started(command, conf="", **variables):
    """A program that says one line; -> process, line"""
    environment = clean_environment(ACRE_CONF=conf, PYTHONDONTWRITEBYTECODE="1", **variables)
    environment.pop("XDG_RUNTIME_DIR", None)
    process = subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **AS_USER)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def holding(program, mebibytes, *more, conf="control:true,prof:true,prof_sample:0"):
    return started([program, mebibytes, *more], conf, LD_PRELOAD=LIBRARY)


def exporter(*arguments):
    return started([SOURCE / "acre", "exporter", "--listen", "127.0.0.1:0", *arguments])


def get(url, accept="*/*", method="GET"):
    """-> status, reason, headers, body"""
    request = urllib.request.Request(url, headers={"Accept": accept}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.reason, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.reason, error.headers, error.read()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def expressions():
    """Of the dashboard: (panel's title, expression) with the variables filled in."""
    board = json.loads(DASHBOARD.read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], re.sub(r"\$(instance|program|pid)", ".*",
                                         target["expr"].replace("$__rate_interval", "1m"))
