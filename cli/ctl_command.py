"""acre ctl PID [NAME [VALUE]]: asks or tells a running process by the names of docs/ctl.md."""

import json

import live
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


def main(arguments):
    usage = "acre ctl PID [NAME [VALUE]]; a value with blanks is one argument, in quotes"
    pid, words, as_json = live.words_of("ctl", arguments, usage, 3)
    if any("\n" in word or not word for word in words):
        usage_error("ctl: a name or a value cannot be empty or have an end of line in it")
    with live.reported("ctl"):
        answer = live.ask_json(pid, "ctl", *words)
    if as_json:
        print(json.dumps(answer, indent=1))
    elif "names" in answer:
        print_names(answer["names"])
    elif "value" in answer:
        print(shown(answer["value"]))
    return 0
