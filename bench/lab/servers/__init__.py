"""Workloads that are servers: the server runs on the allocator, its clients do not. Each run starts its own,
in a folder, on a socket and under a process group of its own, and leaves nothing behind."""
