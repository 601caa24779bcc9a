"""The commands: a name, and what it does in one line."""

COMMANDS = {
    "run": "run a program on acre",
    "ps": "list the running processes on acre",
    "top": "show the processes on acre again and again, on a full screen",
    "stats": "print the statistics of a running process, or the size classes",
    "ctl": "ask or tell a running process by name, as mallctl does",
    "purge": "make a running process return unused memory to the system",
    "why": "explain the resident memory of a running process",
    "doctor": "find out what is wrong with the machine, the installation and a process",
    "exporter": "serve the processes on acre by HTTP, for Prometheus and pprof",
    "heap": "print heap profiles: a table, a flame graph, a file for pprof",
    "leaks": "print the leaks of a report or of a running process",
    "record": "record each allocation and free of a program",
    "trace": "print, filter or check a recording",
    "plot": "draw a recording: the heap over time, as a page or a picture",
    "replay": "play a recording on acre and other allocators",
    "lib": "print the path of libacre.so",
    "options": "print the options: what they may be, what they are, where that was set",
    "bench": "measure acre against other allocators",
    "test": "run acre's tests",
    "package": "make a source tarball, Debian packages, RPM packages",
    "docs": "build the documentation as a site",
}

OF_THE_SOURCES = ("test", "package", "docs")  # an installed acre does not have them
