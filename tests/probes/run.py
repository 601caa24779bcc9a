"""The probes otel_memory:alloc and otel_memory:free: the notes in libraries and programs, and what a tracer sees there.

Exit code 0: all well, 1: not. ACRE_LIB names the library.
"""

import math
import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "package"))

import tracers
from checks import Checks, clean_environment, run
from notes import File

SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
LIBRARY = Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()
# As a function call has them: OpenTelemetry's profiler reads these without a look at the notes.
REGISTERS = {"x86_64": ("%rdi", "%rsi", "%rdx"), "aarch64": ("x0", "x1", "x2")}
NUMBER_OF_ARGUMENTS = {"alloc": 3, "free": 1}
MEAN, MANY, BLOCK = 65536, 60000, 1024


def check_notes(checks, file, machine):
    probes = list(file.probes())
    names = {f"{probe.provider}:{probe.name}" for probe in probes}
    checks.that(names == {"otel_memory:alloc", "otel_memory:free"}, f"{file.path.name} has both probes", probes)
    registers = REGISTERS[machine]
    checks.that(all(probe.arguments == tuple((8, name) for name in registers[:NUMBER_OF_ARGUMENTS[probe.name]])
                    and probe.semaphore == 0 for probe in probes), f"{file.path.name}: their arguments", probes)
    nop = {"x86_64": b"\x90", "aarch64": b"\x1f\x20\x03\xd5"}[machine]
    checks.that(all(file.data[probe.offset:].startswith(nop) for probe in probes),
                f"{file.path.name}: each is a no-op", probes)


def check_readelf(checks, file):
    shown = run(["readelf", "-n", file.path]).stdout
    found = re.findall(r"Provider: (\S+)\n +Name: (\S+)\n +Location: (\w+), .*\n +Arguments: (.*)", shown)
    checks.that(sorted((provider, name, int(at, 16), text) for provider, name, at, text in found) == sorted(
                (probe.provider, probe.name, probe.address, " ".join(f"{n}@{name}" for n, name in probe.arguments))
                for probe in file.probes()), f"readelf shows the same probes of {file.path.name}", shown)


def check_other_machine(checks, folder):
    """clang alone makes an object for any machine, without headers of C++."""
    if not checks.has("clang++-19", "the probes of 64-bit ARM"):
        return
    source, made = folder / "arm.cc", folder / "arm.o"
    (folder / "cstdint").write_text("#include <stdint.h>\n")
    (folder / "features.h").write_text("")  # the C library of that machine, which need not be here
    source.write_text('#include "base/probes.h"\n'
                      "void both(const void* block, unsigned long bytes) {\n"
                      "  acre::probes::alloc(block, bytes, bytes * 3);\n  acre::probes::free(block);\n}\n")
    for flag in ("-O0", "-O2"):
        checks.succeeds(f"clang for 64-bit ARM takes the header, {flag}", [
            "clang++-19", "--target=aarch64-linux-gnu", "-std=c++20", "-ffreestanding", "-nostdinc++", flag,
            "-I", folder, "-I", SOURCE / "src", "-c", source, "-o", made])
        shown = run(["readelf", "-n", made]).stdout
        found = re.findall(r"Provider: otel_memory\n +Name: (\S+)\n.*\n +Arguments: (.*)", shown)
        wanted = [(name, " ".join(f"8@{register}" for register in REGISTERS["aarch64"][:count]))
                  for name, count in NUMBER_OF_ARGUMENTS.items()]
        checks.that(found == wanted, f"64-bit ARM, {flag}: both probes and their arguments", shown)


def check_named(checks, how, hits, output):
    """Each block that the program names: seen once when it comes and, before its address comes again, when it goes."""
    named = [(int(address, 16), int(size)) for address, size in re.findall(r"0x(\w+) (\d+)", output)]
    wanted = sorted([("alloc", [address, size, size]) for address, size in named] +
                    [("free", [address]) for address, _ in named])
    addresses = {address for address, _ in named}
    seen = [hit for hit in hits if hit[1][0] in addresses]
    live, wrong = set(), []
    for name, (address, *_) in seen:
        if (address in live) != (name == "free"):
            wrong.append((name, address))
        live ^= {address}
    checks.that(len(named) == 5 and all(hit in seen for hit in wanted) and not wrong,
                f"{how}: blocks of all sizes, and realloc as a free and an alloc", f"{wanted}\n{seen}\n{wrong}")


def check_weights(checks, how, hits):
    weight = int(BLOCK / -math.expm1(-BLOCK / MEAN) + 0.5)
    blocks = [arguments for name, arguments in hits if name == "alloc" and arguments[1] == BLOCK]
    checks.that(blocks and all(arguments[2] == weight for arguments in blocks),
                f"{how}: a block of {BLOCK} bytes weighs {weight}", blocks[:5])
    p = BLOCK / weight
    total = sum(arguments[2] for arguments in blocks)
    checks.that(abs(total / BLOCK - MANY) <= 5 * math.sqrt(MANY * (1 - p) / p),
                f"{how}: weights add up to what there was", f"{total} of {MANY * BLOCK}")
    freed = sorted(arguments[0] for name, arguments in hits if name == "free")
    checks.that(len(freed) >= len(blocks) and {arguments[0] for arguments in blocks} <= set(freed),
                f"{how}: frees of sampled blocks alone", f"{len(blocks)} and {len(freed)}")


def check_tracer(checks, trace, way, file, program, preload):
    how = f"{trace.__name__.replace('_', ' ')}, {way}"

    def events(conf, *arguments):
        hits, code, output = trace(file, [program, *arguments], clean_environment(ACRE_CONF=conf, **preload))
        checks.that(code == 0, f"{how}: the program goes on as without ({conf or 'no options'})", code)
        return hits, output

    try:
        check_named(checks, how, *events("prof:true,prof_sample:0"))
        check_weights(checks, how, events(f"prof:true,prof_sample:{MEAN}", str(MANY))[0])
        checks.that(events("")[0] == [], f"{how}: nothing without the profiler")
    except (PermissionError, FileNotFoundError) as refused:
        print(f"skip  {how}: {refused}")


def main():
    checks = Checks()
    folder = Path(tempfile.mkdtemp(prefix="acre-probes-"))
    try:
        shared, static = folder / "blocks", folder / "blocks-static"
        run(["gcc", "-O1", HERE / "blocks.c", "-o", shared], check=True)
        run(["gcc", "-O1", "-static", HERE / "blocks.c", LIBRARY.parent / "libacre.a", "-o", static], check=True)
        files = {"preloaded": (File(LIBRARY), shared, {"LD_PRELOAD": LIBRARY}),
                 "static": (File(static), static, {})}
        for way, (file, program, preload) in files.items():
            check_notes(checks, file, platform.machine())
            check_readelf(checks, file)
            for trace in (tracers.by_breakpoints, tracers.by_uprobes) if platform.machine() == "x86_64" else ():
                check_tracer(checks, trace, way, file, program, preload)
        check_other_machine(checks, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
