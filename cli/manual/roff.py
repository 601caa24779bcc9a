"""Manual pages in the man macros, from plain text and from the Markdown of docs/."""

import os
import re
import textwrap
import time

INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^]]+)\]\([^)]*\)")


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    text = re.sub(r"^\.", r"\\&.", text.replace("~", "\\(ti"), flags=re.M)
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def inline(markdown):
    """`code`, **strong**, *emphasis* and [links](…), of which the text is kept."""
    markdown, text, at = markdown.replace("`./acre ", "`acre "), "", 0
    for found in INLINE.finditer(markdown):
        text += escaped(markdown[at:found.start()])
        code, strong, emphasis, link = found.groups()
        text += bold(code or strong) if code or strong else italic(emphasis) if emphasis else inline(link)
        at = found.end()
    return text + escaped(markdown[at:])


def title(name, section, version, what):
    day = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    return [f'.TH {name.upper()} {section} "{day}" "acre {version}" "acre"', ".SH NAME",
            f"{escaped(name)} \\- {escaped(what)}"]


def literal(lines):
    """As they are, for code."""
    return [".PP", ".RS 4", ".nf", *(escaped(line) or ".sp" for line in lines), ".fi", ".RE"]


def item(head, *body):
    return [".TP", head, *body]


def blocks(text):
    """Lists of lines that an empty line separates."""
    return [block.splitlines() for block in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")) if block.strip()]


def bullets(lines):
    """Each begins with "- "; lines without it go on."""
    points = []
    for line in lines:
        if line.startswith("- "):
            points.append([])
        points[-1].append(line[2:].strip())
    return [line for point in points for line in (".IP \\(bu 2", inline(" ".join(point)))]


def rows(lines):
    """Of a table, as lists of cells, without title and rule."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def markdown(text):
    page = []
    for lines in blocks(text):
        if lines[0].startswith("|"):
            for head, *cells in rows(lines):
                page += item(inline(head), inline("; ".join(cells)))
        elif lines[0].startswith("    "):
            page += literal([line.strip() for line in lines])
        elif lines[0].startswith("- "):
            page += bullets(lines)
        else:
            page += [".PP", inline(" ".join(lines))]
    return page


def comment(text):
    """Of a header: paragraphs, and what is indented stays as it is."""
    page = []
    for lines in blocks(text):
        words = []
        for line in lines + [None]:
            indented = line is not None and line.startswith("  ")
            if words and (line is None or indented != words[-1].startswith("  ")):
                page += literal([word[2:] for word in words]) if words[0].startswith("  ") else [
                    ".PP", re.sub(r"\\\(ga(.+?)\\\(ga", r"\\fI\1\\fR", escaped(" ".join(words)))]
                words = []
            if line is not None:
                words.append(line)
    return page


def lines_of(page):
    """Short ones, except where they stay as they are. A .PP directly under a title says nothing and is warned of."""
    filled, before = True, ""
    for line in page:
        filled = filled and line != ".nf" or line == ".fi"
        if line.startswith(".") or not filled:
            if line != ".PP" or not before.startswith((".SH", ".SS")):
                yield line
        else:
            first, *more = textwrap.wrap(line, 78, break_long_words=False, break_on_hyphens=False)
            yield from (first, *("\\&" + part if part[0] == "." else part for part in more))
        before = line


def finished(page):
    return "\n".join(lines_of(page)) + "\n"
