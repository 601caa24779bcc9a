"""The leak checker on small programs, each with one known kind of leak, or of what is none.

Each program says what is to be found, in comments:
    // leaks MODE: BLOCKS FUNCTION [+ HELD], …      or: none
that is, so many blocks that nothing holds, allocated by this function of the program (?: its code is gone), which hold
so many others. More lines: `with: SETTINGS`; `linked`: with acre; `running: N`: threads that could not be stopped;
`library: NAME`: a library to load, built twice, whose paths are its arguments; `section`: it checks itself.

Exit code 0: all well, 1: not. ACRE_LIB names the library. Arguments: the programs to try; without any all of them, and
what is not about single programs.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
sys.path.insert(0, str(HERE.parent / "package"))
sys.path.insert(0, str(HERE.parent / "profile"))
sys.path.insert(0, str(SOURCE / "cli"))

from checks import Checks, check_page, clean_environment, run
from leak_report import Report, rules_from
from pprof import Profile

LEAKS = 23
NOT_CHECKED = 24
ACRE = SOURCE / "acre"
HELPERS = ("plugin", "server")  # which other tests use


def library():
    path = os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so"
    return Path(path).resolve()


class Program:
    def __init__(self, source, work):
        self.source = source
        self.name = source.stem
        text = source.read_text(encoding="utf-8")
        self.modes = {mode: self.parse(found) for mode, found in re.findall(r"^// leaks (\w+): (.*)$", text, re.M)}
        self.settings = (re.findall(r"^// with: (.*)$", text, re.M) or [""])[0]
        self.running = int((re.findall(r"^// running: (\d+)$", text, re.M) or [0])[0])
        self.linked = "\n// linked\n" in text
        self.is_section = "\n// section\n" in text
        self.path = work / self.name
        self.arguments = []
        more = [library(), f"-Wl,-rpath,{library().parent}"] if self.linked else []
        compile_(source, self.path, *more)
        for name in re.findall(r"^// library: (\w+)$", text, re.M):
            for number in range(2):
                self.arguments.append(work / f"{name}{number}.so")
                compile_(source.parent / f"{name}.c", self.arguments[-1], "-shared", "-fPIC")

    @staticmethod
    def parse(text):
        """-> {function: (blocks, held)}"""
        if text == "none":
            return {}
        found = {}
        for part in text.split(","):
            words = re.fullmatch(r"\s*(\d+) (\S+)(?: \+ (\d+))?\s*", part)
            found[words[2]] = int(words[1]), int(words[3] or 0)
        return found


def compile_(source, to, *more):
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    subprocess.run([compiler, "-g", "-O0", "-pthread", "-Wall", "-Wextra", "-Wno-unused-result", "-Wno-unused-function",
                    f"-I{SOURCE / 'include'}", source, "-o", to, *more, "-ldl"], check=True)


def run_program(program, mode, folder, *more, arguments=(), **options):
    settings = [f"leaks:{mode}", f"leaks_folder:{folder}", *more] + ([program.settings] if program.settings else [])
    environment = {"ACRE_CONF": ",".join(settings)}
    if not program.linked:
        environment["LD_PRELOAD"] = library()
    return run([program.path, *program.arguments, *arguments], environment=clean_environment(**environment), **options)


def reports(folder):
    return [Report(path, rules_from([])) for path in sorted(Path(folder).glob("*.json"))]


def sites_of(report, program):
    """As the programs' comments: by the innermost function that is the program's."""
    found = {}
    for site in report.sites:
        own = [frame for frame in site.frames if frame.object == str(program.path) and frame.function]
        name = own[0].function.replace("(anonymous namespace)::", "").split("(")[0].split("::")[-1] if own else "?"
        if site.frames and site.frames[0].mapping is None:
            name = "?"
        blocks, held = found.get(name, (0, 0))
        found[name] = blocks + site.blocks, held + site.held_blocks
    return found


def check_program(checks, program, work):
    for mode, wanted in program.modes.items():
        folder = Path(tempfile.mkdtemp(dir=work))
        ended = run_program(program, mode, folder)
        if ended.returncode == 77:
            print(f"skip  {program.name}: not possible here")
            continue
        code = 0 if program.is_section or not wanted else LEAKS
        what = f"{program.name}, {mode}: " + (", ".join(f"{b} {f}" + (f" + {h}" if h else "")
                                                       for f, (b, h) in wanted.items()) or "none")
        written = reports(folder)
        found = sites_of(written[0], program) if written else {}
        checks.that(ended.returncode == code and found == wanted and len(written) == bool(wanted) and
                    (not written or written[0].raw["threads_not_stopped"] == program.running),
                    what, f"exit code {ended.returncode}, {found}, {os.listdir(folder)}\n{ended.stderr}\n" +
                    "".join(report.as_text() for report in written))


def check_exit_code(checks, lost, work):
    """Who ends a program, and with what: the library by itself, and acre run."""
    folder = Path(tempfile.mkdtemp(dir=work))
    ended = run_program(lost, "normal", folder, "leaks_exit_code:7")
    checks.that(ended.returncode == 7, "leaks_exit_code is the exit code", ended)
    path = next(folder.glob("lost.*.leaks.json"))
    checks.that(ended.stderr == "acre: 5 blocks of together 105906512 bytes leaked; "
                f"'acre leaks {path}' says where they are from\n",
                "a line on stderr says what leaked and where the report is", ended.stderr)
    none = Path(tempfile.mkdtemp(dir=work))
    ended = run_program(lost, "none", none)
    checks.that(ended.returncode == 0 and not os.listdir(none), "without the option nothing is looked for", ended)
    ended = run_program(lost, "local", none)
    checks.that(ended.returncode == 0 and not os.listdir(none), "with leaks:local nothing is looked for", ended)
    ended = run_program(lost, "normal", none, "leaks_process:1")
    checks.that(ended.returncode == 0 and not os.listdir(none), "another process is not asked", ended)


def check_children(checks, work):
    program = Program(HERE / "programs/forked.c", work)
    folder = Path(tempfile.mkdtemp(dir=work))
    ended = run_program(program, "normal", folder, "leaks_process:-1")
    checks.that(ended.returncode == 1 and len(reports(folder)) == 1, "a child of fork is asked if wanted", ended)


def acre(*arguments, **options):
    return run([ACRE, *arguments], **options)


def check_command(checks, lost, work):
    folder = Path(tempfile.mkdtemp(dir=work))
    ended = acre("run", "--leaks", "-o", folder, "--lib", library(), "--", lost.path)
    checks.that(ended.returncode == LEAKS and re.search(
        r"^336 bytes in 3 blocks, allocated by\n    lose \(.*/lost\.c:\d+\)\n    main \(.*/lost\.c:\d+\)$",
        ended.stderr, re.M) is not None and "from 3 places" in ended.stderr,
        "acre run --leaks says what leaked, with lines, and ends with 23", ended)
    path = next(folder.glob("lost.*.leaks.json"))
    said = json.loads(acre("leaks", "--json", path).stdout)
    first = next(site for site in said["sites"] if site["blocks"] == 3)
    checks.that(said["leaked_blocks"] == 5 and first["bytes"] == 336 and first["frames"][0]["function"] == "lose" and
                first["frames"][0]["line"] > 0, "acre leaks --json has the same", said)
    checks.that(acre("leaks", path).returncode == LEAKS, "acre leaks ends with 23, too")
    pprof = folder / "leaks.pb.gz"
    acre("leaks", "--pprof", pprof, path)
    profile = Profile(pprof)
    checks.that(profile.types == ["leaked_objects", "leaked_space", "held_objects", "held_space"] and
                profile.sum("leaked_objects") == 5 and "lose_large" in profile.strings,
                "acre leaks --pprof has the same")
    if checks.has("go", "pprof itself reads leaks"):
        said = run(["go", "tool", "pprof", "-sample_index=leaked_objects", "-top", pprof], timeout=200,
                   environment=clean_environment(PPROF_TMPDIR=folder, HOME=folder, DEBUGINFOD_URLS=""))
        checks.that(re.search(r"^ *3 .* lose$", said.stdout, re.M) is not None, "go tool pprof reads it",
                    said.stdout + said.stderr)
    ended = acre("leaks", "--pprof", folder / "none/leaks.pb.gz", path)
    checks.that(ended.returncode == 2 and re.fullmatch(r"acre leaks: cannot write '.*': No such file or directory\n",
                ended.stderr) is not None, "a profile that cannot be written: exit code 2 and one line", ended)
    known = folder / "known"
    known.write_bytes("# Bl\u00f6cke\nobject:lost\n".encode("latin-1"))
    checks.that(acre("leaks", "--suppressions", known, path).returncode == 0, "suppressions need not be UTF-8")
    known.write_text("# all but one\nfunction:lose object:lost   # both have to fit\nfile:*/lost.c function:*_huge\n")
    ended = acre("leaks", "--suppressions", known, path)
    checks.that(ended.returncode == LEAKS and "1048576 bytes in 1 block leaked, from 1 place" in ended.stdout and
                "suppressed: 336 bytes in 3 blocks by 'function:lose object:lost'" in ended.stdout,
                "suppressions take away what is known", ended)
    known.write_text("object:lost\n")
    ended = acre("run", "--leaks", "--suppressions", known, "--lib", library(), "--", lost.path)
    checks.that(ended.returncode == 0 and "no leaks, but 5 suppressed blocks" in ended.stderr,
                "what is suppressed does not count for the exit code", ended)
    known.write_text("module:lost\n")
    checks.that(acre("leaks", "--suppressions", known, path).returncode == 2, "a wrong suppression is an error")
    checks.that(acre("leaks", known).returncode == 2, "what is no report is an error")
    ended = acre("run", "--leaks", "--lib", library(), "--", "sh", "-c", f"{lost.path}; kill -TERM $$")
    checks.that(ended.returncode == NOT_CHECKED and "sh was not checked for leaks, since SIGTERM ended it" in ended.stderr,
                "a program that a signal ends is said not to have been checked, and what it starts is not asked", ended)
    for way, code in (("import os; os._exit(3)", "exit code 3"), ("import os; os.execv('/bin/true', ['true'])", None),
                      ("import os; del os.environ['LD_PRELOAD']; os.execv('/bin/true', ['true'])", "exit code 0")):
        ended = acre("run", "--leaks", "--lib", library(), "--", "/usr/bin/python3", "-c", way)
        wanted = f"python3 was not checked for leaks, since it ended with {code}" if code else "mode normal: no leaks"
        checks.that(ended.returncode == (NOT_CHECKED if code else 0) and wanted in ended.stderr,
                    f"what `{way}` ends has its own exit code", ended)
    nowhere = folder / "nowhere"
    nowhere.write_text("#!/nowhere/at/all\n")
    nowhere.chmod(0o755)
    ended = acre("run", "--leaks", "--lib", library(), "--", nowhere)
    checks.that(ended.returncode == 127 and "was not checked" not in ended.stderr, "what cannot start is said", ended)
    ended = acre("run", "--leaks", "--lib", library(), "--", "/usr/bin/python3", "-c",
                 "import sys; sys.exit(5)")
    checks.that(ended.returncode == 5, "without leaks the exit code is the program's", ended)


def check_earlier_report(checks, lost, work):
    """Of a process that had the number which the program has now."""
    folder = Path(tempfile.mkdtemp(dir=work))
    run_program(lost, "normal", folder)
    next(folder.glob("lost.*.leaks.json")).rename(folder / "other.4711.leaks.json")
    code = ("import os, sys\nsys.path.insert(0, sys.argv[1])\nimport child, leaks_run, run_command\n"
            "def run(become):\n    for path in sys.argv[3:]:\n        os.utime(path)\n    return 4711, 0\n"
            "child.run, options = run, run_command.Options(['true'])\n"
            "options.folder, options.leaks = sys.argv[2], 'normal'\nsys.exit(leaks_run.run(options, None))")
    for what, written, wanted in (("is not the program's", [], NOT_CHECKED),
                                  ("is, if it is written again", [folder / "other.4711.leaks.json"], LEAKS)):
        ended = run(["/usr/bin/python3", "-B", "-c", code, SOURCE / "cli", folder, *written])
        checks.that(ended.returncode == wanted, f"an earlier process's report of leaks {what}", ended)


def forms_of(name, work):
    """Of the only site that this program's report has: -> the report's path, and its text, JSON and pprof's profile."""
    folder = Path(tempfile.mkdtemp(dir=work))
    run_program(Program(HERE / "programs" / name, work), "normal", folder)
    path = next(folder.glob("*.json"))
    pprof = folder / "leaks.pb.gz"
    acre("leaks", "--pprof", pprof, path)
    site, = json.loads(acre("leaks", "--json", path).stdout)["sites"]
    return path, acre("leaks", path).stdout, site, Profile(pprof)


def check_held(checks, work):
    """Blocks that leaked ones hold, in all forms; and rules that fit them, or their root."""
    path, said, site, profile = forms_of("holder.c", work)
    checks.that(re.search(r"^48 bytes in 1 block, which hold 3328 bytes in 2 blocks, allocated by\n    make_holder \(.*\n"
                          r"(?:    .*\n)*    hold 3328 bytes in 2 blocks, allocated by\n        fill \(.*\n        main ",
                          said, re.M) is not None, "the text says which blocks hold others", said)
    held, = site["held"]
    checks.that((site["blocks"], site["held_blocks"], site["held_bytes"], held["blocks"], held["bytes"],
                 held["frames"][0]["function"]) == (1, 2, 3328, 2, 3328, "fill"), "and so does JSON", site)
    checks.that((profile.sum("leaked_objects"), profile.sum("held_objects")) == (1, 2), "and pprof's file", profile.samples)
    for rule, left in (("fill", "48 bytes in 1 block leaked"), ("make_holder", "no leaks")):
        known = path.parent / "known"
        known.write_text(f"function:{rule}\n")
        said = acre("leaks", "--suppressions", known, path).stdout
        checks.that(left in said, f"a rule for {rule} leaves: {left}", said)


def check_truncated(checks, work):
    """A stack that is too high to be kept as a whole is marked in each report."""
    _, text, site, profile = forms_of("deep.c", work)
    checks.that("more, and perhaps others\n" in text, "a truncated stack is marked in the text", text)
    checks.that(site["truncated"] is True and len(site["frames"]) == 128, "and in JSON", site)
    checks.that([said.get("stack") for _, _, said in profile.samples] == ["truncated"], "and in pprof's file")


def check_live(checks, work):
    server = Program(HERE / "programs/server.c", work)
    folder = Path(tempfile.mkdtemp(dir=work))
    conf = f"control:true,leaks:normal,leaks_folder:{folder},leaks_signal:{int(signal.SIGUSR2)}"
    process = subprocess.Popen([server.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))
    try:
        for lost in range(1, 4):
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            ended = acre("leaks", str(process.pid))
            wanted = f"{112 * lost} bytes in {lost} block{'s' if lost > 1 else ''} leaked, from 1 place"
            checks.that(ended.returncode == LEAKS and wanted in ended.stdout and
                        "threads were stopped for" in ended.stdout,
                        f"a process that runs is checked: {lost} lost", ended)
        process.send_signal(signal.SIGUSR2)
        until = time.monotonic() + 60
        while not (reports := list(folder.glob("*.leaks.json"))) and time.monotonic() < until:
            time.sleep(0.02)
        checks.that(len(reports) == 1, "a signal makes it write a report", reports)
        checks.that(process.poll() is None, "and goes on running")
    finally:
        process.kill()
        process.wait()


class Sessions:
    """The program sessions.cc while it runs."""

    ROUND = 2000  # blocks that it loses in one

    def __init__(self, work, conf):
        self.program = Program(HERE / "programs/sessions.cc", work)
        self.process = subprocess.Popen([self.program.path, "live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def next_round(self):
        """-> how many blocks are lost by now, and the report of a check as JSON"""
        lost = int(self.process.stdout.readline())
        report = json.loads(acre("leaks", "--json", str(self.process.pid)).stdout)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return lost, report


def check_hidden(checks, work):
    """Without the option leaks some leaks are hidden by leftovers, and the report says how many, more or less."""
    with Sessions(work, "control:true") as sessions:
        lost, report = sessions.next_round()
        found, hidden = report["leaked_blocks"], report["doubtful_blocks"]
        checks.that(lost // 2 < found < lost and (lost - found) / 4 < hidden < (lost - found) * 2,
                    "a live check finds most leaks and estimates how many are hidden", f"{found} and {hidden} of {lost}")
        checks.that(any(f"about {hidden} more blocks are probably leaked" in note and "acre run --leaks" in note
                        for note in report["notes"]), "and says what finds them", report["notes"])
    with Sessions(work, "control:true,leaks:normal") as sessions:
        lost, report = sessions.next_round()
        checks.that((report["leaked_blocks"], report["doubtful_blocks"]) == (lost, 0),
                    "with the option leaks a live check finds all", (lost, report["leaked_blocks"]))


def check_scaled(checks, work):
    """In a process that is profiled a sampled leak stands for the others of its size, and grows steadily.

    Of 1000 leaks or more some 15 % are sampled. For less than 75 % the sample would have to be some six standard
    deviations off: that happens once in 10^9 runs.
    """
    with Sessions(work, "control:true,prof:true,prof_sample:2K") as sessions:
        for _ in range(3):
            lost, report = sessions.next_round()
            site = report["sites"][0]
            checks.that(any("handle" in frame["function"] for frame in site["frames"]) and
                        0.75 * report["leaked_blocks"] < site["blocks"] <= report["leaked_blocks"] <= lost and
                        0 < site["sampled_blocks"] < site["blocks"] / 2 and
                        sum(one["blocks"] + one["held_blocks"] for one in report["sites"]) == report["leaked_blocks"],
                        f"{site['sampled_blocks']} sampled blocks stand for {site['blocks']} of {lost}", report)
        said = acre("leaks", str(sessions.process.pid)).stdout
        checks.that(re.search(r"^about \d+ bytes in \d+ blocks \(\d+ sampled\),( which hold .*,)? allocated by\n    ", said, re.M) and
                    re.search(r"^note: \d+ of \d+ leaked blocks were sampled, one in 2 KiB on average", said, re.M),
                    "the text says what is estimated", said)


def check_scale(checks):
    """What samples stand for, by numbers: most of a size; no more than chance explains; what has no stack is left."""
    def site(number, blocks, block_bytes=100, **more):
        return {"stack": number and [number], "truncated": 0, "blocks": blocks, "bytes": blocks * block_bytes,
                "block_bytes": block_bytes, **more}

    def sites(*leaks, sample=100):
        text = json.dumps({"acre_leaks": 1, "mappings": [], "leaks": leaks, "profiled": 1, "prof_sample": sample,
                           "leaked_blocks": sum(leak["blocks"] for leak in leaks),
                           "leaked_bytes": sum(leak["bytes"] for leak in leaks)})
        return [(site.stack and site.stack[0], site.blocks, site.bytes, site.sampled, site.held_blocks)
                for site in Report("-", [], text).sites]

    checks.that(sites(site(1, 50), site(2, 25), site(None, 45)) == [(1, 80, 8000, 50, 0), (2, 40, 4000, 25, 0)],
                "samples of one size stand for all of it")
    found = sites(site(1, 100), site(None, 100000))
    checks.that(found[0][0] == 1 and 150 < found[0][1] < 250 and found[1] == (None, 100100 - found[0][1],
                10010000 - found[0][2], 0, 0), "one that few samples cannot stand for is left", found)
    checks.that(sites(site(1, 10), site(None, 3, 500)) == [(1, 10, 1000, 10, 0), (None, 3, 1500, 0, 0)],
                "samples do not stand for other sizes")
    checks.that(sites(site(1, 10), site(2, 10, held_by=[1]), site(3, 10, held_by=None), site(None, 30, held_by=[1])) ==
                [(1, 20, 2000, 10, 20), (3, 20, 2000, 10, 0)], "blocks that a root holds stand for others, too")


def check_static(checks, work):
    """Without an unwinder stacks are those of frame pointers, and all else is the same."""
    program = Program(HERE / "programs/list.c", work)
    archive = library().parent / "libacre.a"
    if not archive.exists():
        print("      no libacre.a: no static program is tried")
        return
    program.path = work / "list_static"
    subprocess.run(["gcc", "-g", "-O0", "-static", HERE / "programs/list.c", "-o", program.path,
                    "-Wl,--undefined=malloc", archive, "-lpthread"], check=True)
    program.linked = True
    folder = Path(tempfile.mkdtemp(dir=work))
    ended = run_program(program, "normal", folder)
    report = (reports(folder) or [None])[0]
    checks.that(ended.returncode == LEAKS and report is not None and report.blocks == 5 and
                sum(site.blocks for site in report.sites) == 1, "a static program: 1 make_list + 4",
                f"{ended}\n{report.as_text() if report else ''}")


def check_real(checks, work):
    """Programs that start, do something and stop, with no false report beyond the suppressions."""
    commands = {
        "perl": ["perl", "-MPOSIX", "-MData::Dumper", "-e", "print Dumper({map {$_ => [1..$_]} 1..50})"],
        "python3": ["/usr/bin/python3", "-c", "import ctypes, decimal, json, re, sqlite3, threading\n"
                    "threading.Thread(target=lambda: json.dumps(list(range(1000)))).start()"],
    }
    for name, command in commands.items():
        if not checks.has(command[0], "it ends without leaks"):
            continue
        for mode in ("normal", "strict"):
            ended = acre("run", f"--leaks={mode}", "--lib", library(), "--", *command)
            checks.that(ended.returncode == 0 and f"mode {mode}: no leaks" in ended.stderr,
                        f"{name}, {mode}: no leaks", ended.stderr)
    if checks.has("redis-server", "it ends without leaks") and checks.has("redis-cli", "it asks redis"):
        check_redis(checks, Path(tempfile.mkdtemp(dir=work)))


def check_redis(checks, folder):
    socket = folder / "redis"
    process = subprocess.Popen([ACRE, "run", "--leaks", "--lib", library(), "--", "redis-server", "--port", "0",
                                "--unixsocket", socket, "--save", "", "--dir", folder], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment())
    try:
        until = time.monotonic() + 60
        while not socket.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        many = map(str, range(200))
        for words in (["set", "a", "b"], ["rpush", "list", *many], ["del", "a"], ["shutdown", "nosave"]):
            run(["redis-cli", "-s", socket, *words], timeout=60)
        said, _ = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    checks.that(process.returncode == 0 and "mode normal: no leaks" in said, "redis, normal: no leaks", said)


def main():
    checks = Checks()
    work = Path(tempfile.mkdtemp(prefix="acre-leaks-test-"))
    try:
        chosen = sys.argv[1:]
        for source in sorted((HERE / "programs").glob("*.c*")):
            if source.stem in HELPERS or (chosen and source.stem not in chosen):
                continue
            program = Program(source, work)
            check_program(checks, program, work)
        if not chosen:
            lost = Program(HERE / "programs/lost.c", work)
            check_exit_code(checks, lost, work)
            check_children(checks, work)
            check_command(checks, lost, work)
            check_earlier_report(checks, lost, work)
            check_held(checks, work)
            check_truncated(checks, work)
            check_live(checks, work)
            check_hidden(checks, work)
            check_scaled(checks, work)
            check_scale(checks)
            check_static(checks, work)
            check_real(checks, work)
            check_page(checks, SOURCE / "docs/leaks.md", library(), 9)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
