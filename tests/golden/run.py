#!/usr/bin/env python3
"""Golden instruction counts: how many instructions a malloc and a free cost, counted by callgrind, or for another
processor's library by a plugin for QEMU's user mode.

The library is taken from ACRE_LIB (or --lib), else build/release/libacre.so. Exit status: 0 all within
limits, 1 some case is not (or something broke), 77 there is nothing to count with. README.md has the
convention.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import startup

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "golden.json"
SKIPPED = 77
# Heap profiling, with samples so far apart that there will be none; and the cases that seldom go through the slow path,
# where sampling is done. They cost what they cost without it.
PROFILED = "prof:true,prof_sample:128T"
PROFILED_CASES = ("pair_48", "batch_48", "batch_lifo_48", "batch_shuffled_48", "calloc_64")
TOLERANCE = 0.5  # instructions a pair by which a recorded number may grow unnoticed …
SHARE = 0.005  # … or this share of the number, whichever is more: long paths meet the clock more often
ATTEMPTS = 3  # a count may include work that depends on the clock; the lowest one is the path


class Case(NamedTuple):
    short: int  # rounds of the shorter run: enough to reach the steady state
    rounds: int  # rounds that are counted
    pairs: int  # pairs (or operations) a round, by which the count is divided
    conf: str = ""  # acre's options
    calls: str = ""  # what the program is told to do, if it is not the case's name
    share: float = SHARE  # more where a count is seen to vary


CASES = {
    "pair_48": Case(20_000, 100_000, 1),
    "batch_48": Case(50, 200, 1000),
    "batch_1000": Case(50, 200, 1000),
    "pair_1000": Case(20_000, 100_000, 1),
    "pair_4096": Case(20_000, 100_000, 1),
    "pair_20000": Case(20_000, 100_000, 1),
    "batch_4096": Case(20, 80, 1000),
    "batch_lifo_48": Case(50, 200, 1000),
    "batch_shuffled_48": Case(20, 50, 4096),
    "replace_16_512": Case(200_000, 200_000, 1),
    "replace_1k_16k": Case(200_000, 200_000, 1, share=0.02),  # 156.7 to 158.6: searches for pages vary
    "calloc_64": Case(20_000, 100_000, 1),
    "calloc_1000": Case(20_000, 50_000, 1),
    "realloc_growth": Case(2_000, 10_000, 1),
    "realloc_in_place": Case(20_000, 100_000, 2),
    "operator_pair": Case(20_000, 100_000, 1),
    "operator_sized": Case(20_000, 100_000, 1),
    "operator_array": Case(20_000, 100_000, 1),
    "operator_array_100k": Case(5_000, 20_000, 1),
    "operator_aligned": Case(20_000, 100_000, 1),
    "operator_aligned_array": Case(20_000, 100_000, 1),
    "mix": Case(5_000, 20_000, 3),
    "hardened_pair_48": Case(20_000, 50_000, 1, "hardened:true", "pair_48"),
    "hardened_batch_48": Case(50, 100, 1000, "hardened:true", "batch_48"),
}

# memset and memcpy are chosen by processor; without these the counts of calloc and realloc would be too.
PLAIN_COPIES = "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX512VL,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load"

# What decays depends on the clock, and so on how fast callgrind is.
WITHOUT_CLOCK = "dirty_decay_ms:-1"


class CountError(Exception):
    pass


def machine_of(lib):
    """The processor that the library is for."""
    if lib is None:
        return platform.machine()
    header = lib.read_bytes()[:20]
    number = int.from_bytes(header[18:20], "little")
    return {62: "x86_64", 183: "aarch64", 243: "riscv64"}.get(number, f"ELF machine {number}")


def is_emulated(machine):
    return machine != platform.machine()


def build(folder, machine):
    compiler = os.environ.get("GOLDEN_CC") or shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        raise CountError("no C compiler")
    program = Path(folder) / "hotpaths"
    flags = ["-O2", "-fno-builtin"]
    if is_emulated(machine):
        plugin = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", str(HERE / "count.c")]
        subprocess.run([compiler, *plugin, "-o", str(Path(folder) / "count.so")], check=True)
        compiler = f"{machine}-linux-gnu-gcc"
    if machine == "x86_64":
        flags.append("-fcf-protection=none")  # no endbr64 in the PLT, whatever the distribution
    subprocess.run([compiler, *flags, str(HERE / "hotpaths.c"), "-o", str(program), "-lstdc++"], check=True)
    return program


def clean_environment(conf):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ACRE_", "MALLOC_", "LD_"))}
    return env | {"ACRE_CONF": ",".join(filter(None, (WITHOUT_CLOCK, conf)))}


def count_by_qemu(program, case, rounds, lib, folder, conf):
    """All instructions of one run, the loader's too."""
    machine = machine_of(lib)
    handle, out = tempfile.mkstemp(prefix="count.", dir=folder)
    os.close(handle)
    env = clean_environment(conf)
    command = [f"qemu-{machine}", "-L", f"/usr/{machine}-linux-gnu", "-plugin", f"{folder}/count.so,out={out}",
               "-E", f"LD_PRELOAD={lib}", str(program), case, str(rounds)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    text = Path(out).read_text()
    if done.returncode != 0 or not text or "cannot be preloaded" in done.stderr:
        raise CountError(f"{case}: status {done.returncode} under QEMU\n{done.stderr.strip()}")
    return int(text)


def count_instructions(program, case, rounds, lib, folder, conf):
    """All instructions of one run, as callgrind's out file sums them up."""
    env = clean_environment(conf)
    env["GLIBC_TUNABLES"] = PLAIN_COPIES
    if lib:
        env["LD_PRELOAD"] = str(lib)
    handle, out = tempfile.mkstemp(prefix="callgrind.", dir=folder)
    os.close(handle)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    done = subprocess.run([*command, str(program), case, str(rounds)], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise CountError(f"{case}: status {done.returncode} under callgrind\n{done.stderr.strip()}")
    text = Path(out).read_text()
    os.unlink(out)
    if lib and not re.search(rf"^c?ob=\(\d+\) .*/{re.escape(lib.name)}$", text, re.M):
        raise CountError(f"{case}: {lib.name} was not in use")
    total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
    if not total:
        raise CountError(f"{case}: no sum in callgrind's out file")
    return int(total.group(1))


def measure(program, name, lib, folder, conf=None):
    case = CASES[name]
    conf, name = conf or case.conf, case.calls or name
    count = count_by_qemu if is_emulated(machine_of(lib)) else count_instructions
    short = count(program, name, case.short, lib, folder, conf)
    long = count(program, name, case.short + case.rounds, lib, folder, conf)
    return (long - short) / (case.rounds * case.pairs)


def tolerance(name, entry):
    return max(TOLERANCE, CASES[name].share * entry["recorded"])


def allowed(name, entry):
    """The most instructions a case may cost: its hard limit, and its recorded number plus tolerance."""
    bounds = []
    if entry.get("limit") is not None:
        bounds.append(entry["limit"])
    if entry.get("recorded") is not None:
        bounds.append(entry["recorded"] + tolerance(name, entry))
    return min(bounds, default=None)


def measure_checked(program, name, lib, folder, bound, conf=None):
    best = measure(program, name, lib, folder, conf)
    for _ in range(ATTEMPTS - 1):
        if bound is None or best <= bound:
            break
        best = min(best, measure(program, name, lib, folder, conf))
    return best


def verdict(name, value, entry):
    if entry.get("limit") is not None and value > entry["limit"]:
        return "OVER THE LIMIT"
    if entry.get("recorded") is None:
        return "not recorded"
    if value > entry["recorded"] + tolerance(name, entry):
        return "GREW"
    return "fell: --update" if value < entry["recorded"] - tolerance(name, entry) else "ok"


def show(value):
    return "-" if value is None else f"{value:.1f}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib", help="shared object to preload; 'glibc' for none")
    parser.add_argument("--print", action="store_true", help="only print the counts, for any allocator")
    parser.add_argument("--update", action="store_true", help="record the counts of this run")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this case (repeatable)")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def library(args):
    if args.lib == "glibc":
        return None
    lib = Path(args.lib or os.environ.get("ACRE_LIB") or HERE.parents[1] / "build/release/libacre.so").resolve()
    if not lib.exists():
        raise CountError(f"no library at {lib}")
    return lib


def built_by_gcc(lib):
    return b"clang version" not in lib.read_bytes()


def main():
    args = arguments()
    lib = library(args)
    failed = []
    machine = machine_of(lib)
    emulated = is_emulated(machine)
    if not (args.print or args.update or args.case or emulated) and startup.check(lib) == 1:
        failed.append("startup")

    golden = json.loads(GOLDEN.read_text())
    entries = golden.get(machine)
    if args.update and entries is None:
        entries = golden[machine] = {}
    if args.update:
        for name in args.case or CASES:
            entries.setdefault(name, {"limit": None})
    counter = f"qemu-{machine}" if emulated else "valgrind"
    if not shutil.which(counter) or (entries is None and not args.print):
        print(f"no {counter}: not counted" if entries else f"nothing recorded for {machine}: not counted")
        return 1 if failed else SKIPPED
    names = args.case or [name for name in CASES if args.print or name in entries]
    if lib and not (args.print or args.update) and not built_by_gcc(lib):
        print("not built by gcc: only the hard limits apply")
        entries = {name: {"limit": entry["limit"]} for name, entry in entries.items()}
    print(f"{'case':<20}{'count':>9}{'limit':>9}{'recorded':>10}")
    with tempfile.TemporaryDirectory(prefix="golden.") as folder:
        program = build(folder, machine)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            free_hand = args.print or args.update
            bounds = {name: None if free_hand else allowed(name, entries[name]) for name in names}
            counts = pool.map(lambda name: measure_checked(program, name, lib, folder, bounds[name]), names)
            for name, value in zip(names, counts):
                if args.print:
                    print(f"{name:<20}{value:>9.1f}", flush=True)
                    continue
                entry = entries[name]
                if args.update:
                    entry["recorded"] = round(value, 1)
                said = verdict(name, value, entry)
                if said.isupper():
                    failed.append(name)
                columns = f"{show(entry.get('limit')):>9}{show(entry.get('recorded')):>10}"
                print(f"{name:<20}{value:>9.1f}{columns}  {said}", flush=True)
            if lib and not (args.print or args.update or args.case):
                counts = pool.map(lambda name: measure_checked(program, name, lib, folder, bounds[name], PROFILED),
                                  PROFILED_CASES)
                for name, value in zip(PROFILED_CASES, counts):
                    said = verdict(name, value, entries[name])
                    if said.isupper():
                        failed.append(f"{name} with profiling")
                    print(f"{name + ' profiled':<27}{value:>9.1f}  {said}", flush=True)
    if args.update and not args.print:
        GOLDEN.write_text(json.dumps(golden, indent=2) + "\n")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CountError, subprocess.CalledProcessError) as error:
        print(f"failed: {error}", file=sys.stderr)
        sys.exit(1)
