"""acre why PID --watch: what grew since the first look, by size class, call site and tag, and what that is in an hour."""

import json
import time

import live
import terminal
import why_figures
from live import human

SHOWN = 8        # rows of a list
TOLD = 50        # rows of a list in JSON
HOUR_S = 3600.0


class Look:
    """The figures of one moment."""

    def __init__(self, pid):
        report = live.statistics(pid, "axe")
        self.time = time.monotonic()
        process, merged = report["process"], report["merged"]
        self.totals = {"resident": process["process_resident"], "live": process["allocated"]}
        self.classes = {entry["size"]: entry["live"] * entry["size"] for entry in merged["classes"]}
        self.classes["large"] = merged["live_large"]
        self.tags = {live.one_line(tag["name"]): tag["live"] for tag in report["tags"]}
        self.profile = why_figures.profile_of(pid)
        self.sites = self.profile and {tuple(location.address for location in stack): (size, stack) for stack, size in
                                       why_figures.by_stack(self.profile, "inuse_space").items()}


def rows_of(before, now, seconds):
    """What has changed, the largest growth first."""
    rows = [row(now.get(key, 0), now.get(key, 0) - before.get(key, 0), seconds, key=key)
            for key in dict.fromkeys([*now, *before])]
    return sorted((entry for entry in rows if entry["growth"]), key=lambda entry: -entry["growth"])


def row(now, growth, seconds, **more):
    return {**more, "bytes": now, "growth": growth, "in_an_hour": round(growth * HOUR_S / seconds) if seconds else 0}


def site_rows(first, now):
    """first: the first look at which the profiler was on, or None."""
    if now.sites is None or first is None:
        return None
    before = {key: size for key, (size, _) in first.sites.items()}
    rows = rows_of(before, {key: size for key, (size, _) in now.sites.items()}, now.time - first.time)
    stacks = {**first.sites, **now.sites}
    names = why_figures.named([stacks[entry["key"]][1] for entry in rows[:TOLD]])
    for entry in rows[:TOLD]:
        entry["stack"] = list(names[stacks[entry["key"]][1]])
    return rows


def compared(pid, command, first, first_profiled, now, number):
    """What a look tells, as JSON does. A list's rows and its rest add up to its growth."""
    seconds = now.time - first.time
    told = {"pid": pid, "command": command, "look": number, "seconds": round(seconds, 3)}
    for name, size in now.totals.items():
        told[name] = row(size, size - first.totals[name], seconds)
    live_growth = told["live"]["growth"]
    lists = {"classes": ("size", rows_of(first.classes, now.classes, seconds), live_growth),
             "call_sites": ("stack", site_rows(first_profiled, now), None),
             "tags": ("tag", rows_of(first.tags, now.tags, seconds), live_growth)}
    for name, (label, rows, whole) in lists.items():
        if rows is None:
            told[name] = None
            continue
        whole = sum(entry["growth"] for entry in rows) if whole is None else whole
        shown = [{label: entry.get(label, entry["key"]), **{key: entry[key] for key in ("bytes", "growth", "in_an_hour")}}
                 for entry in rows[:TOLD]]
        told[name] = {"growth": whole, "rows": shown, "rest": whole - sum(entry["growth"] for entry in shown)}
    return told


# --- Words ------------------------------------------------------------------------------------------------------

def signed(size):
    return f"+{human(size)}" if size > 0 else human(size)


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / HOUR_S:.1f} h"


def line(entry, text, columns):
    now = "" if entry["bytes"] is None else human(entry["bytes"])
    return terminal.cut(f"{now:>10} {signed(entry['growth']):>11} {signed(entry['in_an_hour']):>12}  {text}", columns)


def names(name, entry):
    if name == "call_sites":
        return " < ".join(map(terminal.folded, entry["stack"][:4]))
    if name == "tags":
        return entry["tag"]
    return "large blocks" if entry["size"] == "large" else f"blocks of {entry['size']} bytes"


TITLES = {"classes": "by size class", "call_sites": "by call site, as the heap profile estimates it", "tags": "by tag"}


def list_lines(told, name, columns):
    found = told[name]
    rows = found["rows"][:SHOWN]
    estimate = f": {signed(found['growth'])} in all" if name == "call_sites" else ""
    yield terminal.cut(TITLES[name] + estimate, columns)
    for entry in rows:
        yield line(entry, names(name, entry), columns)
    rest = found["growth"] - sum(entry["growth"] for entry in rows)
    if rest or not rows:
        others = {"classes": "other classes", "call_sites": "other call sites", "tags": "other tags, or without a tag"}
        yield line(row(None, rest, told["seconds"]), others[name] if rows else "all, of which none has grown", columns)


def lines_of(told, columns):
    yield terminal.cut(f"process {told['pid']}: {told['command']}", columns)
    if told["look"] == 1:
        yield terminal.cut(f"{human(told['live']['bytes'])} live, {human(told['resident']['bytes'])} resident; what grows "
                           "from now on is told at each look. Ctrl-C ends.", columns)
        return
    yield f"{duration(told['seconds'])} since the first look"
    yield f"{'now':>10} {'growth':>11} {'in an hour':>12}"
    yield line(told["resident"], "resident", columns)
    yield line(told["live"], "live blocks", columns)
    yield from list_lines(told, "classes", columns)
    if told["call_sites"] is not None:
        yield from list_lines(told, "call_sites", columns)
    else:
        yield from terminal.wrapped("", f"by call site: `acre ctl {told['pid']} prof.active true` begins to sample", columns)
    if told["tags"]["rows"]:
        yield from list_lines(told, "tags", columns)


def watch(pid, seconds, times, as_json):
    process, columns = live.Process(pid), terminal.width()
    first, first_profiled, number = None, None, 0
    while times is None or number < times:
        if number:
            time.sleep(seconds)
        now = Look(pid)
        first, number = first or now, number + 1
        first_profiled = first_profiled or (None if now.sites is None else now)
        told = compared(pid, process.command(), first, first_profiled, now, number)
        if as_json:
            print(json.dumps(told), flush=True)
            continue
        if columns and not terminal.is_dumb():
            print("\033[H\033[2J", end="")
        elif number > 1:
            print()
        print("\n".join(lines_of(told, terminal.width())), flush=True)
