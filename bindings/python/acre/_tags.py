"""Accounting by tag (docs/tags.md, docs/python.md).

The library keeps, for each thread, a stack of tags. What of it Python has pushed is known here too, so that coroutines,
which share a thread, can take theirs off when they wait, and put them on again when they go on.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import inspect
import threading
import types
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar

from ._library import TagFigures, failed, library

if TYPE_CHECKING:
    import asyncio

Result = TypeVar("Result")
MOST_BYTES = 63    # of a name
NO_LIMIT = 2**64 - 1


class Thread(threading.local):
    """names: of the tags that Python has in force in this thread, the innermost last."""

    def __init__(self) -> None:
        self.names: list[bytes] = []


_thread = Thread()
_figures_lock = threading.Lock()  # a tag that one thread drops is not looked at by another


class TagInfo(NamedTuple):
    """A tag's figures, in bytes, but for refused."""
    name: str
    live: int          # of blocks that were not freed
    allocated: int     # of all blocks so far
    peak: int          # the most that was live
    limit: int | None  # None: none
    refused: int       # number of allocations that were refused for the limit


def _push(name: bytes) -> int:
    _thread.names.append(name)
    return library().acre_tag_push(name)  # each needs a pop, even one that failed


def _pop() -> bytes:
    library().acre_tag_pop()
    return _thread.names.pop()


class tag:
    """Accounting by tag: what a thread allocates in a with-block counts for the tag until it is freed.

        with acre.tag("request 17"):
            handle(request)

        @acre.tag("parser")
        def parse(text): …

    A decorated function may be a coroutine function. One object may be used again, within itself, and in several
    threads at a time. Tags may be nested up to 64 deep; the innermost counts. A new thread has no tag.

    Coroutines: a with-block with an await in it is right in a task that acre steps: a decorated coroutine function,
    what run() returns, or each task of a loop that has task_factory. Elsewhere what other tasks allocate during the
    await counts for the tag.

    Errors: ValueError, the name has not 1 to 63 bytes; OSError, memory was refused, or tags are nested too deep, or the
    options junk or zero are set; RuntimeError, tags were not left in the opposite order.
    """

    __slots__ = ("name", "_bytes")

    def __init__(self, name: str) -> None:
        encoded = name.encode()
        if not 1 <= len(encoded) <= MOST_BYTES or b"\0" in encoded:
            raise ValueError(f"a tag's name has 1 to {MOST_BYTES} bytes, and '{name}' has {len(encoded)}")
        self.name = name
        self._bytes = encoded

    def __repr__(self) -> str:
        return f"acre.tag({self.name!r})"

    def __enter__(self) -> tag:
        error = _push(self._bytes)
        if error:
            _pop()
            raise failed(error, f"tag '{self.name}'")
        return self

    def __exit__(self, *_: object) -> None:
        names = _thread.names
        if names and names[-1] == self._bytes:
            _pop()
            return
        if self._bytes in names:  # of a coroutine beside others
            above = []
            while names[-1] != self._bytes:
                above.append(_pop())
            _pop()
            for name in reversed(above):
                _push(name)
        raise RuntimeError(f"tag '{self.name}' was left before tags that came later, or in another thread; a coroutine "
                           "with an await in its block needs @acre.tag, acre.tag(…).run or acre.task_factory")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__} is a generator: put the tag around what uses it")
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def stepped(*arguments: Any, **named: Any) -> Any:
                return await _stepped(function(*arguments, **named), [self._bytes])
            return stepped

        @functools.wraps(function)
        def tagged(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)
        return tagged

    async def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """A coroutine that runs this one with the tag in force: asyncio.create_task(acre.tag("job 3").run(job(3)))."""
        return await _stepped(coroutine, [self._bytes])

    def info(self) -> TagInfo:
        """The figures at this moment; of a tag that nobody has used, zeros."""
        figures = TagFigures()
        with _figures_lock:
            error = library().acre_tag_get(self._handle(), ctypes.byref(figures))
        if error:
            raise failed(error, f"tag '{self.name}'")
        limit = None if figures.limit == NO_LIMIT else figures.limit
        return TagInfo(self.name, figures.live, figures.allocated, figures.peak, limit, figures.refused)

    def limit(self, most: int | None) -> None:
        """Sets the most bytes that may be live at a time; None: no limit. An allocation that would pass the limit
        raises MemoryError."""
        if most is not None and not 0 <= most < NO_LIMIT:
            raise ValueError(f"tag '{self.name}': the limit cannot be {most}")
        with _figures_lock:
            library().acre_tag_limit(self._handle(), NO_LIMIT if most is None else most)

    def drop(self) -> None:
        """Gives up the tag with its figures. The name is free, and a later use makes a new tag of it. There may be
        262144 tags at a time, so drop those of requests that are done."""
        with _figures_lock:
            library().acre_tag_drop(self._handle())

    def _handle(self) -> int:
        handle = library().acre_tag(self._bytes)
        if not handle:
            raise failed(ctypes.get_errno() or errno.ENOMEM, f"tag '{self.name}'")
        return handle


@types.coroutine
def _stepped(coroutine: Coroutine[Any, Any, Result], names: list[bytes]) -> Generator[Any, Any, Result]:
    """Runs a coroutine step by step: from one await that waits to the next. names: of the tags that are in force during
    a step; what the step leaves in force is so in the next one, and in between it is not."""
    names = list(names)

    def step(method: Callable[..., Any], *arguments: Any) -> Any:
        outer = len(_thread.names)
        for name in names:
            _push(name)
        try:
            return method(*arguments)
        finally:
            names[:] = reversed([_pop() for _ in range(len(_thread.names) - outer)])

    method: Callable[..., Any] = coroutine.send
    argument: Any = None
    while True:
        try:
            awaited = step(method, argument)
        except StopIteration as end:
            return end.value
        try:
            method, argument = coroutine.send, (yield awaited)
        except GeneratorExit:
            step(coroutine.close)
            raise
        except BaseException as error:
            method, argument = coroutine.throw, error


def task_factory(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any],
                 **named: Any) -> asyncio.Task[Any]:
    """For an event loop: loop.set_task_factory(acre.task_factory). A task then begins with the tags that are in force
    where it is made, and with-blocks of tags count for the task alone, whatever it awaits."""
    import asyncio
    names = list(_thread.names)

    async def run() -> Any:
        return await _stepped(coroutine, names)

    run.__qualname__ = getattr(coroutine, "__qualname__", "run")
    return asyncio.Task(run(), loop=loop, **named)
