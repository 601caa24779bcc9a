"""acre stats: figures of a running process, or the size classes and what each of them wastes."""

import ctypes
import json

import library
import live
from ask import ask_library
from command_line import add_yes, process_number
from say import fail, usage_error

# Below this many bytes a class may waste more than an eighth: 16 bytes of alignment cost that.
COARSE_BELOW = 128


class SizeClassInfo(ctypes.Structure):
    """struct of include/acre/acre.h that acre_size_class_info fills."""
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("run_bytes", ctypes.c_size_t),
        ("blocks", ctypes.c_uint),
        ("alignment", ctypes.c_size_t),
        ("smallest_request", ctypes.c_size_t),
    ]


def size_classes(path):
    try:
        return [row(*entry) for entry in enumerate(ask_library(path, "acre_size_class_info", SizeClassInfo))]
    except (OSError, AttributeError) as error:
        fail(f"stats: cannot ask '{path}' for its size classes: {error}")


def row(index, info):
    cut = info.blocks * info.size
    return {
        "class": index,
        "size": info.size,
        "alignment": info.alignment,
        "smallest_request": info.smallest_request,
        # The smallest request that lands here leaves most of the block unused.
        "worst_waste": (info.size - info.smallest_request) / info.size,
        "blocks": info.blocks,
        "run_bytes": info.run_bytes,
        "tail_waste": (info.run_bytes - cut) / info.run_bytes if info.run_bytes else 0.0,
    }


COLUMNS = (
    ("class", "class", "{}"),
    ("size", "size", "{}"),
    ("alignment", "alignment", "{}"),
    ("smallest_request", "smallest request", "{}"),
    ("worst_waste", "worst waste", "{:.1%}"),
    ("blocks", "blocks a run", "{}"),
    ("run_bytes", "run bytes", "{}"),
    ("tail_waste", "run tail waste", "{:.1%}"),
)


def summary(rows):
    coarse = [row for row in rows if row["smallest_request"] > COARSE_BELOW]
    worst = max(coarse, key=lambda row: row["worst_waste"], default=None)
    return {
        "classes": len(rows),
        "worst_waste_above_128": worst["worst_waste"] if worst else 0.0,
        "worst_class_above_128": worst["size"] if worst else None,
        "worst_tail_waste": max((row["tail_waste"] for row in rows), default=0.0),
    }


def print_table(rows):
    lines = [[title for _, title, _ in COLUMNS]]
    lines += [[form.format(row[key]) for key, _, form in COLUMNS] for row in rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(COLUMNS))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
    whole = summary(rows)
    print(f"{whole['classes']} classes; above {COARSE_BELOW} bytes at most "
          f"{whole['worst_waste_above_128']:.2%} of a block is waste "
          f"(class of {whole['worst_class_above_128']}); "
          f"at most {whole['worst_tail_waste']:.2%} of a run is tail")


def add_arguments(parser):
    parser.explain(
        "Prints a summary of the memory of a running process, or all its statistics; or the size classes.",
        (("{acre} stats $(pidof redis-server)", "a summary"),
         ("{acre} stats 4711 --json", "all statistics, for a program (docs/statistics.md)"),
         ("{acre} stats --classes", "the size classes and what each of them wastes")))
    parser.add_argument("pid", nargs="?", type=process_number, metavar="PID", help="the number of the process")
    forms = parser.add_mutually_exclusive_group()
    for form, what in (("text", "all statistics, to be read"), ("json", "all statistics, or the size classes, as JSON"),
                       ("openmetrics", "all statistics, for Prometheus")):
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=what)
    parser.add_argument("--classes", action="store_true", help="the size classes")
    add_yes(parser)


def print_process(pid, form):
    with live.reported("stats"):
        text = live.ask(pid, "stats", form)
    print(text, end="")
    return 0


def main(options):
    if options.classes == (options.pid is not None):
        usage_error("stats", "say which: a process, or --classes")
    if not options.classes:
        return print_process(options.pid, options.form or "summary")
    if options.form not in (None, "json"):
        usage_error("stats", f"--classes and --{options.form} do not go together")
    rows = size_classes(library.ensure(options.yes))
    if not rows:
        fail("stats: the library reports no size class")
    if options.form == "json":
        print(json.dumps({"classes": rows, "summary": summary(rows)}, indent=1))
    else:
        print_table(rows)
    return 0
