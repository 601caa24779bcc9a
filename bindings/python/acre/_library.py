"""The library that this process runs on."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

WRITE = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class NotActive(RuntimeError):
    """The process does not run on acre."""

    def __init__(self) -> None:
        super().__init__("this process does not run on acre; start it by `acre run -- python3 …`")


class MallctlNode(ctypes.Structure):
    """struct acre_mallctl_node of acre/acre.h."""
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("readable", c_int), ("writable", c_int)]


class TagFigures(ctypes.Structure):
    """struct acre_tag_info of acre/tags.h."""
    _fields_ = [("name", ctypes.c_char * 64), ("live", c_uint64), ("allocated", c_uint64), ("peak", c_uint64),
                ("limit", c_uint64), ("refused", c_uint64)]


# As the headers of acre declare them.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "acre_owns": (c_int, [c_void_p]),
    "acre_version": (c_char_p, []),
    "acre_malloc_trim": (c_int, [c_size_t]),
    "acre_stats_print": (c_int, [c_char_p, WRITE, c_void_p]),
    "acre_mallctl": (c_int, [c_char_p, c_void_p, POINTER(c_size_t), c_void_p, c_size_t]),
    "acre_mallctl_info": (c_int, [c_uint, POINTER(MallctlNode)]),
    "acre_tag": (c_void_p, [c_char_p]),
    "acre_tag_get": (c_int, [c_void_p, POINTER(TagFigures)]),
    "acre_tag_limit": (None, [c_void_p, c_size_t]),
    "acre_tag_drop": (None, [c_void_p]),
}
# These say which tag the thread has, which is a word or two: giving up the interpreter's lock around them takes longer.
QUICK_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "acre_tag_push": (c_int, [c_char_p]),
    "acre_tag_pop": (c_int, []),
}


class Library:
    """Its functions, by name. Raises NotActive."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self) -> None:
        for kind, functions in ((ctypes.CDLL, FUNCTIONS), (ctypes.PyDLL, QUICK_FUNCTIONS)):
            process = kind(None, use_errno=True)
            for name, (result, arguments) in functions.items():
                try:
                    function = process[name]
                except AttributeError:
                    raise NotActive from None
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)
        if not self.has_malloc(process):
            raise NotActive

    def has_malloc(self, process: ctypes.CDLL) -> bool:
        """The library may be loaded without being malloc."""
        process.malloc.restype, process.malloc.argtypes = c_void_p, [c_size_t]
        process.free.restype, process.free.argtypes = None, [c_void_p]
        block = process.malloc(1)
        owns = self.acre_owns(block)
        process.free(block)
        return owns == 1


_library: Library | None = None


def library() -> Library:
    global _library
    if _library is None:
        _library = Library()
    return _library


def is_active() -> bool:
    """Does this process run on acre? Then malloc is acre's."""
    try:
        library()
    except NotActive:
        return False
    return True


def failed(error: int, what: str) -> OSError:
    """Of the kind that suits the error number, such as PermissionError."""
    return OSError(error, f"{os.strerror(error)}: {what}")
