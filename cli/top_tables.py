"""The tables of acre top, as text: which columns fit, which one is sorted by, and what is in a process."""

from dataclasses import dataclass

import live
import terminal
import why_figures
from live import human

GAP = 2
LEAST_LAST = 20  # columns for the last one, which takes what is left

# What of the resident memory a bar shows: figure, letter, name. The rest is no heap.
PARTS = (("live", "L", "live"), ("cached", "c", "cached"), ("in_runs", "h", "free in runs"), ("dirty", "d", "dirty"))
NO_HEAP = ".", "no heap"


@dataclass(frozen=True)
class Column:
    """name: of the figure. key: the letter that sorts by it. width 0: the last one, which takes what is left."""
    name: str
    title: str
    key: str
    width: int = 10
    always: bool = False
    text: object = human
    grows: bool = False  # sorted from the smallest to the largest, and aligned to the left
    help: str = ""


def name_of(command):
    """A command line without the folder of its program, so that the name is there in few columns."""
    first, _, rest = command.partition(" ")
    return f"{first.rpartition('/')[2] or first} {rest}".rstrip() if first.startswith("/") else command


# In the order of the screen; those that are not always there go from the last of OPTIONAL on.
PROCESSES = (
    Column("pid", "PID", "p", 7, True, str, help="number of the process"),
    Column("user", "USER", "u", 8, text=str, grows=True, help="who has started it"),
    Column("resident", "RESIDENT", "r", 10, True, help="memory that it has, by the kernel"),
    Column("live", "LIVE", "l", 10, True, help="blocks that are allocated and not freed"),
    Column("cached", "CACHED", "c", help="free blocks that threads keep"),
    Column("in_runs", "IN RUNS", "i", help="other free blocks in runs, and the runs' ends"),
    Column("dirty", "DIRTY", "d", help="free pages that are not returned to the system yet"),
    Column("metadata", "METADATA", "m", help="acre's own structures"),
    Column("threads", "THREADS", "t", 8, text=str, help="threads with a cache"),
    Column("bar", "WHAT IS RESIDENT", "", 24, text=str, help="the resident memory, by the letters of the legend"),
    Column("command", "COMMAND", "n", 0, True, name_of, True, help="the program and its arguments"),
)
OPTIONAL = ("dirty", "cached", "in_runs", "bar", "threads", "user", "metadata")


def fitting(columns, width, optional=()):
    """The columns for a screen of this width; None: all."""
    shown = {column.name for column in columns if column.always or (column.name not in optional)}
    last = columns[-1].width == 0
    left = (width or 10000) - sum(column.width + GAP for column in columns if column.name in shown) - LEAST_LAST * last
    for name in optional:
        needed = next(column.width for column in columns if column.name == name) + GAP
        if needed > left:
            break
        shown.add(name)
        left -= needed
    return [column for column in columns if column.name in shown]


def ordered(columns, rows, sort):
    column = next(column for column in columns if column.name == sort)
    return sorted(rows, key=lambda row: row[sort], reverse=not column.grows and sort != "pid")


def cell(column, text):
    if column.width == 0:
        return text
    text = terminal.cut(text, column.width)
    return text.ljust(column.width) if column.grows or column.name == "bar" else text.rjust(column.width)


def title_line(columns, sort):
    return (" " * GAP).join(cell(column, ("*" if column.name == sort else "") + column.title) for column in columns)


def line(columns, row, width=None):
    return terminal.cut((" " * GAP).join(cell(column, column.text(row[column.name])) for column in columns).rstrip(), width)


def bar(row, largest, cells):
    """Resident memory in letters; the largest process's fills the bar."""
    text, so_far = "", 0
    scale = cells / max(largest, 1)
    for name, letter, _ in PARTS:
        so_far = min(so_far + row[name], row["resident"])
        text += letter * (round(so_far * scale) - len(text))
    return text + NO_HEAP[0] * (round(row["resident"] * scale) - len(text))


def with_bars(rows):
    largest = max((row["resident"] for row in rows), default=0)
    return [{**row, "bar": bar(row, largest, 24)} for row in rows]


# --- Inside of a process ------------------------------------------------------------------------------------------

def plain(name, title, key, width=10, text=human, **more):
    return Column(name, title, key, width, False, text, **more)


LARGE = 1 << 62  # in place of a class's size


CLASSES = (
    plain("size", "BLOCK", "b", 7, lambda size: "large" if size == LARGE else str(size), help="bytes of a block of the class"),
    plain("count", "LIVE BLOCKS", "n", 11, str, help="blocks that are allocated"),
    plain("live", "LIVE", "l", help="their bytes"),
    plain("cached", "CACHED", "c", help="free, on threads' lists and in the runs that they cut from"),
    plain("held", "HELD", "h", help="free, in runs that live blocks keep"),
    plain("rounding", "ROUNDING", "r", help="bytes of live blocks beyond what was asked for, an estimate"),
    plain("runs", "RUNS", "u", 7, str, help="runs of pages"),
)
SITES = (
    plain("bytes", "LIVE", "l", help="bytes of live blocks from there, as the heap profile estimates them"),
    plain("blocks", "BLOCKS", "b", 10, str, help="live blocks, an estimate"),
    plain("stack", "CALL SITE", "n", 0, lambda names: " < ".join(map(terminal.folded, names)), grows=True,
          help="the functions, the innermost first"),
)
CACHES = (
    plain("thread", "THREAD", "t", 8, str, help="the thread's number"),
    plain("name", "NAME", "n", 16, str, grows=True, help="the thread's name"),
    plain("arena", "ARENA", "a", 6, str, help="the arena of its runs"),
    plain("all", "CACHED", "c", help="free blocks that the thread keeps"),
    plain("private_lists", "PRIVATE", "p", help="of these, on its own lists"),
    plain("deferred", "IN RUNS", "i", help="of these, freed into runs that it has"),
    plain("uncarved", "NOT CUT", "u", help="of these, not cut from its runs yet"),
    plain("outboxes", "TO OTHERS", "o", help="of these, on their way to other threads' runs"),
)
ARENAS = (
    plain("number", "ARENA", "a", 6, str, grows=True, help="the arena"),
    plain("threads", "THREADS", "t", 8, str, help="threads that allocate there"),
    plain("live", "LIVE", "l", help="blocks that are allocated"),
    plain("cached", "CACHED", "c", help="what threads keep"),
    plain("run_free", "IN RUNS", "i", help="other free blocks in runs"),
    plain("dirty", "DIRTY", "d", help="free pages that are not returned yet"),
    plain("muzzy", "MUZZY", "z", help="free pages that the kernel may take"),
    plain("mapped", "MAPPED", "m", help="address space"),
)


def class_rows(report):
    rows = [{"size": row["size"], "count": row["live"], "live": row["live"] * row["size"], "cached": row["cached"] + row["uncarved"],
             "held": row["held"], "rounding": row["rounding"], "runs": row["runs"]} for row in why_figures.classes_of(report)]
    merged = report["merged"]
    return rows + [{"size": LARGE, "count": merged["large_blocks"], "live": merged["live_large"], "cached": 0, "held": 0,
                    "rounding": max(0, merged["rounding"] - sum(row["rounding"] for row in rows)), "runs": 0}]


def thread_name(pid, thread):
    try:
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
            return live.one_line(file.read().rstrip("\n"))
    except OSError:
        return "?"  # in another namespace, or gone


def cache_rows(pid):
    return [{**cache, "name": thread_name(pid, cache["thread"]),
             "all": sum(cache[part] for part in ("private_lists", "deferred", "uncarved", "outboxes"))}
            for cache in live.ask_json(pid, "threads")["threads"]]


def arena_rows(report):
    return [{"live": arena["live_small"] + arena["live_large"],
             **{name: arena[name] for name in ("number", "threads", "cached", "run_free", "dirty", "muzzy", "mapped")}}
            for arena in report["arenas"]]


class Sites:
    """Call sites of a process, whose names are asked for once."""

    MOST = 100

    def __init__(self, pid):
        self.pid, self.names = pid, {}

    def rows(self):
        """None: the heap profiler is off."""
        profile = why_figures.profile_of(self.pid)
        if profile is None:
            return None
        sizes, counts = (why_figures.by_stack(profile, kind) for kind in ("inuse_space", "inuse_objects"))
        shown = {tuple(place.address for place in stack): stack
                 for stack, size in sizes.most_common(self.MOST) if size}
        new = [stack for addresses, stack in shown.items() if addresses not in self.names]
        names = why_figures.named(new)
        self.names.update({tuple(place.address for place in stack): names[stack] for stack in new})
        return [{"bytes": sizes[stack], "blocks": counts[stack], "stack": self.names[addresses]}
                for addresses, stack in shown.items()]


# name, columns, those that a narrow screen leaves out, what it is sorted by at first
VIEWS = (("parts", (), (), None), ("classes", CLASSES, (), "live"), ("call sites", SITES, (), "bytes"),
         ("caches", CACHES, ("uncarved", "outboxes"), "all"), ("arenas", ARENAS, ("muzzy", "mapped"), "live"))


def rows_of(view, pid, sites):
    """The rows of a view with columns; or a text that says why there are none."""
    if view == "call sites":
        rows = sites.rows()
        return (f"The heap profiler is off. `acre ctl {pid} prof.active true` begins to sample, for allocations from then on; "
                "`acre run --profile` samples from the start.") if rows is None else rows
    if view == "caches":
        return cache_rows(pid)
    report = live.statistics(pid, "xe")
    return {"classes": class_rows, "arenas": arena_rows}[view](report)
