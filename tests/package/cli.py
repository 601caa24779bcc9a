"""./acre: the program that `acre run` starts should not notice that it was started so."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from checks import clean_environment, run

WASTE_LIMIT = 0.125


class Cli:
    """Calls of ./acre in an environment where it never asks."""

    def __init__(self, source):
        self.acre = source / "acre"
        self.environment = clean_environment(CI="true")

    def __call__(self, *arguments, **options):
        options.setdefault("environment", self.environment)
        return run([self.acre, *arguments], **options)


def inside(acre, code, *arguments, **options):
    """Code that uses the command's modules, in a process of its own."""
    code = f"import os, sys\nsys.path.insert(0, sys.argv[1])\n{code}"
    words = ["/usr/bin/python3", "-B", "-c", code, acre.acre.parent / "cli", *arguments]
    return run(words, acre.environment, **options)


def check_library(checks, acre):
    lib = acre("lib")
    last = lib.stdout.rstrip("\n").rpartition("\n")[2]
    checks.that(lib.returncode == 0 and last.endswith(".so") and Path(last).is_file(),
                "acre lib ends with the path of the library", lib.stdout + lib.stderr)
    return last


def check_passes_through(checks, acre, library):
    ended = acre("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    checks.that(ended.returncode == 7, "the exit code is the program's", ended)
    checks.that((ended.stdout, ended.stderr) == ("out\n", "err\n"), "stdout and stderr are the program's", ended)
    ended = acre("run", "--", "sh", "-c", "kill -TERM $$")
    checks.that(ended.returncode == -signal.SIGTERM, "a signal that ends the program is seen as such", ended)
    ended = run(["sh", "-c", f"'{acre.acre}' run -- sh -c 'kill -TERM $$'; echo $?"], acre.environment)
    checks.that(ended.stdout == "143\n", "a shell sees 143 for a SIGTERM", ended)
    check_signal_to_program(checks, acre)
    check_signal_after_program(checks, acre)
    text = "one\ntwo\n" * 1000
    ended = acre("run", "cat", input=text)
    checks.that(ended.stdout == text, "stdin is the program's")
    ended = acre("run", "--", "printf", "%s|", "a b", "--", "-y", "")
    checks.that(ended.stdout == "a b|--|-y||", "arguments arrive as they were", ended)
    for options in (["--lib", library], ["--lib", library, "--"]):
        ended = acre("run", *options, "printf", "%s|", "--stats", "--", "-y", "-o")
        checks.that(ended.stdout == "--stats|--|-y|-o|", f"the program's arguments stay its own after {options}", ended)
    maps = acre("run", "--", "cat", "/proc/self/maps").stdout
    checks.that(os.path.realpath(library) in maps, "the library is in the program's memory", maps)


def check_signal_to_program(checks, acre):
    """The process that was started is the program: no parent stands between."""
    program = subprocess.Popen([acre.acre, "run", "--", "sleep", "100"], env=acre.environment)
    name = ""
    for _ in range(500):
        name = Path(f"/proc/{program.pid}/comm").read_text().strip()
        if name == "sleep":
            break
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    checks.that(name == "sleep" and program.wait(10) == -signal.SIGINT,
                "a signal goes to the program itself", f"{name} {program.poll()}")


def check_signal_after_program(checks, acre):
    """Once the program has ended its number is anyone's: signals are acre's own again."""
    code = "import child, signal; child.run(lambda: os._exit(0)); os.kill(os.getpid(), getattr(signal, sys.argv[2]))"
    for name, said in (("SIGTERM", ""), ("SIGINT", "KeyboardInterrupt")):
        ended = inside(acre, code, name, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        checks.that(ended.returncode == -getattr(signal, name) and said in ended.stderr
                    and "ProcessLookupError" not in ended.stderr, f"{name} after the program's end ends acre", ended)


def check_environment(checks, acre):
    seen = acre("run", "--", "env", environment={"PATH": os.environ["PATH"]}).stdout.splitlines()
    # The shell that starts ./acre may add PWD, SHLVL and _, as for any script.
    names = {line.partition("=")[0] for line in seen} - {"PWD", "OLDPWD", "SHLVL", "_"}
    checks.that(names == {"PATH", "LD_PRELOAD", "ACRE_CONF"},
                "the environment gains LD_PRELOAD and ACRE_CONF, and nothing else", names)
    both = acre("run", "--", "printenv", "LD_PRELOAD", environment=dict(acre.environment, LD_PRELOAD="libdl.so.2"))
    checks.that(both.stdout.endswith("libacre.so:libdl.so.2\n"), "an LD_PRELOAD that was there is kept", both)
    both = acre("run", "--stats", "--", "printenv", "ACRE_CONF",
                environment=dict(acre.environment, ACRE_CONF="stats_print:false"))
    checks.that(both.stdout.startswith("control:true,stats_print:false,stats_print:true,"), "an ACRE_CONF that was there is kept", both)
    for way, disposition in (("default", signal.SIG_DFL), ("ignored", signal.SIG_IGN)):
        def before():
            signal.signal(signal.SIGPIPE, disposition)
            signal.signal(signal.SIGXFSZ, disposition)
        look = ["grep", "SigIgn", "/proc/self/status"]
        plain = run(look, acre.environment, preexec_fn=before, restore_signals=False).stdout
        under = acre("run", "--", *look, preexec_fn=before, restore_signals=False).stdout
        checks.that(plain == under != "", f"SIGPIPE and SIGXFSZ stay {way}", f"{plain}{under}")


def check_stats(checks, acre):
    ended = acre("run", "--stats", "--", "true")
    checks.that(any(line.startswith("acre") for line in ended.stderr.splitlines()) and not ended.stdout,
                "acre run --stats prints a summary to stderr", ended)
    both = acre("run", "--stats=text", "--", "printenv", "ACRE_CONF")
    checks.that(both.stdout.startswith("control:true,stats_print:true,stats_format:text,") and "\nall arenas\n" in both.stderr,
                "acre run --stats=text prints all statistics", both)
    ended = acre("run", "--stats=json", "--", "true")
    try:
        figures = json.loads(ended.stderr)["acre"]["process"]
        checks.that(figures["allocated"] <= figures["mapped"] > 0, "acre run --stats=json prints JSON", ended)
    except ValueError:
        checks.that(False, "acre run --stats=json prints JSON", ended)
    ended = acre("run", "--stats=openmetrics", "--", "true")
    checks.that(ended.stderr.endswith("# EOF\n"), "acre run --stats=openmetrics prints OpenMetrics", ended)
    ended = acre("stats", "--classes", "--json")
    try:
        report = json.loads(ended.stdout)
    except ValueError:
        checks.that(False, "acre stats --classes --json prints JSON", ended)
        return
    classes = report["classes"]
    smallest = [row["smallest_request"] for row in classes[1:]]
    checks.that(smallest == [row["size"] + 1 for row in classes[:-1]],
                "each size class begins where the one before it ends", smallest)
    coarse = [row for row in classes if row["smallest_request"] > 128 and row["worst_waste"] > WASTE_LIMIT]
    checks.that(classes and not coarse, "above 128 bytes no class wastes more than an eighth", coarse)
    table = acre("stats", "--classes")
    checks.that(table.returncode == 0 and len(table.stdout.splitlines()) == len(classes) + 2,
                "acre stats --classes prints a line a class, a title and a summary", table)


def documented(page, title):
    """The rows of a table in a page of the documentation, as lists of cells."""
    lines = page.read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(title))
    rows = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def check_options(checks, acre):
    ended = acre("options", "--json", environment=dict(acre.environment, ACRE_CONF="arenas:3,thread_cache_max:1G"))
    try:
        options = json.loads(ended.stdout)
    except ValueError:
        checks.that(False, "acre options --json prints JSON", ended)
        return
    by_name = {option["name"]: option for option in options}
    checks.that([by_name["arenas"][key] for key in ("type", "default", "range", "value", "set_by")]
                == ["number", "0", "0 … 256", "3", "ACRE_CONF"], "acre options tells what is set, and where",
                by_name["arenas"])
    checks.that(by_name["thread_cache_max"]["value"] == "1G" and by_name["unit_table"]["set_by"] == "default",
                "acre options shows bytes in units, and defaults", ended)
    table = acre("options")
    checks.that(table.returncode == 0 and len(table.stdout.splitlines()) == len(options) + 1 and not table.stderr,
                "acre options prints a line an option and a title", table)
    wrong = acre("options", environment=dict(acre.environment, ACRE_CONF="arenas:900"))
    checks.that(wrong.returncode == 0 and "'arenas:900' is ignored" in wrong.stderr,
                "acre options says what is wrong in ACRE_CONF", wrong)


def check_tcmalloc_page(checks, library, source):
    """The page names what the sources name, and says rightly what can be set."""
    page = source / "docs/tcmalloc.md"
    in_page = {name: row[1].startswith("yes") for row in documented(page, "| property | set, P |")
               for name in re.findall(r"`([a-z_.]+)`", row[0])}
    in_source = {name: kind == "W" for kind, name in
                 re.findall(r'\b([RW])\("([a-z_.]+)"', (source / "src/control/properties.cc").read_text())}
    checks.that(in_page == in_source, "the table of properties in docs/tcmalloc.md is the library's",
                sorted(in_page.items() ^ in_source.items()))
    ask, value = ctypes.CDLL(library).acre_get_property, ctypes.c_size_t()
    unknown = [name for name in in_page if not ask(name.encode(), ctypes.byref(value))]
    checks.that(in_page and not unknown, "the library knows these properties", unknown)
    variables = [name for row in documented(page, "| variable | option |")
                 for name in re.findall(r"`(TCMALLOC_\w+)`", row[0])]
    synonyms = re.findall(r'"(TCMALLOC_\w+)", Option', (source / "src/tables/synonyms.h").read_text())
    checks.that(sorted(variables) == sorted(set(synonyms)), "the variables in docs/tcmalloc.md are those that are read",
                [variables, synonyms])


def check_refusals(checks, acre, work):
    def ends(what, code, *arguments, **options):
        ended = acre(*arguments, **options)
        checks.that(ended.returncode == code and len(ended.stderr.splitlines()) == 1 and not ended.stdout,
                    f"{what}: exit code {code} and one line", ended)

    ends("no such program", 127, "run", "--", "acre-has-no-such-program")
    ends("no such file", 127, "run", "--", work / "nothing")
    plain = work / "plain.txt"
    plain.write_text("echo hello\n")
    ends("not executable", 126, "run", "--", plain)
    ends("a folder", 126, "run", "--", work)
    lost = work / "lost"
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)
    ends("an interpreter that does not exist", 127, "run", "--", lost)
    ends("unknown command", 2, "frobnicate")
    ends("unknown option", 2, "run", "--frobnicate", "true")
    ends("no number of bytes", 2, "run", "--profile=abc", "true")
    ends("no such format", 2, "run", "--stats=yaml", "true")
    ends("no program", 2, "run")
    ends("unknown suite", 2, "test", "frobnicate")
    ends("no kind of package", 2, "package", "frobnicate")
    ends("nothing to package", 2, "package")
    ends("unknown argument of options", 2, "options", "--frobnicate")
    ends("nothing to record", 2, "record")
    ends("nothing to record behind --", 2, "record", "--")
    ends("options behind a PID", 2, "record", "4711", "--for", "3")
    ends("too small a bound", 2, "record", "--limit", "1K", "--", "true")
    ends("no number of bytes", 2, "record", "--limit=many", "--", "true")
    ends("no rate of stacks", 2, "record", "--stacks=often", "--", "true")
    ends("a rate of 0", 2, "record", "--stacks=0", "--", "true")
    ends("no process to record", 1, "record", "2147483647")
    ends("no program to record", 127, "record", "--", "acre-has-no-such-program")
    ends("no recording", 1, "trace", work / "nothing")
    ends("a file that is no recording", 1, "trace", plain)
    ends("no kind of event", 2, "trace", plain, "--kind", "frobnicate")
    ends("no range of sizes", 2, "trace", plain, "--size", "big")
    ends("a filter of a check", 2, "trace", plain, "--check", "--size", "3")
    ends("nothing to replay", 2, "replay")
    ends("no recording to replay", 1, "replay", work / "nothing")
    ends("no such way to touch", 2, "replay", plain, "--touch", "some")
    ends("no number of rounds", 2, "replay", plain, "--rounds", "0")
    ends("no library to ask", 1, "options", "--lib", work / "nothing.so")
    ends("no library", 1, "run", "--lib", work / "nothing.so", "true")
    for option in ("--leaks", "--profile"):
        ends(f"no folder for {option}", 1, "run", option, "-o", work / "nothing", "--", "true")
        ends(f"a folder that no setting can name for {option}", 1, "run", option, "-o", work / "a,b", "--", "true")
    plain.chmod(0o755)
    ended = acre("run", "--", plain)
    checks.that(ended.stdout == "hello\n", "a script without interpreter line runs in the shell", ended)
    usage = acre()
    checks.that(usage.returncode == 0 and "./acre run" in usage.stdout, "no arguments: usage", usage)
    for words, meant in ((["stast"], "stats"), (["run", "--stas", "true"], "--stats"),
                         (["bench", "compar"], "compare")):
        ended = acre(*words)
        checks.that(ended.returncode == 2 and f"did you mean '{meant}'?" in ended.stderr, f"{words}: {meant}?", ended)


def check_record(checks, acre, work):
    """The recorder with the command: what is recorded is what happened."""
    path = work / "a.actrace"
    program = "import sys; held = [bytes(n) for n in range(40000, 41000)]; print(len(held)); sys.exit(3)"
    ended = acre("record", "-o", path, "--", "/usr/bin/python3", "-c", program)
    checks.that(ended.returncode == 3 and ended.stdout == "1000\n" and f"wrote {path}: " in ended.stderr,
                "acre record passes a program's output and exit code on", ended)
    checked = acre("trace", path, "--check", "--json")
    found = json.loads(checked.stdout)
    checks.that(checked.returncode == 0 and found["sound"] and found["lost"] == found["excused"] == 0,
                "what it wrote is sound", checked)
    lines = [json.loads(line) for line in acre("trace", path, "--json", "--size", "40000-41100").stdout.splitlines()]
    sizes = sorted({line["size"] for line in lines})
    checks.that(len(lines) >= 1000 and sizes[-1] - sizes[0] >= 999, "each allocation is there with its size", sizes)
    process, = json.loads(acre("trace", path, "--info", "--json").stdout)["processes"]
    checks.that((process["end"], process["status"]) == ("exit", 3) and process["start"]["argv"][-1] == program,
                "so are the program and its end", process)
    ended = acre("record", "-o", path, "--", "/usr/bin/python3", "-c", "import os; os.kill(os.getpid(), 9)")
    checks.that(ended.returncode == -signal.SIGKILL and acre("trace", path, "--check").returncode == 0,
                "a kill loses nothing", ended)
    ended = acre("record", "-o", path, "--", "sh", "-c", "ls / | cat; sh -c 'exit 5'")
    checked = json.loads(acre("trace", path, "--check", "--json").stdout)
    checks.that(ended.returncode == 5 and checked["sound"] and checked["processes"] >= 4,
                "processes that a shell starts are recorded, too", [ended, checked])
    piped = subprocess.run(["sh", "-c", f"'{acre.acre}' trace '{path}' | head -n 1"], capture_output=True, text=True,
                           env=acre.environment)
    checks.that(piped.stdout.count("\n") == 1 and not piped.stderr, "a broken pipe of acre trace is quiet", piped)
    if checks.succeeds("forks.cc builds", ["g++", "-O1", "-pthread", Path(__file__).parent / "programs/forks.cc", "-o",
                                           work / "forks"]):
        ended = acre("record", "-o", path, "--", work / "forks")
        found = json.loads(acre("trace", path, "--check", "--json").stdout)
        checks.that(ended.returncode == 0 and found["sound"] and found["processes"] == 21,
                    "children that are forked while threads allocate are recorded", [ended, found])
        checks.that(found["frees_of_earlier_blocks"] == 0, "and have the blocks of their parent", found)
        lines = acre("trace", path, "--json", "--kind", "takeover", "--process", "20").stdout.splitlines()
        first = {}
        for line in map(json.loads, lines):
            first.setdefault(line["shard"], line["epoch"])
        checks.that(first and set(first.values()) == {1}, "and epochs of their own", first)
    check_record_of_running(checks, acre, work)
    (work / "true.1.actrace.00000317").touch()  # of a bounded recording that has dropped its first
    for name in ("true.actrace", "true.2.actrace"):
        acre("record", "--", "true", cwd=work)
        checks.that((work / name).is_file(), f"without -o the file is {name}")


def check_record_of_running(checks, acre, work):
    program = subprocess.Popen([acre.acre, "run", "--", "/usr/bin/python3", "-c", "import time\nwhile True:\n"
                                "  held = [bytes(3000) for _ in range(100)]; time.sleep(0.01)"], env=acre.environment)
    path = work / "running.actrace"
    try:
        for which in ("first", "second"):
            ended = acre("record", "--for", "1", "--stacks", "-o", path, program.pid)
            lines = acre("trace", path, "--json", "--stacks", "--size", "3000-3300").stdout.splitlines()
            depths = [len(event.get("frames", ())) for event in map(json.loads, lines)]
            checks.that(depths and min(depths) > 5, f"stacks of a process that runs are there, the {which} time", depths[:5])
        found = json.loads(acre("trace", path, "--check", "--json").stdout)
        checks.that(ended.returncode == 0 and program.poll() is None and found["sound"] and found["events"] > 1000,
                    "a process that runs is recorded for a time", [ended, found])
        recorder = subprocess.Popen([acre.acre, "record", "-o", path, str(program.pid)], env=acre.environment,
                                    stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        again = acre("record", "-o", work / "again.actrace", program.pid)
        checks.that(again.returncode == 1 and "is being recorded already" in again.stderr and
                    again.stderr.count("\n") == 1 and not (work / "again.actrace").exists(),
                    "a second recording of a process: a line, and no file", again)
        earlier = shutil.copy(path, work / "earlier.actrace")
        before = earlier.read_bytes()
        for options in ((), ("--limit", "4M")):
            again = acre("record", *options, "-o", earlier, program.pid)
            checks.that(again.returncode == 1 and "is being recorded already" in again.stderr and
                        earlier.read_bytes() == before and not list(work.glob("earlier.actrace.*")),
                        f"it leaves an earlier recording as it is, too, {options}", again)
        with subprocess.Popen(["sleep", "100"]) as other:
            refused = acre("record", "-o", earlier, other.pid)
            other.kill()
        checks.that(refused.returncode == 1 and "does not run on acre" in refused.stderr and
                    refused.stderr.count("\n") == 1 and earlier.read_bytes() == before,
                    "of a process without acre: a line, and an earlier recording stays", refused)
        program.kill()
        checks.that(recorder.wait(20) == 0 and acre("trace", path, "--check").returncode == 0,
                    "a recording ends with its process", recorder.stderr.read())
    finally:
        program.kill()
        program.wait()


def check_standard_files(checks, acre):
    """Full, closed and broken ones, and Ctrl-C: one line or none, and the codes that a shell expects."""
    for what, line, code, said in (
            ("a full stdout", "options > /dev/full", 1, 1), ("a full stdout for help", "--help > /dev/full", 1, 1),
            ("a closed stdout", "options >&-", 1, 1), ("a closed stdin", "options <&-", 0, 0),
            ("a closed stderr", "frobnicate 2>&-", 2, 0), ("a full stderr", "frobnicate 2> /dev/full", 2, 0),
            ("all closed", "options <&- >&- 2>&-", 1, 0), ("a profile from a closed stdin", "heap - <&-", 1, 1)):
        ended = run(["sh", "-c", f"'{acre.acre}' {line}"], acre.environment)
        checks.that(ended.returncode == code and ended.stderr.count("\n") == said and "Traceback" not in ended.stderr,
                    f"{what}: exit code {code}, lines of stderr: {said}", ended)
    for command in ("options", "--help"):
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run([acre.acre, command], env=acre.environment, stdout=writer, stderr=subprocess.PIPE,
                               timeout=60, check=False)
        os.close(writer)
        checks.that(ended.returncode == -signal.SIGPIPE and not ended.stderr, f"{command} into a broken pipe", ended)
    waits = subprocess.Popen([acre.acre, "top", "-n", "2", "-d", "1000"], env=acre.environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    waits.stdout.readline()
    waits.send_signal(signal.SIGINT)
    said = waits.communicate(timeout=60)[1]
    checks.that(said == b"" and waits.returncode == -signal.SIGINT, "Ctrl-C is quiet", said)


def check_static_program(checks, acre, work):
    (work / "still.c").write_text('#include <stdio.h>\nint main(void) { puts("still"); return 0; }\n')
    if checks.succeeds("a static program builds", ["gcc", "-static", "-o", work / "still", work / "still.c"]):
        ended = acre("run", "--", work / "still")
        checks.that(ended.stdout == "still\n" and "statically linked" in ended.stderr,
                    "a static program runs, with a warning", ended)


def check_no_temporary_folder(checks, acre):
    none = "import tempfile\ndef none(*_, **__): raise OSError(2, 'there is none')\ntempfile.mkdtemp = none\n"
    of_run = none + "import run_command; options = run_command.Options(['sh']); "
    start = "lambda more: os.execv('/bin/sh', ['sh', '-c', 'exit 7'])"
    for what, code, wanted in (
            ("acre run --stats runs the program", f"{of_run}options.stats = 'main'; import run_report as it", 7),
            ("acre run --leaks", f"{of_run}options.leaks = 'normal'; import leaks_run as it", 1),
            ("acre plot", f"{none}import plot_command; plot_command.temporary_folder()", 1)):
        ended = inside(acre, code + (f"; sys.exit(it.run(options, {start}))" if " as it" in code else ""))
        checks.that(ended.returncode == wanted and ended.stderr.endswith(": there is none\n") and
                    ended.stderr.count("\n") == 1, f"no temporary folder: {what}, and one line", ended)


def check_builder(checks, acre, work):
    (work / "sources/src").mkdir(parents=True)
    (work / "sources/src/.#file.cc").symlink_to("somebody@somewhere.1:2")
    ended = inside(acre, "import library; library.ROOT = sys.argv[2]; print(library.fingerprint())", work / "sources")
    checks.that(ended.returncode == 0 and "/src/.#file.cc " in ended.stdout, "a lock of Emacs' among the sources",
                ended)
    ended = inside(acre, "import library\nwith library.one_builder('/dev/null/release'): print('builds')")
    said = "acre: cannot build in '/dev/null/release': Not a directory\n"
    checks.that(ended.returncode == 1 and ended.stderr == said,
                "a build folder that cannot be written to: one line", ended)


def check_places(checks, acre, work):
    link = work / "acre-link"
    link.symlink_to(acre.acre)
    ended = run([link, "run", "--", "pwd"], acre.environment, cwd=work)
    checks.that(ended.stdout == f"{work}\n", "a link to acre works from another folder", ended)


def fastest(command, environment, rounds=15):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=False)
        times.append(time.perf_counter() - start)
    return min(times)


def check_second_run(checks, acre, work):
    """It finds all that it needs where nothing but Python and the program is: it cannot take long."""
    tools = Path(work) / "python alone"
    tools.mkdir()
    for name in ("env", "python3", "true"):
        (tools / name).symlink_to(shutil.which(name))
    ended = acre("run", "--", "true", environment=dict(acre.environment, PATH=str(tools)))
    added = fastest([acre.acre, "run", "--", "true"], acre.environment) - fastest(["true"], acre.environment)
    checks.that(ended.returncode == 0 and ended.stderr == "",
                f"acre run builds nothing the second time (it adds {added * 1e3:.0f} ms)", ended)


def check(checks, source, work):
    acre = Cli(source)
    library = check_library(checks, acre)
    check_passes_through(checks, acre, library)
    check_environment(checks, acre)
    check_stats(checks, acre)
    check_options(checks, acre)
    check_tcmalloc_page(checks, library, source)
    check_record(checks, acre, work)
    check_refusals(checks, acre, work)
    check_standard_files(checks, acre)
    check_static_program(checks, acre, work)
    check_no_temporary_folder(checks, acre)
    check_builder(checks, acre, work)
    check_places(checks, acre, work)
    check_second_run(checks, acre, work)
