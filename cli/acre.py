"""The acre command. Started by the script `acre` with the mask of ignored signals before its arguments."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

# A command is a module with main(arguments) -> exit code, imported when it is called.
COMMANDS = ("run", "ps", "top", "stats", "ctl", "purge", "why", "doctor", "heap", "leaks", "lib", "options", "bench", "test")

USAGE = """\
acre: a memory allocator for Linux, and the tools around it

  ./acre run [-y] [--stats[=FORMAT]] [--profile[=BYTES]] [-o FOLDER] [--lib PATH] [--] PROGRAM ARGS…
        run PROGRAM on acre, building the library first if need be
          -y            install missing packages without asking
          --stats       print a summary of the memory when PROGRAM ends; with =text all
                        statistics, for programs with =json or =openmetrics
          --profile     write heap profiles for pprof when PROGRAM ends, sampling once in
                        512 KiB or so many BYTES (64K, 1M; 0: every block)
          --leaks       look for leaks when PROGRAM ends, print them, and end with 23 if
                        there are any; =MODE: minimal, normal, strict, draconian, local
          --suppressions FILE
                        leaks that are known
          -o FOLDER     write them and reports of leaks to FOLDER and not to the current one
          --lib PATH    use this libacre.so and build nothing
  ./acre ps [--json]
        list the running processes that `acre run` has started, or that have the option control
  ./acre top [-d SECONDS] [-n TIMES] [--json]
        the same, again and again, on a full screen, with views into each process
  ./acre stats PID [--text|--json|--openmetrics]
        print a summary of the memory of a running process, or all statistics
  ./acre ctl PID [NAME [VALUE]] [--json]
        ask or tell a running process by the names of docs/ctl.md; without one: list them
  ./acre purge PID [--json]
        make a running process return unused memory to the system
  ./acre why PID [--json]
        explain the resident memory of a running process, and what could be done about it
  ./acre why PID --watch [-d SECONDS] [-n TIMES] [--json]
        show again and again what grew since the first look, and what that is in an hour
  ./acre doctor [PID] [--json]
        find out what is wrong with the machine, the installation and a running process
  ./acre lib [-y]
        print the path of libacre.so, building it first if need be
  ./acre options [-y] [--json] [--lib PATH]
        print the options: what they may be, what they are now, and where that was set
  ./acre stats --classes [--json]
        print the size classes and what each wastes
  ./acre heap [--by KIND] [-n N] [--lines] [--lifetimes] [--collapsed] [--html[=PAGE]]
              [--pprof FILE] [--save FILE] [--diff] [--binaries FOLDER] [-o FILE] [-y] PROFILE…
        print the functions of heap profiles, added up, by what they hold
          --by KIND      inuse_space, alloc_space, held_space …; -n N: so many of them
          --lines        line by line
          --lifetimes    how long freed blocks had lived, and whether another thread freed them
          --collapsed    a line a stack, for flame graph programs; -o FILE: into a file
          --html[=PAGE]  a flame graph, as a page for a browser
          --pprof FILE   the same profile with names, for pprof without the binaries
          --save FILE    of one process: its profile as it is, as a file; .peak.pb.gz, .growth.pb.gz, .pb.gz or
                         another end of the name say of what kind
          --diff         what is more, and less, in the second of two profiles
  ./acre leaks [--json|--pprof FILE] [--suppressions FILE] REPORT|PID
        print the leaks of a report that the library wrote, or of a process that runs
  ./acre bench [-y] [--quick|--full] …
        measure acre against other allocators; `./acre bench --help` tells more
  ./acre test [-y] [-j N] [SUITE…]
        run the tests; `./acre test --list` names the suites

To start: ./acre run --stats -- python3 -c 'print("hello")'
"""


def main(arguments):
    if not arguments or arguments[0] in ("help", "-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    command, *rest = arguments
    if command not in COMMANDS:
        print(f"acre: there is no command '{command}'; ./acre help lists them", file=sys.stderr)
        return 2
    return __import__(f"{command}_command").main(rest)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output went away; leave nothing to be flushed into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
