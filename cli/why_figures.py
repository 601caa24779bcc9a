"""Where the resident memory of a running process is, in figures: parts that add up, and lists under them that add up."""

import collections

import live
from live import human
from resident import Resident

SHOWN = 5  # classes, call sites, mappings


def classes_of(report):
    """A row a size class, with what it wastes and holds. A thread has one run of a class to allocate from; what is free
    in its others is there because something in them lives, as in runs that no thread owns."""
    threads = report["process"]["threads"]
    for entry in report["merged"]["classes"]:
        size, runs = entry["size"], max(entry["runs"], 1)
        blocks = sum(entry[key] for key in ("live", "private_list", "deferred", "remote_list", "uncarved", "outbox", "free"))
        free = entry["deferred"] + entry["free"]
        at_hand = min(entry["deferred"], blocks * min(entry["owned"], threads) // runs)
        if entry["live"] == 0:
            at_hand = free  # no block keeps these runs
        yield {
            "size": size, "live": entry["live"], "runs": entry["runs"], "blocks": blocks,
            "held": (free - at_hand) * size,
            "cached": (entry["private_list"] + entry["remote_list"] + entry["outbox"] + at_hand) * size,
            "uncarved": entry["uncarved"] * size, "rounding": entry["rounding"],
        }


def parts_of(report, classes, resident):
    """Bytes by part, which add up to the resident memory; and by part what acre counts but was never touched."""
    figures = report["process"]
    uncarved = sum(row["uncarved"] for row in classes)
    parts = {
        "live": figures["requested"],
        "rounding": figures["rounding"] + figures["run_rest"],
        "cached": sum(row["cached"] for row in classes) + uncarved + figures["transit"],
        "held": sum(row["held"] for row in classes),
        "dirty": figures["dirty"] + figures["muzzy"] + figures["purging"],
    }
    untouched = dict.fromkeys(parts, 0)
    # What was never touched is no part of resident memory: blocks not cut yet first, then free ones that no thread has on
    # its lists, then live ones.
    unlisted = sum(row["cached"] for row in classes if row["live"] == 0)
    left = max(0, sum(parts.values()) - resident.heap)
    for name, most in (("cached", uncarved), ("held", parts["held"]), ("cached", unlisted), ("live", parts["live"]),
                       ("cached", parts["cached"]), ("rounding", parts["rounding"]), ("dirty", parts["dirty"])):
        taken = min(left, most, parts[name])
        parts[name] -= taken
        untouched[name] += taken
        left -= taken
    parts["dirty"] += max(0, resident.heap - sum(parts.values()))  # pages that came back meanwhile, or huge pages' rest
    rest = sum(resident.rest.values())
    parts["metadata"] = min(figures["metadata"], resident.rest["other"])
    parts["not_heap"] = rest - parts["metadata"]
    return parts, untouched


def holders(classes):
    """Classes whose runs are kept by live blocks, those with the most that is free first."""
    return sorted((row for row in classes if row["held"]), key=lambda row: -row["held"])


def rounded_up(classes):
    """The classes whose blocks are larger than was asked for by most, in all."""
    return sorted((row for row in classes if row["rounding"] > 1 << 20), key=lambda row: -row["rounding"])


def largest_mappings(resident, metadata, whole):
    """What is no heap, by mapping; those of one file are one. Nameless ones may be acre's own, as far as its metadata
    goes."""
    left, found, sizes = whole, [], collections.Counter()
    for at, (size, kind, path) in enumerate(resident.largest):
        sizes[kind, path, None if path else at] += size
    for (kind, path, _), size in sizes.most_common():
        if size <= left and (path or size > metadata) and not path.startswith("[anon:acre"):
            found.append({"bytes": size, "kind": kind, "mapping": path})
            left -= size
    return found


def profile_of(pid):
    """The heap profile of a process; None while the profiler is off."""
    from heap_profile import sources
    try:
        return sources.read(str(pid))
    except live.LiveError:
        return None


def by_stack(profile, kind):
    """-> {stack of locations: bytes}"""
    found, at = collections.Counter(), profile.index(kind)
    for (stack, _), values in profile.samples.items():
        found[stack] += values[at]
    return found


def named(stacks):
    """-> {stack: the names of its functions, the innermost first, without acre's own}"""
    from heap_profile import symbols
    tool = symbols.find_tool()
    nameless = list({location for stack in stacks for location in stack if not location.lines})
    known = symbols.known_lines(nameless, tool, lambda file: file, lambda text: None) if tool else {}

    def names(location):
        return [line.function for line in location.lines or known.get(location) or (symbols.nameless(location),)]

    return {stack: tuple(live.one_line(name) for location in stack for name in names(location) if not name.startswith("acre"))
            or ("[no stack]",) for stack in stacks}


def call_sites(pid, held):
    """Whose blocks hold runs open, by the heap profile (docs/profiling.md), the worst first; None while the profiler is
    off. The profile estimates; where it says more than all that is held, its figures are lowered to that."""
    profile = profile_of(pid)
    if profile is None:
        return None
    found, stacks = collections.Counter(), by_stack(profile, "held_space")
    names = named(stacks)
    for stack, size in stacks.items():
        found[names[stack]] += size
    scale = min(1, held / max(sum(found.values()), 1))
    return [{"bytes": int(size * scale), "stack": list(stack)} for stack, size in found.most_common() if size]


def pages_of(pid):
    """Pages of small runs: all, those that hold a live block, and the others that were returned; None from a library that
    cannot tell."""
    try:
        return live.ask_json(pid, "pages")
    except live.LiveError:
        return None


def explain(pid):
    process = live.Process(pid)
    report = live.statistics(pid, "axe")
    resident = Resident(process, live.ask_json(pid, "regions")["regions"])
    classes = list(classes_of(report))
    parts, untouched = parts_of(report, classes, resident)
    not_heap = dict(resident.rest)
    not_heap["other"] -= parts["metadata"]
    lists = {"held_by": ("held", "held", holders(classes)), "rounded_up": ("rounding", "rounding", rounded_up(classes)),
             "call_sites": ("held", "bytes", call_sites(pid, parts["held"])),
             "largest_not_heap": ("not_heap", "bytes",
                                  largest_mappings(resident, parts["metadata"], parts["not_heap"]))}
    explanation = {
        "pid": pid, "command": process.command(), "resident": resident.all(), "swapped": resident.swapped,
        "parts": parts, "pages": pages_of(pid), "not_heap": not_heap,
        "counted_but_untouched": sum(untouched.values()), "untouched": untouched,
        "left_out": {}, "rest": {},
    }
    for name, (part, key, rows) in lists.items():
        explanation[name] = rows and rows[:SHOWN]
        explanation["left_out"][name] = len(rows or ()) - len(explanation[name] or ())
        explanation["rest"][name] = parts[part] - sum(row[key] for row in explanation[name] or ())
    explanation["dirty_is_returned"] = fate_of_dirty(report["options"])
    explanation["advice"] = list(advice(pid, explanation, report["options"]))
    return explanation


# --- What follows from the figures ------------------------------------------------------------------------------

MANY = 0.1            # of the resident memory: worth a piece of advice
SOON_MS = 1000        # a decay time that is short


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
    is_profiled = explanation["call_sites"] is not None
    begin = f"`acre ctl {pid} prof.active true` and later `acre heap {pid}`, or `acre run --profile` from the start,"

    def is_much(name):
        return parts[name] > MANY * whole and parts[name] > 1 << 20

    if is_much("dirty"):
        yield f"`acre purge {pid}` returns the {human(parts['dirty'])} of dirty pages now"
        if not options["background_thread"]:
            yield (f"`acre ctl {pid} background_thread true` returns them while the program is idle; "
                   "ACRE_CONF=background_thread:true does so from the start")
        elif options["release_rate"] < 0 and not 0 <= options["dirty_decay_ms"] <= SOON_MS:
            yield f"`acre ctl {pid} opt.dirty_decay_ms {SOON_MS}` returns them sooner"
    if is_much("held"):
        if is_profiled:
            yield ("the call sites above keep runs for few blocks: what they allocate lives longer than its neighbours; "
                   f"`acre heap --by held_space {pid}` shows all of them")
        else:
            yield ("few blocks keep these runs: free or move the blocks of the classes above that live long; "
                   f"{begin} show where they are allocated")
    if is_much("cached") and parts["cached"] > 16 << 20 and not 0 <= options["thread_cache_max"] <= 16 << 20:
        yield (f"`acre ctl {pid} opt.thread_cache_max 16M` bounds what all threads keep together; "
               "fewer threads keep less")
    if is_much("rounding"):
        yield "sizes just above a size class waste most: those above, or large blocks just above whole pages"
    if parts["not_heap"] > whole / 2:
        yield "most of it is no heap, and no allocator can change it: look at the mappings above"
    if parts["live"] > whole / 2:
        yield ("most of it is in use: " + (f"`acre heap {pid}` shows which functions have allocated it" if is_profiled
                                           else f"{begin} show which functions allocate it"))
        yield f"`acre why {pid} --watch` shows what of it grows"
