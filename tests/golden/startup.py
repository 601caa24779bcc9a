#!/usr/bin/env python3
"""What acre adds to a process that does nothing: resident memory, and (printed only) time.

The library is taken from ACRE_LIB or --lib, else build/release/libacre.so. Exit status 0 or 1.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77
LIMIT_KIB = 200  # more resident memory than under glibc
RUNS = 21


def environment(lib):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ACRE_", "MALLOC_", "LD_"))}
    if lib:
        env["LD_PRELOAD"] = str(lib)
    return env


def resident_kib(probe, lib):
    """What the allocator answers for: all private memory, and what is resident of the library's file.

    Not the whole: how much of libc's and the locale's files the kernel happens to map around a fault
    differs by tens of KiB from run to run.
    """
    done = subprocess.run([str(probe)], env=environment(lib), capture_output=True, text=True, check=True)
    private = of_library = total = 0
    name = ""
    for line in done.stdout.splitlines():
        if mapping := re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)", line):
            name = mapping.group(1)
        elif field := re.match(r"(Rss|Anonymous): +(\d+) kB", line):
            size = int(field.group(2))
            if field.group(1) == "Rss":
                rss = size
                total += size
            else:
                private += size
                of_library += rss - size if name == str(lib) else 0
    if lib and not of_library:
        raise RuntimeError(f"{lib.name} was not in use")
    return private + of_library, of_library, total


def start_time_us(lib):
    env = environment(lib)
    begin = time.perf_counter()
    status = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("/bin/true", ["true"], env), 0)[1])
    if status != 0:
        raise RuntimeError(f"/bin/true ended with status {status}")
    return (time.perf_counter() - begin) * 1e6


def interleaved(measure, libs):
    """RUNS measurements for each library, in turn, so that a drift of the machine meets both."""
    rows = {lib: [] for lib in libs}
    for _ in range(RUNS):
        for lib in libs:
            rows[lib].append(measure(lib))
    return rows


def check(lib):
    """Measures, prints, and returns an exit status."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler or not os.access("/proc/self/smaps", os.R_OK):
        print("skipped: no C compiler, or no smaps")
        return SKIPPED

    with tempfile.TemporaryDirectory(prefix="startup.") as folder:
        probe = Path(folder) / "startup_probe"
        subprocess.run([compiler, "-O2", str(HERE / "startup_probe.c"), "-o", str(probe)], check=True)
        memory = interleaved(lambda which: resident_kib(probe, which), (None, lib))
    times = interleaved(start_time_us, (None, lib))

    def medians(which):
        return [statistics.median(column) for column in zip(*memory[which])]

    (charged_glibc, _, total_glibc), (charged, of_library, total) = medians(None), medians(lib)
    extra = charged - charged_glibc
    late = statistics.median(b - a for a, b in zip(times[None], times[lib]))
    print(f"resident at the end of a small program: {extra:+.0f} KiB (limit {LIMIT_KIB})")
    print(f"  of it {of_library:.0f} KiB are pages of {lib.name}; whole process {total:.0f}, glibc {total_glibc:.0f}")
    print(f"start of /bin/true: {late:+.0f} us (median of pairs, not asserted)")
    if extra > LIMIT_KIB:
        print("failed: too much resident memory")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib")
    args = parser.parse_args()
    lib = Path(args.lib or os.environ.get("ACRE_LIB") or HERE.parents[1] / "build/release/libacre.so").resolve()
    if not lib.exists():
        print(f"failed: no library at {lib}", file=sys.stderr)
        return 1
    return check(lib)


if __name__ == "__main__":
    sys.exit(main())
