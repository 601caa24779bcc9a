"""The summary that a run ends with, on the terminal."""

from rich.table import Table
from rich.text import Text

from ..ratios import LESS, METRICS, MISSING, MORE, NONE, UNSURE
from ..results import BASE
from .tables import Tables, some

STYLES = {LESS: "green", MORE: "red", NONE: "dim", UNSURE: "", MISSING: "dim"}
INDENT = "  "
SHOWN = ("time", "peak_kib")


def show(results, console):
    tables = Tables(results)
    console.print()
    console.print(means(tables))
    console.print()
    for name in results.ours[:1]:
        console.print(workloads(tables, name))
        console.print()
    say(
        console,
        "Ratios to glibc, less is better: ≈ is no difference beyond the noise, ? too few rounds to tell, — a mean that "
        "lacks a member. “Best peers” takes the best peer of each case.",
    )
    for where, cases in tables.missing_means().items():
        say(console, f"no mean for {where}: {some(cases)}", "yellow")
    for case in tables.ratios["time"].without_base():
        say(console, f"in no mean: {case.title} has no result under {BASE}", "yellow")
    for row in tables.failures():
        say(console, f"failed: {row['case']} under {row['allocator']}: {row['reason'].splitlines()[0]}", "red")
    for text in results.contradictions():
        say(console, f"mixed: {text}", "yellow")


def say(console, text, style=None):
    console.print(text, style=style, highlight=False, markup=False)


def cell(found, emphasised=False):
    style = STYLES[found.estimate.verdict] + (" bold" if found.best or emphasised else "")
    return Text(found.estimate.text, style=style.strip())


def plain_table(title, columns):
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def means(tables):
    found = tables.means(SHOWN)
    titles = [
        f"{METRICS[metric]}\n{yardstick.replace(' and ', chr(10) + 'and ')}"
        for metric, yardstick, _ in found["columns"]
    ]
    table = plain_table("Geometric means", titles)
    for row in found["rows"]:
        ours = row["name"] in tables.results.ours
        table.add_row(Text(row["name"], style="bold" if ours else ""), *(cell(c, ours) for c in row["cells"]))
    table.add_row(Text("best peers", style="italic"), *map(cell, found["oracle"]), style="italic")
    for row in found["against"]:
        table.add_row(Text(f"{row['name']} against these", style="italic"), *map(cell, row["cells"]), style="italic")
    return table


def workloads(tables, name):
    """One allocator's ratios by workload, next to the peer that is best there."""
    columns = [title for metric in SHOWN for title in (METRICS[metric], "best peer")]
    table = plain_table(f"{name}, by workload", columns)
    first, second = (tables.ratio_table(metric) for metric in SHOWN)
    at = tables.others.index(name)
    other_rows = {row["name"]: row for section in second["sections"] for row in section["rows"]}
    for section in first["sections"]:
        table.add_row(Text(section["group"], style="bold"))
        for row in section["rows"]:
            sides = [side for side in (row, other_rows.get(row["name"])) if side]
            words = []
            for side in sides:
                words += [
                    cell(side["cells"][at]),
                    Text(f"{side['picks'][0]} {side['oracle'].estimate.text}", style="dim"),
                ]
            table.add_row(INDENT + row["name"], *words)
    return table
