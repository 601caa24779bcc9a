"""acre exporter: what Prometheus, pprof and people get from it, and the dashboard that goes with it.

Exit code 0: all well, 1: not. ACRE_LIB names the library.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from support import DASHBOARD, FOLDER, SOURCE, exporter, expressions, get, holding, build, started

import live
import metrics
from checks import Checks, clean_environment, run
from heap_profile import pprof

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


def parsed(body):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    return {family.name: family for family in text_string_to_metric_families(body.decode())}


def of(family, process):
    """The value of a process's only sample."""
    return next(sample.value for sample in family.samples if sample.labels["pid"] == str(process.pid))


def check_metrics(checks, url, small, large):
    from prometheus_client.parser import text_string_to_metric_families
    status, _, headers, body = get(url + "metrics", OPENMETRICS)
    families = parsed(body)
    checks.that(status == 200 and headers["Content-Type"] == metrics.OPENMETRICS, "OpenMetrics if it is asked for",
                headers)
    checks.that(10 << 20 <= of(families["acre_allocated_bytes"], small) < 30 << 20 and
                30 << 20 <= of(families["acre_allocated_bytes"], large) < 50 << 20, "each process has its own figures",
                families["acre_allocated_bytes"])
    checks.that(all(sample.labels["program"] == "holds" for sample in families["acre_threads"].samples),
                "the label program", families["acre_threads"])
    checks.that(families["acre_purges"].type == "counter" and families["acre_purges"].documentation != ""
                and families["acre_mapped_bytes"].unit == "bytes", "types, units and meanings", families["acre_purges"])
    checks.that(families["acre_exporter_processes"].samples[0].value == 2 and
                families["acre_exporter_silent"].samples[0].value == 0, "how many answered", body[-500:])
    checks.that(not any(name.startswith(metrics.DETAILS) for name in families), "no details unless asked for", families)
    status, _, headers, body = get(url + "metrics")
    plain = {family.name: family for family in text_string_to_metric_families(body.decode())}
    checks.that(status == 200 and headers["Content-Type"] == metrics.PLAIN and b"# EOF" not in body
                and b"UNIT" not in body and set(plain) == {name + "_info" * (name == "acre") for name in families},
                "Prometheus' older format for others", f"{headers}\n{set(plain) ^ set(families)}")
    checks.that(plain["acre_purges"].type == "counter" and
                of(plain["acre_allocated_bytes"], large) == of(families["acre_allocated_bytes"], large),
                "the same figures in it", plain["acre_purges"])
    checks.that(get(url + "metrics", method="HEAD")[3] == b"", "HEAD has no body")
    with exporter("--all") as (_, whole):
        families = parsed(get(whole + "metrics", OPENMETRICS)[3])
        for name in ("acre_class_live", "acre_arena_active_bytes", "acre_lock_acquisitions"):
            checks.that(name in families and {"pid", "program"} < set(families[name].samples[0].labels),
                        f"--all: {name}, with its own labels", families.get(name))


def check_labels(checks):
    """Labels that a program chooses, as tags are, cannot break the text."""
    families = {}
    odd = r'acre_tag_live_bytes{tag="a} 7\n\"x\" \\\u2028, b=\"c"} 5'.replace(r"\u2028", "\u2028")
    for pid in (1, 2):
        metrics.add(families, f"# TYPE acre_tag_live_bytes gauge\n# HELP acre_tag_live_bytes live\n{odd}\n# EOF\n",
                    (metrics.label("pid", pid), metrics.label("program", 'a"\\\nb')))
    (family,) = parsed(metrics.text(families, True).encode()).values()
    checks.that([sample.labels for sample in family.samples] == [
        {"pid": pid, "program": 'a"\\\nb', "tag": 'a} 7\n"x" \\\u2028, b="c'} for pid in "12"], "odd labels", family)


def check_silent(checks, url, small):
    """A process that takes connections at its socket and says nothing."""
    code = ("import os, socket, time; s = socket.socket(socket.AF_UNIX); "
            f"s.bind('{FOLDER}/%d.sock' % os.getpid()); s.listen(); print('ready', flush=True); time.sleep(300)")
    with started([sys.executable, "-c", code]) as (process, _):
        families = parsed(get(url + "metrics", OPENMETRICS)[3])
        silent = families["acre_exporter_silent"].samples[0].value
        checks.that(silent == 1 and of(families["acre_threads"], small) >= 1,
                    "a process that does not answer is counted, and the others are there", silent)
        os.unlink(FOLDER / f"{process.pid}.sock")


def check_pprof(checks, url, server, process, folder):
    heap = url + "debug/pprof/heap"
    status, _, headers, body = get(f"{heap}?pid={process.pid}")
    names = {line.function for location in pprof.read(body).locations() for line in location.lines}
    checks.that(status == 200 and "hold" in names and
                f"holds.{process.pid}.live.pb.gz" in headers["Content-Disposition"], "a heap profile with names",
                f"{headers}\n{names}")
    peak = pprof.read(get(f"{heap}?pid={process.pid}&names=0&kind=peak")[3])
    checks.that(not any(location.lines for location in peak.locations()) and peak.index("peak_space") is not None,
                "names=0, kind=peak", peak.kinds)
    if checks.has("go", "pprof reads the address"):
        top = run(["go", "tool", "pprof", "-top", "-unit=mb", f"{heap}?pid={process.pid}"],
                  environment=clean_environment(PPROF_TMPDIR=folder))
        found = re.search(r"^ *([\d.]+)MB .* hold$", top.stdout, re.M)
        checks.that(top.returncode == 0 and found and float(found[1]) >= 30, "go tool pprof takes the address",
                    top.stdout + top.stderr)
        top = run(["go", "tool", "pprof", "-top", heap],
                  environment=clean_environment(PPROF_TMPDIR=folder))
        checks.that("say which process" in top.stderr, "pprof shows why it gets nothing", top.stderr)
    for query, code, words in (("", 400, "say which process"), ("?pid=0", 404, "there is no process 0"),
                               (f"?pid={process.pid}&kind=x", 400, "kind is one of live, peak, growth"),
                               (f"?pid={process.pid}&seconds=5", 400, "there is no parameter 'seconds'"),
                               ("?pid=x", 400, "pid is a number"), (f"?pid={server.pid}", 404, "does not run on acre"),
                               (f"?pid={'1' * 5000}", 400, "pid is a number"),
                               ("?%0d%0aX-Injected:%201=1", 400, r"there is no parameter '\r\nX-Injected: 1'")):
        status, reason, headers, body = get(heap + query)
        checks.that(status == code and words in reason and words in body.decode() and body.count(b"\n") == 1
                    and "X-Injected" not in headers, f"heap{query[:40]}: {code} and why",
                    f"{status} {reason} {headers} {body}")


def check_odd_name(checks, url, program):
    """A name whose letters a header may not have."""
    odd = shutil.copy(program, program.with_name('"\u20ac\n'))
    with holding(odd, 1) as (process, _):
        status, _, headers, _ = get(f"{url}debug/pprof/heap?pid={process.pid}&names=0")
        checks.that(status == 200 and f'"___n.{process.pid}.live.pb.gz"' in headers["Content-Disposition"],
                    "a profile of a program with an odd name has a plain one", f"{status} {headers}")


def check_list(checks, url, small, large):
    status, _, headers, body = get(url)
    page = body.decode()
    checks.that(status == 200 and headers["Content-Type"].startswith("text/html") and
                all(f"heap?pid={process.pid}" in page for process in (small, large)), "/ lists the processes", page)
    checks.that("&lt;b&gt;" in page and "<b>" not in page, "/ escapes what programs choose", page)
    status, reason, _, _ = get(url + "debug/pprof/profile")
    checks.that(status == 404 and "/debug/pprof/heap" in reason, "another path: what there is", reason)


def check_listen(checks, url):
    acre = SOURCE / "acre"
    taken = url.split("/")[2]
    ended = run([acre, "exporter", "--listen", taken])
    checks.that(ended.returncode == 1 and f"cannot listen at {taken}" in ended.stderr and ended.stderr.count("\n") == 1,
                "a port that is taken: one line", ended)
    for wrong in ("here", "127.0.0.1:99999", "::1:80", ""):
        ended = run([acre, "exporter", "--listen", wrong])
        checks.that(ended.returncode == 2 and "is no ADDRESS:PORT" in ended.stderr, f"--listen '{wrong}': an error",
                    ended)
    with started([acre, "exporter", "--listen", ":0"]) as (process, told):
        process.terminate()
        checks.that("whoever reaches" in process.stderr.read() and told.startswith("http://0.0.0.0:"),
                    "an address for others: a warning", told)


def check_dashboard(checks, process):
    board = json.loads(DASHBOARD.read_text())
    said = live.ask(process.pid, "stats", "openmetrics")
    counters = set(re.findall(r"^# TYPE (\w+) counter$", said, re.M))
    known = {name + "_total" * (name in counters) for name in re.findall(r"^# TYPE (\w+) ", said, re.M)}
    known |= {"acre_info", "acre_exporter_processes", "acre_exporter_silent"}
    texts = [text for _, text in expressions()]
    texts += [variable.get("definition", "") for variable in board["templating"]["list"]]
    texts.append((SOURCE / "docs/monitoring.md").read_text())
    named = {name for text in texts for name in re.findall(r"\bacre_\w+\b(?!…)", text)}
    checks.that(len(named) > 20 and named <= known, "the dashboard and its page ask for figures that there are",
                named - known)
    variables = {variable["name"] for variable in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text())) - {"__all", "__rate_interval"}
    checks.that(used == variables, "it has the variables that it uses", used ^ variables)
    taken = [(place["x"] + x, place["y"] + y) for place in (panel["gridPos"] for panel in board["panels"])
             for x in range(place["w"]) for y in range(place["h"])]
    numbers = {panel["id"] for panel in board["panels"]}
    checks.that(len(taken) == len(set(taken)) and max(x for x, _ in taken) < 24 and
                len(numbers) == len(board["panels"]), "no two panels share a place or a number")


def main():
    checks = Checks()
    folder = Path(tempfile.mkdtemp(prefix="acre-exporter-"))
    try:
        program = build(folder)
        check_labels(checks)
        with exporter() as (server, url):
            checks.that(re.fullmatch(r"http://127\.0\.0\.1:\d+/", url), "it says where it is, on this machine alone",
                        url)
            checks.that(get(url + "debug/pprof/heap")[:2] == (404, "no process on acre answers here"),
                        "no process: 404")
            with holding(program, 10, "<b>", conf="control:true") as (small, _):
                status, reason, _, _ = get(url + "debug/pprof/heap")
                checks.that(status == 404 and "profiler is off" in reason,
                            "without the profiler: why there is nothing", reason)
                with holding(program, 30) as (large, _):
                    check_metrics(checks, url, small, large)
                    check_silent(checks, url, small)
                    check_pprof(checks, url, server, large, folder)
                    check_list(checks, url, small, large)
                    check_dashboard(checks, large)
            with holding(program, 10):
                checks.that(get(url + "debug/pprof/heap")[0] == 200, "one process needs no number")
            check_odd_name(checks, url, program)
            check_listen(checks, url)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
