"""acre purge PID: a running process returns its dirty pages to the system."""

import json

import live
from say import usage_error


def main(arguments):
    as_json = "--json" in arguments
    words = [word for word in arguments if word != "--json"]
    if len(words) != 1:
        usage_error("purge: say which process: acre purge PID")
    pid = live.number_of("purge", words[0])
    with live.reported("purge"):
        answer = live.ask_json(pid, "purge")
    if as_json:
        print(json.dumps(answer))
    else:
        stays = f"; {live.human(answer['dirty'])} are dirty again or could not be returned" if answer["dirty"] else ""
        print(f"process {pid} returned {live.human(answer['returned'])} to the system{stays}")
    return 0
