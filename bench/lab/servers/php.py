"""A PHP site behind nginx, asked by wrk. PHP's workers are on the allocator, and USE_ZEND_ALLOC=0 makes them
call it for each block; nginx and wrk are not. As in Facebook's comparison of 2011 what counts is CPU time a
request, from 15 samples: so cpu_s is that of PHP for a fixed number of requests."""

import contextlib
import http.client
import os
import pwd
import signal
import socket
import statistics
import string
import subprocess

from .. import launch
from ..workload import Failed
from .processes import PATH, Daemon, Meter, ServerWorkload, confirm, ending_with_us, is_root

WORKERS, CONNECTIONS = 4, 8
SAMPLES = 15
ROUNDS = 8  # how often each page is asked for in a sample
WARM_UP_ROUNDS = 3
ATTEMPTS = 3  # at a port that nobody else has
LIMIT_S = launch.TIME_LIMIT_S
PAGES = (
    "/",
    "/articles/5",
    "/search/mor%20stafil%20en%20chelum",
    "/basket/3x2,44x1,120x5,7x1,199x2",
    "/api/orders/2022",
    "/api/export/products",
)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except http.client.HTTPException as error:
        raise OSError(f"{path}: {error!r}") from None
    finally:
        connection.close()


def fetch_page(port, path):
    status, body = fetch(port, path)
    if status != 200:
        raise Failed(f"{path} was answered with {status}")
    return body


@contextlib.contextmanager
def started_nginx(template, folder, values):
    """-> the port of an nginx, which another program might take between the choice and the start."""
    for attempt in range(1, ATTEMPTS + 1):
        port = free_port()
        write_from(template, folder, {**values, "port": port})
        command = ["nginx", "-p", folder, "-e", "stderr", "-c", folder / "nginx.conf"]
        with Daemon("nginx", command, launch.clean_environment(), folder) as nginx:
            try:
                nginx.wait_until(lambda: fetch(port, "/no-such-page")[0] == 404)
            except Failed as failure:
                if attempt < ATTEMPTS and "Address already in use" in str(failure):
                    continue
                raise
            yield port
            nginx.require_alive()
            return


class Php(ServerWorkload):
    programs = {"php-fpm8.2": "php8.2-fpm", "nginx": "nginx", "wrk": "wrk"}
    time = "cpu_s"

    def drive(self, lab, case, allocator, percent, folder):
        own = lab.bench / "servers"
        user = pwd.getpwuid(os.geteuid()).pw_name if is_root() else ""
        values = {"folder": folder, "site": own / "php" / "site", "workers": WORKERS}
        write_from(own / "php-fpm.conf", folder, {**values, "user": f"user = {user}" if user else ""})
        environment, witness = launch.server_environment(lab, allocator, folder, {"USE_ZEND_ALLOC": "0"})
        (folder / "no-more-settings").mkdir()
        environment["PHP_INI_SCAN_DIR"] = str(folder / "no-more-settings")
        command = ["php-fpm8.2", "-F", "-c", own / "php.ini", "-y", folder / "php-fpm.conf"]
        with Daemon("php-fpm", [*command, *(["-R"] if user else [])], environment, folder) as php:
            php.wait_until(lambda: (folder / "php.socket").exists() and len(php.pids()) == 1 + WORKERS)
            confirm(witness, allocator, php.pids())
            values["user"] = f"user {user};" if user else ""
            with started_nginx(own / "nginx.conf", folder, values) as port:
                sample = self.load(own / "wrk.lua", php, port, percent)
            php.require_alive()
            return sample

    def load(self, script, php, port, percent):
        bodies = {path: fetch_page(port, path) for path in PAGES}
        checksum = launch.short_hash(b"".join(bodies.values()))
        requests = max(1, ROUNDS * percent // 100) * len(PAGES)
        words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{LIMIT_S}s", "--timeout", "30s", "-s", str(script)]
        words += [f"http://127.0.0.1:{port}", "--", str(requests), str(SAMPLES), str(WARM_UP_ROUNDS * len(PAGES))]
        words += [f"{path}={len(body)}" for path, body in bodies.items()]
        pids = php.pids()
        meter = Meter(pids)
        try:
            seconds = samples_of(words, meter)
        except Failed as failure:
            raise Failed(f"{failure}; php-fpm says: {php.last_words()}") from None
        if php.pids() != pids:
            raise Failed(f"a worker of php-fpm ended: {php.last_words()}")
        return sample_of(meter, seconds, requests, checksum)


def sample_of(meter, cpu, requests, checksum):
    """cpu: the CPU time of PHP at the begin, and after each sample."""
    costs = [(after - before) / requests * 1e6 for before, after in zip(cpu, cpu[1:])]
    extras = {
        "cpu_us_per_request": round(statistics.median(costs), 2),
        "cpu_us_per_request_highest": round(max(costs), 2),
    }
    return meter.sample(checksum, cpu_s=cpu[-1] - cpu[0], operations=float(requests * SAMPLES), extras=extras)


def samples_of(words, meter):
    """Runs wrk until it has seen the last sample. -> CPU time of the processes at each border"""
    seconds = []
    wrk = subprocess.Popen(
        ending_with_us(words),
        env=launch.clean_environment({"PATH": PATH}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for_sample(wrk, 0)
        with meter:
            seconds.append(meter.cpu_s())
            for number in range(1, SAMPLES + 1):
                wait_for_sample(wrk, number)
                seconds.append(meter.cpu_s())
    finally:
        wrk.send_signal(signal.SIGINT)
        try:
            wrk.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            wrk.kill()
            wrk.communicate()
    return seconds


def wait_for_sample(wrk, number):
    for line in wrk.stdout:
        words = line.split()
        if words[:2] == ["sample", str(number)]:
            if words[3] != "0":
                raise Failed(f"{words[3]} responses were not the pages that they should be")
            return
    raise Failed(f"wrk ended before it had its sample {number}")


def write_from(template, folder, values):
    text = string.Template(template.read_text()).substitute(values)
    (folder / template.name).write_text(text)
