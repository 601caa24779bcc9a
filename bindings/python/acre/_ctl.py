"""Values by name, as mallctl has them (docs/ctl.md)."""

from __future__ import annotations

import ctypes
import errno
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Union

from ._library import MallctlNode, failed, library

Value = Union[bool, int, str, None]
NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")
TYPES: dict[str, type[ctypes._SimpleCData[Any]]] = {
    "bool": ctypes.c_bool, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t, "ssize_t": ctypes.c_ssize_t,
    "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
    "const char *": ctypes.c_char_p, "char *": ctypes.c_char_p,
}


class Name(NamedTuple):
    """A name that ctl knows."""
    name: str       # with # in place of numbers
    type: str       # as in C; "void": an action
    readable: bool
    writable: bool


class Ctl:
    """ctl["stats.allocated"], ctl["prof.active"] = True, ctl.do("arena.4096.purge").

    Errors: KeyError, there is no such name, or no such arena or class; PermissionError, the value cannot be read, or
    cannot be changed; ValueError, the new value is out of range, or the name's values are pointers; TypeError, the new
    value is of another type; OSError, memory or a thread was refused, or another failure.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, Name] = {}

    def names(self) -> Iterator[Name]:
        """All names."""
        node, index = MallctlNode(), 0
        while library().acre_mallctl_info(index, ctypes.byref(node)) == 0:
            yield Name(node.name.decode(), node.type.decode(), bool(node.readable), bool(node.writable))
            index += 1

    def get(self, name: str) -> Value:
        """The value of a name. Figures (stats.…) are of this moment, unless taking them takes long (docs/ctl.md)."""
        value = self._empty(name)
        if name.startswith("stats."):
            epoch = ctypes.c_uint64(1)
            library().acre_mallctl(b"epoch", None, None, ctypes.byref(epoch), ctypes.sizeof(epoch))
        self._call(name, old=value)
        return _python(value)

    def set(self, name: str, value: Value) -> None:
        """Changes the value of a name."""
        self._call(name, new=_c_value(name, self._empty(name), value))

    def do(self, name: str) -> Value:
        """Does what an action's name says: a name of type void, such as "arena.4096.purge"; prof.dump and prof.reset
        without a value. Returns what the action gives, such as the number of arenas.create."""
        node = self._node(name)
        gives = node.type != "void" and not node.readable and not node.writable
        value = self._empty(name) if gives else None
        self._call(name, old=value)
        return None if value is None else _python(value)

    __getitem__ = get
    __setitem__ = set

    def _node(self, name: str) -> Name:
        if not self._nodes:
            self._nodes = {node.name: node for node in self.names()}
        node = self._nodes.get(NUMBER.sub("#", name))
        if node is None:
            raise KeyError(f"there is no name '{name}' in ctl")
        return node

    def _empty(self, name: str) -> ctypes._SimpleCData[Any]:
        kind = self._node(name).type
        if kind == "void":
            raise failed(errno.EPERM, f"'{name}' is an action; ctl.do does it")
        if kind not in TYPES:
            raise ValueError(f"'{name}' is of the type {kind}, which Python has no use for")
        return TYPES[kind]()

    def _call(self, name: str, old: ctypes._SimpleCData[Any] | None = None,
              new: ctypes._SimpleCData[Any] | None = None) -> None:
        self._node(name)
        read = (None, None) if old is None else (ctypes.byref(old), ctypes.byref(ctypes.c_size_t(ctypes.sizeof(old))))
        written = (None, 0) if new is None else (ctypes.byref(new), ctypes.sizeof(new))
        error = library().acre_mallctl(name.encode(), *read, *written)
        if error == errno.ENOENT:
            raise KeyError(f"there is no '{name}' in ctl")
        if error == errno.EINVAL:
            raise ValueError(f"'{name}' cannot be {_python(new)!r}" if new is not None else f"'{name}' gives no value")
        if error:
            raise failed(error, name)


def _python(value: ctypes._SimpleCData[Any]) -> Value:
    return value.value.decode(errors="replace") if isinstance(value.value, bytes) else value.value


def _c_value(name: str, empty: ctypes._SimpleCData[Any], value: Value) -> ctypes._SimpleCData[Any]:
    kind = type(empty)
    wanted = {ctypes.c_bool: bool, ctypes.c_char_p: str}.get(kind, int)
    if type(value) is not wanted:
        raise TypeError(f"'{name}' is a {wanted.__name__}, and no {type(value).__name__}")
    made = kind(value.encode()) if isinstance(value, str) else kind(value)
    if isinstance(value, int) and made.value != value:
        raise ValueError(f"'{name}' cannot be {value}")
    return made


ctl = Ctl()
