"""Allocates in Python functions of many kinds, a block of another size in each, and prints as JSON for each size the
functions that it came from by what the interpreter says: [[name, file, line], …], the innermost first. At the end it
forks, and in the parent the interpreter ends while a daemon thread allocates."""

import asyncio
import atexit
import functools
import json
import os
import sys
import threading
import zlib

PAGE = 4096
kept, told = [], {}


def tell(pages):
    """The stack of the caller, for a block of so many pages. The largest part of the last page is needed."""
    frame, names = sys._getframe(1), []
    while frame:
        names.append([frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    told[pages * PAGE] = names
    return pages * PAGE - 100


def plain():
    kept.append(bytearray(tell(20)))


def nested(depth):
    def inner(depth):
        if depth:
            return inner(depth - 1)

        kept.append(bytearray(tell(21)))

    inner(depth)


class Thing:
    @staticmethod
    def static():
        kept.append(
            bytearray(tell(22)))

    @property
    def value(self):
        return kept.append(bytearray(tell(23)))

    def __init__(self):
        kept.append(bytearray(tell(24)))

    def __eq__(self, other):
        kept.append(bytearray(tell(25)))
        return True

    def __del__(self):
        kept.append(bytearray(tell(26)))


def generator():
    kept.append(bytearray(tell(27)))
    yield 1
    kept.append(bytearray(tell(28)))
    yield from inner_generator()


def inner_generator():
    yield 2
    kept.append(bytearray(tell(29)))


async def waits():
    await asyncio.sleep(0)
    kept.append(bytearray(tell(30)))


async def together():
    await asyncio.gather(waits(), asyncio.sleep(0))
    kept.append(bytearray(tell(31)))


def raises():
    try:
        raise ValueError("a reason")
    except ValueError:
        kept.append(bytearray(tell(32)))
        raise
    finally:
        kept.append(bytearray(tell(33)))


def key(value):
    if value == 2:
        kept.append(bytearray(tell(34)))
    return -value


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)
    return wrapper


@decorated
@functools.lru_cache
def cached(pages, *, größe=0):
    kept.append(bytearray(tell(pages)))


def made_at_run_time():
    # Code objects, strings and tables of the same sizes, one after another at the same addresses.
    for i in range(5):
        for shift in range(4):
            source = "\n" * shift + f"def made_{i}():\n    kept.append(bytearray(tell({40 + 4 * i + shift})))\nmade_{i}()"
            exec(compile(source, "<made>", "exec"), globals())
            del globals()[f"made_{i}"]


def without_lock():
    # zlib gives up the interpreter's lock while it works, and allocates memory for itself then.
    data = bytes(10000)
    kept.append(zlib.compress(data, 9) + bytes(tell(36)))


def in_child():
    kept.append(bytearray(tell(70)))


def before_end():
    kept.append(bytearray(tell(71)))
    print(json.dumps(told), flush=True)


class AtEnd:
    """Is deleted when the interpreter ends: whatever its stack is by then, nothing may go wrong."""
    def __del__(self):
        for _ in range(100):
            bytearray(5000)


def allocates_for_ever():
    while True:
        bytearray(300000)
        zlib.compress(bytes(3000))


def main():
    plain()
    nested(3)
    Thing.static()
    thing = Thing()
    thing.value
    [thing].index(Thing.__new__(Thing))
    del thing
    list(generator())
    asyncio.run(together())
    try:
        raises()
    except ValueError:
        pass
    sorted([1, 2, 3], key=key)
    list(map(lambda pages: kept.append(bytearray(tell(pages))), [35]))
    without_lock()
    cached(37)
    thread = threading.Thread(target=cached, args=(38,), name="another")
    thread.start()
    thread.join()
    made_at_run_time()
    atexit.register(before_end)
    if "fork" in sys.argv:
        child = os.fork()
        if child == 0:
            in_child()
            sys.exit(0)
        os.waitpid(child, 0)
    sys.at_end = AtEnd()
    for _ in range(3):
        threading.Thread(target=allocates_for_ever, daemon=True).start()


main()
