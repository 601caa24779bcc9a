"""Tables that the library has and tells by C functions of the form `int f(unsigned index, struct *out)`."""

import ctypes


def ask_library(path, function, structure):
    """The structures for index 0, 1 … until the function returns something else than 0. May raise OSError or
    AttributeError: the library, or its function, is not there."""
    ask = getattr(ctypes.CDLL(path), function)
    ask.argtypes = [ctypes.c_uint, ctypes.POINTER(structure)]
    ask.restype = ctypes.c_int
    found = []
    while ask(len(found), ctypes.byref(entry := structure())) == 0:
        found.append(entry)
    return found
