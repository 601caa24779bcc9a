"""acre(1) from the parsers, acre.conf(5) from docs/options.md and docs/reference.md, acre(3) from the headers."""

import argparse
import re

import roff
from places import version

HEADERS = ("acre.h", "heap.h", "tags.h", "leaks.h", "trace.h", "extent_hooks.h")


def see_also(*pages):
    return [".SH SEE ALSO", ", ".join(f"\\fB{name}\\fR({section})" for name, section in pages)]


# --- acre(1) --------------------------------------------------------------------------------------------------------

def head_of(action, parser):
    """-o, --output FOLDER"""
    names = ", ".join(roff.bold(name) for name in action.option_strings)
    value = parser.value_of(action)
    if not names:
        return roff.italic(value.strip("[]"))
    if not value:
        return names
    if action.nargs == argparse.OPTIONAL:
        return f"{names}[={roff.italic(action.metavar)}]"
    return f"{names} {roff.italic(value)}"


def arguments_of(parser):
    for action in parser.arguments():
        if action.dest == "help":  # which SYNOPSIS has, for all
            continue
        yield from roff.item(head_of(action, parser), roff.escaped(action.help))


def examples_of(parser):
    for line, meaning in parser.examples:
        yield from roff.item(roff.bold(line.replace("{acre}", "acre")), roff.inline(meaning))


def codes_of(codes):
    for code, meaning in codes.items():
        yield from roff.item(roff.bold(str(code)), roff.inline(meaning))


def of_command(acre, commands):
    page = roff.title("acre", 1, version(), acre.description[0].lower() + acre.description[1:].rstrip("."))
    page += [".SH SYNOPSIS", f"{roff.bold('acre')} {roff.italic('COMMAND')} {roff.escaped('…')}", ".br",
             f"{roff.bold('acre')} {roff.italic('COMMAND')} {roff.bold('--help')}", ".SH DESCRIPTION",
             roff.escaped("libacre.so replaces the C library's malloc without a change to the program. The command "
                          "runs programs on it, and shows what they have in memory.")]
    page += arguments_of(acre)
    page += [".SH COMMANDS"]
    for parser in commands:
        page += [f".SS {roff.escaped(parser.prog)}", roff.escaped(usage_of(parser)), ".PP"]
        page += [roff.inline(" ".join(parser.description.split()))]
        page += arguments_of(parser)
        own = {code: meaning for code, meaning in parser.exit_codes.items() if acre.exit_codes.get(code) != meaning}
        if own:
            page += [".PP", "Exit codes:", *codes_of(own)]
        page += [".PP", "Examples:", *examples_of(parser)]
    page += [".SH EXIT STATUS", *codes_of(acre.exit_codes), ".SH EXAMPLES", *examples_of(acre)]
    page += [".SH ENVIRONMENT"]
    page += roff.item(roff.bold("ACRE_CONF"), roff.inline("options of the library; see acre.conf(5)"))
    page += roff.item(roff.bold("XDG_CACHE_HOME"), roff.inline("what `acre bench` makes is in acre in it (~/.cache)"))
    page += roff.item(roff.bold("CI"), roff.inline("`true`: missing packages are installed without asking, by root"))
    return roff.finished(page + see_also(("acre.conf", 5), ("acre", 3)))


def usage_of(parser):
    return " ".join(parser.format_usage().removeprefix("usage: ").split())


# --- acre.conf(5) ---------------------------------------------------------------------------------------------------

def section(page, title):
    """What stands under a title of a page, without the title."""
    text = page.read_text(encoding="utf-8")
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]


def of_options(docs):
    page = roff.title("acre.conf", 5, version(), "options of the memory allocator acre")
    page += [".SH DESCRIPTION", *roff.markdown(section(docs / "options.md", "Where options are set")), ".SH OPTIONS"]
    table = next(block for block in roff.blocks(section(docs / "reference.md", "Options")) if block[0].startswith("|"))
    for name, kind, default, known, at_run_time, meaning in roff.rows(table):
        later = "; may be changed at run time" if at_run_time == "yes" else ""
        page += roff.item(f"{roff.inline(name)}: {roff.italic(kind)}",
                          roff.inline(f"{meaning}. Values: {known}; default: {default}{later}."))
    page += [".SH FILES", *roff.item(roff.bold("/etc/acre.conf"), "options of all programs on the machine")]
    return roff.finished(page + see_also(("acre", 1), ("acre", 3)))


# --- acre(3) --------------------------------------------------------------------------------------------------------

PARTS = re.compile(r"^/\*(?P<comment>.*?)\*/\n(?P<code>(?:(?!/\*)[^\n]+\n)*)", re.M | re.S)


def parts_of(header, macros=r"ACRE_\w+"):
    """(comment, declarations) of a header in turn, with those macros; the first comment is of the whole header."""
    for found in PARTS.finditer(header.read_text(encoding="utf-8")):
        comment = "\n".join(re.sub(r"^ \* ?", "", line) for line in found["comment"].removeprefix(" ").splitlines())
        is_for_compilers = "#if" in found["code"]
        code = [] if is_for_compilers else [
            line.replace(" ACRE_NOT_READ", "") for line in found["code"].splitlines()
            if not line.startswith("#") or re.match(rf"#define {macros} +\S", line)]
        yield comment.rstrip(), code


def of_headers(folder):
    page = roff.title("acre", 3, version(), "functions of the memory allocator acre")
    page += [".SH SYNOPSIS", *(line for name in HEADERS for line in (f".B #include <acre/{name}>", ".br"))]
    page += [".PP", roff.bold("cc program.c -lacre"), ".br"]
    page += [roff.bold("cc program.c $(pkg-config --cflags --libs acre)")]
    for at, name in enumerate(HEADERS):
        page += [".SH DESCRIPTION" if at == 0 else f".SH {roff.escaped('acre/' + name)}"]
        for number, (comment, code) in enumerate(parts_of(folder / name)):
            if number and code:
                page += [".PP", ".nf", *(roff.bold(line) for line in code), ".fi", ".RS 4"]
                page += [*roff.comment(comment), ".RE"]
            elif number == 0:
                page += roff.comment(comment)
    page += [".SH NOTES", "acre/jemalloc.h and acre/tcmalloc.h declare the functions of jemalloc and of TCMalloc that "
             "acre has."]
    return roff.finished(page + see_also(("acre", 1), ("acre.conf", 5), ("malloc", 3)))
