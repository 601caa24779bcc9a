"""acre bench musl: acre in static programs on musl, beside musl's own malloc (bench/musl/pairs.c)."""

import json
import statistics
import subprocess

from . import launch, machine
from .native import build_if_older
from .report.terminal import plain_table
from .report.terminal import say as tell
from .workload import Failed

MODES = {"own": "each thread frees its own blocks", "exchanged": "blocks are freed by whichever thread comes by"}
USUAL_THREADS = (1, 2, 4, 8, 16, 32)
PAIRS, SLOW_PAIRS = 4_000_000, 400_000  # a run's; musl's own malloc gets fewer where it takes long
NAMES = ("musl", "acre")


def programs(lab):
    """-> {name: program}, linked statically"""
    archive = lab.root / "build" / "musl" / "libacre.a"
    if not archive.exists():
        raise Failed(f"there is no {archive}; ./acre bench musl builds it")
    source, made = lab.bench / "musl" / "pairs.c", {}
    for name, more in (("musl", []), ("acre", [archive])):
        target = lab.built / "musl" / name
        flags = ["-std=c11", "-O2", "-fno-builtin", "-Wall", "-Wextra", "-Werror", "-static"]
        made[name] = build_if_older(target, [source, *more], ["musl-gcc", *flags, source, *more, "-o", target])
    return made


def run(program, mode, threads, pairs):
    """-> nanoseconds a pair"""
    try:
        done = subprocess.run([program, mode, str(threads), str(pairs)], env=launch.clean_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=launch.TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failed(f"{program.name}, {mode}, {threads} threads: not done after {launch.TIME_LIMIT_S} s") from None
    if done.returncode != 0:
        raise Failed(f"{program.name}, {mode}, {threads} threads: exit code {done.returncode}: {done.stderr.strip()}")
    return float(done.stdout)


def measure(made, threads, rounds, say):
    """-> a dictionary for each mode and number of threads. Rounds are interleaved: the two run after one another."""
    points = [(mode, count) for mode in MODES for count in threads]
    cases = [{"mode": mode, "threads": count, "ns": {name: [] for name in made}} for mode, count in points]
    for number in range(1, rounds + 1):
        for case in cases:
            order = list(made) if number % 2 else list(reversed(made))
            for name in order:
                pairs = SLOW_PAIRS if name == "musl" and case["threads"] > 1 else PAIRS
                case["ns"][name].append(run(made[name], case["mode"], case["threads"], pairs))
        say(f"round {number} of {rounds}")
    for case in cases:
        pairs_of_runs = zip(case["ns"]["acre"], case["ns"]["musl"], strict=True)
        case["ratio"] = statistics.median(own / theirs for own, theirs in pairs_of_runs)
    return cases


def show(cases, console):
    table = plain_table("Nanoseconds a pair of malloc and free", ["N", *NAMES, "acre, times as fast"])
    for case in cases:
        medians = [statistics.median(case["ns"][name]) for name in NAMES]
        table.add_row(case["mode"], str(case["threads"]), *(f"{ns:.1f}" for ns in medians), f"{1 / case['ratio']:.1f}")
    console.print()
    console.print(table)
    tell(console, "Static programs; N threads, 16 to 512 bytes a block. Medians; the last column: of the rounds' ratios.")
    for mode, what in MODES.items():
        tell(console, f"{mode}: {what}.")


def main(lab, options, say, console):
    if not all(1 <= count <= 64 for count in options.threads):
        raise ValueError("--threads: 1 to 64")
    with lab.alone():
        made = programs(lab)
    cases = measure(made, options.threads or USUAL_THREADS, options.rounds, say)
    if options.json:
        about = {"machine": machine.describe(), "acre": machine.commit(lab.root), "rounds": options.rounds}
        print(json.dumps({**about, "cases": cases}, indent=1))
    else:
        show(cases, console)
    return 0
