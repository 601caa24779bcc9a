"""acre doctor [PID]: what is wrong with acre's installation, with this machine, and with a running process."""

import json

import live
import terminal
from command_line import add_json, process_number

STATES = {"ok": ("ok", 34), "note": ("note", 220), "problem": ("WRONG", 196)}
SECTIONS = (("machine", "This machine"), ("installation", "The installation"), ("process", "Process {pid}"))


def finding(section, check, state, found, advice=None):
    """state: ok, note (it may matter), or problem. advice: what to do."""
    return {"section": section, "check": check, "state": state, "found": found, "do": advice}


def lines_of(findings, pid, in_colour, columns):
    for section, title in SECTIONS:
        rows = [row for row in findings if row["section"] == section]
        if not rows:
            continue
        yield title.format(pid=pid)
        for row in rows:
            word, colour = STATES[row["state"]]
            lead = f"  {word:5}  "
            shown = f"  \033[38;5;{colour}m{word:5}\033[0m  " if in_colour else lead
            yield from terminal.wrapped(shown, f"{row['check']}: {row['found']}", columns, lead)
            if row["do"]:
                yield from terminal.wrapped(" " * len(lead) + "→ ", row["do"], columns)
    problems = sum(row["state"] == "problem" for row in findings)
    notes = sum(row["state"] == "note" for row in findings)
    yield (f"{problems or 'nothing'} wrong, {notes} that may matter" if notes else f"{problems or 'nothing'} wrong")


def add_arguments(parser):
    parser.explain(
        """
        Looks for what is wrong with acre's installation, with this machine, and, where PID says which, with a running
        process, on acre or not: whose malloc it calls, whether it can be asked, whether its functions have names, what is
        in the way. Each finding says what to do.
        """,
        (("{acre} doctor", "the machine and the installation"),
         ("{acre} doctor $(pidof redis-server)", "a process, too")),
        {0: "nothing is wrong", 1: "something is, or there is no such process"})
    parser.add_argument("pid", type=process_number, metavar="PID", nargs="?", help="the number of the process")
    add_json(parser)


def main(options):
    import doctor_machine
    import doctor_process
    with live.reported("doctor"):
        process = live.Process(options.pid) if options.pid else None
        findings = list(doctor_machine.machine(process)) + list(doctor_machine.installation())
        if process:
            findings += doctor_process.process(process)
    if options.json:
        print(json.dumps({"pid": options.pid, "findings": findings}, indent=1))
    else:
        print("\n".join(lines_of(findings, options.pid, terminal.in_colour(), terminal.width())))
    return 1 if any(row["state"] == "problem" for row in findings) else 0
