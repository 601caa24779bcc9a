"""A run of a workload that is recorded by acre-trace, a process beside it."""

import dataclasses
import signal
import subprocess
import tempfile
from pathlib import Path

from . import peers
from .workload import Failed


def run(lab, workload, case, allocator, percent, path, options=(), **more):
    """Records one run on allocator, an acre, into path. -> (Sample, the line that the collector ends with)"""
    words = [lab.trace_tools / "acre-trace", "collect", "-o", path, *options, "--attach"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    collector = subprocess.Popen(words, stdin=subprocess.DEVNULL, text=True, **pipes)
    try:
        setting = collector.stdout.readline().strip()
        if not setting:
            raise Failed(collector.communicate()[1].strip())
        recorded = dataclasses.replace(allocator, settings=(("ACRE_CONF", f"record:{setting}"),))
        sample = workload.run(lab, case, recorded, percent, **more)
        collector.send_signal(signal.SIGINT)  # nobody else comes
        _, said = collector.communicate()
        if collector.returncode != 0 or not Path(path).exists():
            raise Failed(said.strip() or "nothing was recorded")
        return sample, said.strip()
    finally:
        if collector.poll() is None:
            collector.kill()
            collector.wait()


def run_as_named(lab, workload, case, allocator, percent, **more):
    """A run that is recorded if the allocator's name says so (peers.RECORDED). -> Sample"""
    options = peers.RECORDED.get(allocator.name)
    if options is None:
        return workload.run(lab, case, allocator, percent, **more)
    with tempfile.TemporaryDirectory(prefix="lab.") as scratch:
        return run(lab, workload, case, allocator, percent, Path(scratch) / "recording", options, **more)[0]
