"""acre heap: heap profiles with names, as a table, a flame graph, or a file for pprof that needs no binaries."""

import os
import sys

import live
from say import fail, say, usage_error

FLAGS = {"--diff": "diff", "--collapsed": "collapsed", "--lifetimes": "lifetimes", "--lines": "lines",
         "--python": "python", "-y": "yes",
         "--yes": "yes"}
WITH_VALUE = {"--by": "by", "-n": "most", "--pprof": "pprof", "--binaries": "binaries", "-o": "out",
              "--save": "save"}


class Options:
    diff = collapsed = lifetimes = lines = python = yes = False
    by = pprof = binaries = out = save = None
    html = None   # a path; "" for one that is named after the profile
    most = 30
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
    if options.save and (len(files) != 1 or not files[0].isdecimal()):
        usage_error("heap: --save keeps the profile of one process")
    try:
        options.most = int(options.most)
    except ValueError:
        usage_error("heap: -n takes a number")


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
    from heap_profile import perf_map, protobuf, sources, symbols
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
        profile = perf_map.named(profile, word)
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
        fail(f"heap: --by is one of {', '.join(kind.name for kind in profile.kinds)}")
    return at


def title_of(options):
    names = [os.path.basename(word) for word in options.files]
    return f"{names[0]} → {names[1]}" if options.diff else ", ".join(names)


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


def show(options, whole, before, after):
    from heap_profile import page, pprof, python, views
    at = kind_of(whole, options)
    if options.python and not python.has_functions(whole):
        fail("heap: there are no Python functions in this profile; acre run --profile and the option prof_python put "
             "them there, of CPython 3.11 to 3.14")
    if options.html is not None:
        sides = [side and python.for_people(side, options.python) for side in (after, before)]
        write(page_path(options), page.page(title_of(options), *sides).encode())
    if options.pprof is not None:
        write(options.pprof, pprof.write(whole))
    whole = python.for_people(whole, options.python, not options.lines)
    if options.collapsed:
        lines = views.collapsed(whole, at, options.lines)
    elif options.lifetimes:
        lines = views.lifetimes(whole, options.most, options.lines)
        if lines is None:
            fail("heap: this profile has no lifetimes; those that end in .live.pb.gz have")
    elif options.html is None and options.pprof is None:
        lines = views.top(whole, at, options.most, options.lines)
    else:
        return
    if options.out is None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    else:
        write(options.out, "".join(f"{line}\n" for line in lines).encode())


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
    show(options, whole, before, after)
    return 0
