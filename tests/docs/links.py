"""Links between the pages of the repository, as GitHub follows them; pages that the site's navigation lacks; and what
the site's Markdown would show otherwise than GitHub."""

import re
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s#:]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```|^    [^\n]*|`[^`]*`", re.M | re.S)
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
LEFT_OUT = re.compile(r"(^|/)(build[^/]*|\.[^/]+)/")


def anchor(title):
    """What GitHub calls a title: links in it are their text."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(path):
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    return {anchor(title) for title in re.findall(r"^#+ (.+)$", text, re.M)}


def otherwise(text):
    """Lines that are a list or a table for GitHub alone."""
    before = ""
    for line in FENCED.sub("", text).splitlines():
        if re.match(r" {1,3}([-*] |\|)", line):
            yield f"four blanks have to stand before: {line}"
        elif before and not before.startswith((" ", line[:1])) and re.match(r"[-*] |\|", line):
            yield f"an empty line has to stand before: {line}"
        before = line


def problems(root):
    pages = [path for path in sorted(root.rglob("*.md")) if not LEFT_OUT.search(str(path.relative_to(root)))]
    for page in pages:
        yield from (f"{page.relative_to(root)}: {problem}" for problem in otherwise(page.read_text(encoding="utf-8")))
        for target, place in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                yield f"{page.relative_to(root)}: there is no {target}"
            elif place and path.suffix == ".md" and place not in anchors(path):
                yield f"{page.relative_to(root)}: {target or 'the page'} has no title #{place}"
    navigation = (root / "site/mkdocs.yml").read_text(encoding="utf-8")
    for page in (root / "docs").rglob("*.md"):
        name = str(page.relative_to(root / "docs"))
        if not re.search(rf"[ -]{re.escape(name)}$", navigation, re.M) and not name.startswith("decisions/"):
            yield f"docs/{name}: site/mkdocs.yml does not name it"
