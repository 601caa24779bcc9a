"""Runs CTest in a build tree, shows how it goes, and counts."""

import os
import re
import subprocess
import xml.etree.ElementTree

import steps
from places import build_folder
from say import Progress

#  12/340 Test #12: surface.basic.linked ...........   Passed    0.01 sec
# Between a parameterized test's name and the dots stands its parameter.
RESULT = re.compile(r"^ *(\d+)/(\d+) Test +#\d+: (\S+) .*?\.\.+ *(\D*?) +([\d.]+) sec\s*$")
FOOTER = re.compile(r"^\d+% tests passed|^No tests were found")
NOISE = re.compile(r"^\s+Start +\d+:|^Test project |^UpdateCTest|^Constructing|^Done constructing|"
                   r"^Updating test|^Internal ctest|^Added \d+ tests|^Checking test|^test \d+$|"
                   r"^\d+: (Test command|Working Directory|Environment variables|Test timeout)|"
                   r"^\d+:  \w+=|^\s*$")


TELLS_FAILURE = re.compile(r"\bFAIL|\bfailed\b|Failure$|\bERROR\b|Traceback|\w+Error\b|Sanitizer: ")
LINES_AFTER = 4   # a line that tells a failure
MOST_LINES = 24   # of a failed test, in the summary


class Counts:
    def __init__(self, passed=0, failed=(), skipped=()):
        self.passed = passed
        self.failed = list(failed)
        self.skipped = list(skipped)
        self.digests = {}  # failed test -> lines of its output


def run(suite, jobs):
    folder = build_folder(suite.preset)
    report = os.path.join(folder, f"acre-{suite.name}.junit.xml")
    if os.path.exists(report):
        os.remove(report)
    command = ["ctest", "--test-dir", folder, "-j", str(jobs), "--output-junit", report,
               "--output-on-failure", *suite.choice]
    if suite.verbose:
        command.append("--verbose")
    environment = dict(steps.clean_environment(), PYTHONUNBUFFERED="1", CTEST_OUTPUT_ON_FAILURE="1")
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
    show(suite, process.stdout)
    process.wait()
    return count(report, process.returncode)


def show(suite, lines):
    """Failures and skips as they come, the rest as progress."""
    progress = Progress()
    over = False
    for line in lines:
        line = line.rstrip("\n")
        over = over or bool(FOOTER.match(line))
        result = RESULT.match(line)
        if over or NOISE.match(line):
            continue
        if not result:
            progress.clear()
            print(line, flush=True)
            continue
        done, total, name, outcome, seconds = result.groups()
        outcome = outcome.strip(" *")
        text = f"{suite.name}: {done}/{total} {name}"
        if outcome == "Passed" and float(seconds) < 10:
            progress.update(text)
        else:
            progress.clear()
            print(f"{text}: {outcome.lower()} ({float(seconds):.1f} s)", flush=True)
    progress.clear()


def reason(case):
    """The last line that a skipped test said."""
    lines = (case.findtext("system-out") or "").strip().splitlines()
    return f" ({lines[-1].strip()[:100]})" if lines else ""


def digest(output):
    """-> the lines of a failed test that tell what failed, and some after each; or its last lines, where none does.

    A log may be kept by its end alone, and the summary is there.
    """
    lines = [line.rstrip()[:400] for line in output.splitlines() if line.strip()]
    chosen = [line for i, line in enumerate(lines)
              if any(TELLS_FAILURE.search(told) for told in lines[max(0, i - LINES_AFTER):i + 1])]
    return chosen[:MOST_LINES] or lines[-MOST_LINES:]


def count(report, exit_code):
    counts = Counts()
    try:
        cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        counts.failed.append(f"ctest left no report ({error})")
        return counts
    for case in cases:
        name, status = case.get("name"), case.get("status")
        skipped = case.find("skipped")
        if status == "run":
            counts.passed += 1
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            counts.skipped.append(f"{name}{reason(case)}")
        else:
            # Also what could not be started: a test that did not run has not passed.
            counts.failed.append(name)
            counts.digests[name] = digest(case.findtext("system-out") or "")
    if exit_code and cases and not counts.failed:
        counts.failed.append(f"ctest ended with exit code {exit_code}")
    return counts
