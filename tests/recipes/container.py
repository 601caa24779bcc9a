"""The Dockerfile of docs/recipes/container.md, built and run by buildah, which needs no daemon."""

import json
import re
import shlex
import shutil
import subprocess

import blocks

PAGE = "container.md"
BASE = "docker.io/library/debian:12"
# Of acre's in a container, while the image's own command runs.
COMMANDS = "{command} >/dev/null & sleep 2; acre doctor $!; acre why $!; acre ps; kill $!"


def buildah(work, *words):
    """With a store of its own."""
    return subprocess.run(["buildah", "--root", work / "store", "--runroot", work / "run", "--storage-driver", "vfs",
                           *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def check(checks, page, bare, debs, work):
    if not checks.has("buildah", "the image is built"):
        return
    text = page.read_text()
    recipe = "\n".join(line.removeprefix("    ") for line in re.search(r"(?:^    .*\n)+", text, re.M)[0].splitlines())
    asked = [block for block in blocks.commands_of(text, re.compile("docker exec")) if block.shown]
    folder = work / "image"
    folder.mkdir()
    (folder / "Dockerfile").write_text(recipe)
    for name in ("libacre1", "acre"):
        shutil.copy(debs[name], folder)
    (work / "Base").write_text("FROM scratch\nADD . /\n")
    made = buildah(work, "build", "--isolation", "chroot", "-f", work / "Base", "-t", BASE, bare)
    if not checks.that(made.returncode == 0, "a bare Debian is an image", made.stderr[-2000:]):
        return
    made = buildah(work, "build", "--isolation", "chroot", "--pull-never", "-t", "redis-on-acre", folder)
    if not checks.that(made.returncode == 0, f"{page.name}: the image is built", made.stderr[-2000:]):
        return
    name = buildah(work, "from", "--pull-never", "redis-on-acre").stdout.strip()
    command = shlex.join(json.loads(re.search(r"^CMD (.*)$", recipe, re.M)[1]))
    ended = buildah(work, "run", "--isolation", "chroot", name, "--", "sh", "-c", COMMANDS.format(command=command))
    missing = [line for block in asked for line in blocks.not_printed(block, ended.stdout)]
    checks.that(asked and not missing, f"{page.name}: runs on acre",
                f"not printed: {missing}\n{ended.stdout[-3000:]}{ended.stderr[-1000:]}")
    buildah(work, "rm", "-a")
