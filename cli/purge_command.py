"""acre purge PID: a running process returns its dirty pages to the system."""

import json

import live


def main(arguments):
    pid, _, as_json = live.words_of("purge", arguments, "say which process: acre purge PID", 1)
    with live.reported("purge"):
        answer = live.ask_json(pid, "purge")
    if as_json:
        print(json.dumps(answer))
    else:
        stays = f"; {live.human(answer['dirty'])} are dirty again or could not be returned" if answer["dirty"] else ""
        print(f"process {pid} returned {live.human(answer['returned'])} to the system{stays}")
    return 0
