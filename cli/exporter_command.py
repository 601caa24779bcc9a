"""acre exporter: the processes on acre by HTTP, for Prometheus, Grafana, pprof and continuous profilers."""

import argparse
import concurrent.futures
import html
import http.server
import ipaddress
import re
import socket
import sys
import urllib.parse

import live
import metrics
from say import fail, say

PORT = 9473
KINDS = ("live", "peak", "growth")
AT_ONCE = 16         # processes that are asked at the same time
CLIENT_S = 30        # in which a client has to say what it wants

PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>acre on {host}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }}
body {{ max-width: 70rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8886; vertical-align: top }}
th.number, td.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }}
td.command {{ overflow-wrap: anywhere }}
code {{ font-size: 90% }}
</style></head><body>
<h1>acre on {host}</h1>
<p><a href="metrics">/metrics</a> has the statistics of all processes, for Prometheus. Of one process:
<code>go tool pprof 'http://{address}/debug/pprof/heap?pid=PID'</code>.</p>
{table}
</body></html>
"""


def address(text):
    """PORT, :PORT (everywhere) or HOST:PORT, an IPv6 host in brackets -> (host, port)"""
    found = re.fullmatch(r"(?:(?:\[([0-9a-fA-F:.%\w]+)\]|([^\[\]:]*)):)?(\d+)", text)
    if not found or int(found[3]) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no ADDRESS:PORT")
    return found[1] or ("127.0.0.1" if found[2] is None else found[2]), int(found[3])


def add_arguments(parser):
    parser.explain(
        """
        Serves by HTTP what the running processes on acre say at their control sockets: /metrics has their statistics
        for Prometheus, /debug/pprof/heap?pid=PID the heap profile of one, / a list of them. Runs until a signal ends
        it, and says first where it listens. Root serves the processes of all users, others their own.
        """,
        (("{acre} exporter", f"on http://127.0.0.1:{PORT}/, which this machine alone reaches"),
         ("{acre} exporter --listen 10.0.0.7:9473 --all", "for others too, with every size class, arena and lock")))
    parser.add_argument("--listen", type=address, default=("127.0.0.1", PORT), metavar="ADDRESS:PORT",
                        help=f"where to listen (127.0.0.1:{PORT}); port 0: any that is free")
    parser.add_argument("--all", action="store_true",
                        help="/metrics has size classes, arenas and locks too: hundreds of series a process")


class Refused(Exception):
    """An answer that says in one line, which is its status line too, why there is no other one."""

    def __init__(self, status, why):
        super().__init__(live.one_line(why))
        self.status = status


# --- What is served ---------------------------------------------------------------------------------------------

def openmetrics_of(process):
    """None: it does not answer."""
    try:
        return live.ask(process.pid, "stats", "openmetrics", patience_s=live.GLANCE_S)
    except live.LiveError:
        return None


def collect(details):
    """-> families by name"""
    families, silent = {}, 0
    processes = list(live.with_sockets())
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for process, text in zip(processes, pool.map(openmetrics_of, processes)):
            if text is None:
                silent += 1
            else:
                labels = metrics.label("pid", process.pid), metrics.label("program", process.name)
                metrics.add(families, text, labels, details)
    metrics.gauge(families, "acre_exporter_processes", "processes that answered", len(processes) - silent)
    metrics.gauge(families, "acre_exporter_silent", "processes that have a socket and did not answer", silent)
    return families


def only_process():
    pids = [process.pid for process, _ in live.everyone()]
    if not pids:
        raise Refused(404, "no process on acre answers here")
    if len(pids) > 1:
        raise Refused(400, f"say which process: ?pid={pids[0]} … ({len(pids)} answer; / lists them)")
    return pids[0]


def with_names(data):
    """A profile with the names of functions, if there is a tool that knows them here."""
    from heap_profile import pprof, symbols
    tool = symbols.find_tool()
    if tool is None:
        return data
    return pprof.write(symbols.named(pprof.read(data), tool, lambda file: file, lambda text: None))


def heap(query):
    """-> (the profile, its name as a file)"""
    unknown = set(query) - {"pid", "kind", "names"}
    if unknown:
        raise Refused(400, f"there is no parameter '{sorted(unknown)[0]}'; there are pid, kind and names")
    pid, kind, names = query.get("pid") or str(only_process()), query.get("kind", "live"), query.get("names", "1")
    if not re.fullmatch(r"\d{1,18}", pid, re.ASCII) or kind not in KINDS or names not in ("0", "1"):
        raise Refused(400, f"pid is a number, kind is one of {', '.join(KINDS)}, names is 0 or 1")
    try:
        process = live.Process(int(pid))
        data = live.heap_profile(int(pid), kind)
    except live.LiveError as error:
        raise Refused(404, str(error)) from None
    name = re.sub(r"[^\w.+-]", "_", process.name, flags=re.ASCII)  # a header has no quotes and few letters
    return with_names(data) if names == "1" else data, f"{name}.{pid}.{kind}.pb.gz"


def list_page(address_of_server):
    rows = ""
    for process, report in live.everyone():
        figures = report["process"]
        sizes = [figures["allocated"], figures["dirty"] + figures["muzzy"], figures["process_resident"]]
        rows += (f"<tr><td class=number>{process.pid}</td><td>{html.escape(live.user_name(process.user))}</td>"
                 + "".join(f"<td class=number>{live.human(size)}</td>" for size in sizes)
                 + f'<td><a href="debug/pprof/heap?pid={process.pid}">heap</a></td>'
                 + f"<td class=command>{html.escape(process.command())}</td></tr>\n")
    titles = "".join(f"<th{' class=number' if is_number else ''}>{title}</th>" for title, is_number in (
        ("PID", True), ("user", False), ("live", True), ("dirty", True), ("resident", True), ("profile", False),
        ("command", False)))
    table = f"<table>\n<tr>{titles}</tr>\n{rows}</table>" if rows else (
        "<p>No process on acre answers. Those that <code>acre run</code> starts do, and those with the option "
        "<code>control</code>.</p>")
    return PAGE.format(host=html.escape(socket.gethostname()), address=html.escape(address_of_server), table=table)


# --- HTTP -------------------------------------------------------------------------------------------------------

class Handler(http.server.BaseHTTPRequestHandler):
    server_version = "acre"
    sys_version = ""
    timeout = CLIENT_S

    def answer(self, status, kind, body, reason=None, **headers):
        body = body if isinstance(body, bytes) else body.encode("utf-8", "replace")
        self.send_response(status, reason and reason.encode("ascii", "replace").decode())
        for name, value in {"Content-Type": kind, "Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        try:
            self.serve(parts.path, query)
        except Refused as refused:
            # pprof shows the reason, and not the body.
            self.answer(refused.status, "text/plain; charset=utf-8", f"acre exporter: {refused}\n", reason=str(refused))
        except ConnectionError:
            pass  # whoever asked went away

    do_HEAD = do_GET

    def serve(self, path, query):
        if path == "/metrics":
            openmetrics = "application/openmetrics-text" in self.headers.get("Accept", "")
            self.answer(200, metrics.OPENMETRICS if openmetrics else metrics.PLAIN,
                        metrics.text(collect(self.server.details), openmetrics))
        elif path == "/debug/pprof/heap":
            data, name = heap(query)
            self.answer(200, "application/octet-stream", data, Content_Disposition=f'attachment; filename="{name}"')
        elif path == "/":
            self.answer(200, "text/html; charset=utf-8", list_page(self.headers.get("Host") or self.server.where()))
        else:
            raise Refused(404, f"there is no {path}; there are /, /metrics and /debug/pprof/heap")

    def log_message(self, form, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, where, details):
        self.address_family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self.details = details
        super().__init__(where, Handler)

    def server_bind(self):
        """The base class looks its own name up in the DNS, which may wait."""
        http.server.socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def where(self):
        host, port = self.server_address[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_local(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def main(options):
    try:
        server = Server(options.listen, options.all)
    except OSError as error:
        host, port = options.listen
        fail(f"exporter: cannot listen at {host}:{port}: {error.strerror}; --listen names another address or port")
    if not is_local(options.listen[0]):
        say(f"exporter: whoever reaches {server.where()} may read the figures and heap profiles of the processes there")
    with server:
        print(f"http://{server.where()}/", flush=True)
        server.serve_forever()
    return 0
