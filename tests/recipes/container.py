"""The Dockerfiles of docs/recipes/container.md, built and run by buildah, which needs no daemon."""

import json
import re
import shlex
import shutil
import subprocess

import blocks

PAGE = "container.md"
BASE = "docker.io/library/debian:12"
# What matters of Docker's image of Python: `python3` and `pip` come first in the PATH.
PYTHON = """FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv && python3 -m venv /usr/local/python
ENV PATH=/usr/local/python/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
APP = "import time\ntime.sleep(60)\n"
# Of acre's in a container, while the image's own command runs.
COMMANDS = "{command} >/dev/null & sleep 2; acre doctor $!; acre why $!; acre ps; kill $!"


def buildah(work, *words):
    """With a store of its own."""
    return subprocess.run(["buildah", "--root", work / "store", "--runroot", work / "run", "--storage-driver", "vfs",
                           *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def dockerfiles(text):
    return [block.text for block in blocks.blocks_of(text) if block.text.startswith("FROM ")]


def image(work, name, recipe, folder):
    """-> None, or what went wrong"""
    (folder / "Dockerfile").write_text(recipe)
    made = buildah(work, "build", "--isolation", "chroot", "--pull-never", "-t", name, folder)
    return made.stderr[-2000:] if made.returncode else None


def said_in(work, name, recipe):
    """What acre's commands print while the image's own command runs."""
    container = buildah(work, "from", "--pull-never", name).stdout.strip()
    command = shlex.join(json.loads(re.search(r"^CMD (.*)$", recipe, re.M)[1]))
    ended = buildah(work, "run", "--isolation", "chroot", container, "--", "sh", "-c",
                    COMMANDS.format(command=command))
    return ended.stdout, ended.stderr


def check_image(checks, work, name, recipe, folder, missing_in):
    wrong = image(work, name, recipe, folder)
    if checks.that(wrong is None, f"{PAGE}: the image {name} is built", wrong):
        out, err = said_in(work, name, recipe)
        missing = missing_in(out)
        checks.that(not missing, f"{PAGE}: {name} runs", f"not printed: {missing}\n{out[-3000:]}{err[-1000:]}")


def check(checks, page, bare, debs, wheel_in, work):
    """wheel_in(folder): puts a wheel there"""
    if not checks.has("buildah", "the images are built"):
        return
    text = page.read_text()
    recipes = dockerfiles(text)
    asked = [block for block in blocks.commands_of(text, re.compile("docker exec")) if block.shown]
    if not checks.that(len(recipes) == 2 and asked, f"{PAGE} has two Dockerfiles, and what acre prints", recipes):
        return
    (work / "Base").write_text("FROM scratch\nADD . /\n")
    made = buildah(work, "build", "--isolation", "chroot", "-f", work / "Base", "-t", BASE, bare)
    if not checks.that(made.returncode == 0, "a bare Debian is an image", made.stderr[-2000:]):
        return
    redis, service, python = (work / name for name in ("redis-image", "service-image", "python-image"))
    for folder in (redis, service, python):
        folder.mkdir()
    for name in ("libacre1", "acre"):
        shutil.copy(debs[name], redis)
    check_image(checks, work, "redis-on-acre", recipes[0], redis,
                lambda out: [line for block in asked for line in blocks.not_printed(block, out)])
    wrong = image(work, f"docker.io/library/{recipes[1].split()[1]}", PYTHON, python)
    if checks.that(wrong is None, "a Python is an image", wrong):
        wheel_in(service)
        (service / "app.py").write_text(APP)
        check_image(checks, work, "service-on-acre", recipes[1], service,
                    lambda out: [line for line in ("allocator: acre", "python3 /srv/app.py") if line not in out])
    buildah(work, "rm", "-a")
