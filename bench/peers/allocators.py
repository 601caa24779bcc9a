"""The allocators held against each other: a name and the shared object to preload."""

import glob
import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]

DEBIAN = {"jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2*"}  # libjemalloc2, libmimalloc2.0


def libc():
    """glibc is preloaded as the others are: redis-server links jemalloc, and would use it otherwise."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith("/libc.so.6"):
                return Path(line.split()[-1])
    raise RuntimeError("this python runs without glibc")


def in_system(pattern):
    found = sorted(glob.glob(f"/usr/lib/*-linux-gnu/{pattern}") + glob.glob(f"/usr/lib/{pattern}"))
    return Path(found[0]) if found else None


def acre():
    lib = Path(os.environ.get("ACRE_LIB") or REPO / "build/release/libacre.so")
    return lib if lib.exists() else None


def find(extra, only):
    """name -> shared object, glibc first. extra: NAME=PATH texts, which may also replace a known name."""
    found = {"glibc": libc()}
    found.update({name: in_system(pattern) for name, pattern in DEBIAN.items()})
    found["acre"] = acre()
    if only:
        unknown = set(only) - set(found)
        if unknown:
            raise ValueError(f"--only: unknown {', '.join(sorted(unknown))}")
        found = {name: path for name, path in found.items() if name in only or name == "glibc"}
    for text in extra:
        name, separator, path = text.partition("=")
        if not separator or not Path(path).exists():
            raise ValueError(f"--alloc {text}: NAME=PATH of a shared object is wanted")
        found[name] = Path(path)
    missing = [name for name, path in found.items() if path is None]
    return {name: path.resolve() for name, path in found.items() if path is not None}, missing
