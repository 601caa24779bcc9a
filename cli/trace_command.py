"""acre trace: what is in a recording, by acre-trace (trace/)."""

import re

import trace_tool
from say import usage_error

KINDS = ("malloc", "calloc", "aligned", "realloc", "realloc-from", "resize", "free", "sized-free", "mark", "name",
         "lost", "figures", "run", "run-gone", "purged", "takeover", "sync", "stack", "cut", "end")
FILTERS = ("process", "thread", "kind", "size", "address", "start", "end")


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
         ("{acre} trace app.actrace --check", "whether the recording is whole, and contradicts itself")),
        {1: "the file cannot be read, or a part of it is damaged, or it contradicts itself"})
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--check", action="store_true", help="read all of it, and say whether it is sound")
    forms.add_argument("--info", action="store_true", help="the processes that were recorded, and how they ended")
    add_json(parser)
    parser.add_argument("--process", type=whole, metavar="N", help="events of this process, as --info numbers them")
    parser.add_argument("--thread", type=whole, metavar="TID", help="of this thread")
    parser.add_argument("--kind", choices=KINDS, metavar="KIND", help=f"of this kind: {', '.join(KINDS)}")
    parser.add_argument("--size", type=range_of, metavar="N[-[N]]", help="allocations of so many bytes")
    parser.add_argument("--address", type=range_of, metavar="A[-[A]]", help="of blocks there")
    parser.add_argument("--from", dest="start", type=seconds, metavar="SECONDS", help="from then on")
    parser.add_argument("--to", dest="end", type=seconds, metavar="SECONDS", help="until then")
    parser.add_argument("--all", action="store_true", help="also what only orders the others, and ends of threads")
    parser.add_argument("--stacks", action="store_true", help="with the return addresses of each event's call stack")
    add_yes(parser)
    parser.add_argument("file", metavar="FILE", help="a recording of `acre record`")


def checked(pattern, what):
    def check(text):
        import argparse
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"'{text}' is no {what}")
        return text
    return check


NUMBER = r"(0x[0-9a-fA-F]{1,16}|\d{1,18})"
whole = checked(r"\d{1,9}", "number")
range_of = checked(f"{NUMBER}(-{NUMBER}?)?", "number or range such as 64, 64-128, 64-")
seconds = checked(r"\d+(\.\d*)?|\.\d+", "number of seconds")


def main(options):
    chosen = [name for name in (*FILTERS, "all", "stacks") if getattr(options, name) not in (None, False)]
    if (options.check or options.info) and chosen:
        usage_error("trace", "--check and --info look at all events")
    words = [trace_tool.ensure("trace", options.yes), "check" if options.check else "info" if options.info else "print"]
    for name in FILTERS:
        if getattr(options, name) is not None:
            words += [f"--{ {'start': 'from', 'end': 'to'}.get(name, name)}", getattr(options, name)]
    words += ["--all"] * options.all + ["--stacks"] * options.stacks + ["--json"] * options.json
    trace_tool.become([*words, "--", options.file])
