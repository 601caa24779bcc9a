"""Runs a program that acre has to end: death_driver.py SOURCE --preload=LIB|'' [EMULATOR…] PROGRAM ARGS…

Passes if the program dies by SIGABRT and exactly one line of its stderr matches each regular
expression after an "expect:" in the first five lines of SOURCE. The program's exit code 77 is a skip.
"""

import os
import re
import resource
import signal
import subprocess
import sys

SKIPPED = 77
TIME_LIMIT_S = 60


def expectations(source):
    with open(source, encoding="utf-8") as lines:
        matches = [re.search(r"expect: *(.*?) *(\*/)? *$", line) for line, _ in zip(lines, range(5))]
    expected = [match.group(1) for match in matches if match]
    return expected or sys.exit(f"{source}: no '// expect: REGEX' in the first five lines; add one")


def run(program, preload):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = preload
    # Dozens of deliberate aborts should leave no core files.
    no_core = lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return subprocess.run(program, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
                          timeout=TIME_LIMIT_S, preexec_fn=no_core)


def how_it_ended(code):
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"


def main(source, preload, *program):
    expected = expectations(source)
    ended = run(program, preload.removeprefix("--preload="))
    if ended.returncode == SKIPPED:
        print(ended.stdout + ended.stderr)
        return SKIPPED
    problems = []
    if ended.returncode != -signal.SIGABRT:
        problems.append(f"it {how_it_ended(ended.returncode)}, not by SIGABRT")
    for regex in expected:
        matching = [line for line in ended.stderr.splitlines() if re.search(regex, line)]
        if len(matching) != 1:
            problems.append(f"{len(matching)} lines of stderr match, not one: {regex}")
    if not problems:
        print(ended.stderr, end="")
        return 0
    print(f"{source}: " + "; ".join(problems))
    print(f"--- stdout\n{ended.stdout}--- stderr\n{ended.stderr}---")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
