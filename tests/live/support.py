"""What the tests of live processes share: programs that run, the command, and a socket spoken to without it."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))
sys.path.insert(0, str(HERE.parent / "package"))
sys.path.insert(0, str(SOURCE / "cli"))

from checks import clean_environment, run

LIBRARY = Path(os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so").resolve()
ACRE = SOURCE / "acre"
NOBODY = 65534
FOLDER = f"/tmp/acre-{os.geteuid()}"
CLIENT_MASK = 0xfffffffe7ffbfeff  # all signals but KILL, STOP, and the two that the C library keeps for itself


class Work:
    def __init__(self, folder):
        self.folder = folder
        self.program = folder / "subject"
        self.static = folder / "subject_static"
        source = HERE / "programs/subject.c"
        subprocess.run(["gcc", "-O0", "-pthread", source, "-o", self.program], check=True)
        subprocess.run(["gcc", "-O0", "-pthread", "-static", source, LIBRARY.parent / "libacre.a", "-o", self.static],
                       check=True)

    @contextlib.contextmanager
    def running(self, what, program=None, conf="control:true", preload=True, lines=1, **options):
        """-> the process, and the lines in which it has said so far what it does."""
        environment = clean_environment(ACRE_CONF=conf, **options.pop("more", {}))
        environment.pop("XDG_RUNTIME_DIR", None)
        environment.update(options.pop("runtime", {}))
        if preload and program is None:
            environment["LD_PRELOAD"] = str(LIBRARY)
        process = subprocess.Popen([program or self.program, what], env=environment, stdout=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, text=True, **options)
        try:
            process.told = [process.stdout.readline().strip() for _ in range(lines)]
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()


def acre(*arguments, **options):
    environment = clean_environment(CI="true")
    environment.pop("XDG_RUNTIME_DIR", None)
    return run([ACRE, *arguments], environment=options.pop("environment", environment), **options)


def as_json(checks, *arguments):
    ended = acre(*arguments)
    try:
        return json.loads(ended.stdout)
    except ValueError:
        checks.that(False, f"acre {' '.join(map(str, arguments))} prints JSON", ended)
        raise


def is_one_line(ended, *words):
    return (ended.returncode == 1 and not ended.stdout and ended.stderr.startswith("acre ")
            and ended.stderr.count("\n") == 1 and all(word in ended.stderr for word in words))


def ends_well(process):
    process.terminate()
    return process.wait(60) == 0


def eventually(holds, seconds=20):
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def path_of(pid):
    return f"{FOLDER}/{pid}.sock"


def tasks(pid):
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        found[(task / "comm").read_text().strip()] = (task / "status").read_text()
    return found


def ask_raw(path, data):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(path)
        with contextlib.suppress(BrokenPipeError):
            client.sendall(data)
        answer = b""
        while not answer.endswith(b"\0") and (part := client.recv(1 << 16)):
            answer += part
        return answer


def as_json_raw(pid, *words):
    return json.loads(ask_raw(path_of(pid), " ".join(words).encode() + b"\n").partition(b"\n")[2].rstrip(b"\0"))
