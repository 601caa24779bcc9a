"""The headers in include/acre as pages: what acre(3) has, with a place to link to for each name."""

import re
import textwrap

import pages as manual  # cli/manual/pages.py

NAMES = ("acre.h", "heap.h", "tags.h", "leaks.h", "trace.h", "extent_hooks.h", "jemalloc.h", "tcmalloc.h",
         "heap.hpp", "tags.hpp", "leaks.hpp")
DECLARED = re.compile(r"^(?:#define (\w+)|(?:struct|class) (\w+)(?: : [^{]+)? \{|typedef [^(]*\((\w+)\)|"
                      r"typedef .*\b(\w+);|\w[\w *]*?[ *](\w+)(?:\[\w*\])?[(;])", re.M)
MACROS = r"(?:ACRE|MALLOCX|MALLCTL|ALLOCM)_\w+(?:\(\w+\))?"
SHOWN = 3  # names in a title
WORD = re.compile(r"\b(?:\w+::)*\b(?:[a-z]+_\w+|[A-Z][A-Z_]*_\w*[A-Z]|[a-z]+x|NULL|E[A-Z]{3,}|errno)\b(?:\(\))?")
PAGE = re.compile(r"\bdocs/([\w-]+\.md)\b")
HEADER = re.compile(r"\bacre/(\w+\.hp?p?)\b")


def declared(code):
    """Names that a part of a header declares, in its order, once each."""
    text = "\n".join(line for line in code if not line.startswith((" ", "}", "extern \"C", "template")))
    return list(dict.fromkeys(next(filter(None, found)) for found in DECLARED.findall(text)))


def parts_of_cpp(text):
    """(comment, code) in turn of a header in C++, without what is private."""
    for found in re.finditer(r"((?:^//[^\n]*\n)+)((?:(?!//)[^\n]*\n)*)", text, re.M):
        code = re.sub(r"^( *)private:\n.*?(?=^\1?(?:  )?\};|^\};)", "", found[2], flags=re.M | re.S)
        code = re.sub(r"^(?:#.*|namespace acre \{|\}  // namespace acre)\n", "", code, flags=re.M).strip("\n")
        comment = "\n".join(line[3:] for line in found[1].splitlines())
        yield comment, re.sub(r"\n+(?=( *\};))", "\n", re.sub(r"\n{3,}", "\n\n", code)).splitlines()


def words(text, known):
    """A comment's paragraph as Markdown: names as code, with a link where the name is declared."""
    def as_code(found):
        name = found[0].removesuffix("()")
        if name in known:
            return f"[`{found[0]}`]({known[name]}.md#{name})"
        return f"`{found[0]}`"

    def piece(text):
        return "".join(part if at % 2 else re.sub(r"([\\*_#\[\]|`])", r"\\\1", part.replace("<", "&lt;"))
                       for at, part in enumerate(re.split(r"(\[?`[^`]+`(?:\]\([^)]*\))?)", WORD.sub(as_code, text))))

    out, at = "", 0
    for found in re.finditer(r"`[^`]+`|\"[^\"]+\"|\bdocs/[\w-]+\.md\b|\bacre/\w+\.hp?p?\b", text):
        out += piece(text[at:found.start()])
        if PAGE.fullmatch(found[0]):
            out += f"[{found[0]}](../{PAGE.fullmatch(found[0])[1]})"
        elif HEADER.fullmatch(found[0]) and HEADER.fullmatch(found[0])[1] in NAMES:
            out += f"[{found[0]}]({HEADER.fullmatch(found[0])[1]}.md)"
        else:
            out += found[0].replace("_", r"\_") if found[0].startswith('"') else found[0]
        at = found.end()
    return out + piece(text[at:])


def prose(comment, known):
    """Paragraphs; what is indented is shown as it stands."""
    out, block = [], []
    for line in [*comment.splitlines(), ""]:
        indented = line.startswith("  ")
        if block and (not line.strip() or indented != block[0].startswith("  ")):
            if block[0].startswith("  "):
                language = "cpp" if any(";" in line for line in block) else "text"
                out.append(f"```{language}\n" + textwrap.dedent("\n".join(block)) + "\n```\n")
            else:
                out.append(words(" ".join(block), known) + "\n")
            block = []
        if line.strip():
            block.append(line)
    return "\n".join(out)


def pages(folder):
    """(name, text in Markdown) of each header"""
    parts = {}
    for name in NAMES:
        path = folder / name
        parts[name] = (list(manual.parts_of(path, MACROS)) if name.endswith(".h")
                       else list(parts_of_cpp(path.read_text(encoding="utf-8"))))
    known = {}
    for name in NAMES:
        for _, code in parts[name][1:]:
            for word in declared(code):
                known.setdefault(word, name)
    for name in NAMES:
        language = "c" if name.endswith(".h") else "cpp"
        (about, _), *rest = parts[name]
        text = f"# acre/{name}\n\n```{language}\n#include <acre/{name}>\n```\n\n" + prose(about, known)
        for comment, code in rest:
            if not code:
                continue
            here = [word for word in declared(code) if known.get(word) == name]
            title = ", ".join(f"`{word}`" for word in here[:SHOWN]) + (", …" if len(here) > SHOWN else "")
            if title:
                places = "".join(f'<a id="{word}"></a>' for word in here)
                text += f"\n{places}\n\n## {title}\n"
            text += f"\n```{language}\n" + "\n".join(code) + f"\n```\n\n{prose(comment, known)}"
        yield name, text
