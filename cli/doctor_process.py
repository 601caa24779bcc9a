"""acre doctor PID: is acre in use in a process, can it be asked, and what there may get into its way."""

import os
import re

import live
import on_request
from allocators import defined_allocator, other_allocator
from doctor_command import finding
from doctor_machine import NEAR_LIMIT, text_of
from elf_tables import SONAME, ElfTables

ACRE_INSIDE = b"acre-control\0"  # the name of a thread, in the library and in programs with the archive
SECCOMP = {"1": "strict", "2": "a filter"}


class Files:
    """The program and the libraries that a process has loaded, in the order in which the loader looks for names."""

    def __init__(self, process):
        self.process = process
        self.paths, self.tables, self.ranges = [], {}, {}
        for line in process.read("maps").decode(errors="replace").split("\n"):
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5].startswith("/") and "x" in fields[1] and fields[5] not in self.paths:
                self.paths.append(fields[5])
                self.ranges[fields[5]] = fields[0]
        self.program = os.readlink(f"/proc/{process.pid}/exe")
        for path in self.paths:
            try:
                self.tables[path] = ElfTables(self.now_at(path))
            except (OSError, ValueError):
                continue

    def here(self, path):
        return f"/proc/{self.process.pid}/root{path}"

    def now_at(self, path):
        """Where a file that is loaded can be read. The kernel lets root read one that was removed."""
        if path == self.program:
            return f"/proc/{self.process.pid}/exe"
        mapped = f"/proc/{self.process.pid}/map_files/{self.ranges[path]}"
        return mapped if path.endswith(" (deleted)") else self.here(path)

    def preloads(self):
        words = f"{self.process.environment('LD_PRELOAD') or ''} {text_of(self.here('/etc/ld.so.preload'))}"
        return words.replace(":", " ").split()

    def preloaded(self):
        """Loaded files that were preloaded, in order."""
        for word in self.preloads():
            for path, tables in self.tables.items():
                if (os.path.basename(word) == os.path.basename(path.removesuffix(" (deleted)"))
                        or os.path.realpath(self.here(word)) == os.path.realpath(self.here(path))
                        or word in tables.tagged(SONAME)):  # the loader looks for a bare name as for one that is needed
                    yield path
        if not self.process.has_environment():  # then an acre that nothing asks for was preloaded
            wanted = {name for tables in self.tables.values() for name in tables.needed()}
            yield from (path for path, tables in self.tables.items() if "libacre" in path and not wanted & {*tables.tagged(SONAME)})

    def in_order(self):
        """The program, what is preloaded, then what these need, breadth first; then all the rest. A filter stands behind
        the library that it is a filter for."""
        by_name = {name: path for path, tables in self.tables.items() for name in (*tables.tagged(SONAME), os.path.basename(path))}
        order = []

        def add(path):
            if path in self.tables and path not in order:
                order.extend(first for name in self.tables[path].filtered() if (first := by_name.get(name)) not in (None, *order))
                order.append(path)

        for path in (self.program, *self.preloaded()):
            add(path)
        for path in order:
            for name in self.tables[path].needed():
                add(by_name.get(name) or self.under_other_name(name))
        return order + [path for path in self.tables if path not in order]

    def under_other_name(self, name):
        """libjemalloc.so.2 may be a link to acre's library."""
        return next((path for path in self.tables if "libacre" in path), None) if other_allocator(name) else None

    def malloc(self):
        """The file whose malloc the program calls; None: it has none."""
        unread = next((path for path in self.paths if "libacre" in path and path not in self.tables), None)
        return unread or next((path for path in self.in_order() if "malloc" in self.tables[path].exported()), None)

    def holds_acre(self, path):
        tables = self.tables.get(path)
        if tables is None:
            return "libacre" in path  # it was removed
        return tables.data.find(ACRE_INSIDE) >= 0 or any("libacre" in name for name in tables.needed())


def process(asked):
    def found(check, state, text, advice=None):
        return finding("process", check, state, live.one_line(text), advice)

    yield found("command", "ok", asked.command())
    try:
        files = Files(asked)
    except OSError:
        yield found("access", "problem", f"what {asked} has loaded cannot be seen: it is {live.user_name(asked.user)}'s",
                    "ask as that user, or as root")
        return
    fields = dict(line.split(":\t", 1) for line in asked.read("status").decode(errors="replace").split("\n") if ":\t" in line)
    uses_acre, row = allocator(found, files)
    yield row
    yield from conflicts(found, files, uses_acre)
    if uses_acre:
        yield from library_file(found, files)
        yield control(found, asked)
        yield from sandbox(found, fields)
    yield from stacks(found, files)
    yield from limits(found, asked, fields)


# --- Which allocator --------------------------------------------------------------------------------------------

def allocator(found, files):
    """-> whether acre is in use, and the row."""
    path = files.malloc()
    program = files.tables.get(files.program)
    if path is None:
        if program and files.holds_acre(files.program):
            return True, found("allocator", "ok", "acre, by a static link")
        name = program and defined_allocator(program.defined())
        return False, found("allocator", "note", f"{name or 'not acre'}: the program is linked statically",
                            "link it with libacre.a (docs/building.md); LD_PRELOAD does nothing here")
    if files.holds_acre(path):
        return True, found("allocator", "ok", f"acre, {how(files, path)}: {path}")
    name = other_allocator(path) or defined_allocator(files.tables[path].defined())
    name = name or ("glibc's malloc" if re.match(r"libc[.-]", os.path.basename(path)) else "an allocator that is not known")
    if any("libacre" in loaded for loaded in files.tables):
        return False, found("allocator", "problem", f"{name}, although libacre.so is loaded: the malloc of {path} comes first",
                            "link the program without that one, or load libacre.so earlier (LD_PRELOAD); a libacre.so with "
                            "acre_ names alone is meant to be so")
    return False, found("allocator", "note", f"{name}: {path}", preload_advice(files))


def how(files, path):
    if path == files.program:
        return "by a static link"
    if path in files.preloaded():
        in_file = any(os.path.basename(word) in text_of(files.here("/etc/ld.so.preload")) for word in files.preloads())
        return "preloaded by /etc/ld.so.preload" if in_file else "preloaded (LD_PRELOAD)"
    needed = [name for tables in files.tables.values() for name in tables.needed()]
    other = next((name for name in needed if other_allocator(name)), None)
    if other and not any("libacre" in name for name in files.tables[files.program].needed()):
        return f"under {other_allocator(other)}'s name ({other})"
    return "by a link"


def preload_advice(files):
    if any("libacre" in word for word in files.preloads()):
        return ("LD_PRELOAD names acre, but the loader has not taken it: is the path right, for this container too, and does "
                "the program gain no privileges at its start?")
    return "`acre run -- PROGRAM` starts it on acre, as does LD_PRELOAD with the path of `acre lib`"


def conflicts(found, files, uses_acre):
    others = {}
    for path in files.tables:
        name = other_allocator(path)
        if name and not files.holds_acre(path):
            others[name] = path
    program = files.tables.get(files.program)
    inside = program and defined_allocator(program.defined())
    if inside:
        others.setdefault(inside, files.program)
    if uses_acre:
        for name, path in others.items():
            if "Sanitizer" in name or name == "Valgrind":
                yield found("conflict", "problem", f"{name} wants to see each malloc itself: {path}",
                            f"run without acre under {name}, or without {name}")
            else:
                yield found("conflict", "note", f"{name} is there as well: {path}",
                            "what calls it by its own names gets its memory, which acre does not see; never free one's "
                            "block with the other")
    if program and ".go.buildinfo" in program.sections:
        yield found("language", "note", "a Go program: Go's runtime has its own allocator",
                    "acre has the memory of C code alone (cgo); GOMEMLIMIT and pprof are for the rest")


def library_file(found, files):
    if any("libacre" in path and path.endswith(" (deleted)") for path in files.paths):
        yield found("library", "note", "libacre.so has been replaced since the process started",
                    "restart the process for the new one")
    try:
        version = live.ask_json(files.process.pid, "info")["acre"] if has_socket(files.process) else None
    except live.LiveError:
        version = None
    if version:
        yield found("version", "ok", f"acre {version}")


# --- Asking it --------------------------------------------------------------------------------------------------

def has_socket(asked):
    client = live.open_socket(asked, live.GLANCE_S)
    if client:
        client.close()
    return client is not None


def control(found, asked):
    if not asked.is_mine():
        return found("socket", "note", f"only {live.user_name(asked.user)} and root may ask it", "ask as one of these")
    if not asked.is_itself_alone():
        return found("socket", "problem", "it has changed its user, has more than one, or is not dumpable: it answers nobody",
                     "start it as the user that it becomes, or make it dumpable again (docs/live.md)")
    if has_socket(asked):
        return found("socket", "ok", f"`acre why {asked.pid}`, `acre stats {asked.pid}` … can ask it")
    said = re.findall(r"control_on_request:(\w+)", asked.environment("ACRE_CONF") or "")
    if said and said[-1] == "false":
        return found("socket", "problem", "it has no socket, and control_on_request is false",
                     "start it with control:true or without control_on_request:false")
    when = "with its background thread" if asked.has_background_thread() else "while it allocates"
    return found("socket", "note", f"not open; it opens when `acre why {asked.pid}` and the like ask for it, {when}",
                 f"if these give up after {on_request.wait_s(asked)} s, ask while it works; ACRE_CONF=control:true has the socket "
                 "open from the start")


def sandbox(found, fields):
    mode = SECCOMP.get(fields.get("Seccomp", "0"))
    if mode:
        yield found("sandbox", "problem" if mode == "strict" else "note", f"seccomp, {mode}",
                    "a filter that kills for openat needs ACRE_CONF=control_on_request:false,cgroup:false,pressure:false; one "
                    "that kills for clone needs no control:true and no background thread; usual containers need nothing")


# --- Profiles ---------------------------------------------------------------------------------------------------

def stacks(found, files):
    nameless = [path for path, tables in files.tables.items() if not tables.has_names()]
    tableless = [path for path, tables in files.tables.items() if not tables.has_tables()]
    program = files.tables.get(files.program)
    if program is None:
        return
    if files.program in nameless:
        yield found("symbols", "note", f"{files.program} is stripped: its functions have no names but those that it exports",
                    "keep a copy with symbols for `acre heap --binaries FOLDER`, or install its debugging symbols")
    else:
        others = len(nameless)
        yield found("symbols", "ok", "the program has its functions' names" + (
            f"; {others} of its {len(files.tables) - 1} libraries have only those that they export" if others else ""))
    pointers = program.has_frame_pointers()
    told = {True: "with", False: "without", None: "perhaps without"}[pointers]
    if program.has_tables():
        yield found("stacks", "ok", f"{told} frame pointers; unwinding tables are there, which profiles and leaks need")
    else:
        yield found("stacks", "ok" if pointers else "problem", f"{told} frame pointers, without unwinding tables (.eh_frame)",
                    None if pointers else "build with -fasynchronous-unwind-tables or -fno-omit-frame-pointer: stacks in "
                                          "profiles end early")
    if tableless and files.program not in tableless:
        yield found("stacks", "note", f"no unwinding tables in {', '.join(map(os.path.basename, tableless[:3]))}",
                    "stacks through them may end there")


# --- Limits -----------------------------------------------------------------------------------------------------

def limits(found, asked, fields):
    most, there = int(text_of("/proc/sys/vm/max_map_count") or 0), asked.read("maps").count(b"\n")
    if most and there > NEAR_LIMIT * most:
        yield found("mappings", "problem", f"{there} of {most} mappings: beyond that the kernel refuses memory",
                    "`sysctl vm.max_map_count` with a larger number; `acre why` shows whose mappings they are")
    else:
        yield found("mappings", "ok", f"{there} of {most}")
    for name, what in (("Max address space", "ulimit -v"), ("Max data size", "ulimit -d")):
        row = re.search(rf"^{name} +(\d+)", asked.read("limits").decode(errors="replace"), re.M)
        if row:
            yield found("limits", "note", f"{what} is {live.human(int(row[1]))}",
                        "acre keeps to it, with less address space in reserve (docs/memory.md); a cgroup's limit counts what is "
                        "resident, and is the better bound")
    if fields.get("THP_enabled") == "0":
        yield found("huge pages", "note", "switched off for this process (PR_SET_THP_DISABLE): huge_pages does nothing")
