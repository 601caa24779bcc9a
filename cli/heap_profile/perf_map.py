"""Names for code that a program made at run time, from the map that it writes for `perf`: /tmp/perf-PID.map, of Python
with PYTHONPERFSUPPORT, of V8 with --perf-basic-prof, of Java with an agent."""

import bisect
import os
import stat

from .profile import Line, Location

MOST_BYTES = 256 << 20


def text_of(process):
    for path in (f"/proc/{process}/root/tmp/perf-{process}.map", f"/tmp/perf-{process}.map"):
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        with open(number, encoding="utf-8", errors="replace") as file:
            if stat.S_ISREG(os.fstat(number).st_mode):
                return file.read(MOST_BYTES)
    return ""


def ranges(text):
    """Lines of START SIZE NAME, the first two in hexadecimal. Of two for one place the later one counts."""
    found = {}
    for line in text.splitlines():
        parts = line.split(None, 2)
        try:
            start, size = int(parts[0], 16), int(parts[1], 16)
        except (IndexError, ValueError):
            continue
        if len(parts) == 3:
            found[start] = start + size, parts[2]
    return sorted((start, end, name) for start, (end, name) in found.items())


def named(profile):
    """The profile with names for code that lies in no file."""
    wanted = [location for location in profile.locations()
              if not location.lines and not (location.mapping and location.mapping.file.startswith("/"))]
    known = ranges(text_of(profile.pid)) if wanted and profile.pid else []
    starts, names = [start for start, _, _ in known], {}
    for location in wanted:
        at = bisect.bisect_right(starts, location.address) - 1
        if at >= 0 and location.address < known[at][1]:
            names[location] = Location(location.address, location.mapping, (Line(known[at][2]),))
    return profile.renamed(names) if names else profile
