"""A Prometheus that scrapes acre exporter, and answers each question of the dashboard.

Exit code 0: all well, 1: not, 77: there is no Prometheus. ACRE_LIB names the library.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "exporter"))

from support import build, exporter, expressions, free_port, get, holding

from checks import Checks

CONFIGURATION = """\
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: acre
    static_configs: [{{targets: ['{target}']}}]
"""
SECONDS = 60
MAY_BE_EMPTY = ("Live by tag", "Allocated by tag")  # the program has no tags


def ask(server, expression):
    """-> the answer's series; None: it is no expression"""
    try:
        answer = json.loads(get(f"{server}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")[3])
    except OSError:  # it has not begun to listen
        return []
    return answer["data"]["result"] if answer["status"] == "success" else None


def wait_for(server, expression):
    end = time.monotonic() + SECONDS
    while not (found := ask(server, expression)) and time.monotonic() < end:
        time.sleep(0.5)
    return found


def check_questions(checks, server, process):
    found = wait_for(server, f'acre_allocated_bytes{{pid="{process.pid}"}}')
    if not checks.that(found and 10 << 20 <= float(found[0]["value"][1]) < 30 << 20, "Prometheus has the figures",
                       found):
        return
    wait_for(server, "count_over_time(acre_info[1m]) > 3")  # rates need several
    checks.that([result["value"][1] for result in ask(server, "up")] == ["1"], "it takes all that the exporter says")
    for kind in ("class", "arena", "lock"):
        checks.that(ask(server, f'count({{__name__=~"acre_{kind}_.*"}})'), f"figures of each {kind} are there")
    for title, expression in expressions():
        found = ask(server, expression)
        checks.that(found is not None and (found or title in MAY_BE_EMPTY), f"{title}: {expression}", found)
    metadata = json.loads(get(f"{server}/api/v1/metadata?metric=acre_purged_bytes")[3])["data"]
    about = metadata["acre_purged_bytes"][0]
    checks.that(about["type"] == "counter" and about["unit"] == "bytes" and about["help"],
                "types, units and meanings arrive", metadata)


def main():
    if shutil.which("prometheus") is None:
        print("skipped: prometheus is not installed")
        return 77
    checks = Checks()
    folder = Path(tempfile.mkdtemp(prefix="acre-prometheus-"))
    try:
        with holding(build(folder), 10) as (process, _), exporter("--all") as (_, url):
            configuration = folder / "prometheus.yml"
            configuration.write_text(CONFIGURATION.format(target=url.split("/")[2]))
            port = free_port()
            with open(folder / "log", "wb") as log, subprocess.Popen(
                    ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}",
                     f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, cwd=folder) as prometheus:
                try:
                    check_questions(checks, f"http://127.0.0.1:{port}", process)
                finally:
                    prometheus.terminate()
            if checks.failures:
                print((folder / "log").read_text(errors="replace")[-3000:])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
