#!/usr/bin/env python3
"""The site: run.py [--pages PATTERN]

acre docs builds it; links that lead nowhere are refused; two versions lie beside each other. A browser opens every page
at 380 and 1400 pixels, in light and dark: nothing is cut, no picture is missing, nothing is fetched from elsewhere, the
search finds. Pictures of the pages are left in build/site-pictures, to be looked at. The commands of CONTRIBUTING.md
work.

The generator is fetched once, into build/site-environment. Exit code 0: all well, 1: not, 77: it cannot be fetched.
"""

import argparse
import functools
import http.server
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SITE = ROOT / "build/site"
PICTURES = ROOT / "build/site-pictures"
BIN = ROOT / "build/site-environment/bin"
WIDTHS = (380, 1400)
TALLEST = 6000
sys.path[:0] = [str(HERE.parent / name) for name in ("package", "profile")]

from browser import Browser, find  # noqa: E402
from checks import Checks, clean_environment, run  # noqa: E402

# What is wider than the window, or than a box that does not scroll; pictures that are not there.
PROBLEMS = """(() => {
  const found = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push("the page is wider than the window");
  const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  for (const e of document.querySelectorAll(".md-content :is(p, li, h1, h2, h3, pre, table, img)")) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > width + 1 && !scrolls(e))
      found.push(e.tagName + " is cut: " + e.textContent.slice(0, 60));
  }
  for (const e of document.querySelectorAll(".md-content img"))
    if (!e.complete || e.naturalWidth < 50) found.push("no picture: " + e.src);
  if (!document.querySelector(".md-content h1")) found.push("no title");
  return found;
})()"""
# What changes with the width or the scheme does so without a transition.
AT_ONCE = """document.head.insertAdjacentHTML("beforeend",
  "<style>*, ::before, ::after { transition: none !important; animation: none !important }</style>")"""
DARKNESS = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"


def check_pages(checks, pattern):
    pages = [page for page in sorted(SITE.rglob("*.html"))
             if page.name != "404.html" and re.search(pattern, str(page.relative_to(SITE)))]
    checks.that(len(pages) > 80 or pattern, "the site has its pages", len(pages))
    shutil.rmtree(PICTURES, ignore_errors=True)
    problems, backgrounds = [], {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(find(), home)
        try:
            for page in pages:
                name = page.relative_to(SITE)
                browser.open(page)
                browser.value(AT_ONCE)
                for scheme, is_dark in (("light", "false"), ("dark", "true")):
                    browser.prefer(scheme)
                    browser.wait_for(f"({DARKNESS} < 200) == {is_dark}")
                    backgrounds.setdefault(scheme, set()).add(browser.value(DARKNESS))
                    for width in WIDTHS:
                        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                                    mobile=False)
                        browser.wait_for("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
                        problems += [f"{name}, {scheme}, {width}: {problem}" for problem in browser.value(PROBLEMS)]
                        take_picture(browser, PICTURES / f"{scheme}-{width}" / name.with_suffix(".png"), width)
            problems += browser.problems()
            check_search(checks, browser)
        finally:
            browser.close()
    checks.that(not problems, f"{len(pages)} pages are whole at {WIDTHS} pixels, and fetch nothing",
                "\n".join(problems))
    checks.that(min(backgrounds["light"]) > 700 and max(backgrounds["dark"]) < 200, "light and dark as the system",
                backgrounds)


def take_picture(browser, path, width):
    path.parent.mkdir(parents=True, exist_ok=True)
    height = min(browser.value("document.documentElement.scrollHeight"), TALLEST)
    # All of it is in the window: what is beyond may not have been drawn.
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    browser.picture(path)


def check_search(checks, browser):
    browser.open(SITE / "index.html")
    browser.value("document.querySelector('[data-md-component=search-query]').focus()")
    browser.ask("Input.insertText", text="double free")
    results = "[...document.querySelectorAll('.md-search-result__link')].map(e => e.href)"
    browser.wait_for(f"{results}.length > 0")
    found = browser.value(results)
    checks.that(any("strictness.html" in address for address in found), "the search finds, in pages that are files",
                found)


def copy_of_sources(folder):
    """What the site is made of."""
    for name in ("docs", "site", "include", "cli", "bench", "tests", "share", "src", "packaging", "bindings"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "target", "dist"))
    for path in (*ROOT.glob("*.md"), ROOT / "LICENSE"):
        shutil.copy(path, folder)


def check_refused(checks, folder):
    """Links that lead nowhere, and a page that nobody leads to."""
    copy_of_sources(folder)
    pages = {"lonely.md": "# Lonely\n\nA page with a [link](nowhere.md) and [another](options.md#nowhere).\n"}
    for name, text in pages.items():
        (folder / "docs" / name).write_text(text)
    said = run([BIN / "mkdocs", "build", "--config-file", folder / "site/mkdocs.yml"], cwd=folder,
               environment=clean_environment(NO_MKDOCS_2_WARNING="1"))
    missed = [word for word in ("nowhere.md", "#nowhere", "lonely.md") if word not in said.stderr]
    checks.that(said.returncode != 0 and not missed, "a link, an anchor and a page that lead nowhere are refused",
                f"missed: {missed}\n{said.stderr}")
    for name in pages:
        (folder / "docs" / name).unlink()


def check_versions(checks, folder):
    """Two versions by mike, in a repository of their own; a browser changes from one to the other."""
    somebody = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = clean_environment(NO_MKDOCS_2_WARNING="1", PATH=f"{BIN}:{os.environ['PATH']}", **somebody)
    where = ["--config-file", "site/mkdocs.yml", "--branch", "pages"]
    for words in (["git", "init", "-q", "."], ["git", "commit", "-q", "--allow-empty", "-m", "nothing"],
                  ["mike", "deploy", *where, "0.1"], ["mike", "deploy", *where, "--update-aliases", "0.2", "latest"],
                  ["mike", "set-default", *where, "latest"]):
        if not checks.succeeds(" ".join(words), words, cwd=folder,
                               environment=environment):
            return
    served = folder / "served"
    served.mkdir()
    run(["sh", "-c", f"git archive pages | tar x -C '{served}'"], cwd=folder, environment=environment)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(find(), home)
        try:
            browser.ask("Page.navigate", url=f"{address}/0.1/options.html")
            links = "[...document.querySelectorAll('.md-version__link')].map(e => e.href)"
            browser.wait_for(f"{links}.length > 0")
            found = browser.value(links)
            checks.that([link.removeprefix(address).split("/")[1] for link in found] == ["0.2", "0.1"],
                        "the switch has both versions", found)
        finally:
            browser.close()
            server.shutdown()
    versions = json.loads((served / "versions.json").read_text())
    checks.that([entry["version"] for entry in versions] == ["0.2", "0.1"] and versions[0]["aliases"] == ["latest"],
                "two versions lie beside each other", versions)
    root = (served / "index.html").read_text()
    checks.that("latest/" in root and "http-equiv" in root, "the root leads to the newest version", root)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def check_headers(checks):
    pages = "".join(page.read_text() for page in (SITE / "api").glob("*.html"))
    declared = {header.name: re.findall(r"^\w[\w *]*[ *](\w+)\([^()]*(?:\(|\);)|^(?:class|struct) (\w+)[^;]*\{|^typedef [^(]*\((\w+)\)\(",
                                        header.read_text(), re.M)
                for header in (ROOT / "include/acre").glob("*.h*")}
    names = {header: {next(filter(None, found)) for found in all_found} for header, all_found in declared.items()}
    missing = [f"{header}: {name}" for header, of_it in names.items() for name in of_it if f'id="{name}"' not in pages]
    checks.that(all(names.values()) and not missing, "each function, type and class of the headers has its place",
                f"{missing}; none found in {[header for header, of_it in names.items() if not of_it]}")


def check_commands(checks):
    """Of CONTRIBUTING.md, as tests/docs runs those of other pages."""
    sys.path.insert(0, str(HERE.parent / "docs"))
    import run as docs
    # --serve does not end.
    blocks = [block for block in docs.commands_of("../CONTRIBUTING.md", docs.OF_BUILDS)
              if "--serve" not in block.text and "./acre test" not in block.text]
    problems = [f"{block.text}\n{problem}" for block, problem in docs.problems_of(blocks)]
    checks.that(len(blocks) > 4 and not problems, "the commands of CONTRIBUTING.md work", "\n".join(problems))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", default="", help="only pages whose path has this in it, and nothing else")
    pattern = parser.parse_args().pages
    checks = Checks()
    if not checks.has("chromium-headless-shell", "it opens the pages"):
        return 77
    said = run([ROOT / "acre", "docs", "-y"], timeout=580)
    if "pip" in said.stderr and not os.environ.get("CI"):
        print(f"the generator cannot be fetched: {said.stderr}")
        return 77
    made = said.returncode == 0 and said.stdout.endswith("site/index.html\n")
    if checks.that(made, "acre docs builds the site",
                   said.stdout + said.stderr):
        check_headers(checks)
        check_pages(checks, pattern)
        if not pattern:
            with tempfile.TemporaryDirectory(prefix="acre-site-", ignore_cleanup_errors=True) as folder:
                check_refused(checks, Path(folder))
                check_versions(checks, Path(folder))
            check_commands(checks)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
