"""What is left of a process that ends without its last dump: by _exit, a signal, a crash, exec. Arguments: none; ACRE_LIB
names the library."""

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
sys.path.insert(0, str(SOURCE / "cli"))

from checks import Checks, clean_environment, run
from heap_profile import pprof
from heap_profile.postmortem import Postmortem
from heap_profile.protobuf import Malformed

ACRE = SOURCE / "acre"
KEEPER = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *volatile kept[30000];
static __attribute__((noinline)) void keep(int count) { for (int i = 0; i < count; i++) kept[i] = memset(malloc(1000), 1, 1000); }
static __attribute__((noinline)) void keep_in_child(int count) { keep(count); }
static void handler(int number) { (void)number; write(1, "mine\\n", 5); _exit(9); }
int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    if (strcmp(way, "handler") == 0) signal(SIGTERM, handler);
    keep(20000);
    if (strcmp(way, "_exit") == 0) _exit(3);
    if (strcmp(way, "kill") == 0) raise(SIGKILL);
    if (strcmp(way, "term") == 0 || strcmp(way, "handler") == 0) raise(SIGTERM);
    if (strcmp(way, "abort") == 0) abort();
    if (strcmp(way, "crash") == 0) *(volatile int *)8 = 1;
    if (strcmp(way, "exec") == 0) execl("/bin/true", "true", NULL);
    if (strncmp(way, "fork", 4) == 0) {
        const pid_t child = fork();
        if (child == 0) {
            if (strcmp(way, "fork, pause") == 0) {  // acre's thread begins by the first of these, and is the first to make the file
                for (int size = 64; size < 512; size += 64) kept[0] = malloc(size);
                usleep(50000);
            }
            keep_in_child(5000); _exit(0); }
        waitpid(child, NULL, 0);
    }
    int ready[2];
    if (strcmp(way, "daemon") == 0 && pipe(ready) == 0) {
        if (fork() == 0) { keep_in_child(5000); for (int i = 0; i < 3; i++) close(i); write(ready[1], "", 1); sleep(60); }
        read(ready[0], ready, 1);
    }
    if (strcmp(way, "nothing") == 0) _exit(0);
    return 0;
}
"""


def library():
    return Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()


class Keeper:
    """Runs the program under acre run, in a folder of its own."""

    def __init__(self, work):
        self.work = work
        source = work / "keeper.c"
        source.write_text(KEEPER)
        self.path = work / "keeper"
        subprocess.run(["gcc", "-g", "-O0", "-Wno-unused-result", source, "-o", self.path], check=True)

    def run(self, way, *options):
        folder = Path(tempfile.mkdtemp(dir=self.work))
        ended = run([ACRE, "run", *options, "--lib", library(), "--", self.path, way], cwd=folder)
        return ended, folder


    def total_of_slow_child(self):
        """MiB in the profile of a forked child, while files take long to be made"""
        folder = Path(tempfile.mkdtemp(dir=self.work))
        slow = ["strace", "-f", "-q", "-o", "/dev/null", "-e", "trace=fallocate",
                "-e", "inject=fallocate:delay_enter=300000"]
        run([ACRE, "run", "--profile=32K", "--lib", library(), "--", *slow, self.path, "fork, pause"], cwd=folder)
        return max((total(path) for path in folder.glob("keeper.*.live.pb.gz")), default=0)


def total(path):
    return float(re.search(r"([\d.]+) MiB", heap(path))[1])


def heap(path, *options):
    return run([ACRE, "heap", "-n", "5", *options, path]).stdout


def holds(path, function, mebibytes, *options):
    """Whether the function's total is about that."""
    sizes = [float(size) for line in heap(path, *options).splitlines() if re.search(rf"\b{function}\b", line)
             for size in re.findall(r"([\d.]+) MiB", line)]
    return any(0.7 * mebibytes < size < 1.3 * mebibytes for size in sizes)


def check_profiles(checks, keeper):
    for way, code, why in (("_exit", 3, "it ended by _exit(3)"), ("kill", -signal.SIGKILL, "SIGKILL ended it"),
                           ("abort", -signal.SIGABRT, "SIGABRT ended it"), ("crash", -signal.SIGSEGV, "SIGSEGV ended it"),
                           ("term", -signal.SIGTERM, "SIGTERM ended it"), ("", 0, None)):
        ended, folder = keeper.run(way, "--profile=32K")
        paths = list(folder.glob("keeper.*.live.pb.gz"))
        checks.that(ended.returncode == code and len(paths) == 1 and holds(paths[0], "keep", 19.5) and
                    len(list(folder.glob("keeper.*.peak.pb.gz"))) == 1 and
                    f"wrote {paths[0].name}, the profile of keeper" in ended.stderr and
                    f"next: ./acre heap {paths[0].name}" in ended.stderr and
                    (f", as it was when {why}" if why else "") in ended.stderr and ("as it was" in ended.stderr) == bool(why),
                    f"the profile of a program that ends by {way or 'a return'} is there", f"{ended}\n{os.listdir(folder)}")
    ended, folder = keeper.run("exec", "--profile=32K")
    path, = folder.glob("keeper.*.live.pb.gz")
    checks.that(holds(path, "keep", 19.5) and "exec replaced it" in ended.stderr, "and of one that exec replaces", ended)
    ended, folder = keeper.run("fork", "--profile=32K")
    totals = sorted(round(total(path)) for path in folder.glob("keeper.*.live.pb.gz"))
    checks.that(len(totals) == 2 and 16 < totals[0] < 23 and 20 < totals[1] < 29,
                "a child of fork that ends by _exit has a profile of its own, with what it inherited", f"{totals}\n{ended}")
    totals = [keeper.total_of_slow_child() for _ in range(3)]
    checks.that(all(22 < total < 29 for total in totals), "also where another thread of it is just making the file", totals)
    ended, folder = keeper.run("handler", "--profile=32K")
    checks.that(ended.returncode == 9 and "mine" in ended.stdout, "a handler of the program's own is left alone", ended)
    ended, folder = keeper.run("nothing", "--profile=1T")
    checks.that("nothing was sampled" in ended.stderr and not os.listdir(folder), "too few samples are said", ended)
    ended = run([ACRE, "run", "--profile", "--lib", library(), "--", "/no/such/program"])
    checks.that(ended.returncode == 127 and ended.stderr.count("\n") == 1, "a program that is not there", ended)


def check_odd_path(checks, keeper):
    """A program whose path is not UTF-8, as are those of others' machines."""
    folder = Path(os.fsdecode(os.fsencode(keeper.work) + b"/caf\xe9"))
    folder.mkdir()
    program = shutil.copy(keeper.path, folder)
    ended = run([ACRE, "run", "--profile=32K", "--lib", library(), "--", program, "kill"], cwd=folder)
    paths = list(folder.glob("keeper.*.live.pb.gz"))
    checks.that(ended.returncode == -signal.SIGKILL and "Traceback" not in ended.stderr and len(paths) == 1
                and 16 < total(paths[0]) < 23, "a program whose path is not UTF-8 has its profile", ended)
    run([program, "kill"], environment=clean_environment(
        LD_PRELOAD=library(), ACRE_CONF=f"postmortem:{keeper.work},prof:true,prof_sample:32K"))
    path, = keeper.work.glob("keeper.*.postmortem")
    for option in ("--html", "--pprof"):
        ended = run([ACRE, "heap", f"{option}={keeper.work / 'made'}", path])
        checks.that(ended.returncode == 0 and (keeper.work / "made").stat().st_size > 0,
                    f"and acre heap {option} takes what it left", ended)
        (keeper.work / "made").unlink(missing_ok=True)
    path.unlink()


def check_daemon(checks, keeper):
    ended, folder = keeper.run("daemon", "--profile=32K")
    found = re.search(r"keeper \((\d+)\) still runs: `./acre heap \1` shows its profile", ended.stderr)
    checks.that(found is not None, "a process that goes on is named", ended)
    if found:
        os.kill(int(found[1]), signal.SIGKILL)


def check_statistics(checks, keeper):
    for way, why in (("_exit", "it ended by _exit(3)"), ("kill", "SIGKILL ended it"), ("crash", "SIGSEGV ended it")):
        ended, _ = keeper.run(way, "--stats")
        checks.that(re.search(rf"did not print its statistics, since {re.escape(why)}; the last ones, \d\.\d\d s old:\n"
                              r"acre \S+, keeper, process \d+\n  live ", ended.stderr) is not None,
                    f"statistics of a program that ends by {way} are printed", ended)
    conf = "stats_print:true,final_signals:true"
    ended = run([keeper.path, "term"], environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))
    checks.that(ended.returncode == -signal.SIGTERM and
                re.search(r"keeper, process \d+\n  live +(19|2\d)\.\d MiB", ended.stderr) is not None,
                "with final_signals SIGTERM ends a program after its statistics", ended)
    ended = run([ACRE, "run", "--stats", "--lib", library(), "--", "/usr/bin/python3", "-c",
                 "import os, signal\ntry: os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt: print('caught')"])
    checks.that(ended.stdout == "caught\n" and ended.returncode == 0, "signals are as they are without acre", ended)
    ended, _ = keeper.run("fork", "--stats=main")
    checks.that(ended.stderr.count("acre 0") == 1 and re.search(r"keeper, process \d+\n  live +(19|2\d)", ended.stderr),
                "--stats=main prints those of one process", ended)
    ended = run([ACRE, "run", "--stats=main", "--lib", library(), "--", "/bin/sh", "-c", f"{keeper.path} exec"])
    checks.that(ended.stderr.count("acre 0") == 1 and ", true, process" in ended.stderr,
                "the one that the program became", ended)


def check_file(checks, keeper):
    """The options without the command."""
    folder = Path(tempfile.mkdtemp(dir=keeper.work))
    environment = clean_environment(LD_PRELOAD=library(), ACRE_CONF=f"postmortem:{folder},prof:true,prof_sample:32K")
    run([keeper.path, "kill"], environment=environment)
    path, = folder.glob("keeper.*.0.postmortem")
    checks.that(path.stat().st_mode & 0o777 == 0o600 and holds(path, "keep", 19.5), "acre heap reads the file", heap(path))
    kept = Postmortem(path.read_bytes())
    blocks = sum(row.live[0] for row in kept.rows)
    checks.that(kept.mean == 32768 and 400 < blocks < 900 and all(row.allocated[0] >= row.live[0] for row in kept.rows),
                "its rows are those of the profile", blocks)
    for size in (1000, (1 << 20) + 100):  # in the head, in the rows
        (folder / "cut").write_bytes(path.read_bytes()[:size])
        ended = run([ACRE, "heap", folder / "cut"])
        checks.that(ended.returncode == 1 and "it is cut off" in ended.stderr, f"{size} bytes of one are an error", ended)
    ended = run([keeper.path, ""], environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF="postmortem:/no/where"))
    checks.that(ended.returncode == 0 and "option postmortem: error 2" in ended.stderr, "no folder is said", ended)


def check_signals(checks, keeper):
    """A program that waits and one that allocates all the time, ended from outside, many times."""
    busy = keeper.work / "busy.c"
    busy.write_text("#include <stdlib.h>\nint main(void) { void *volatile b; for (unsigned i = 0;; i++) { b = malloc(i % 99999);"
                    " free(b); } }\n")
    subprocess.run(["gcc", "-O1", busy, "-o", keeper.work / "busy"], check=True)
    codes = []
    for number in range(12):
        folder = Path(tempfile.mkdtemp(dir=keeper.work))
        conf = f"prof:true,prof_sample:16K,prof_final:true,prof_folder:{folder},final_signals:true"
        command = ["sleep", "60"] if number % 4 == 0 else [keeper.work / "busy"]
        process = subprocess.Popen(command, env=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))
        time.sleep(0.05)
        process.send_signal(signal.SIGHUP if number % 2 else signal.SIGTERM)
        codes.append((process.wait(timeout=60), len(list(folder.glob("*.live.pb.gz")))))
    checks.that(set(codes) == {(-signal.SIGHUP, 1), (-signal.SIGTERM, 1)},
                "SIGTERM and SIGHUP end a program that is busy with malloc, after its profile", codes)


SHOP = """import os, signal, sys
class Cart:
    def __init__(self):
        self.lines = []
    def add(self, count):
        for _ in range(count):
            self.lines.append(bytes(100000))
    def pick(self, count):
        sorted(range(count), key=lambda number: self.lines.append(bytes(200000)) or number)
def fill(depth, cart):
    cart.add(1)
    if depth:
        fill(depth - 1, cart)
        fill(depth - 1, cart)
def in_child():
    late = Cart()
    late.add(100)
    os.kill(os.getpid(), signal.SIGKILL)
cart = Cart()
cart.add(200)
cart.pick(50)
way = sys.argv[1]
kept = os.environ["ACRE_CONF"].partition("postmortem:")[2].partition(",")[0]
if way == "lost":  # the file is where it was not when it has to grow
    for name in os.listdir(kept):
        os.link(f"{kept}/{name}", f"{kept}/aside")
        os.unlink(f"{kept}/{name}")
        fill(9, cart)
        os.rename(f"{kept}/aside", f"{kept}/{name}")
if way == "fork":
    fill(9, cart)
    if os.fork() == 0:
        in_child()
    os.wait()
if way != "return":
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Shop:
    """A Python program, which runs under acre run in a folder of its own."""

    def __init__(self, work):
        self.work = work
        self.path = work / "shop.py"
        self.path.write_text(SHOP)

    def run(self, way, *options):
        folder = Path(tempfile.mkdtemp(dir=self.work))
        ended = run([ACRE, "run", *options, "--lib", library(), "--", "/usr/bin/python3", self.path, way], cwd=folder)
        return ended, folder


def check_python(checks, shop):
    ended, folder = shop.run("kill", "--profile=64K")
    path, = folder.glob("*.live.pb.gz")
    peak, = folder.glob("*.peak.pb.gz")
    checks.that(ended.returncode == -signal.SIGKILL and holds(path, "add", 19.1, "--python") and
                holds(peak, "pick", 9.5, "--python"),
                "the profile of a Python program that SIGKILL ended has its functions", f"{ended}\n{heap(path)}")
    said = heap(path, "--python", "--lines")
    checks.that(re.search(rf"\d\d\.\d MiB.* Cart\.add {shop.path}:7\n", said) is not None and
                f" Cart.pick.<locals>.<lambda> {shop.path}:9\n" in said, "and lines", said)
    said = heap(path, "--collapsed")
    stack = next((line for line in said.splitlines() if "<lambda>" in line), "")
    checks.that(re.search(r"^_start;.*;<module> \(shop\.py\);Cart\.pick \(shop\.py\);.*"
                          r";Cart\.pick\.<locals>\.<lambda> \(shop\.py\);", stack) is not None and
                "EvalFrameDefault" not in said, "they stand in place of the interpreter's", stack)


def of_python(profile):
    """Of stacks with Python functions, what was allocated and what is in use, by the frames and labels."""
    names = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "freed_elsewhere", "freed_objects",
             "freed_space", "lifetime")
    found = {}
    for (stack, labels), values in profile.samples.items():
        if any(location.lines for location in stack):
            key = tuple((location.address, location.lines) for location in stack), labels
            found[key] = [values[profile.index(name)] for name in names]
    return found


def check_python_file(checks, shop):
    """The file of a process that ends as it should says what the process has written itself."""
    folder = Path(tempfile.mkdtemp(dir=shop.work))
    conf = f"postmortem:{folder},prof:true,prof_python:true,prof_final:true,prof_folder:{folder},prof_sample:4K"
    ended = run(["/usr/bin/python3", shop.path, "return"],
                environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))
    path, = folder.glob("*.postmortem")
    written, = folder.glob("*.live.pb.gz")
    kept = Postmortem(path.read_bytes())
    ours, theirs = of_python(kept.profile()), of_python(pprof.read(written.read_bytes()))
    checks.that(ended.returncode == 0 and ours == theirs and len(theirs) > 100 and kept.incomplete() is None,
                "functions, lines and figures are those of a profile that the process writes",
                [(key, value, theirs.get(key)) for key, value in ours.items() if value != theirs.get(key)][:5])


def check_python_fork(checks, shop):
    ended, folder = shop.run("fork", "--profile=16K")
    found = {"late" if ";in_child " in said else "early": said
             for said in (heap(path, "--python", "--collapsed", "--lines") for path in folder.glob("*.live.pb.gz"))}
    deep = {way: len({line.rpartition(" ")[0] for line in said.splitlines() if f";fill {shop.path}:" in line})
            for way, said in found.items()}
    checks.that(len(found) == 2 and deep["early"] > 1000 and deep["late"] == deep["early"],
                "a child of fork has all Python stacks that it inherited", f"{deep}\n{ended}")


def check_left_out(checks, shop):
    ended, folder = shop.run("lost", "--profile=16K")
    path, = folder.glob("*.live.pb.gz")
    missing = (r"\d+ stacks are missing, with what they allocated, since the file that the process kept its profile in "
               r"could not grow")
    said = run([ACRE, "heap", "--python", path])
    checks.that(re.search(rf"python3 \(\d+\): {missing}", ended.stderr) is not None and
                re.search(rf"'{path}': {missing}", said.stderr) is not None and "Cart.add" in said.stdout,
                "stacks that are left out are said", f"{ended}\n{said}")


MAKER = """import threading
def make(start):
    kept = []
    for number in range(start, start + 10 ** 6):
        names = {}
        text = "\\n" * (number % 1000) + f"def f{number}():\\n    return bytes(20000)"
        exec(compile(text, f"made/{number}.py", "exec"), names)
        kept.append(names[f"f{number}"]())
        if len(kept) > 100:
            kept.clear()
for start in range(3):
    threading.Thread(target=make, args=(start * 10 ** 6,)).start()
print("ready", flush=True)
"""


def check_any_moment(checks, keeper):
    """Ended from outside while threads make new functions: what the file has of them is never a mixture."""
    program = keeper.work / "maker.py"
    program.write_text(MAKER)
    wrong, functions = [], 0
    for number in range(20):
        folder = Path(tempfile.mkdtemp(dir=keeper.work))
        conf = f"postmortem:{folder},prof:true,prof_python:true,prof_sample:4K"
        process = subprocess.Popen(["/usr/bin/python3", program], stdout=subprocess.PIPE,
                                   env=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))
        process.stdout.readline()
        time.sleep(0.0137 * number)
        process.kill()
        process.communicate()
        path, = folder.glob("*.postmortem")
        try:
            locations = Postmortem(path.read_bytes()).profile().locations()
        except Malformed as error:
            wrong.append(str(error))
            continue
        for line in (location.lines[0] for location in locations if location.lines):
            made = re.fullmatch(r"f(\d+)", line.function)
            functions += made is not None
            if made and (line.file, line.number) != (f"made/{made[1]}.py", int(made[1]) % 1000 + 2) or (
                    not made and not re.fullmatch(r"[\w.<>]+", line.function)):
                wrong.append(line)
    checks.that(not wrong and functions > 1000,
                "functions and lines are right at whatever moment SIGKILL ends a process", f"{functions}\n{wrong[:5]}")


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where a shell runs this in the background
    checks = Checks()
    work = Path(tempfile.mkdtemp(prefix="acre-survive-test-"))
    try:
        keeper = Keeper(work)
        for check in (check_profiles, check_odd_path, check_daemon, check_statistics, check_file, check_signals,
                      check_any_moment):
            check(checks, keeper)
        shop = Shop(work)
        for check in (check_python, check_python_file, check_python_fork, check_left_out):
            check(checks, shop)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
