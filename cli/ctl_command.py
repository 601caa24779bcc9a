"""acre ctl PID [NAME [VALUE]]: asks or tells a running process by the names of docs/ctl.md."""

import json

import live
from command_line import add_json, add_process
from say import usage_error


def shown(value):
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def access(entry):
    words = [word for word in ("read", "write") if entry[{"read": "readable", "write": "writable"}[word]]]
    return ", ".join(words) or "does something"


def print_names(names):
    widths = [max(len(entry[key]) for entry in names) for key in ("name", "type")]
    for entry in names:
        print(f"{entry['name']:{widths[0]}}  {entry['type']:{widths[1]}}  {access(entry)}")


def add_arguments(parser):
    parser.explain(
        """
        Asks a running process for a value by its name in docs/ctl.md, or gives it a new one. Without a name, lists
        the names that the process knows.
        """,
        (("{acre} ctl $(pidof redis-server) stats.allocated", "how many bytes live blocks have"),
         ("{acre} ctl $(pidof redis-server) opt.prof true", "the heap profiler begins to sample")))
    add_process(parser)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a name of docs/ctl.md")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="what it should be; one argument, so in quotes if it "
                        "has blanks in it")
    add_json(parser)


def main(options):
    words = [word for word in (options.name, options.value) if word is not None]
    if any("\n" in word or not word for word in words):
        usage_error("ctl", "a name or a value cannot be empty or have an end of line in it")
    with live.reported("ctl"):
        answer = live.ask_json(options.pid, "ctl", *words)
    if options.json:
        print(json.dumps(answer, indent=1))
    elif "names" in answer:
        print_names(answer["names"])
    elif "value" in answer:
        print(shown(answer["value"]))
    return 0
