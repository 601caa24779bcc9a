"""What `acre bench contention` ends with."""

from rich.text import Text

from .report.terminal import plain_table, say
from .results import is_ours

PLACES = 5  # named for each of ours


def outcome(run):
    return f"failed: {run['failed']}" if "failed" in run else f"{run['transfers_per_operation']:.3f} an allocation"


def rows_of(runs):
    rows = {}
    for run in runs:
        rows.setdefault((run["workload"], run["threads"]), {})[run["allocator"]] = run
    return rows


def figure(run):
    return f"{run['transfers_per_operation']:.3f}" if run and "failed" not in run else "—"


def show(runs, names, console):
    ours = [name for name in names if is_ours(name, {})]
    others = [name for name in names if name not in ours]
    table = plain_table("Transfers an allocation", ["N", *ours, *others])
    for (workload, threads), own in rows_of(runs).items():
        best = min((run["transfers_per_operation"] for run in own.values() if "failed" not in run), default=None)
        cells = [Text(figure(own.get(name)), style="bold" if own.get(name, {}).get("transfers_per_operation") == best
                      else "") for name in (*ours, *others)]
        table.add_row(workload, str(threads), *cells)
    console.print()
    console.print(table)
    say(console, "Cache lines that the allocator makes move; N threads on N simulated processors. Less is better.")
    say(console, "“blocks”: the share of these transfers that are of lines which the program has touched, too.")
    for run in runs:
        if run["allocator"] in ours and "failed" not in run and run["threads"] == max(r["threads"] for r in runs):
            show_places(run, console)
    for run in runs:
        if "failed" in run:
            say(console, f"failed: {run['workload']}, {run['threads']} threads, {run['allocator']}: {run['failed']}", "red")


def show_places(run, console):
    total = max(1, sum(run["transfers"]["allocator"].values()))
    console.print()
    say(console, f"{run['workload']}, {run['threads']} threads, {run['allocator']}: what moves most", "bold")
    for place in run["places"][:PLACES]:
        moved = place["loads"] + place["stores"]
        of_blocks = f"  (blocks: {100 * place['blocks'] // moved} %)" if place["blocks"] else ""
        say(console, f"  {100 * moved / total:4.1f} %  {place['where']}  {place['function']}{of_blocks}")
    for line in run["lines"][:PLACES]:
        share = 100 * line["transfers"] / total
        if share >= 1:
            say(console, f"  {share:4.1f} %  the line {line['name']}")
