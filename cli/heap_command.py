"""acre heap: heap profiles with names, as a table, a flame graph, or a file for pprof that needs no binaries."""

import json
import os
import shutil
import sys
import textwrap

import live
from say import fail, say, usage_error

FLAGS = {"--diff": "diff", "--collapsed": "collapsed", "--lifetimes": "lifetimes", "--lines": "lines", "-y": "yes",
         "--yes": "yes", "--json": "json", "--full-names": "full_names"}
WITH_VALUE = {"--by": "by", "-n": "most", "--pprof": "pprof", "--binaries": "binaries", "-o": "out",
              "--save": "save"}
MOST = 30  # functions in a table


class Options:
    diff = collapsed = lifetimes = lines = json = full_names = yes = False
    by = pprof = binaries = out = save = None
    html = None   # a path; "" for one that is named after the profile
    most = None
    files = ()


def parse(arguments):
    options, files = Options(), []
    words = iter(arguments)
    for word in words:
        name, _, value = word.partition("=")
        if word == "--html":
            options.html = ""
        elif word.startswith("--html="):
            options.html = value
        elif word in FLAGS:
            setattr(options, FLAGS[word], True)
        elif name in WITH_VALUE:
            value = value if "=" in word else next(words, None)
            if not value:
                usage_error(f"heap: {name} needs a value")
            setattr(options, WITH_VALUE[name], value)
        elif word.startswith("-") and word != "-":
            usage_error(f"heap: unknown option '{word}'")
        else:
            files.append(word)
    check(options, files)
    options.files = files
    return options


def check(options, files):
    if not files:
        usage_error("heap: no FILE to read, and no process to ask")
    if options.diff and len(files) != 2:
        usage_error("heap: --diff compares two files")
    if options.diff and options.pprof:
        usage_error("heap: --pprof and --diff do not go together; pprof itself compares (-diff_base)")
    if options.diff and options.lifetimes:
        usage_error("heap: --lifetimes and --diff do not go together")
    if options.save and (len(files) != 1 or not files[0].isdecimal()):
        usage_error("heap: --save keeps the profile of one process")
    if options.json and (options.collapsed or options.html is not None or options.pprof):
        usage_error("heap: --json goes with none of --collapsed, --html and --pprof")
    if options.most is not None:
        if not options.most.isdecimal() or int(options.most) == 0:
            usage_error(f"heap: -n takes a number of functions, not '{options.most}'")
        options.most = int(options.most)


def find_tool(yes):
    """llvm-symbolizer or addr2line; installed by the rule of every command if there is neither."""
    from heap_profile import symbols
    tool = symbols.find_tool()
    if tool is None:
        import packages
        packages.ensure(["heap"], yes)
        tool = symbols.find_tool()
    return tool or fail("heap: neither llvm-symbolizer nor addr2line is there, which give addresses their names")


def where_binaries_are(folder):
    """With a folder, programs and libraries are looked for there: under their whole path, then under their name."""
    def path(file):
        if folder is not None:
            for candidate in (os.path.join(folder, file.lstrip("/")), os.path.join(folder, os.path.basename(file))):
                if os.path.isfile(candidate):
                    return candidate
        return file
    return path


def read(options):
    from heap_profile import protobuf, sources, symbols
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
        if any(not location.lines for location in profile.locations()):
            tool = tool or find_tool(options.yes)
            profile = symbols.named(profile, tool, where_binaries_are(options.binaries), lambda text: say(f"heap: {text}"))
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
        profile = live.heap_profile(live.number_of("heap", options.files[0]), kind)
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
    at, most, base = kind_of(whole, options), options.most, None
    if before is not None:
        base = before.total(at)
    why = about.why_empty(whole, at, options.diff)
    if options.collapsed:
        if why:
            say(f"heap: {why}")
        return views.collapsed(whole, at, options.lines)
    freed = None
    if options.lifetimes:
        freed = views.freed(whole, options.lines)
        if freed is None:
            fail("heap: this profile has no lifetimes; those that end in .live.pb.gz have")
        why = about.why_empty(whole, whole.index("freed_objects"))
    if options.json:
        found = {"profiles": [about.facts(*one) for one in zip(profiles, options.files)], "empty": why}
        found |= (views.as_json(whole, at, most, options.lines, base) if freed is None
                  else views.lifetimes_as_json(freed, most, options.lines))
        return json.dumps(found, indent=1).splitlines()
    most, width = most or MOST, width_of(options)
    title, more = about.heading(profiles, options.files, options.diff)
    lines = [", ".join([title, *more])]
    if why:
        return lines + (textwrap.wrap(why, width) if width else [why])
    return lines + (views.top(whole, at, most, options.lines, width, base) if freed is None
                    else views.lifetimes(freed, most, width))


def show(options, profiles, whole, before, after):
    from heap_profile import about, page, pprof
    kind_of(whole, options)
    if options.html is not None:
        write(page_path(options), page.page(about.heading(profiles, options.files, options.diff), after, before,
                                            kind_of(whole, options), options.lines).encode())
    if options.pprof is not None:
        write(options.pprof, pprof.write(whole))
    if (options.html is None and options.pprof is None) or options.collapsed or options.lifetimes:
        text = "".join(f"{line}\n" for line in answer(options, profiles, whole, before))
        if options.out is None:
            sys.stdout.write(text)
        else:
            write(options.out, text.encode())


def main(arguments):
    options = parse(arguments)
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
