"""A recording as a file of DHAT, version 2, for its viewer (valgrind.org/docs/manual/dh-manual.html): blocks with their
lifetimes, what lived at the peak and at the end. Which of their bytes were read and written is not recorded."""

import json

MICROSECONDS = 1_000_000


def make(recording):
    recording.process = recording.one_process()
    process = next(iter(recording.sites()), None)
    number = recording.process
    first, last, peak_at, sites = (0, 0, 0, []) if process is None else (
        process["first"], process["last"], process["peak_at"], process["sites"])
    locations = recording.named({number: [site["frames"] for site in sites]})
    frames, points = {"[root]": 0}, []
    for site in sites:
        # The lines of a frame, innermost first; an inlined one has the same address.
        texts = [f"0x{address:X}: {text}" for address in site["frames"]
                 for text in texts_of(locations[number, address])] or ["[no stack]"]
        stack = [frames.setdefault(text, len(frames)) for text in texts]
        blocks, size = (a + b for a, b in zip(site["allocated"], site["inherited"]))
        points.append({"tb": size, "tbk": blocks, "tl": round(site["lifetime"] * MICROSECONDS),
                       "mb": site["most"][1], "mbk": site["most"][0],
                       "gb": site["at_peak"][1], "gbk": site["at_peak"][0],
                       "eb": site["live"][1], "ebk": site["live"][0], "fs": stack})
    return json.dumps({
        "dhatFileVersion": 2, "mode": "acre", "verb": "Allocated", "bklt": True, "bkacc": False,
        "tu": "µs", "Mtu": "s", "tuth": 500, "cmd": recording.command(number),
        "pid": recording.processes[number].pid, "te": round((last - first) * MICROSECONDS),
        "tg": round((peak_at - first) * MICROSECONDS), "pps": points, "ftbl": list(frames),
    }, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def texts_of(location):
    return [f"{line.function} ({line.file}:{line.number})" if line.file else line.function for line in location.lines]
