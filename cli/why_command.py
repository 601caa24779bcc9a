"""acre why PID: where the resident memory of a running process is, in plain words, and what could be done about it."""

import collections
import json
import sys

import live
from command_line import add_json, add_process
from live import human
from resident import KINDS, Resident

BAR = 60
NEARLY_EMPTY = 0.25   # of a class's blocks live: fewer
MANY = 0.1            # of the resident memory: worth a piece of advice
SHOWN = 5             # classes, call sites, mappings

# name, letter in the bar without colours, colour (of 256), title
PARTS = (
    ("live", "L", 34, "live"),
    ("rounding", "r", 149, "rounding"),
    ("cached", "c", 220, "cached by threads"),
    ("held", "h", 208, "held by nearly empty runs"),
    ("dirty", "d", 196, "dirty"),
    ("metadata", "m", 141, "metadata"),
    ("not_heap", ".", 245, "not heap"),
)


# --- Figures ----------------------------------------------------------------------------------------------------

def classes_of(report):
    """A row a size class, with what it wastes and holds. A thread has one run of a class to allocate from; what is free
    in its others is there because something in them lives, as in runs that no thread owns."""
    threads = report["process"]["threads"]
    for entry in report["merged"]["classes"]:
        size, runs = entry["size"], max(entry["runs"], 1)
        blocks = sum(entry[key] for key in ("live", "private_list", "deferred", "remote_list", "uncarved", "outbox", "free"))
        at_hand = min(entry["deferred"], blocks * min(entry["owned"], threads) // runs)
        if entry["live"] == 0:
            at_hand = entry["deferred"]
        yield {
            "size": size, "live": entry["live"], "runs": entry["runs"], "blocks": blocks,
            "held": (entry["free"] + entry["deferred"] - at_hand) * size,
            "cached": (entry["private_list"] + entry["remote_list"] + entry["outbox"] + at_hand) * size,
            "uncarved": entry["uncarved"] * size, "rounding": entry["rounding"],
        }


def parts_of(report, classes, resident):
    """Bytes by part, which add up to the resident memory; and what acre counts but was never touched."""
    figures = report["process"]
    uncarved = sum(row["uncarved"] for row in classes)
    parts = {
        "live": figures["requested"],
        "rounding": figures["rounding"] + figures["run_rest"],
        "cached": sum(row["cached"] for row in classes) + uncarved + figures["transit"],
        "held": sum(row["held"] for row in classes),
        "dirty": figures["dirty"] + figures["muzzy"] + figures["purging"],
    }
    untouched = max(0, sum(parts.values()) - resident.heap)
    # What was never touched is no part of resident memory: blocks not cut yet first, then others, live ones last.
    left = untouched
    for name, most in (("cached", uncarved), ("held", parts["held"]), ("live", parts["live"]),
                       ("cached", parts["cached"]), ("rounding", parts["rounding"]), ("dirty", parts["dirty"])):
        taken = min(left, most, parts[name])
        parts[name] -= taken
        left -= taken
    parts["dirty"] += max(0, resident.heap - sum(parts.values()))  # pages that came back meanwhile, or huge pages' rest
    rest = sum(resident.rest.values())
    parts["metadata"] = min(figures["metadata"], resident.rest["other"])
    parts["not_heap"] = rest - parts["metadata"]
    return parts, untouched


def holders(classes):
    """Classes whose runs are kept by few blocks, the worst first; without any, those with the most that is free."""
    found = [row for row in classes if row["held"] and row["live"] < NEARLY_EMPTY * row["blocks"]]
    found = found or [row for row in classes if row["held"]]
    return sorted(found, key=lambda row: -row["held"])[:SHOWN]


def rounded_up(classes):
    """The classes whose blocks are larger than was asked for by most, in all."""
    found = [row for row in classes if row["rounding"] > 1 << 20]
    return sorted(found, key=lambda row: -row["rounding"])[:SHOWN]


def call_sites(pid):
    """Whose blocks hold runs open, by the heap profile (docs/profiling.md): [{"bytes": held, "stack": ["function", …]}, …],
    the worst first; None while the profiler is off."""
    from heap_profile import sources, symbols, views
    try:
        profile = sources.read(str(pid))
    except live.LiveError:
        return None
    if tool := symbols.find_tool():
        profile = symbols.named(profile, tool, lambda file: file, lambda text: None)
    at = profile.index("held_space")
    found = collections.Counter()
    for (stack, labels), values in profile.samples.items():
        names = [name for name in views.frames(stack, labels) if not name.startswith("acre")]
        found[tuple(names) or tuple(f"{place.address:#x}" for place in stack)] += values[at]
    return [{"bytes": held, "stack": list(stack)} for stack, held in found.most_common(SHOWN) if held]


def explain(pid):
    process = live.Process(pid)
    report = live.statistics(pid, "axe")
    resident = Resident(process, live.ask_json(pid, "regions")["regions"])
    classes = list(classes_of(report))
    parts, untouched = parts_of(report, classes, resident)
    not_heap = dict(resident.rest)
    not_heap["other"] -= parts["metadata"]
    explanation = {
        "pid": pid, "command": process.command(), "resident": resident.all(), "swapped": resident.swapped,
        "parts": parts, "not_heap": not_heap, "counted_but_untouched": untouched,
        "held_by": holders(classes), "rounded_up": rounded_up(classes), "call_sites": call_sites(pid),
        "largest_not_heap": [{"bytes": size, "kind": kind, "mapping": path} for size, kind, path in
                             resident.largest[:SHOWN]],
        "dirty_is_returned": fate_of_dirty(report["options"]),
    }
    explanation["advice"] = list(advice(pid, explanation, report["options"]))
    return explanation


# --- Words ------------------------------------------------------------------------------------------------------

def seconds(ms):
    return f"{ms / 1000:g} s"


def fate_of_dirty(options):
    rate, decay = options["release_rate"], options["dirty_decay_ms"]
    who = ("by the background thread" if options["background_thread"]
           else "while the program allocates; not while it is idle, for there is no background thread")
    if rate > 0:
        return f"returned at {human(rate)} a second, {who}"
    if rate == 0:
        return "kept: release_rate is 0"
    if decay < 0:
        return "kept: dirty_decay_ms is negative"
    return f"returned within {seconds(decay)}, {who}"


def advice(pid, explanation, options):
    parts, whole = explanation["parts"], max(explanation["resident"], 1)

    def is_much(name):
        return parts[name] > MANY * whole and parts[name] > 1 << 20

    if is_much("dirty"):
        yield f"`acre purge {pid}` returns the {human(parts['dirty'])} of dirty pages now"
        if not options["background_thread"]:
            yield (f"`acre ctl {pid} background_thread true` returns them while the program is idle; "
                   "ACRE_CONF=background_thread:true does so from the start")
        else:
            yield f"`acre ctl {pid} opt.dirty_decay_ms 1000` returns them sooner"
    if is_much("held"):
        if explanation["call_sites"] is None:
            yield ("few blocks keep these runs: free or move the blocks of the classes above that live long; "
                   "`acre run --profile` shows where they were allocated")
        else:
            yield "the call sites above keep runs for few blocks: what they allocate lives longer than its neighbours"
    if is_much("cached"):
        yield (f"`acre ctl {pid} opt.thread_cache_max 16M` bounds what all threads keep together; "
               "fewer threads keep less")
    if is_much("rounding"):
        yield "sizes just above a size class waste most: those above, or large blocks just above whole pages"
    if parts["not_heap"] > whole / 2:
        yield "most of it is no heap, and no allocator can change it: look at the mappings above"
    if parts["live"] > whole / 2:
        yield "most of it is in use: `acre run --profile` shows which functions have allocated it"


def details(explanation):
    """Lines under a part of the list."""
    held = [f"{human(row['held'])} in blocks of {row['size']} bytes: {row['live']} of {row['blocks']} live, "
            f"in {row['runs']} runs" for row in explanation["held_by"]]
    for site in explanation["call_sites"] or []:
        held.append(f"{human(site['bytes'])} held by {' < '.join(site['stack'][:3])}")
    rounding = [f"{human(row['rounding'])} in {row['live']} blocks of {row['size']} bytes, for which about "
                f"{row['size'] - row['rounding'] // row['live']} were asked for" for row in explanation["rounded_up"]]
    not_heap = [f"{human(size)} {KINDS[kind]}" for kind, size in explanation["not_heap"].items() if size]
    not_heap += [f"the largest: {human(row['bytes'])} {row['mapping'] or 'without a name'}"
                 for row in explanation["largest_not_heap"][:1]]
    return {"held": held, "rounding": rounding, "not_heap": not_heap}


MEANINGS = {
    "live": "blocks that the program has allocated and not freed",
    "rounding": "blocks are as large as their class (an estimate), and runs have ends too short for one",
    "cached": "free blocks at hand for threads: on their lists, and in the run of each class that they cut from",
    "held": "free blocks in runs that live blocks keep from being returned",
    "metadata": "acre's own structures",
    "not_heap": "memory that acre has nothing to do with",
}


def bar(parts, in_colour):
    whole = max(sum(parts.values()), 1)
    text, drawn, so_far = "", 0, 0
    for name, letter, colour, _ in PARTS:
        so_far += parts[name]
        cells = round(so_far * BAR / whole) - drawn
        drawn += cells
        text += f"\033[48;5;{colour}m{' ' * cells}\033[0m" if in_colour else letter * cells
    return text


def lines_of(explanation, in_colour):
    parts, whole = explanation["parts"], max(explanation["resident"], 1)
    yield f"process {explanation['pid']}: {explanation['command']}"
    yield f"{human(explanation['resident'])} of memory are resident"
    yield "[" + bar(parts, in_colour) + "]"
    under = details(explanation)
    for name, letter, colour, title in PARTS:
        mark = f"\033[48;5;{colour}m \033[0m" if in_colour else letter
        meaning = explanation["dirty_is_returned"] if name == "dirty" else MEANINGS[name]
        if name == "dirty":
            meaning = f"free pages, {meaning}"
        yield f"{mark} {title:26} {human(parts[name]):>10} {parts[name] / whole:5.0%}  {meaning}"
        yield from (f"      {line}" for line in under.get(name, ()) if parts[name])
    if explanation["swapped"]:
        yield f"{human(explanation['swapped'])} more are swapped out"
    yield ""
    yield from (f"* {line}" for line in explanation["advice"] or ["there is nothing to gain worth mentioning"])


def add_arguments(parser):
    parser.explain(
        """
        Says in plain words where the resident memory of a running process is: live blocks, what threads keep, runs
        that few blocks hold open, dirty pages, what is not acre's; and what could be done about it.
        """,
        (("{acre} why $(pidof redis-server)", "a bar, a line a part, and advice"),
         ("{acre} why 4711 --json", "the figures behind it, for a program")))
    add_process(parser)
    add_json(parser)


def main(options):
    with live.reported("why"):
        explanation = explain(options.pid)
    if options.json:
        print(json.dumps(explanation, indent=1))
    else:
        print("\n".join(lines_of(explanation, sys.stdout.isatty())))
    return 0
