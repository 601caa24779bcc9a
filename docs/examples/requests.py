"""A server whose requests have tags; one of them keeps what it allocates: docs/symptoms/which-request-leaks.md."""
import ctypes
import time

acre = ctypes.CDLL(None)  # what the process has, acre's functions too
kept = []


def search():
    return len([str(number) for number in range(2000)])


def report():
    kept.append([bytes(200) for _ in range(20)])


for _ in range(20_000):
    for request in (search, report):
        acre.acre_tag_push(request.__name__.encode())
        request()
        acre.acre_tag_pop()
    time.sleep(0.001)
