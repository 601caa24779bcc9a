"""What is said of a profile in text and in JSON: tables and collapsed stacks. A function's own value is what it allocated
itself; its total is what it and all that it called allocated."""

from collections import defaultdict

from .names import line_fitting
from .profile import Line, shown_stack

LIFETIMES = ("short", "medium", "long")
NO_STACK = Line("[no stack]")


def shown(value, unit, sign=False):
    """For people. sign: one stands before what is more, too."""
    mark = "-" if value < 0 else "+" if sign and value > 0 else ""
    if unit != "bytes":
        return f"{mark}{abs(value)}" + (" ms" if unit == "milliseconds" else "")
    number, units = abs(value), ["B", "KiB", "MiB", "GiB", "TiB"]
    while number >= 1024 and len(units) > 1:
        number, units = number / 1024, units[1:]
    return f"{mark}{number:.0f} B" if units[0] == "B" else f"{mark}{number:.1f} {units[0]}"


def shown_interval(size):
    """Bytes from sample to sample: 512 KiB, and no 512.0."""
    return shown(size, "bytes").replace(".0 ", " ")


def name_of(line):
    return f"{line.function} {line.file}:{line.number}" if line.file else line.function


def lines(stack, labels, by_line=False):
    """A sample's functions, the innermost first, with those that were inlined; at least one. by_line: with their places."""
    found = [line for location in shown_stack(stack, labels) for line in location.lines]
    return (found if by_line else [Line(line.function) for line in found]) or [NO_STACK]


def frames(stack, labels, by_line=False):
    """Their names."""
    return [name_of(line) for line in lines(stack, labels, by_line)]


def sites(profile, at, by_line=False):
    """-> for each function its own value and its total: [(line, own, total), …], the largest first."""
    found = defaultdict(lambda: [0, 0])
    for (stack, labels), values in profile.samples.items():
        value = values[at]
        if value == 0:
            continue
        called = lines(stack, labels, by_line)
        found[called[0]][0] += value
        for line in set(called):
            found[line][1] += value
    return sorted(((line, own, total) for line, (own, total) in found.items()),
                  key=lambda row: (-abs(row[1]), -abs(row[2]), name_of(row[0])))


def table(rows, right, width=None):
    """Columns side by side; the first `right` of them end flush. After them stands a text or a line, which is shortened
    to the width, if there is one."""
    widths = [max(len(row[at]) for row in rows) for at in range(right)]
    room = width and max(width - sum(widths) - 2 * right, 12)
    return ["  ".join([*(cell.rjust(width) for cell, width in zip(row, widths)),
                       row[right] if isinstance(row[right], str) else line_fitting(row[right], room)]) for row in rows]


def percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else ""


def more(count):
    return f"… and {count} function{'s' if count != 1 else ''} more"


def top(profile, at, most, by_line=False, width=None, base=None):
    """base: of a comparison, the whole value of before, of which the percentages are."""
    kind, everything = profile.kinds[at], profile.total(at)
    is_diff = base is not None
    whole = base if is_diff else everything
    rows = [["own", "own%", "total", "total%", "function"]]
    ordered = sites(profile, at, by_line)
    for line, own, total in ordered[:most]:
        rows.append([shown(own, kind.unit, is_diff), percent(own, whole), shown(total, kind.unit, is_diff),
                     percent(total, whole), line])
    head = f"{kind.name}: {shown(everything, kind.unit, is_diff)}"
    if is_diff:
        head += f", from {shown(base, kind.unit)} to {shown(base + everything, kind.unit)}; % of before"
    rest = ordered[most:]
    own = sum(own for _, own, _ in rest)
    return [head] + table(rows, 4, width) + (
        [f"{more(len(rest))}, together own {shown(own, kind.unit, is_diff)}"] if rest else [])


def placed(line, by_line):
    """For JSON."""
    return {"function": line.function, **({"file": line.file or None, "line": line.number or None} if by_line else {})}


def as_json(profile, at, most=None, by_line=False, base=None):
    everything = profile.total(at)
    before = {} if base is None else {"before": base, "after": base + everything}
    return {"kind": profile.kinds[at].name, "unit": profile.kinds[at].unit, "all": everything, **before,
            "functions": [{**placed(line, by_line), "own": own, "total": total}
                          for line, own, total in sites(profile, at, by_line)[:most]]}


def freed(profile, by_line=False):
    """Functions by what they allocated that was freed, the largest first: how long the blocks had lived, and how many
    another thread freed; None if the profile does not say it."""
    objects, space, life = (profile.index(name) for name in ("freed_objects", "freed_space", "lifetime"))
    if None in (objects, space, life):
        return None
    found = defaultdict(lambda: {"freed_space": 0, "freed_objects": 0, **dict.fromkeys(LIFETIMES, 0), "lifetime_ms": 0,
                                 "freed_elsewhere": 0})
    for (stack, labels), values in profile.samples.items():
        if values[objects] == 0:
            continue
        row, said = found[lines(stack, labels, by_line)[0]], dict(labels)
        row["freed_space"] += values[space]
        row["freed_objects"] += values[objects]
        row["lifetime_ms"] += values[life]
        if said.get("lifetime") in LIFETIMES:
            row[said["lifetime"]] += values[objects]
        if said.get("freed_by") == "other thread":
            row["freed_elsewhere"] += values[objects]
    return sorted(found.items(), key=lambda item: (-item[1]["freed_space"], name_of(item[0])))


def lifetimes(rows, most, width=None):
    """rows: of freed()."""
    cells = [["freed", "blocks", "short", "medium", "long", "mean", "by others", "function"]]
    for line, row in rows[:most]:
        blocks = row["freed_objects"]
        cells.append([shown(row["freed_space"], "bytes"), str(blocks), *(percent(row[name], blocks) for name in LIFETIMES),
                      f"{row['lifetime_ms'] / blocks:.0f} ms", percent(row["freed_elsewhere"], blocks), line])
    rest = [more(len(rows) - most)] if len(rows) > most else []
    return ["lifetimes of freed blocks: short below 0.1 s, medium below 10 s"] + table(cells, 7, width) + rest


def lifetimes_as_json(rows, most=None, by_line=False):
    return {"functions": [{**placed(line, by_line), **row} for line, row in rows[:most]]}


def collapsed(profile, at, by_line=False):
    """A line a stack, the outermost function first, as flame graph programs read it."""
    found = defaultdict(int)
    for (stack, labels), values in profile.samples.items():
        names = frames(stack, labels, by_line)
        found[";".join(name.replace(";", ":") for name in reversed(names))] += values[at]
    return [f"{names} {value}" for names, value in sorted(found.items()) if value != 0]
