"""acre docs: builds the documentation as a site (site/README.md)."""

import os
import subprocess

import environment
from command_line import add_yes
from places import MADE, ROOT, shown

SETTINGS = os.path.join(ROOT, "site", "mkdocs.yml")
FOLDER = os.path.join(MADE, "site")


def add_arguments(parser):
    parser.explain(
        "Builds the pages of docs/, those that they link to and the headers as a site in build/site, and prints the "
        "path of its first page. A link that leads nowhere is an error.",
        (("{acre} docs", "build the site, which a browser opens from there"),
         ("{acre} docs --serve", "show it at http://127.0.0.1:8000, again after each change")))
    parser.add_argument("--serve", action="store_true", help="serve the site to this machine, until Ctrl-C")
    add_yes(parser)


def main(options):
    python = environment.ensure(options.yes, os.path.join(ROOT, "site", "requirements.txt"),
                                os.path.join(MADE, "site-environment"))
    words = ["serve"] if options.serve else ["build", "--quiet", "--site-dir", FOLDER]
    ended = subprocess.run([python, "-m", "mkdocs", *words, "--config-file", SETTINGS], check=False,
                           env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if ended.returncode == 0 and not options.serve:
        print(shown(os.path.join(FOLDER, "index.html")))
    return 1 if ended.returncode else 0
