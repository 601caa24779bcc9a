"""acre run: becomes PROGRAM with acre preloaded. Its second start is the hot path: import late."""

import errno
import os
import sys

import library
from say import fail, say, usage_error

NOT_EXECUTABLE, NOT_FOUND = 126, 127  # as shells have them
STATS_FORMATS = ("summary", "main", "text", "json", "openmetrics")
LEAK_MODES = ("minimal", "normal", "strict", "draconian", "local")


class Options:
    """What holds unless the arguments say otherwise."""
    yes = False
    stats = None    # one of STATS_FORMATS
    profile = None  # bytes from sample to sample, as the option prof_sample takes them; "" for its default
    folder = None
    leaks = None    # one of LEAK_MODES
    suppressions = []
    lib = None

    def __init__(self, program):
        self.program = program


def add_arguments(parser):
    from command_line import add_yes
    parser.explain(
        """
        Runs PROGRAM on acre: becomes PROGRAM, with libacre.so preloaded, which is built first if need be. All that
        stands behind PROGRAM is its own, and so is the exit code once it runs.
        """,
        (("{acre} run --stats -- python3 app.py", "a summary of the memory of each process when it ends"),
         ("{acre} run --profile -o profiles -- redis-server", "heap profiles, into the folder profiles"),
         ("{acre} run --leaks -- tests/all", "the leaks, and exit code 23 if there are any")),
        {23: "--leaks: PROGRAM has leaks", 24: "--leaks: PROGRAM ended without a check, by _exit or a signal",
         126: "PROGRAM cannot be executed", 127: "PROGRAM was not found"})
    parser.add_argument("--stats", nargs="?", const="summary", choices=STATS_FORMATS, metavar="FORMAT",
                        help="print a summary of the memory when a process ends; main: of the last one only; text: all "
                        "statistics; json and openmetrics: for programs")
    parser.add_argument("--profile", nargs="?", const="", type=sample_bytes, metavar="BYTES",
                        help="write heap profiles for pprof when PROGRAM ends, sampling once in 512 KiB or so many "
                        "bytes (64K, 1M; 0: every block)")
    parser.add_argument("--leaks", nargs="?", const="normal", choices=LEAK_MODES, metavar="MODE",
                        help=f"look for leaks when PROGRAM ends and print them; {', '.join(LEAK_MODES)}")
    parser.add_argument("--suppressions", action="append", metavar="FILE",
                        help="leaks that are known (docs/leaks.md); may be given again")
    parser.add_argument("-o", "--output", dest="folder", metavar="FOLDER",
                        help="write profiles and reports of leaks to FOLDER and not to the current one")
    parser.add_argument("--lib", metavar="PATH", help="use this libacre.so, and build nothing")
    add_yes(parser)
    parser.add_argument("program", nargs="...", metavar="PROGRAM …", help="the program and its arguments")
    parser.set_defaults(**{name: value for name, value in vars(Options).items() if name[0] != "_"})


def sample_bytes(text):
    """As the library takes it: digits, and a letter for a power of 1024."""
    import argparse
    import re
    if text and not re.fullmatch(r"\d{1,15}[KMGTkmgt]?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of bytes such as 64K, 1M, 0")
    return text


def check(options):
    if options.program[:1] == ["--"]:
        options.program = options.program[1:]
    if options.folder is not None and options.profile is None and options.leaks is None:
        usage_error("run", "-o is for --profile and --leaks")
    if options.suppressions and options.leaks is None:
        usage_error("run", "--suppressions is for --leaks")
    if not options.program:
        usage_error("run", "no PROGRAM to run")
    if options.folder is not None:
        check_folder(os.path.abspath(options.folder))


def check_folder(folder):
    if any(letter in folder for letter in ",#\n"):
        fail(f"run: nothing can be written to '{folder}': a setting cannot have a comma or a # in it")
    if not os.path.isdir(folder):
        fail(f"run: there is no folder '{folder}'")


def chosen_library(options, command="run"):
    path = library.ensure(options.yes) if options.lib is None else os.path.abspath(options.lib)
    if not os.path.isfile(path):
        fail(f"{command}: there is no library at '{path}'")
    if " " in path or ":" in path:
        # LD_PRELOAD separates by both and has no way to quote.
        fail(f"{command}: '{path}' cannot be preloaded, since its path has a space or a colon in it; "
             "move it, or give --lib the path of a copy")
    return path


def original_environment():
    """The environment as acre was given it: in the C locale Python puts an LC_CTYPE into its own."""
    try:
        with open("/proc/self/environ", "rb") as block:
            entries = block.read().split(b"\0")
    except OSError:
        return dict(os.environb)
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def settings(options):
    """What the run's arguments ask of the library, as ACRE_CONF says it."""
    if options.stats:
        if options.stats != "main":
            yield "stats_print:true"
        if options.stats not in ("summary", "main"):
            yield f"stats_format:{options.stats}"
    if options.profile is not None:
        yield "prof:true"
        yield "prof_python:true"
        yield "prof_final:true"
    if options.profile:
        yield f"prof_sample:{options.profile}"
    if options.folder is not None and options.profile is not None:
        yield f"prof_folder:{os.path.abspath(options.folder)}"


def add_acre(environment, path, options, more=(), has_socket=True):
    before = environment.get(b"LD_PRELOAD")
    environment[b"LD_PRELOAD"] = os.fsencode(path) + (b":" + before if before else b"")
    before = environment.get(b"ACRE_CONF")
    words = [b"control:true"] * has_socket + ([before] if before else [])
    words += [os.fsencode(word) for word in (*settings(options), *more)]
    environment[b"ACRE_CONF"] = b",".join(words)


def find(name, environment, command="run"):
    """The file that execvp would take."""
    if "/" in name:
        candidates = [name]
    else:
        folders = os.fsdecode(environment.get(b"PATH", os.fsencode(os.defpath))).split(":")
        candidates = [os.path.join(folder or ".", name) for folder in folders]
    refused = None
    for path in candidates:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        if refused is None and (os.path.isfile(path) or (os.path.isdir(path) and "/" in name)):
            refused = path
    if refused:
        fail(f"{command}: '{refused}' is not executable", NOT_EXECUTABLE)
    where = "there is no such file" if "/" in name else "it is in no folder of PATH"
    fail(f"{command}: '{name}' was not found: {where}", NOT_FOUND)


def warn_if_preload_is_ignored(path):
    try:
        import elf
        reason = elf.why_preload_is_ignored(path)
    except OSError:
        return  # not readable, which is no reason not to run it
    if reason:
        say(f"warning: {reason}, so the loader ignores LD_PRELOAD and it runs without acre")


def restore_signals():
    """Undoes what Python did at its start, going by what the script `acre` saw before that."""
    import _signal as signal  # the same functions, without the 4 ms for its enums
    try:
        ignored = int(sys.argv[1], 16)
    except ValueError:
        ignored = 0
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        if not ignored & (1 << (number - 1)):
            signal.signal(number, signal.SIG_DFL)


def main(options):
    check(options)
    environment = original_environment()
    path = find(options.program[0], environment)
    library_path = chosen_library(options)
    warn_if_preload_is_ignored(path)

    def start(more=()):
        add_acre(environment, library_path, options, more)
        become(path, options.program, environment)

    if options.leaks is not None:
        import leaks_run
        return leaks_run.run(options, start)
    if options.stats or options.profile is not None:
        import run_report
        return run_report.run(options, start)
    start()


def become(path, program, environment):
    restore_signals()
    try:
        os.execve(path, program, environment)
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            # A script without an interpreter line: execvp gives it to the shell.
            os.execve("/bin/sh", ["sh", path, *program[1:]], environment)
        if error.errno == errno.ENOENT:
            # The file is there, so it is its loader or interpreter that is not.
            fail(f"run: '{path}' names an interpreter that does not exist", NOT_FOUND)
        fail(f"run: '{path}' cannot be executed: {error.strerror}", NOT_EXECUTABLE)
