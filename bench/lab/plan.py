"""What a run of the lab does, in which order."""

import random
from dataclasses import dataclass

from .workload import FULL, GROUPS, NORMAL, QUICK, REPLAYS

EXTENTS = {"quick": QUICK, "normal": NORMAL, "full": FULL}
ROUNDS = {"quick": 2, "normal": 5, "full": 5}
PERCENT = {"quick": 15, "normal": 100, "full": 100}
MOST_S = {"quick": 570}  # of all runs (budget.py): ten minutes with the page
WARM_UP = 0  # the round before the first
LATENCY_PERCENT = 25  # of the work, when single calls are timed


@dataclass(frozen=True)
class Step:
    """One run: a case under an allocator, in a round."""

    workload: object
    case: object
    allocator: object
    round: int
    timed: bool = False  # single calls are timed, nothing else is kept
    beside: object = None  # the allocator of another run at the same time, on another processor
    swapped: bool = False  # which of the two has which processor

    @property
    def place(self):
        return (self.workload.name, self.case.variant, self.case.threads)

    @property
    def key(self):
        return (*self.place, self.allocator.name, self.round, self.timed)

    @property
    def title(self):
        label = f" ({self.case.label})" if self.case.label else ""
        return f"{self.workload.name}{label}"


def choose(workloads, names):
    """Workloads by name or by group; all of them but replays if nothing is named."""
    unknown = [name for name in names if name not in workloads and name not in GROUPS]
    if unknown:
        raise ValueError(f"--workload: there is no {', '.join(unknown)}; `acre bench --list` shows what there is")
    chosen = names or [group for group in GROUPS if group != REPLAYS]
    return [w for name, w in workloads.items() if name in chosen or w.group in chosen]


def cases_of(workload, extent, threads):
    """The cases of an extent. With threads, instead, those on the scaling lines with these counts."""
    if threads and any(case.threads for case in workload.cases):
        return [case for case in workload.cases if case.threads in threads]
    return [case for case in workload.cases if case.extent <= extent]


def shuffled(allocators, place, number):
    """In an order of this case and round, the same in each run: none has its place or its neighbours as a rule, and so
    none has what these do to it, such as memory that the machine has just taken back, or a processor that is warm."""
    return random.Random(f"{place} {number}").sample(allocators, len(allocators))


def pairs(workloads, base, others, extent, rounds, threads=()):
    """Each of the others at the same time as base, so often. Each pair is a round of its own, since ratios are taken
    within a round."""
    plan = []
    for number in range(WARM_UP, rounds + 1):
        for at, other in enumerate(others):
            own = WARM_UP if number == WARM_UP else (number - 1) * len(others) + at + 1
            for workload in workloads:
                plan += [
                    Step(workload, case, other, own, beside=base, swapped=number % 2 == 1)
                    for case in cases_of(workload, extent, threads)
                ]
    return plan


def breadth_first(plan):
    """For a plan that may be cut short: each case's first round behind its own warm-up, and the groups in turns, so that
    a cut takes second rounds before it takes cases, and cases of all groups alike."""
    ranks, counts = {}, dict.fromkeys(GROUPS, 0)
    for step in plan:
        if step.place not in ranks:
            group = step.workload.group
            ranks[step.place] = (counts[group], GROUPS.index(group))
            counts[group] += 1
    return sorted(plan, key=lambda step: (max(step.round, WARM_UP + 1), ranks[step.place], step.round))


def steps(workloads, allocators, extent, rounds, threads=()):
    """Round by round, case by case, all allocators next to each other. The warm-up brings files into memory, for which
    one case of a workload is enough."""
    plan = []
    for number in range(WARM_UP, rounds + 1):
        for workload in workloads:
            cases = cases_of(workload, extent, threads)
            for case in cases[:1] if number == WARM_UP else cases:
                order = shuffled(allocators, (workload.name, case.variant, case.threads), number)
                plan += [Step(workload, case, allocator, number) for allocator in order]
                if workload.latency and number > WARM_UP and case.extent == QUICK:
                    plan += [Step(workload, case, allocator, number, timed=True) for allocator in order]
    return plan
