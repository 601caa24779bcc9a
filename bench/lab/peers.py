"""The allocators that acre is held against: where each comes from, how it is built, and that it works here.

docs/peers.md says why these, and why so. Objects lie in build/bench/peers, one folder each, and are made once.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import launch, machine
from .launch import Allocator
from .native import build_if_older
from .workload import Failed

BASE, OURS, ALL = "glibc", "acre", "all"
BACKGROUND = "acre-background"  # acre with its background thread: only where it is asked for by name
# acre while it samples for the heap profile, at the default rate and at another; likewise.
PROFILED = {"acre-profile": "prof:true", "acre-profile-64k": "prof:true,prof_sample:64K"}
# acre while it is recorded, by acre-trace with these options (collect.py); likewise.
RECORDED = {"acre-record": (), "acre-record-stacks": ("--stacks", "1")}
HARDENED = {"acre-hardened": "hardened:true"}  # as libacre-hardened.so is; likewise
GUARDED = {"acre-guards": "guard:auto"}  # likewise
OPTIONS = {BACKGROUND: "background_thread:true", **PROFILED, **HARDENED, **GUARDED}
LIBC, PACKAGE, CRATE = "libc", "package", "crate"  # kinds of peers

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
CARGO = "cargo-web (or cargo, 1.85 or newer)"
FLAGS = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")  # not of this machine's
TOOLS = {"gcc": "gcc", "g++": "g++", "make": "make", "cmake": "cmake", "cargo": CARGO,
         "clang-19": "clang-19", "ld.lld-19": "lld-19"}  # program -> Debian's package


@dataclass(frozen=True)
class Peer:
    kind: str
    version: str  # a package's is asked for; this is the one it was tried with
    source: str  # where it comes from
    built: str  # how
    notes: str = ""
    objects: tuple = ()  # of a package: patterns, the first match counts
    package: str = ""
    crate: str = ""
    recipe: str = ""  # of a crate, if it is not the peer's name: bench/peers/RECIPE.sh
    tools: tuple = ()  # besides cargo
    settings: tuple = ()  # environment, as (name, value) pairs
    is_asked_for: bool = False  # takes part only where it is asked for by name


def in_libraries(name):
    return (f"/usr/lib/*-linux-gnu/{name}", f"/usr/lib64/{name}", f"/usr/lib/{name}")


SCUDO = f"lib/clang/*/lib/linux/libclang_rt.scudo_standalone-{platform.machine()}.so"

TABLE = {
    BASE: Peer(
        LIBC, "2.36", "the C library of this system", "the distribution's",
        "preloaded as the others are, since a program may link another malloc: Debian's redis links jemalloc"),
    "jemalloc": Peer(
        CRATE, "5.3.1", "crates.io, tikv-jemalloc-sys 0.7.1", "its own configure and Makefile with default options",
        crate="tikv-jemalloc-sys", tools=("gcc", "g++", "make")),
    "jemalloc-5.3.0": Peer(
        PACKAGE, "5.3.0-1", "Debian, libjemalloc2", "the distribution's",
        "what apt-get brings, and what redis links", objects=in_libraries("libjemalloc.so.2"), package="libjemalloc2"),
    "mimalloc2": Peer(
        CRATE, "2.3.2", "crates.io, libmimalloc-sys 0.1.49", "the sources and flags of its CMake release build",
        "built as C, upstream's default: operator new ends the program where it should throw bad_alloc",
        crate="libmimalloc-sys", tools=("gcc",)),
    "mimalloc3": Peer(
        CRATE, "3.3.2", "crates.io, libmimalloc-sys 0.1.49", "the sources and flags of its CMake release build",
        "as mimalloc2", crate="libmimalloc-sys", tools=("gcc",)),
    "snmalloc": Peer(
        CRATE, "0.7.6", "crates.io, snmalloc-sys 0.7.6", "its own CMake release build, target snmallocshim",
        "the flavour without checks of what the program does", crate="snmalloc-sys", tools=("g++", "cmake", "make")),
    "rpmalloc": Peer(
        CRATE, "1.4.3", "crates.io, rpmalloc-sys 0.2.3", "the flags of its configure.py for rpmallocwrap, release",
        "operator new returns null where it should throw bad_alloc", crate="rpmalloc-sys", tools=("gcc",)),
    "gperftools": Peer(
        PACKAGE, "2.10-1", "Debian, libtcmalloc-minimal4", "the distribution's",
        "the same allocator as in libgoogle-perftools4, without the profilers, which also draw in libunwind",
        objects=in_libraries("libtcmalloc_minimal.so.4"), package="libtcmalloc-minimal4"),
    "tcmalloc": Peer(
        CRATE, "2025-06", "crates.io, libtcmalloc-sys 0.1.14", "-O2 as Bazel's -c opt; names hidden, static TLS",
        "glibc must leave restartable sequences to it, or it falls back to caches per thread; a program would have to "
        "start its background thread itself, so there is none; out of memory, operator new ends the program",
        crate="libtcmalloc-sys", tools=("g++",), settings=(("GLIBC_TUNABLES", "glibc.pthread.rseq=0"),)),
    "tbb": Peer(
        PACKAGE, "2021.8.0-2+deb12u1", "Debian, libtbbmalloc2", "the distribution's",
        "its malloc calls scalable_malloc in a second library: upstream's way to replace malloc",
        objects=in_libraries("libtbbmalloc_proxy.so.2"), package="libtbbmalloc2"),
    "scudo": Peer(
        PACKAGE, "1:19.1.7-3~deb12u1", "Debian, libclang-rt-19-dev", "the distribution's",
        "a hardened allocator, its checks on as is the default; operator new returns null where it should throw bad_alloc",
        objects=(f"/usr/lib/llvm-19/{SCUDO}", f"/usr/lib/llvm-*/{SCUDO}", f"/usr/{SCUDO}"),
        package="libclang-rt-19-dev"),
    "hardened_malloc": Peer(
        CRATE, "2026-07-15", "crates.io, hardened-malloc-sys 16.0.2026071503",
        "the flags of its Makefile, config/default.mk, by clang 19",
        "what acre-hardened is held against; it reserves 12.5 TiB of addresses at its start",
        crate="hardened-malloc-sys", tools=("clang-19", "ld.lld-19"), is_asked_for=True),
    "hardened_malloc_light": Peer(
        CRATE, "2026-07-15", "crates.io, hardened-malloc-sys 16.0.2026071503", "as hardened_malloc, with config/light.mk",
        "without the quarantine, the random places and the check for writes after free",
        crate="hardened-malloc-sys", recipe="hardened_malloc", tools=("clang-19", "ld.lld-19"), is_asked_for=True),
}  # fmt: skip


def names():
    """All that --alloc takes without a path; glibc first, then acre."""
    return [BASE, OURS, *OPTIONS, *RECORDED, *(name for name in TABLE if name != BASE)]


# Finding


def first_of(patterns):
    for pattern in patterns:
        found = sorted(Path("/").glob(pattern.lstrip("/")))
        if found:
            return found[-1].resolve()
    return None


def libc():
    with open("/proc/self/maps") as maps:
        for line in maps:
            if re.search(r"/(libc\.so\.6|libc-[0-9.]+\.so)$", line.rstrip()):
                return Path(line.split(maxsplit=5)[-1].rstrip()).resolve()
    raise Failed("this python runs without glibc")


def package_version(library, otherwise):
    """Of the package that a file belongs to, as dpkg knows it."""
    for path in dict.fromkeys([library, Path(str(library).removeprefix("/usr"))]):
        try:
            owner = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
            if owner.returncode == 0:
                package = owner.stdout.split(": ")[0]
                asked = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True)
                return asked.stdout or otherwise
        except FileNotFoundError:
            break
    return otherwise


def packaged(name):
    peer = TABLE[name]
    library = first_of(peer.objects)
    if library is None:
        raise Failed(f"not installed; on Debian: apt-get install {peer.package}")
    return library, package_version(library, library.name)


# Building


def sources(lab):
    """The folders of the crates, fetched if they were not yet. -> {crate: (version, Path)}"""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--manifest-path", lab.bench / "peers" / "Cargo.toml"]
    target = f"--filter-platform={platform.machine()}-unknown-linux-gnu"
    done = subprocess.run([*command, target], capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["cargo failed"]
        first = next((line for line in lines if line.startswith("error")), lines[0])
        raise Failed(f"the crates could not be fetched (cargo 1.85 or newer is needed): {first}; {lines[-1][:200]}")
    packages = json.loads(done.stdout)["packages"]
    return {p["name"]: (p["version"], Path(p["manifest_path"]).parent) for p in packages}


def missing_tools(peer):
    return [program for program in ("cargo", *peer.tools) if shutil.which(program) is None]


@lru_cache
def compiler(program):
    try:
        return subprocess.run([program, "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return "?"


def locked_version(lab, crate):
    """As Cargo.lock pins it: without cargo, so that what is built needs no cargo any more."""
    text = (lab.bench / "peers" / "Cargo.lock").read_text()
    found = re.search(rf'^name = "{re.escape(crate)}"\nversion = "(.*)"$', text, re.M)
    if found is None:
        raise Failed(f"Cargo.lock does not know {crate}")
    return found.group(1)


def recipe_of(lab, name):
    return lab.bench / "peers" / f"{TABLE[name].recipe or name}.sh"


def place_of(lab, name):
    """Where a built peer lies; another version, recipe or compiler is another place."""
    compilers = ["gcc", "g++", *(tool for tool in TABLE[name].tools if tool.startswith("clang"))]
    texts = [recipe_of(lab, name).read_text(), locked_version(lab, TABLE[name].crate), *map(compiler, compilers)]
    key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:10]
    return lab.built / "peers" / f"{name}-{TABLE[name].version}-{key}" / f"lib{name}.so"


def built(lab, name, say):
    peer, library = TABLE[name], place_of(lab, name)
    if library.exists():
        return library, peer.version
    missing = missing_tools(peer)
    if missing:
        packages = ", ".join(TOOLS[program] for program in missing)
        raise Failed(f"cannot be built without {', '.join(missing)}; on Debian: {packages}")
    say(f"building {name} {peer.version}, from {peer.source}{' (some minutes)' if name == 'tcmalloc' else ''}")
    version, crate = sources(lab)[peer.crate]
    if version != locked_version(lab, peer.crate):
        raise Failed(f"cargo has {peer.crate} {version}, and Cargo.lock wants another")
    build(lab, name, crate, library)
    return library, peer.version


def build(lab, name, crate, library):
    peers = library.parent.parent
    peers.mkdir(parents=True, exist_ok=True)
    log = peers / f"{name}.log"
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=peers) as scratch, open(log, "w") as out:
        result, work = Path(scratch) / "result", Path(scratch) / "work"
        result.mkdir()
        work.mkdir()
        command = ["sh", recipe_of(lab, name), crate, result / library.name]
        environment = {name: value for name, value in launch.clean_environment().items() if name not in FLAGS}
        streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, cwd=work, env=environment, **streams)
        if done.returncode != 0 or not (result / library.name).exists():
            raise Failed(f"it does not build (exit code {done.returncode}): see {log}")
        for older in peers.glob(f"{name}-[0-9]*-*"):
            shutil.rmtree(older, ignore_errors=True)
        result.rename(library.parent)


# Trying


def tried(lab, allocator):
    """The allocator, if a small program with threads and exceptions runs on it; Failed if not."""
    program = lab.built / "peers" / "trial"
    source = lab.bench / "peers" / "trial.cc"
    build_if_older(program, [source], ["g++", "-std=c++20", "-O2", "-pthread", source, "-o", program])
    if any(letter in str(allocator.library) for letter in " :\t"):
        raise Failed(f"{allocator.library} cannot be preloaded: the dynamic linker takes a space and a colon for separators")
    try:
        _, said = launch.run_measured(lab, allocator, [program], limit_s=20)
    except Failed as failure:
        raise Failed(f"it does not work here: {failure}") from None
    if said.strip() != b"well":
        raise Failed("a small program computes something else on it")
    return allocator


def acre_library(lab):
    return Path(os.environ.get("ACRE_LIB") or lab.root / "build" / "release" / "libacre.so").resolve()


def find(lab, name, say):
    """-> Allocator, built and tried; Failed tells why there is none."""
    if name == OURS or name in OPTIONS or name in RECORDED:
        library = acre_library(lab)
        if not library.exists():
            raise Failed(f"there is no {library}; build it with: ./acre lib")
        settings = (("ACRE_CONF", OPTIONS[name]),) if name in OPTIONS else ()
        return tried(lab, Allocator(name, library, machine.commit(lab.root), settings))
    peer = TABLE[name]
    if peer.kind == LIBC:
        library, version = libc(), platform.libc_ver()[1]
        version = package_version(library, version)
    elif peer.kind == PACKAGE:
        library, version = packaged(name)
    else:
        library, version = built(lab, name, say)
    return tried(lab, Allocator(name, library, version, peer.settings))


def extra(texts):
    """NAME=PATH texts, for what comes from elsewhere. -> Allocators that nobody has tried yet"""
    found = []
    for text in texts:
        name, separator, path = text.partition("=")
        if not separator or not NAME.fullmatch(name) or not path:
            raise ValueError(f"--alloc {text}: NAME=PATH of a shared object is wanted")
        if name in (BASE, ALL):
            raise ValueError(f"--alloc {text}: {name} is taken")
        library = Path(path).expanduser().resolve()
        if not library.is_file():
            raise ValueError(f"--alloc {text}: there is no file {library}")
        with open(library, "rb") as file:
            content = file.read()
        if content[:4] != b"\x7fELF":
            raise ValueError(f"--alloc {text}: {library} is no shared object")
        version = f"{library.name}, sha256 {launch.short_hash(content)}"
        settings = next((peer.settings for known, peer in TABLE.items() if known == name), ())
        found.append(Allocator(name, library, version, settings))
    return found


def ensure(lab, wanted, say):
    """wanted: names and NAME=PATH texts, or none for all; glibc always takes part. Builds what is missing.
    -> (Allocators that work here, {name: why it does not})"""
    own = {allocator.name: allocator for allocator in extra([text for text in wanted if "=" in text])}
    plain = [text for text in wanted if "=" not in text]
    unknown = [name for name in plain if name not in names() and name != ALL]
    if unknown:
        raise ValueError(f"--alloc {', '.join(unknown)}: not known; there are {', '.join(names())}, {ALL} and NAME=PATH")
    everything = not wanted or ALL in plain
    by_name_only = {*OPTIONS, *RECORDED, *(name for name, peer in TABLE.items() if peer.is_asked_for)}
    chosen = [n for n in names() if n not in own and (n in plain or n == BASE or (everything and n not in by_name_only))]
    allocators, missing = [], {}
    for name in chosen:
        try:
            allocators.append(find(lab, name, say))
        except Failed as failure:
            missing[name] = str(failure)
    if BASE in missing:
        raise Failed(f"{BASE} is needed, and {missing[BASE]}")
    for name, allocator in own.items():
        try:
            allocators.append(tried(lab, allocator))
        except Failed as failure:
            raise ValueError(f"--alloc {name}={allocator.library}: {failure}") from None
    return allocators, missing
