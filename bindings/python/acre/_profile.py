"""Heap profiles of this process, by the code of `acre heap`."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import threading
import types
from dataclasses import replace
from typing import Any

from ._ctl import ctl
from ._library import library

SAMPLE, MOST_SAMPLE = 64 << 10, 1 << 62
MOST = 30        # functions in a table
# Of the picture in a notebook.
BAR_PX, AROUND_PX, LEAST_PX, MOST_PX = 20, 240, 340, 640
_lock = threading.Lock()
_running = 0             # profiles
_ends_with_last = False  # sampling, which the first of them began


class Profile:
    """A heap profile of what all threads allocate between start and stop, or in a with-block.

        with acre.profile() as profile:
            work()
        print(profile)

    Jupyter shows a profile as a flame graph, print() shows a table. While it runs, each look shows the heap at that
    moment; after stop() all show the same. Python functions that lead to the one that started it are left out.

    Values are estimates from samples, in bytes and in blocks: inuse_ what is live, alloc_ all that was allocated, and
    the others of docs/profiling.md.

    If sampling was on before, as with `acre run --profile`, it goes on at its rate, and the profile is the difference:
    inuse_ values are then below 0 where more was freed than allocated.

    Errors: NotActive; RuntimeError, the profile was not started, or was started before; OSError, memory was refused, or
    the profile cannot be written.
    """

    def __init__(self, sample: int = SAMPLE) -> None:
        if not 0 <= sample <= MOST_SAMPLE:
            raise ValueError(f"sample is a number of bytes, and cannot be {sample}")
        self._lg_sample = max(sample, 1).bit_length() - 1
        self._before: bytes | None = None
        self._final: Any = None
        self._is_running = False
        self._callers: list[tuple[str, str]] = []  # of the function that starts it, the outermost first: name, file

    # --- Beginning and end ---

    def start(self) -> Profile:
        global _running, _ends_with_last
        library()
        callers = _callers()
        from ._home.cli.heap_profile import pprof  # noqa: F401, or it would be in the profile
        with _lock:
            if self._is_running or self._final is not None:
                raise RuntimeError("this profile was started before; make another by acre.profile()")
            if ctl["prof.active"]:
                self._before = _dumped()
            else:
                ctl["opt.prof_python"] = True
                ctl["prof.active"] = True
                ctl["prof.reset"] = self._lg_sample
                _ends_with_last = True
            _running += 1
            self._is_running = True
            self._callers = callers
        return self

    def stop(self) -> Profile:
        global _running, _ends_with_last
        with _lock:
            if not self._is_running:
                raise RuntimeError("this profile does not run")
            self._is_running = False
            _running -= 1
            try:
                self._final = self._difference()
            finally:
                if _running == 0 and _ends_with_last:
                    ctl["prof.active"] = False
                    _ends_with_last = False
        return self

    def __enter__(self) -> Profile:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- What it shows ---

    def functions(self, by: str | None = None, native: bool = False) -> list[dict[str, Any]]:
        """The functions with the most first: function, own (what it allocated itself), total (what it and all that it
        called allocated). by: the kind of value, inuse_space if it is None. native: those of C and C++, too.
        ValueError: there is no such kind."""
        from ._home.cli.heap_profile import views
        shown, _ = self._shown(native)
        return views.as_json(shown, _kind(shown, by), None, False, None)["functions"]

    def table(self, most: int = MOST, by: str | None = None, native: bool = False) -> str:
        """The same as a table, of so many functions."""
        from ._home.cli.heap_profile import about, views
        shown, heading = self._shown(native)
        at = _kind(shown, by)
        why = about.why_empty(shown, at)
        lines = [", ".join([heading[0], *heading[1]])]
        return "\n".join(lines + ([why] if why else views.top(shown, at, most, False, None, None)))

    def html(self, by: str | None = None, native: bool = False) -> str:
        """A page with a flame graph, which needs nothing else and no network."""
        shown, heading = self._shown(native)
        return _page(heading, shown, by)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the profile to a file: for pprof and `acre heap`, or as a page if its name ends in .html."""
        from ._home.cli.heap_profile import pprof
        is_page = os.fspath(path).endswith(".html")
        data = self.html(native=True).encode() if is_page else pprof.write(self._now())
        with open(path, "wb") as file:
            file.write(data)

    def __str__(self) -> str:
        return self.table() if self._is_running or self._final else repr(self)

    def __repr__(self) -> str:
        state = "running" if self._is_running else "ended" if self._final else "not started"
        return f"<acre.Profile, {state}>"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str | None:
        if not self._is_running and self._final is None:
            return None
        shown, heading = self._shown(native=False)
        depth = max((len(stack) for (stack, _), values in shown.samples.items() if values[shown.default]), default=0)
        height = min(max(AROUND_PX + depth * BAR_PX, LEAST_PX), MOST_PX)
        return (f'<iframe title="heap profile" style="width:100%;height:{height}px;border:0" '
                f'srcdoc="{html.escape(_page(heading, shown))}"></iframe>')

    # --- How ---

    def _now(self) -> Any:
        if self._final is not None:
            return self._final
        if not self._is_running:
            raise RuntimeError("this profile was not started; use it by `with acre.profile() as profile:`")
        return self._difference()

    def _difference(self) -> Any:
        from ._home.cli.heap_profile import pprof
        from ._home.cli.heap_profile.profile import combined
        taken = pprof.read(_dumped())
        if self._before is None:
            return taken
        whole = combined([taken, pprof.read(self._before)], [1, -1])
        return replace(whole, samples={key: values for key, values in whole.samples.items() if any(values)})

    def _shown(self, native: bool) -> tuple[Any, Any]:
        """Python's functions alone, unless native ones are asked for or there are no others; and the heading."""
        from ._home.cli.heap_profile import about, python
        profile = self._now()
        only = not native and python.has_functions(profile)
        heading = about.heading([profile], [f"process {os.getpid()}"])
        profile = self._without_acre(profile) if only else _named(profile)
        return python.for_people(profile, only), heading

    def _without_acre(self, profile: Any) -> Any:
        from ._home.cli.heap_profile import python
        to = replace(profile, samples={})
        for (stack, labels), values in profile.samples.items():
            functions = python.python_stack(stack)
            if any(location.lines[0].file == __file__ for location in functions):
                continue  # what profiling itself allocates
            lines = [location.lines[0] for location in reversed(functions[1:])]  # the innermost stays
            same = 0
            for line, caller in zip(lines, self._callers):
                if (line.function, line.file) != caller:
                    break
                same += 1
            to.add(tuple(functions[:len(functions) - same]), labels, values)
        return to


def _callers() -> list[tuple[str, str]]:
    """Of the function that calls into this file; the interpreters that profiles know have qualified names."""
    if sys.version_info < (3, 11):
        return []
    found = []
    frame: types.FrameType | None = sys._getframe()
    while frame:
        if frame.f_code.co_filename != __file__:
            found.append((frame.f_code.co_qualname, frame.f_code.co_filename))
        frame = frame.f_back
    return found[:0:-1]


def _dumped() -> bytes:
    """The profile at this moment, as the library writes it: what reading it allocates is not in it."""
    with tempfile.TemporaryDirectory(prefix="acre-") as folder:
        path = os.path.join(folder, "now.live.pb.gz")
        ctl["prof.dump"] = path
        with open(path, "rb") as file:
            return file.read()


def _kind(profile: Any, by: str | None) -> int:
    at = profile.default if by is None else profile.index(by)
    if at is None:
        raise ValueError(f"there is no '{by}' in a profile; there is {', '.join(kind.name for kind in profile.kinds)}")
    return at


def _page(heading: Any, shown: Any, by: str | None = None) -> str:
    from ._home.cli.heap_profile import page
    return page.page(heading, shown, None, _kind(shown, by))


def _named(profile: Any) -> Any:
    """Names by llvm-symbolizer or addr2line; without them a place in its file."""
    from ._home.cli.heap_profile import symbols
    from ._home.cli.heap_profile.profile import Location
    tool = symbols.find_tool()
    if tool is not None:
        return symbols.named(profile, tool, symbols.where_binaries_are(None), lambda _: None)
    return profile.renamed({location: Location(location.address, location.mapping, (symbols.nameless(location),))
                            for location in profile.locations() if not location.lines})


def profile(sample: int = SAMPLE) -> Profile:
    """A heap profile of this process, which starts by `with` or start(). sample: one sample in so many bytes on
    average, rounded down to a power of 2; 0: every block. At 64 KiB profiling costs less than 5 % of the time."""
    return Profile(sample)
