"""The acre command. Started by the script `acre` with the mask of ignored signals before its arguments."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))


def main(words):
    if words[:2] == ["run", "--"] and len(words) > 2:
        # Nothing to parse: the 8 ms of argparse are saved where each start counts.
        import run_command
        return run_command.main(run_command.Options(words[2:]))
    if words[:1] not in (["run"], ["record"]):  # whose program gets the standard files as they are
        import standard_files
        return standard_files.guard(lambda: parse_and_run(words))
    return parse_and_run(words)


def parse_and_run(words):
    from command_line import parse
    options = parse(words)
    return options.main(options)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[2:]))
    except KeyboardInterrupt:
        import standard_files
        standard_files.end_by("SIGINT")
