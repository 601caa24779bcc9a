"""What a workload is to the lab: cases to run, a way to run one under an allocator, and the sample it yields."""

from dataclasses import dataclass, field

PROGRAMS, SERVERS, STRESS, REPLAYS = "programs", "servers", "stress", "replays"
GROUPS = (PROGRAMS, SERVERS, STRESS, REPLAYS)  # replays: only where they are asked for

QUICK, NORMAL, FULL = 0, 1, 2  # the smallest extent of a run in which a case takes part


class Failed(Exception):
    """A run that yields no number: it crashed, computed something else, or ran on another allocator."""


class Missing(Failed):
    """A program that the workload needs is not installed here."""


@dataclass(frozen=True)
class Case:
    """One way to run a workload."""

    variant: str = ""  # what tells it from the workload's other cases, besides threads: "4 KiB"
    threads: int = 0  # its place on a scaling line; 0 where threads are no parameter
    arguments: tuple = ()  # NAME=VALUE texts for the program
    extent: int = NORMAL

    @property
    def label(self):
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}" if self.threads else ""
        return ", ".join(part for part in (self.variant, threads) if part)


@dataclass
class Sample:
    """What one run cost. The fields that a report compares are numbers, and less is better in each but
    operations_per_s."""

    wall_s: float
    cpu_s: float
    peak_kib: float
    mean_kib: float  # over time
    minor_faults: int
    major_faults: int
    checksum: str  # must be the same under every allocator
    operations: float | None = None
    latency_ns: dict = field(default_factory=dict)  # "p50" … "max"
    extras: dict = field(default_factory=dict)  # the workload's own figures
    curve: list = field(default_factory=list)  # [milliseconds, resident KiB]


class Workload:
    """name, group, summary (a line), cases; packages: Debian's that it needs (also in packages.txt)."""

    packages = ()
    latency = False  # whether there is a twin that times single calls: run(…, timed=True)
    at_once = True  # whether two runs can go on at the same time, each on one processor
    notes = ()  # lines that prepare() has for whoever runs it
    time = "wall_s"  # the field of Sample by which speed is judged, or "cpu_s"

    def __init__(self, name, group, summary, cases):
        assert group in GROUPS
        self.name, self.group, self.summary, self.cases = name, group, summary, tuple(cases)

    def prepare(self, lab):
        """Builds programs and makes inputs, once: what lies in lab.built is kept between runs."""

    def run(self, lab, case, allocator, percent):
        """One run of percent of the work. -> Sample, or Failed is raised."""
        raise NotImplementedError
