"""Reading files of results (JSON lines, as runner.py writes them), one or several, into tables."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from .workload import GROUPS, STRESS, Case

FORMAT = 1
BASE = "glibc"
WARM_UP = 0  # the round that is not judged


class CaseKey(NamedTuple):
    """One way to run a workload, as results name it."""

    workload: str
    variant: str
    threads: int

    @property
    def label(self):
        return Case(variant=self.variant, threads=self.threads).label

    @property
    def title(self):
        return f"{self.workload} ({self.label})" if self.label else self.workload


def case_of(entry):
    return CaseKey(entry["workload"], entry.get("variant", ""), entry.get("threads", 0))


@dataclass
class Results:
    """What the files say. Entries are dicts as they were written, and `source` tells the file."""

    sessions: list = field(default_factory=list)
    runs: list = field(default_factory=list)
    latencies: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    sources: list = field(default_factory=list)
    damaged: int = 0  # lines that could not be read

    @cached_property
    def allocators(self):
        """Name -> {"library", "version"}; glibc first, then ours, then in the order in which they ran."""
        merged = {}
        for session in self.sessions:
            merged.update(session.get("allocators", {}))
        for entry in self.runs:
            merged.setdefault(entry["allocator"], {})
        return dict(sorted(merged.items(), key=lambda pair: (pair[0] != BASE, not is_ours(*pair))))

    @cached_property
    def peers(self):
        """The allocators that acre is held against: neither acre nor another build of it."""
        return [name for name, about in self.allocators.items() if not is_ours(name, about)]

    @cached_property
    def ours(self):
        return [name for name in self.allocators if name not in self.peers]

    @cached_property
    def workloads(self):
        """Name -> {"group", "summary", "time"}; by group, then in the order in which they ran."""
        merged = {}
        for session in self.sessions:
            merged.update(session.get("workloads", {}))
        for entry in (*self.runs, *self.failures):
            merged.setdefault(entry["workload"], {})
        rank = {group: at for at, group in enumerate(GROUPS)}
        full = {name: {"group": STRESS, "summary": "", "time": "wall_s", **about} for name, about in merged.items()}
        seen = {entry["workload"] for entry in (*self.runs, *self.failures)}
        return dict(
            sorted(((n, a) for n, a in full.items() if n in seen), key=lambda pair: rank.get(pair[1]["group"], 9))
        )

    @cached_property
    def cases(self):
        """Workload -> its CaseKeys in the order of the files, failed ones included."""
        found = {name: {} for name in self.workloads}
        for entry in (*self.runs, *self.failures):
            case = case_of(entry)
            found[case.workload][case] = None
        return {name: list(cases) for name, cases in found.items()}

    @cached_property
    def failed(self):
        """(CaseKey, allocator) -> why: there is no number for these, even if some round went well."""
        return {(case_of(f), f["allocator"]): f["reason"] for f in reversed(self.failures) if not f.get("timed")}

    @cached_property
    def frame(self):
        """The judged runs as a pandas table: a row each, the workload's extras as "extra.NAME"."""
        import pandas

        rows = [self.row(entry) for entry in self.runs]
        frame = pandas.DataFrame(rows)
        keys = ["source", "workload", "variant", "threads", "allocator", "round", "percent"]
        return frame.drop_duplicates(keys, keep="last").reset_index(drop=True) if rows else frame

    def row(self, entry):
        row = {name: value for name, value in entry.items() if not isinstance(value, (dict, list))}
        row.update({f"extra.{name}": value for name, value in (entry.get("extras") or {}).items()})
        row["case"] = case_of(entry)
        row["time"] = entry[self.workloads[entry["workload"]]["time"]]
        if entry.get("operations") and entry["wall_s"] > 0:
            row["operations_per_s"] = entry["operations"] / entry["wall_s"]
        return row

    @cached_property
    def extras(self):
        """The names of the workloads' own figures, as columns of the table."""
        return [column for column in self.frame.columns if column.startswith("extra.")]

    def contradictions(self):
        """Names that stand for different things in the sessions, as texts."""
        texts = []
        for name in self.allocators:
            known = {
                json.dumps(s["allocators"][name], sort_keys=True): s["allocators"][name]
                for s in self.sessions
                if name in s.get("allocators", {})
            }
            if len(known) > 1:
                versions = [about.get("version") or about.get("library", "?") for about in known.values()]
                texts.append(f"{name} stands for {' and '.join(versions)}")
        machines = {json.dumps(s.get("machine"), sort_keys=True) for s in self.sessions}
        if len(machines) > 1:
            texts.append(f"{len(machines)} machines, or one that changed in between")
        commits = {s.get("acre") for s in self.sessions}
        if len(commits) > 1:
            texts.append(f"acre at {', '.join(sorted(map(str, commits)))}")
        return texts


def is_ours(name, about):
    """acre, or another build of it."""
    return name == "acre" or about.get("library", "").startswith("libacre")


def read(paths):
    """-> Results of all these files. A line cut short, as by a kill, is passed over and counted."""
    found = Results()
    for source, path in enumerate(map(Path, paths)):
        found.sources.append(str(path))
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                kind = entry.pop("kind")
            except (ValueError, KeyError, AttributeError, TypeError):
                found.damaged += bool(line.strip())
                continue
            take(found, kind, {**entry, "source": source}, path)
    return found


def take(found, kind, entry, path):
    if kind == "session":
        if entry.get("format") != FORMAT:
            raise ValueError(f"{path} is of format {entry.get('format')}; this reads format {FORMAT}")
        found.sessions.append(entry)
    elif kind == "failure":
        found.failures.append(entry)
    elif entry.get("round") == WARM_UP:
        return
    elif kind == "run":
        found.runs.append(entry)
    elif kind == "latency":
        found.latencies.append(entry)
