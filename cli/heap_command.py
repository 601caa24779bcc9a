"""acre heap: heap profiles with names, as a table, a flame graph, or a file for pprof that needs no binaries."""

import json
import os
import shutil
import sys
import textwrap

import live
from command_line import add_json, add_yes, at_least
from say import fail, say, usage_error

MOST = 30  # functions in a table


def add_arguments(parser):
    parser.explain(
        """
        Prints the functions of heap profiles, added up, by what they hold: own, what a function allocated itself, and
        total, what it and all that it called did. A profile is a file of acre's or gperftools', the number of a running
        process, or - for stdin.
        """,
        (("{acre} heap $(pidof redis-server)", "who holds the memory of a running process"),
         ("{acre} heap --html app.4711.live.pb.gz", "a flame graph, as a page for a browser"),
         ("{acre} heap --diff before.pb.gz after.pb.gz", "what is more, and less, in the second")))
    parser.add_argument("--by", metavar="KIND", help="inuse_space, alloc_space, held_space …: what to count")
    parser.add_argument("-n", "--most", type=at_least(0), metavar="N",
                        help=f"so many functions ({MOST}; all with --json)")
    parser.add_argument("--lines", action="store_true", help="line by line, also the page at first")
    parser.add_argument("--python", action="store_true",
                        help="Python functions alone; native ones count for the Python function that called them")
    parser.add_argument("--full-names", action="store_true",
                        help="do not shorten names to the terminal's width; elsewhere they are whole")
    parser.add_argument("--lifetimes", action="store_true",
                        help="how long freed blocks had lived, and whether another thread freed them")
    parser.add_argument("--collapsed", action="store_true", help="a line a stack, for flame graph programs")
    parser.add_argument("--html", nargs="?", const="", metavar="PAGE", help="a flame graph, as a page for a browser")
    parser.add_argument("--pprof", metavar="FILE",
                        help="the same profile with names, for pprof without the binaries")
    parser.add_argument("--save", metavar="FILE", help="of one process: its profile as it is; .peak.pb.gz, "
                        ".growth.pb.gz, .pb.gz or another end of the name say of what kind")
    parser.add_argument("--diff", action="store_true", help="what is more, and less, in the second of two profiles")
    parser.add_argument("--binaries", metavar="FOLDER", help="where programs and libraries are looked for first")
    parser.add_argument("-o", "--out", metavar="FILE", help="print into this file")
    add_json(parser)
    add_yes(parser)
    parser.add_argument("files", nargs="+", metavar="PROFILE", help="a file, the number of a process, or -")


def check(options):
    if options.diff and len(options.files) != 2:
        usage_error("heap", "--diff compares two files")
    if options.diff and options.pprof:
        usage_error("heap", "--pprof and --diff do not go together; pprof itself compares (-diff_base)")
    if options.diff and options.lifetimes:
        usage_error("heap", "--lifetimes and --diff do not go together")
    if options.json and (options.collapsed or options.html is not None or options.pprof):
        usage_error("heap", "--json goes with none of --collapsed, --html and --pprof")
    if options.save and (len(options.files) != 1 or not options.files[0].isdecimal()):
        usage_error("heap", "--save keeps the profile of one process")


def read(options):
    from heap_profile import perf_map, protobuf, sources, symbols
    from heap_profile.profile import INCOMPLETE
    profiles, tool = [], None
    for word in options.files:
        try:
            profile = sources.read(word)
        except live.LiveError as error:
            fail(f"heap: {error}")
        except OSError as error:
            fail(f"heap: cannot read '{word}': {error.strerror}")
        except (protobuf.Malformed, UnicodeDecodeError) as error:
            fail(f"heap: '{word}' is no heap profile: {error}")
        for comment in profile.comments:
            if comment.startswith(INCOMPLETE):
                say(f"heap: '{word}': {comment.removeprefix(INCOMPLETE)}")
        profile = perf_map.named(profile)
        shows_native = not options.python or options.pprof is not None
        if shows_native and any(not location.lines for location in profile.locations()):
            tool = tool or symbols.ensure_tool("heap", options.yes)
            profile = symbols.named(profile, tool, symbols.where_binaries_are(options.binaries),
                                    lambda text: say(f"heap: {text}"))
        profiles.append(profile)
    return profiles


def kind_of(profile, options):
    if options.by is None:
        return profile.default
    at = profile.index(options.by)
    if at is None:
        fail(f"heap: there is no '{options.by}' in this profile; --by is one of "
             f"{', '.join(kind.name for kind in profile.kinds)}")
    return at


def write(path, content):
    """content: bytes, or text, in which names of files need not be UTF-8."""
    content = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        fail(f"heap: cannot write '{path}': {error.strerror}")
    print(path)


def save(options):
    """As the process makes it, without names, of the kind that the file's name says."""
    kinds = {".peak.pb.gz": "peak", ".growth.pb.gz": "growth", ".pb.gz": "live", "": "text"}
    kind = next(kind for end, kind in kinds.items() if options.save.endswith(end))
    with live.reported("heap"):
        profile = live.heap_profile(int(options.files[0]), kind)
    write(options.save, profile)
    return 0


def page_path(options):
    if options.html:
        return options.html
    name = os.path.basename(options.files[-1])
    for end in (".pb.gz", ".heap", ".gz"):
        name = name.removesuffix(end)
    return ("profile" if name == "-" else name) + ".html"


def width_of(options):
    """Of the terminal; None for what goes elsewhere, where names stay whole."""
    if options.full_names or options.out or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def answer(options, profiles, whole, before):
    """The lines that are asked for."""
    from heap_profile import about, views
    at, freed = kind_of(whole, options), None
    base = before.total(at) if options.diff else None
    if options.lifetimes:
        freed = views.freed(whole, options.lines)
        if freed is None:
            fail("heap: this profile has no lifetimes; those that end in .live.pb.gz have")
        at = whole.index("freed_objects")
    why = about.why_empty(whole, at, options.diff)
    if options.collapsed:
        if why:
            say(f"heap: {why}")
        return views.collapsed(whole, at, options.lines)
    if options.json:
        found = {"profiles": [about.facts(*one) for one in zip(profiles, options.files)], "empty": why}
        found |= (views.as_json(whole, at, options.most, options.lines, base) if freed is None
                  else views.lifetimes_as_json(freed, options.most, options.lines))
        return json.dumps(found, indent=1).splitlines()
    title, more = about.heading(profiles, options.files, options.diff)
    head, width = ", ".join([title, *more]), width_of(options)
    head = textwrap.wrap(head, width) if width else [head]
    if why:
        return head + (textwrap.wrap(why, width) if width else [why])
    most = MOST if options.most is None else options.most
    return head + (views.top(whole, at, most, options.lines, width, base) if freed is None
                   else views.lifetimes(freed, most, width))


def show(options, profiles, whole, before, after):
    from heap_profile import about, page, pprof, python
    at = kind_of(whole, options)
    if options.python and not python.has_functions(whole):
        fail("heap: there are no Python functions in this profile; acre run --profile and the option prof_python put "
             "them there, of CPython 3.11 to 3.14")
    if options.html is not None:
        heading = about.heading(profiles, options.files, options.diff)
        sides = [side and python.for_people(side, options.python) for side in (after, before)]
        write(page_path(options), page.page(heading, *sides, at, options.lines))
    if options.pprof is not None:
        write(options.pprof, pprof.write(whole))
    whole = python.for_people(whole, options.python, not options.lines)
    if (options.html is None and options.pprof is None) or options.collapsed or options.lifetimes:
        text = "".join(f"{line}\n" for line in answer(options, profiles, whole, before))
        if options.out is None:
            sys.stdout.write(text)
        else:
            write(options.out, text)


def main(options):
    check(options)
    if options.save:
        return save(options)
    from heap_profile.profile import Differ, combined
    profiles = read(options)
    try:
        if options.diff:
            before, after = profiles
            whole = combined([after, before], [1, -1])
        else:
            before, after = None, combined(profiles, [1] * len(profiles))
            whole = after
    except Differ as error:
        fail(f"heap: these profiles do not go together: {error}")
    show(options, profiles, whole, before, after)
    return 0
