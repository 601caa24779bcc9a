"""acre purge PID: a running process returns its dirty pages to the system."""

import json

import live
from command_line import add_json, add_process


def add_arguments(parser):
    parser.explain(
        "Makes a running process return its dirty pages to the system now, without waiting for the decay.",
        (("{acre} purge $(pidof redis-server)", "says how much was returned"),
         ("{acre} purge 4711 --json", "the same, for a program")))
    add_process(parser)
    add_json(parser)


def main(options):
    with live.reported("purge"):
        answer = live.ask_json(options.pid, "purge")
    if options.json:
        print(json.dumps(answer))
    else:
        stays = f"; {live.human(answer['dirty'])} are dirty again or could not be returned" if answer["dirty"] else ""
        print(f"process {options.pid} returned {live.human(answer['returned'])} to the system{stays}")
    return 0
