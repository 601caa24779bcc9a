"""What is said of a profile in text: tables and collapsed stacks."""

from collections import defaultdict

from .profile import shown_stack

LIFETIMES = ("short", "medium", "long")


def shown(value, unit):
    """For people."""
    if unit == "bytes":
        size, units = abs(value), ["B", "KiB", "MiB", "GiB", "TiB"]
        while size >= 1024 and len(units) > 1:
            size, units = size / 1024, units[1:]
        text = f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"
        return f"-{text}" if value < 0 else text
    if unit == "milliseconds":
        return f"{value} ms"
    return str(value)


def frame_name(line, by_line):
    return f"{line.function} {line.file}:{line.number}" if by_line and line.file else line.function


def frames(stack, labels, by_line=False):
    """The names of a sample's functions, the innermost first, with those that were inlined; at least one."""
    names = [frame_name(line, by_line) for location in shown_stack(stack, labels) for line in location.lines]
    return names or ["[no stack]"]


def sites(profile, at, by_line=False):
    """-> for each function its own value and that of all it called: {name: [flat, cumulative]}."""
    found = defaultdict(lambda: [0, 0])
    for (stack, labels), values in profile.samples.items():
        value = values[at]
        if value == 0:
            continue
        names = frames(stack, labels, by_line)
        found[names[0]][0] += value
        for name in set(names):
            found[name][1] += value
    return found


def table(rows, right):
    """Columns side by side; the first `right` of them end flush."""
    widths = [max(len(row[at]) for row in rows) for at in range(right)]
    return [("  ".join([cell.rjust(width) for cell, width in zip(row, widths)] + row[right:])).rstrip() for row in rows]


def percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else ""


def top(profile, at, most, by_line=False):
    kind, total = profile.kinds[at], profile.total(at)
    whole = total or max((abs(flat) for flat, _ in sites(profile, at).values()), default=0)
    rows = [["flat", "flat%", "sum%", "cum", "cum%", "function"]]
    seen = 0
    ordered = sorted(sites(profile, at, by_line).items(), key=lambda item: (-abs(item[1][0]), -abs(item[1][1]), item[0]))
    for name, (flat, cumulative) in ordered[:most]:
        seen += flat
        rows.append([shown(flat, kind.unit), percent(flat, whole), percent(seen, whole), shown(cumulative, kind.unit),
                     percent(cumulative, whole), name])
    lines = [f"{kind.name}: {shown(total, kind.unit)}"] + table(rows, 5)
    left_out = len(ordered) - most
    return lines + ([f"… and {left_out} functions more"] if left_out > 0 else [])


def lifetimes(profile, most, by_line=False):
    """Sites by what was freed there: how long the blocks had lived, and which thread freed them."""
    objects, space, life = (profile.index(name) for name in ("freed_objects", "freed_space", "lifetime"))
    if None in (objects, space, life):
        return None
    found = defaultdict(lambda: {"space": 0, "objects": 0, "ms": 0, "elsewhere": 0, **dict.fromkeys(LIFETIMES, 0)})
    for (stack, labels), values in profile.samples.items():
        if values[objects] == 0:
            continue
        row, said = found[frames(stack, labels, by_line)[0]], dict(labels)
        row["space"] += values[space]
        row["objects"] += values[objects]
        row["ms"] += values[life]
        if said.get("lifetime") in LIFETIMES:
            row[said["lifetime"]] += values[objects]
        if said.get("freed_by") == "other thread":
            row["elsewhere"] += values[objects]
    rows = [["freed", "blocks", "short", "medium", "long", "mean", "by others", "function"]]
    for name, row in sorted(found.items(), key=lambda item: (-item[1]["space"], item[0]))[:most]:
        blocks = row["objects"]
        rows.append([shown(row["space"], "bytes"), str(blocks), *(percent(row[name], blocks) for name in LIFETIMES),
                     f"{row['ms'] / blocks:.0f} ms", percent(row["elsewhere"], blocks), name])
    return ["lifetimes of freed blocks: short below 0.1 s, medium below 10 s"] + table(rows, 7)


def collapsed(profile, at, by_line=False):
    """A line a stack, the outermost function first, as flame graph programs read it."""
    found = defaultdict(int)
    for (stack, labels), values in profile.samples.items():
        names = frames(stack, labels, by_line)
        found[";".join(name.replace(";", ":") for name in reversed(names))] += values[at]
    return [f"{names} {value}" for names, value in sorted(found.items()) if value != 0]
