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
from heap_profile.postmortem import Postmortem

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
    if (strcmp(way, "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) { keep_in_child(5000); _exit(0); }
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


def heap(path, *options):
    return run([ACRE, "heap", "-n", "5", *options, path]).stdout


def holds(path, function, mebibytes):
    """Whether the function's total is about that."""
    sizes = [float(size) for line in heap(path).splitlines() if re.search(rf"\b{function}\b", line)
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
    totals = sorted(round(float(re.search(r"([\d.]+) MiB", heap(path))[1])) for path in folder.glob("keeper.*.live.pb.gz"))
    checks.that(len(totals) == 2 and 16 < totals[0] < 23 and 20 < totals[1] < 29,
                "a child of fork that ends by _exit has a profile of its own, with what it inherited", f"{totals}\n{ended}")
    ended, folder = keeper.run("handler", "--profile=32K")
    checks.that(ended.returncode == 9 and "mine" in ended.stdout, "a handler of the program's own is left alone", ended)
    ended, folder = keeper.run("nothing", "--profile=1G")
    checks.that("nothing was sampled" in ended.stderr and not os.listdir(folder), "too few samples are said", ended)
    ended = run([ACRE, "run", "--profile", "--lib", library(), "--", "/no/such/program"])
    checks.that(ended.returncode == 127 and ended.stderr.count("\n") == 1, "a program that is not there", ended)


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
    blocks = sum(row[7] for row, _ in kept.rows)
    checks.that(kept.mean == 32768 and 400 < blocks < 900 and all(row[3] >= row[7] for row, _ in kept.rows),
                "its rows are those of the profile", blocks)
    (folder / "cut").write_bytes(path.read_bytes()[:1000])
    ended = run([ACRE, "heap", folder / "cut"])
    checks.that(ended.returncode == 1 and "it is cut off" in ended.stderr, "a part of one is an error", ended)
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


def main():
    checks = Checks()
    work = Path(tempfile.mkdtemp(prefix="acre-survive-test-"))
    try:
        keeper = Keeper(work)
        for check in (check_profiles, check_daemon, check_statistics, check_file, check_signals):
            check(checks, keeper)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
