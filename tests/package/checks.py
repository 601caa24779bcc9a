"""What the package tests share: running a command, and keeping count of what was checked."""

import os
import subprocess


class Checks:
    def __init__(self):
        self.failures = []
        self.count = 0

    def that(self, holds, what, details=""):
        self.count += 1
        print(f"{'ok  ' if holds else 'FAIL'}  {what}", flush=True)
        if not holds:
            self.failures.append(what)
            if details:
                print("      " + str(details).rstrip().replace("\n", "\n      "), flush=True)
        return holds

    def succeeds(self, what, command, **options):
        ended = run(command, **options)
        return self.that(ended.returncode == 0, what,
                         f"$ {' '.join(map(str, command))}\nended with {ended.returncode}\n"
                         f"{ended.stdout}{ended.stderr}")


def clean_environment(**more):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "ACRE_CONF", "DESTDIR", "CFLAGS", "CXXFLAGS",
                                   "LDFLAGS", "PKG_CONFIG_PATH")}
    environment.update({name: str(value) for name, value in more.items()})
    return environment


def run(command, environment=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", 250)
    if "input" in options:
        del options["stdin"]
    return subprocess.run([str(word) for word in command], env=environment or clean_environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          **options)
