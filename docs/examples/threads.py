"""Twenty threads that had much to do and are idle now: docs/symptoms/many-threads.md."""
import threading
import time


def work():
    rows = [bytes(size) for size in range(16, 4000, 16) for _ in range(20)]
    del rows
    time.sleep(60)


for _ in range(20):
    threading.Thread(target=work).start()
