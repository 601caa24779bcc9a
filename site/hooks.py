"""What MkDocs does not know of these pages: links that lead out of docs/, and the headers.

Pages link as GitHub wants them: by files, wherever in the repository. A file outside of docs/ that some page links to
gets a page below source/, and so on from there.
"""

import os
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "cli"), str(ROOT / "cli/manual")]

import headers  # noqa: E402

LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=(?:#[^)\s]*)?\))")
NAMED = re.compile(r"\[((?:[\w./-]+/)?[\w-]+\.md)\](?=\(([^)#\s:]+))")
SHIM = "https://unpkg.com/iframe-worker/shim"
LANGUAGES = {".c": "c", ".h": "c", ".cc": "cpp", ".hpp": "cpp", ".py": "python"}
AS_FILES = (".png", ".jsonl")


def linked(text, folder):
    """Files and folders of the repository that a page of this folder links to."""
    for target in LINK.findall(text):
        path = posixpath.normpath(posixpath.join(folder, target))
        if not path.startswith("..") and (ROOT / path).exists():
            yield path


def readme_of(path):
    return f"{path}/README.md" if (ROOT / path).is_dir() else path


def address(path):
    """Where a file of the repository is in the site."""
    path = readme_of(path)
    if path.startswith("docs/") and not path.startswith("docs/examples/"):
        return path.removeprefix("docs/")
    return f"source/{path}" + ("" if path.endswith((".md", *AS_FILES)) else ".md")


def origin(uri):
    """The other way round; None for what is made."""
    if uri.startswith("api/"):
        return "docs/" + uri
    return uri.removeprefix("source/") if uri.startswith("source/") else f"docs/{uri}"


def as_page(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    return f"# {path}\n\n````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}````\n"


def on_config(config):
    if os.environ.get("MIKE_DOCS_VERSION"):  # set by mike
        config.extra["version"] = {"provider": "mike"}
    config.nav = in_nav(config.nav, Path(config.docs_dir))
    return config


def in_nav(entries, docs):
    found = []
    for entry in entries:
        title, what = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(what, list):
            what = in_nav(what, docs)
        elif what == "api/":
            what = [{name: f"api/{name}.md"} for name in headers.NAMES]
        elif what.endswith("/"):
            what = [what + page.name for page in sorted((docs / what).glob("*.md"))]
        found.append(what if title is None else {title: what})
    return found


def on_files(files, config):
    for name, text in headers.pages(ROOT / "include/acre"):
        files.append(File.generated(config, f"api/{name}.md", content=text))
    wanted = ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
    for file in files.documentation_pages():
        wanted += linked(file.content_string, posixpath.dirname(origin(file.src_uri)))
    while wanted:
        path = readme_of(wanted.pop())
        uri = address(path)
        if not uri.startswith("source/") or files.get_file_from_path(uri) or not (ROOT / path).is_file():
            continue
        if path.endswith(AS_FILES):
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
            continue
        text = as_page(path)
        files.append(File.generated(config, uri, content=text))
        if path.endswith(".md"):
            wanted += linked(text, posixpath.dirname(path))
    return files


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(origin(page.file.src_uri))
    here = posixpath.dirname(page.file.src_uri)

    def moved(found):
        path = next(linked(f"]({found[0]})", folder), None)
        return found[0] if path is None else posixpath.relpath(address(path), here or ".")

    def titled(found):
        path = next(linked(f"]({found[2]})", folder), None)
        return found[0] if path is None else f"[{title_of(path)}]"
    return LINK.sub(moved, NAMED.sub(titled, markdown))


def title_of(path):
    return re.search(r"^# (.*)$", (ROOT / readme_of(path)).read_text(encoding="utf-8"), re.M)[1]


def on_post_page(output, page, config):
    """Nothing is fetched from elsewhere."""
    here = posixpath.dirname(page.file.url) or "."
    return output.replace(SHIM, posixpath.relpath("assets/iframe-worker.js", here))
