#!/usr/bin/env python3
"""Runs a target of libFuzzer on its seeds and on what grows out of them: always the same inputs, so many of them, or for
a time.

  run.py PROGRAM --inputs N [--conf ACRE_CONF] [--tests COUNT]

ACRE_FUZZ_SECONDS in the environment: so long, in place of N inputs, for COUNT tests of which ACRE_FUZZ_JOBS run at a time.
What is found then is kept in corpus/ in the build folder, where the next run goes on. Exit code 0: nothing is wrong.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_BYTES = {"containers": 2048, "core": 1500, "api": 3000, "ctl": 1000}  # of an input; 600 elsewhere
SHOWN = 60  # lines of a failure


def run(program, conf, limits, corpus, artifacts, folder):
    """-> exit code, and the end of what it said"""
    target = program.name.removeprefix("libfuzzer_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ACRE_CONF", "MALLOC_CONF", "TCMALLOC_"))}
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
    if conf:
        environment["ACRE_CONF"] = conf
    command = [program, "-seed=1", "-len_control=0", f"-max_len={MOST_BYTES.get(target, 600)}", "-timeout=60", "-rss_limit_mb=4096",
               "-verbosity=1", f"-artifact_prefix={artifacts}/{target}-", *limits, corpus, HERE / "seeds" / target]
    done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    lines = [line for line in done.stdout.splitlines() if "\tNEW" not in line and "\tREDUCE" not in line and "NEW_FUNC" not in line]
    return done.returncode, lines[-SHOWN:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--inputs", type=int, required=True)
    parser.add_argument("--conf", default="")
    parser.add_argument("--tests", type=int, default=1)
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    kept = program.parent
    seconds = int(os.environ.get("ACRE_FUZZ_SECONDS", 0))
    with tempfile.TemporaryDirectory(prefix="acre-fuzz-") as folder:
        corpus = Path(folder) / "corpus"
        limits = [f"-runs={arguments.inputs}"]
        if seconds:
            corpus = kept / "corpus" / program.name
            at_a_time = min(int(os.environ.get("ACRE_FUZZ_JOBS", 1)), arguments.tests)
            limits = [f"-max_total_time={max(1, seconds * at_a_time // arguments.tests)}"]
        corpus.mkdir(parents=True, exist_ok=True)
        code, lines = run(program, arguments.conf, limits, corpus, kept, folder)
    print("\n".join(lines if code else lines[-1:]))
    if code:
        conf = f"ACRE_CONF={arguments.conf} " if arguments.conf else ""
        print(f"again: {conf}ASAN_OPTIONS=detect_leaks=0 {program} FILE, with the file that libFuzzer names above; if the "
              "failure needs the inputs before it, this test again, which has always the same")
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
