"""acre doctor: the machine's settings that matter to acre, and the installation."""

import os
import platform
import re
import subprocess

import library
import live
from allocators import other_allocator
from doctor_command import finding
from live import human
from places import installed

LEAST_KERNEL = (5, 9)         # close_range with CLOSE_RANGE_UNSHARE: the control socket
NEAR_LIMIT = 0.8
GLIBC_VARIABLES = ("MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_",
                   "MALLOC_PERTURB_", "MALLOC_CHECK_")


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def chosen(path):
    """The word in brackets of a setting."""
    found = re.search(r"\[(\S+)\]", text_of(path))
    return found[1] if found else ""


# --- The machine ------------------------------------------------------------------------------------------------

def machine(process):
    def found(check, state, text, advice=None):
        return finding("machine", check, state, text, advice)

    yield from (check(found) for check in (kernel, processor, overcommit, mappings))
    yield from huge_pages(found)
    yield pressure(found)
    yield from cgroup(found, process)


def kernel(found):
    release = platform.release()
    numbers = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    if numbers < LEAST_KERNEL:
        return found("kernel", "problem", f"Linux {release}, older than 5.9: there is no control socket",
                     "a newer kernel; until then `acre run --stats` and `--profile` work, and `acre why PID` does not")
    return found("kernel", "ok", f"Linux {release}")


def processor(found):
    name, libc = platform.machine(), " ".join(platform.libc_ver()) or "an unknown C library"
    if name not in ("x86_64", "aarch64", "riscv64") or "glibc" not in libc:
        return found("platform", "problem", f"{name} with {libc}",
                     "acre is for glibc on x86-64; on aarch64 and riscv64 it is tested little")
    state = "ok" if name == "x86_64" else "note"
    return found("platform", state, f"{name} with {libc}", None if state == "ok" else f"acre is tested less on {name}")


def overcommit(found):
    mode = text_of("/proc/sys/vm/overcommit_memory")
    if mode != "2":
        return found("overcommit", "ok", f"vm.overcommit_memory is {mode or 'unknown'}, which makes no difference to acre")
    fields = dict(re.findall(r"^(CommitLimit|Committed_AS): +(\d+) kB$", text_of("/proc/meminfo"), re.M))
    limit, used = (int(fields.get(key, 0)) << 10 for key in ("CommitLimit", "Committed_AS"))
    return found("overcommit", "problem" if used > NEAR_LIMIT * limit else "note",
                 f"vm.overcommit_memory is 2: {human(used)} of {human(limit)} are promised, and beyond that memory is refused",
                 "count clean pages too when you set limits (docs/memory.md); `sysctl vm.overcommit_memory=0` ends it, "
                 "`vm.overcommit_ratio` raises it")


def mappings(found):
    most = int(text_of("/proc/sys/vm/max_map_count") or 0)
    if 0 < most < 65530:
        return found("max_map_count", "note", f"vm.max_map_count is {most}, less than the usual 65530",
                     "`sysctl vm.max_map_count=262144` for programs with very many huge blocks or threads")
    return found("max_map_count", "ok", f"vm.max_map_count is {most}")


def huge_pages(found):
    folder = "/sys/kernel/mm/transparent_hugepage"
    enabled, defrag = chosen(f"{folder}/enabled"), chosen(f"{folder}/defrag")
    if enabled in ("", "never"):
        yield found("huge pages", "note", f"transparent huge pages are {enabled or 'not there'}: the option huge_pages does nothing",
                    f"`echo madvise >{folder}/enabled` lets acre use them where memory is large and dense")
    else:
        yield found("huge pages", "ok", f"transparent huge pages: {enabled}; acre chooses where (option huge_pages)")
    if enabled not in ("", "never") and defrag == "always":
        yield found("huge pages, defrag", "note", "a thread that touches new memory may wait until the kernel has made room",
                    f"`echo madvise >{folder}/defrag`, or `defer+madvise`, where pauses matter")


def pressure(found):
    if text_of("/proc/pressure/memory"):
        return found("memory pressure", "ok", "the kernel tells it (PSI): acre returns unused memory while there is some")
    return found("memory pressure", "note", "the kernel does not tell it: acre does not see that others wait for memory",
                 "boot with psi=1, where the kernel has PSI")


def cgroup(found, process):
    """Of the process, or of this one."""
    for line in text_of(f"/proc/{process.pid if process else 'self'}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, names = f"/sys/fs/cgroup{path}", ("memory.max", "memory.high", "memory.current")
        elif "memory" in controllers.split(","):
            folder, names = f"/sys/fs/cgroup/memory{path}", ("memory.limit_in_bytes", "memory.soft_limit_in_bytes",
                                                            "memory.usage_in_bytes")
        else:
            continue
        while folder.startswith("/sys/fs/cgroup"):
            most, high, used = (int(text) if (text := text_of(f"{folder}/{name}")).isdecimal() else None for name in names)
            limit = min((value for value in (most, high) if value is not None and value < 1 << 60), default=None)
            if limit is not None and used is not None:
                near = used > NEAR_LIMIT * limit
                yield found("cgroup", "note" if near else "ok",
                            f"{human(used)} of {human(limit)} are used in {folder.removeprefix('/sys/fs/cgroup') or '/'}"
                            + (": near the limit acre returns unused memory at once" if near else ""),
                            "raise memory.max, or see where it goes with `acre why PID`" if near else None)
                return
            folder = os.path.dirname(folder)
    yield found("cgroup", "ok", "no memory limit")


# --- The installation -------------------------------------------------------------------------------------------

def installation():
    def found(check, state, text, advice=None):
        return finding("installation", check, state, text, advice)

    yield built(found)
    yield settings(found)
    yield from environment(found)
    yield run_folder(found)
    from heap_profile import symbols
    tool = symbols.find_tool()
    yield found("names of functions", "ok" if tool else "note", tool.path if tool else "neither llvm-symbolizer nor addr2line is here",
                None if tool else "install llvm or binutils: `acre heap` then names functions and lines")


def built(found):
    path = library.path()
    if installed:
        state = ("ok", path) if os.path.exists(path) else ("problem", f"{path} is gone", "install acre again")
        return found("library", *state)
    if not os.path.exists(path):
        return found("library", "note", "the release library is not built yet", "`acre lib` builds it, and prints its path")
    if not library.is_up_to_date():
        return found("library", "note", f"{path} is older than the source", "`acre lib` builds it anew")
    return found("library", "ok", path)


def settings(found):
    """What a program that starts now is told of its settings: /etc/acre.conf and the environment."""
    where = " and ".join(filter(None, ("/etc/acre.conf" if os.path.lexists("/etc/acre.conf") else "",
                                       "ACRE_CONF" if os.environ.get("ACRE_CONF") else "",
                                       "MALLOC_CONF" if os.environ.get("MALLOC_CONF") else "")))
    if not where or not os.path.exists(library.path()):
        return found("settings", "ok", f"{where}; not tried, without the library" if where else
                     "no /etc/acre.conf, no ACRE_CONF: defaults")
    tried = subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": library.path()}, stdout=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    wrong = [line for line in tried.stderr.splitlines() if line.startswith("acre")]
    if wrong or tried.returncode:
        return found("settings", "problem", "; ".join(wrong[:3]) or f"a program ends with {tried.returncode}",
                     f"mend {where}; `acre options` lists names and values")
    return found("settings", "ok", f"from {where}; `acre options` shows them")


def environment(found):
    preloaded = f"{os.environ.get('LD_PRELOAD', '')} {text_of('/etc/ld.so.preload')}".replace(":", " ").split()
    others = [path for path in preloaded if other_allocator(path)]
    if others:
        yield found("preload", "problem", f"LD_PRELOAD or /etc/ld.so.preload has another allocator: {', '.join(others)}",
                    "take it out: only one malloc can be a program's")
    elif any("libacre" in path for path in preloaded):
        yield found("preload", "ok", "libacre.so is preloaded into every program from here")
    there = [name for name in GLIBC_VARIABLES if name in os.environ]
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        there.append("GLIBC_TUNABLES")
    if there:
        yield found("glibc's settings", "note", f"{', '.join(there)}: no effect on acre",
                    "acre's own are in docs/options.md")


def run_folder(found):
    """Where sockets and requests lie."""
    path, user = f"/tmp/acre-{os.geteuid()}", os.geteuid()
    try:
        facts = os.lstat(path)
    except OSError:
        return found("run folder", "ok", f"{path} is made when it is needed")
    if facts.st_uid != user or facts.st_mode & 0o777 != 0o700 or facts.st_mode & 0o170000 != 0o040000:
        return found("run folder", "problem", f"{path} is not a folder of {live.user_name(user)}'s alone: there is no control socket",
                     f"remove it; if it is another user's, as root")
    return found("run folder", "ok", path)
