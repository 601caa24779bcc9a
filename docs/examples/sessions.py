"""A server that had many sessions, and keeps one in 500 of them: docs/symptoms/memory-never-goes-down.md."""
import time

sessions = [bytes(1000) for _ in range(200_000)]
kept = sessions[::500]
del sessions
time.sleep(60)
