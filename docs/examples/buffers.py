"""Large buffers that come and go, and how often the kernel had to give a page: docs/symptoms/latency-spikes.md."""
import resource

for step in range(60):
    buffers = [bytearray(1 << 20) for _ in range(20)]
    del buffers
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt, "page faults")
