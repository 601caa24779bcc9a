"""The crates in bindings/rust: their own tests in each of their forms, lints, documentation, packages that build by
themselves, and two programs from the registry of Rust's crates, ripgrep and a server on tokio.

    run.py [NAME…]      all, or only crates, valgrind, sanitizer, oldest, packages, installed, server, ripgrep

Builds in build/rust, and fetches crates. Exit code 0: all well, 1: not, 77: there is no cargo.
"""

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/package"))

from checks import Checks, clean_environment, run

CRATES = ROOT / "bindings/rust"
FOLDER = ROOT / "build/rust"
RELEASE = Path(os.environ.get("ACRE_BUILD", ROOT / "build/release"))
RIPGREP = "15.2.0"
OLDEST = "1.70"  # the rust-version of the crates
SECONDS = 1500

PROGRAM = """#[global_allocator]
static A: acre::Acre = acre::Acre;

fn main() {
    let text = String::from("a text");
    println!("{} {}", acre::version(), acre::owns(text.as_ptr()));
}
"""


class Cargo:
    def __init__(self, checks):
        self.checks = checks
        self.path = os.pathsep.join((os.path.expanduser("~/.cargo/bin"), os.environ.get("PATH", os.defpath)))
        self.program = shutil.which("cargo", path=self.path)

    def environment(self, **more):
        usual = {"PATH": self.path, "CARGO_TARGET_DIR": FOLDER / "target", "CARGO_TERM_COLOR": "never",
                 "CARGO_PROFILE_DEV_DEBUG": "1"}
        return clean_environment(**{**usual, **more})

    def __call__(self, what, *words, folder=CRATES, toolchain=(), **more):
        """-> did it succeed"""
        if sys.stderr.isatty():
            print(f"      cargo {' '.join(map(str, words))}", file=sys.stderr, flush=True)
        return self.checks.succeeds(what, [self.program, *toolchain, *words], environment=self.environment(**more),
                                    cwd=folder, timeout=SECONDS)

    def has(self, command):
        found = run([self.program, command, "--version"], environment=self.environment(), cwd=CRATES)
        if found.returncode != 0:
            print(f"skip  there is no cargo {command}")
        return found.returncode == 0


def needed(program):
    """-> the libraries that a program or library needs"""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run(["readelf", "-dW", program]).stdout)


def check_crates(checks, cargo):
    if cargo.has("fmt"):
        cargo("the sources have rustfmt's form", "fmt", "--check")
    if cargo.has("clippy"):
        cargo("clippy has nothing to say", "clippy", "-q", "--workspace", "--all-targets", "--features",
              "acre-malloc/allocator-api2", "--", "-D", "warnings")
    cargo("the documentation has no bad link", "doc", "-q", "--workspace", "--no-deps", "--features",
          "acre-malloc/allocator-api2", RUSTDOCFLAGS="-D warnings")
    cargo("tests and examples pass", "test", "-q", "--workspace", "--features", "acre-malloc/allocator-api2")
    cargo("it builds without std", "rustc", "-q", "-p", "acre-malloc", "--lib", "--no-default-features", "--features",
          "allocator-api2", "--", "-D", "warnings")
    cargo("without features tests and examples pass, too", "test", "-q", "-p", "acre-malloc")
    check_archive(checks, cargo)
    cargo("with the feature override malloc is acre's", "test", "-q", "-p", "acre-malloc", "--tests", "--features",
          "override,allocator-api2")
    check_override(checks)


def check_archive(checks, cargo):
    """The C++ objects refer to nothing of libstdc++."""
    ended = run([cargo.program, "build", "-q", "-p", "acre-malloc", "--message-format=json"], cwd=CRATES,
                timeout=SECONDS, environment=cargo.environment())
    messages = [json.loads(line) for line in ended.stdout.splitlines()]
    archives = [Path(found["out_dir"]) / "libacre.a" for found in messages
                if found["reason"] == "build-script-executed" and "acre-sys" in found["package_id"]]
    entries = [line.split()[1:3] for line in run(["nm", "-AP", archives[-1]]).stdout.splitlines()] if archives else []
    defined = {name for name, kind in entries if kind not in "Uwv"}
    wanted = {name for name, kind in entries if kind == "U"} - defined
    of_cxx = sorted(name for name in wanted if name.startswith(("_Z", "__gxx", "__cxa")) and name != "__cxa_atexit")
    checks.that("acre_malloc" in defined and "malloc" not in defined and not of_cxx,
                "the archive has no malloc, and needs no libstdc++", of_cxx or archives)


def check_override(checks):
    """A program with the feature: the newest one of the tests."""
    program = newest("global")
    symbols = run(["nm", "-D", "--defined-only", program]).stdout
    checks.that(all(re.search(rf" T {name}$", symbols, re.MULTILINE) for name in ("malloc", "free", "mallinfo2")),
                "the program has malloc for the libraries that it loads", symbols[-1000:])
    checks.that("libstdc++.so.6" not in needed(program), "and needs no libstdc++", needed(program))


def newest(test):
    """-> the test program that was built last"""
    built = [path for path in (FOLDER / "target/debug/deps").glob(f"{test}-*") if not path.suffix]
    return max(built, key=lambda path: path.stat().st_mtime)


def check_sanitizer(checks, cargo):
    """AddressSanitizer on Rust's side, if rustup has a nightly toolchain."""
    if not has_toolchain(cargo, "nightly"):
        return
    about = run([cargo.program, "-vV"], environment=cargo.environment()).stdout
    target = re.search(r"^host: (.*)$", about, re.MULTILINE)[1]
    cargo("AddressSanitizer finds nothing", "test", "-q", "-p", "acre-malloc", "--tests", "--features",
          "allocator-api2", "--target", target, toolchain=("+nightly",), RUSTFLAGS="-Zsanitizer=address",
          CARGO_TARGET_DIR=FOLDER / "sanitizer")


def has_toolchain(cargo, name):
    found = run([cargo.program, f"+{name}", "--version"], environment=cargo.environment(RUSTUP_AUTO_INSTALL=0))
    if found.returncode != 0:
        print(f"skip  there is no toolchain {name}")
    return found.returncode == 0


def check_oldest(checks, cargo):
    """Another toolchain of rustup's, if it is there."""
    if not has_toolchain(cargo, OLDEST):
        return
    cargo(f"it builds with Rust {OLDEST}", "check", "-q", "--locked", "-p", "acre-malloc", "--features",
          "allocator-api2", toolchain=(f"+{OLDEST}",), CARGO_TARGET_DIR=FOLDER / "oldest")


def check_packages(checks, cargo):
    """The packages alone, in a folder that has nothing else of the tree."""
    if not cargo("packages are made", "package", "-q", "--workspace", "--allow-dirty", "--no-verify"):
        return
    alone = FOLDER / "alone"
    shutil.rmtree(alone, ignore_errors=True)
    (alone / "src").mkdir(parents=True)
    version = re.search(r'^version = "(.*)"', (CRATES / "Cargo.toml").read_text(), re.MULTILINE)[1]
    for name in ("acre-sys", "acre-malloc"):
        with tarfile.open(FOLDER / f"target/package/{name}-{version}.crate") as package:
            package.extractall(alone)
            names = package.getnames()
        is_whole = any(entry.endswith("/LICENSE") for entry in names)
        checks.that(is_whole and not any("/target/" in entry for entry in names),
                    f"{name} has its licence, and no builds", names)
    (alone / "src/main.rs").write_text(PROGRAM)
    (alone / "Cargo.toml").write_text(
        '[package]\nname = "alone"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n'
        f'[dependencies]\nacre-malloc = {{ path = "acre-malloc-{version}" }}\n\n'
        f'[patch.crates-io]\nacre-sys = {{ path = "acre-sys-{version}" }}\n')
    if cargo("a program with the packages builds", "build", "-q", folder=alone):
        program = FOLDER / "target/debug/alone"
        told = run([program]).stdout
        checks.that(told == f"{version} true\n", "it runs on acre", told)
        checks.that(not any("stdc++" in name or "acre" in name for name in needed(program)),
                    "it needs no libstdc++ and no library of acre's", needed(program))


def check_installed(checks, cargo):
    """A library where `cmake --install` puts it, instead of the sources."""
    prefix = FOLDER / "installed"
    shutil.rmtree(prefix, ignore_errors=True)
    place = re.search(r"^libdir=\$\{prefix\}/(.*)$", (RELEASE / "acre.pc").read_text(), re.MULTILINE)[1]
    libraries = prefix / place
    (libraries / "pkgconfig").mkdir(parents=True)
    shutil.copy(RELEASE / "acre.pc", libraries / "pkgconfig")
    for library in RELEASE.glob("libacre.so*"):
        shutil.copy(library, libraries, follow_symlinks=False)
    shutil.copytree(ROOT / "include", prefix / "include")
    links = {"ACRE_SYS_USE_PKG_CONFIG": 1, "PKG_CONFIG_PATH": libraries / "pkgconfig", "LD_LIBRARY_PATH": libraries,
             "CARGO_TARGET_DIR": FOLDER / "linked"}
    if cargo("tests pass with the installed library", "test", "-q", "-p", "acre-malloc", "--tests", "--features",
             "allocator-api2", **links):
        programs = [path for path in (FOLDER / "linked/debug/deps").glob("global-*") if not path.suffix]
        checks.that(programs and all("libacre.so.1" in needed(program) for program in programs),
                    "they need libacre.so.1", [needed(program) for program in programs])
    without = cargo.environment(**dict(links, PKG_CONFIG_PATH="/no/such", PKG_CONFIG_LIBDIR="/no/such"))
    ended = run([cargo.program, "build", "-q", "-p", "acre-sys"], cwd=CRATES, timeout=SECONDS, environment=without)
    checks.that(ended.returncode != 0 and "unset ACRE_SYS_USE_PKG_CONFIG" in ended.stderr,
                "where none is installed, the message says what to do", ended.stderr[-500:])


def check_valgrind(checks, cargo):
    if not checks.has("valgrind", "Rust's side under memcheck"):
        return
    for name in ("tag", "ctl", "heap", "purge", "conf"):
        # A stack is walked by a system call that asks whether an address can be read, which memcheck takes amiss.
        ended = run(["valgrind", "-q", "--error-exitcode=9", newest(name), "--test-threads=1", "--skip", "a_profile"],
                    timeout=SECONDS)
        checks.that(ended.returncode == 0, f"memcheck finds nothing in the test {name}",
                    (ended.stdout + ended.stderr)[-3000:])


def ripgrep(cargo):
    """-> the folder of ripgrep's source as the registry has it, with acre as its global allocator"""
    fetch = FOLDER / "fetch"
    (fetch / "src").mkdir(parents=True, exist_ok=True)
    (fetch / "src/lib.rs").write_text("")
    (fetch / "Cargo.toml").write_text('[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n\n'
                                      f'[workspace]\n\n[dependencies]\nripgrep = "={RIPGREP}"\n')
    # A program is no dependency, cargo warns, but its source comes.
    subprocess.run([cargo.program, "-q", "fetch"], cwd=fetch, env=cargo.environment(), check=True,
                   stderr=subprocess.DEVNULL)
    home = Path(os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo")))
    source = next(home.glob(f"registry/src/*/ripgrep-{RIPGREP}"))
    folder = FOLDER / "ripgrep"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    with open(folder / "Cargo.toml", "a", encoding="utf-8") as manifest:
        manifest.write(f'\n[dependencies.acre-malloc]\npath = "{CRATES / "acre"}"\n\n[workspace]\n')
    with open(folder / "crates/core/main.rs", "a", encoding="utf-8") as program:
        program.write("\n#[global_allocator]\nstatic ACRE: acre::Acre = acre::Acre;\n")
    return folder


def is_on_acre(checks, what, stderr):
    """The summary at the program's end counts its blocks."""
    refills = re.search(r"refills (\d+)", stderr)
    checks.that(refills is not None and int(refills[1]) > 20, f"{what} allocates from acre", stderr[-1000:])


def check_ripgrep(checks, cargo):
    if not cargo(f"ripgrep {RIPGREP} builds", "build", "-q", folder=ripgrep(cargo), CARGO_PROFILE_DEV_DEBUG="false"):
        return
    program = FOLDER / "target/debug/rg"
    for pattern in ("acre_[a-z]+", "atomic", "no such text in the tree"):
        found = run([program, "-n", "--no-heading", "-j", "4", pattern, "src", "include"], cwd=ROOT,
                    environment=clean_environment(ACRE_CONF="stats_print:true"))
        expected = run(["grep", "-rnE", pattern, "src", "include"], cwd=ROOT)
        checks.that(found.returncode == expected.returncode and
                    sorted(found.stdout.splitlines()) == sorted(expected.stdout.splitlines()),
                    f"rg finds what grep finds: {pattern}, in {len(expected.stdout.splitlines())} lines")
        is_on_acre(checks, "rg", found.stderr)
    checks.that("libstdc++.so.6" not in needed(program), "rg needs no libstdc++", needed(program))


def serve(program):
    """-> what the client and the server printed"""
    with subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=clean_environment(ACRE_CONF="stats_print:true")) as server:
        try:
            client = run([program, "client", server.stdout.readline().strip()])
            _, told = server.communicate(timeout=60)
        finally:
            server.kill()
    return client.stdout + client.stderr, told


def check_asked(checks, program):
    """From outside: the program has no library of acre's, and opens its socket when somebody asks."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=clean_environment()) as server:
        host, port = server.stdout.readline().split(":")
        done = threading.Event()

        def load():
            with socket.create_connection((host, int(port))) as client, client.makefile("rw") as lines:
                for number in itertools.count():
                    if done.is_set():
                        return
                    lines.write(f"SET {number % 500} {'x' * (number % 3000)}\n")
                    lines.flush()
                    lines.readline()

        loading = threading.Thread(target=load)
        loading.start()
        try:
            told = run([ROOT / "acre", "stats", str(server.pid)])
        finally:
            done.set()
            loading.join()
            server.kill()
    checks.that(told.returncode == 0 and "metadata" in told.stdout, "acre stats asks a running program",
                told.stdout + told.stderr)


def check_server(checks, cargo):
    sums = {}
    for features in (("--features", "acre"), ()):
        where = "acre" if features else "glibc"
        if not cargo(f"the server builds ({where})", "build", "-q", *features, folder=HERE / "server"):
            return
        shutil.copy(FOLDER / "target/debug/server", FOLDER / f"server-{where}")
        for _ in range(3 if features else 1):
            sums[where], told = serve(FOLDER / f"server-{where}")
            if not checks.that(re.fullmatch(r"[0-9a-f]{16} \d+ keys\n", sums[where]),
                               f"every answer is right ({where})", sums[where]):
                return
            if features:
                is_on_acre(checks, "the server", told)
    checks.that(sums["acre"] == sums["glibc"], "the answers are the same as with glibc's malloc", sums)
    check_asked(checks, FOLDER / "server-acre")


def main():
    checks = Checks()
    cargo = Cargo(checks)
    if cargo.program is None:
        print("skipped: there is no cargo; install Rust by rustup, or cargo-web")
        return 77
    FOLDER.mkdir(parents=True, exist_ok=True)
    for check in (check_crates, check_valgrind, check_sanitizer, check_oldest, check_packages, check_installed,
                  check_server, check_ripgrep):
        if sys.argv[1:] and check.__name__.removeprefix("check_") not in sys.argv[1:]:
            continue
        started = time.monotonic()
        check(checks, cargo)
        print(f"      {check.__name__}: {time.monotonic() - started:.0f} s", flush=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
