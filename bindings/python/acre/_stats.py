"""Statistics, and the return of memory."""

from __future__ import annotations

import json
from typing import Any

from ._library import WRITE, failed, library


class Stats(dict):  # type: ignore[type-arg]
    """The statistics as docs/statistics.md describes their JSON: process, merged, arenas, tags, locks, options.

    The figures of the process are attributes, too: stats().allocated is stats()["process"]["allocated"]. str() is a
    summary for people.
    """

    def __init__(self, figures: dict[str, Any], summary: str) -> None:
        super().__init__(figures)
        self._summary = summary

    def __getattr__(self, name: str) -> int:
        try:
            return self["process"][name]
        except KeyError:
            raise AttributeError(f"the process has no figure '{name}'; docs/reference.md lists them") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self["process"]]

    def __str__(self) -> str:
        return self._summary

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(self._summary)


def _printed(form: bytes) -> str:
    parts: list[bytes] = []
    error = library().acre_stats_print(form, WRITE(lambda _, text: parts.append(text)), None)
    if error:
        raise failed(error, "acre cannot take its statistics")
    return b"".join(parts).decode(errors="replace")


def stats() -> Stats:
    """Takes the statistics of this process: microseconds in small programs, milliseconds where gigabytes are in use. No
    thread is stopped. OSError: memory was refused."""
    return Stats(json.loads(_printed(b"json"))["acre"], _printed(b"summary").rstrip())


def purge() -> bool:
    """Returns all unused memory to the system, at once. Has any been returned? Empties the calling thread's cache
    before; what other threads keep for themselves stays with them."""
    return bool(library().acre_malloc_trim(0))
