"""README.md's ways to a running Redis: from packages, a wheel and a clone, each on a bare Debian 12.

Each is one line of README.md, run as printed where the packages, the wheel or the clone are the folder that it is in.
"""

import re
import shutil
import subprocess
from pathlib import Path

PAGE = "ways"
README = Path(__file__).resolve().parents[2] / "README.md"
LINE = re.compile(r"^    (.*acre run .*-- redis-server --port 6380)$", re.M)
# Of a Redis that was just started in the background.
ASKED = """
ask() { redis-cli -p 6380 "$@" 2>/dev/null | tr -d '\\r'; }
for _ in $(seq 6000); do ask ping | grep -q PONG && break; kill -0 $! || break; command sleep 0.1; done
pid=$(ask info server | sed -n 's/^process_id://p')
ask ping; grep -c libacre /proc/$pid/maps; kill $pid
"""


def wheel_in(folder, given):
    """A wheel that was made before, or one from here."""
    found = sorted(Path(given).glob("*.whl")) if given else []
    if found:
        return shutil.copy(found[0], folder)
    source = README.parent / "bindings/python"
    venv = folder.parent / "venv"
    for words in (["python3", "-m", "venv", venv], [venv / "bin/pip", "install", "-q", "build"],
                  [venv / "bin/python", "-m", "build", "-o", folder.parent / "dist", source]):
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    made, = (folder.parent / "dist").glob("*.whl")
    return shutil.copy(made, folder)


def check(checks, bare, copied, debs, given, work, sudo):
    lines = LINE.findall(README.read_text())
    if not checks.that(len(lines) == 3, "README.md has three ways to a running Redis", lines):
        return
    for line in lines:
        print(f"      {line}", flush=True)
        name = "wheel" if "pip" in line else "clone" if "./acre " in line else "deb"
        root = copied(bare, work / name)
        where = root.folder / "srv/acre"
        if name == "clone":
            subprocess.run(["git", "clone", "-q", README.parent, where], check=True)
        else:
            where.mkdir()
        if name == "deb":
            for package in ("libacre1", "acre"):
                shutil.copy(debs[package], where)
        if name == "wheel":
            wheel_in(where, given)
        ended = root.run("bash", "-c", f"{sudo}{{ {line}; }} > /tmp/redis.txt 2>&1 &\n{ASKED}", cwd="/srv/acre")
        said = ended.stdout.split()
        checks.that(said[:1] == ["PONG"] and said[-1] not in ("0", "PONG"), f"from {name}: {line}",
                    f"{ended.stdout}{ended.stderr}{(root.folder / 'tmp/redis.txt').read_text(errors='replace')[-3000:]}")
        shutil.rmtree(root.folder, ignore_errors=True)
