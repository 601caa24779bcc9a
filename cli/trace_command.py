"""acre trace: what is in a recording, by acre-trace (trace/)."""

import re

import trace_tool
from say import fail, say, usage_error

KINDS = ("malloc", "calloc", "aligned", "realloc", "realloc-from", "resize", "free", "sized-free", "mark", "name",
         "tag", "lost", "figures", "run", "run-gone", "purged", "takeover", "sync", "stack", "cut", "end")
FILTERS = ("process", "thread", "tag", "kind", "size", "address", "start", "end")
FORMATS = ("pprof", "perfetto", "dhat", "firefox", "heaptrack", "text")


def add_arguments(parser):
    from command_line import add_json, add_yes
    parser.explain(
        """
        Prints the events of a recording, a line each: seconds since it began, the process's number in the file, the
        thread, what was done, the block, the size that was asked for. Events on one block are in the order in which
        they happened. With --json a line is a JSON object.
        """,
        (("{acre} trace app.actrace --kind malloc --size 1048576-", "allocations of 1 MiB and more"),
         ("{acre} trace app.actrace --address 0x7f2a40001000", "what happened to a block"),
         ("{acre} trace app.actrace --check", "whether the recording is whole, and contradicts itself"),
         ("{acre} trace app.actrace --export pprof -o app.pb.gz", "a profile for `go tool pprof`, or for `acre heap`"),
         ("{acre} trace --import heaptrack.app.zst -o app.actrace", "a recording from what heaptrack has recorded")),
        {1: "the file cannot be read, or a part of it is damaged, or it contradicts itself"})
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--check", action="store_true", help="read all of it, and say whether it is sound")
    forms.add_argument("--info", action="store_true", help="the processes that were recorded, and how they ended")
    forms.add_argument("--export", choices=FORMATS, metavar="FORMAT", dest="format",
                       help=f"write a file for another tool: {', '.join(FORMATS)}")
    forms.add_argument("--import", action="store_true", dest="imports",
                       help="make a recording of FILE, which is heaptrack's or plain text")
    parser.add_argument("-o", "--output", metavar="OUT", help="of --export and --import: the file to write")
    add_json(parser)
    parser.add_argument("--process", type=whole, metavar="N", help="events of this process, as --info numbers them")
    parser.add_argument("--thread", type=whole, metavar="TID", help="of this thread")
    parser.add_argument("--tag", metavar="NAME", help="of threads while they have this tag in force (acre/tags.h)")
    parser.add_argument("--kind", choices=KINDS, metavar="KIND", help=f"of this kind: {', '.join(KINDS)}")
    parser.add_argument("--size", type=range_of, metavar="N[-[N]]", help="allocations of so many bytes")
    parser.add_argument("--address", type=range_of, metavar="A[-[A]]", help="of blocks there")
    parser.add_argument("--from", dest="start", type=seconds, metavar="SECONDS", help="from then on")
    parser.add_argument("--to", dest="end", type=seconds, metavar="SECONDS", help="until then")
    parser.add_argument("--at", type=seconds, metavar="SECONDS",
                        help="of --export pprof: what lives then, not at the end")
    parser.add_argument("--within", type=events, metavar="N",
                        help="of --export pprof: what is freed within N allocations and frees of its thread is "
                             "temporary (1)")
    parser.add_argument("--binaries", metavar="FOLDER",
                        help="of --export: where programs and libraries are looked for first")
    parser.add_argument("--all", action="store_true", help="also what only orders the others, and ends of threads")
    parser.add_argument("--stacks", action="store_true", help="with the return addresses of each event's call stack")
    add_yes(parser)
    parser.add_argument("file", metavar="FILE", help="a recording of `acre record`; of --import: what is read")


def checked(pattern, what):
    def check(text):
        import argparse
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"'{text}' is no {what}")
        return text
    return check


NUMBER = r"(0x[0-9a-fA-F]{1,16}|\d{1,18})"
whole = checked(r"\d{1,9}", "number")
events = checked(r"0*[1-9]\d{0,17}", "number of events")
range_of = checked(f"{NUMBER}(-{NUMBER}?)?", "number or range such as 64, 64-128, 64-")
seconds = checked(r"\d+(\.\d*)?|\.\d+", "number of seconds")


def check(options):
    chosen = [name for name in (*FILTERS, "all", "stacks") if getattr(options, name) not in (None, False)]
    if (options.check or options.info) and chosen:
        usage_error("trace", "--check and --info look at all events")
    if (options.format or options.imports) and not options.output:
        usage_error("trace", f"{'--export' if options.format else '--import'} needs -o OUT")
    if not (options.format or options.imports) and options.output:
        usage_error("trace", "-o goes with --export or --import")
    if options.imports and chosen:
        usage_error("trace", "--import takes all that FILE has")
    if options.format and (options.json or set(chosen) - {"process", "start", "end"}):
        usage_error("trace", "--export goes with --process, --from and --to alone")
    if options.at is not None and options.format != "pprof":
        usage_error("trace", "--at goes with --export pprof")
    if options.within is not None and options.format != "pprof":
        usage_error("trace", "--within goes with --export pprof")
    if options.binaries is not None and not options.format:
        usage_error("trace", "--binaries goes with --export")


def main(options):
    check(options)
    tool = trace_tool.ensure("trace", options.yes)
    if options.format:
        return export(options, tool)
    if options.imports:
        trace_tool.become([tool, "import", "-o", options.output, "--", options.file])
    words = [tool, "check" if options.check else "info" if options.info else "print"]
    for name in FILTERS:
        if getattr(options, name) is not None:
            words += [f"--{ {'start': 'from', 'end': 'to'}.get(name, name)}", getattr(options, name)]
    words += ["--all"] * options.all + ["--stacks"] * options.stacks + ["--json"] * options.json
    trace_tool.become([*words, "--", options.file])


def export(options, tool):
    from heap_profile import symbols
    from recording import exports, names
    try:
        recording = exports.Recording(
            tool, options.file, None if options.process is None else int(options.process), options.start, options.end,
            options.at, options.within, None if options.format == "text" else symbols.ensure_tool("trace", options.yes),
            symbols.where_binaries_are(options.binaries), lambda text: say(f"trace: {text}"))
        exports.write(recording, options.format, options.output)
    except names.Unreadable as error:
        if error.args:
            say(f"trace: {error}")
        return 1
    except OSError as error:
        fail(f"trace: cannot write '{options.output}': {error.strerror}")
    print(options.output)
    return 1 if recording.is_damaged else 0
