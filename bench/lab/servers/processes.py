"""What the servers have in common: a folder, a start, a wait until they answer, costs, and an end."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .. import launch
from ..workload import SERVERS, Failed, Missing, Sample, Workload

START_LIMIT_S, END_LIMIT_S = 20, 10
GONE = (OSError, EOFError, ValueError, LookupError)  # what is raised here and there if a server is gone
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))  # where the servers are


def is_root():
    return os.geteuid() == 0


@contextlib.contextmanager
def failures():
    """What goes wrong around a server that crashes is a failure of the run, not of the lab."""
    try:
        yield
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(map(str, error.cmd))[:100]} was not done after {error.timeout:.0f} s") from None
    except GONE as error:
        raise Failed(f"the server went away: {error!r}") from None


class ServerWorkload(Workload):
    """programs: the name of each program it starts, and Debian's package that has it."""

    programs = {}
    at_once = False

    def __init__(self, name, summary, cases):
        super().__init__(name, SERVERS, summary, cases)

    @property
    def packages(self):
        return tuple(dict.fromkeys(self.programs.values()))

    def prepare(self, lab):
        for program, package in self.programs.items():
            if not shutil.which(program, path=PATH):
                raise Missing(f"{program} is not here; Debian has it in {package}")

    def run(self, lab, case, allocator, percent):
        with tempfile.TemporaryDirectory(prefix="lab.", ignore_cleanup_errors=True) as folder, failures():
            return self.drive(lab, case, allocator, percent, Path(folder))

    def drive(self, lab, case, allocator, percent, folder):
        """One run, with a folder of its own for everything that it writes. -> Sample"""
        raise NotImplementedError


def ending_with_us(command):
    """When we are gone, however that came about, the program is told to end."""
    return ["setpriv", "--pdeathsig", "TERM", *map(str, command)]


class Daemon:
    """A server in the foreground, in a process group of its own; a context. It is asked to end when the
    context ends, or the lab itself, and its group is killed then."""

    def __init__(self, name, command, environment, folder):
        self.name, self.log = name, Path(folder) / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ending_with_us(command),
                env={**environment, "PATH": PATH},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind and issubclass(kind, GONE):
                self.look_for_death()
            self.process.terminate()
            self.process.wait(timeout=END_LIMIT_S)
        except subprocess.TimeoutExpired:
            if kind is None:
                raise Failed(f"{self.name} did not end within {END_LIMIT_S} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if kind is None and self.process.returncode not in (0, -signal.SIGTERM):
            self.require_alive()

    def look_for_death(self):
        """A client was cut off: perhaps because the server is about to be gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
            self.require_alive()

    @property
    def pid(self):
        return self.process.pid

    def pids(self):
        """The server and its children, oldest first."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]

    def wait_until(self, ready):
        """Waits until ready() says so; an OSError says that it is not."""
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            self.require_alive()
            with contextlib.suppress(OSError):
                if ready():
                    return
            time.sleep(0.01)
        raise Failed(f"{self.name} did not answer after {START_LIMIT_S} s: {self.last_words()}")

    def require_alive(self):
        if self.process.poll() is not None:
            how = self.process.returncode
            what = f"signal {-how}" if how < 0 else f"exit code {how}"
            raise Failed(f"{self.name} ended with {what}: {self.last_words()}")

    def last_words(self):
        return self.log.read_text(errors="replace").strip()[-300:]


def confirm(witness, allocator, pids):
    """Each of these processes, or what it was forked from, said that it calls this allocator's malloc."""
    witness.confirm(allocator)
    programs = {program for program, _ in witness.lines()}
    for pid in pids:
        program = os.readlink(f"/proc/{pid}/exe")
        if program not in programs:
            raise Failed(f"{program} did not say whose malloc it calls")


def run_client(command, daemon, *, stdin=None, limit_s=launch.TIME_LIMIT_S):
    """Runs a client on glibc to its end, against a server that must survive it. -> its stdout"""
    done = subprocess.run(
        ending_with_us(command),
        env=launch.clean_environment({"PATH": PATH}),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=limit_s,
    )
    daemon.require_alive()
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-300:]
        raise Failed(f"{Path(command[0]).name} failed: {said}")
    return done.stdout


def cpu_seconds(pid):
    """Of a process with all its threads, ended ones too; finer than the ticks of /proc/PID/stat."""
    return time.clock_gettime((~pid << 3) | 2)  # the clock that clock_getcpuclockid(3) names


class Meter:
    """What processes cost from the start to the end of the context. Their resident memory is added up, so
    that shared pages count in each; the peak is the sum of each one's own peak since it was started."""

    def __init__(self, pids):
        self.pids = list(pids)
        self.watch = launch.Watch(self.pids)

    def cpu_s(self):
        return sum(cpu_seconds(pid) for pid in self.pids)

    def totals(self):
        whole = [launch.process_costs(pid) for pid in self.pids]
        sums = {key: sum(costs[key] for costs in whole) for key in whole[0]}
        return {**sums, "cpu_s": self.cpu_s()}

    def __enter__(self):
        self.before = self.totals()
        self.watch.__enter__()
        self.begin = time.perf_counter()
        return self

    def __exit__(self, kind, *_):
        self.wall_s = time.perf_counter() - self.begin
        self.watch.__exit__()
        if kind is None:
            self.after = self.totals()

    def sample(self, checksum, **more):
        def spent(key):
            return self.after[key] - self.before[key]

        fields = {
            "wall_s": self.wall_s,
            "cpu_s": spent("cpu_s"),
            "peak_kib": self.after["peak_kib"],
            "mean_kib": self.watch.mean_kib or self.after["peak_kib"],
            "minor_faults": spent("minor_faults"),
            "major_faults": spent("major_faults"),
            "checksum": checksum,
            "curve": self.watch.thinned(),
        }
        return Sample(**{**fields, **more})
