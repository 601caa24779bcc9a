"""The acre command. Started by the script `acre` with the mask of ignored signals before its arguments."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))


def main(words):
    if words[:2] == ["run", "--"] and len(words) > 2:
        # Nothing to parse: the 8 ms of argparse are saved where each start counts.
        import run_command
        return run_command.main(run_command.Options(words[2:]))
    from command_line import parse
    options = parse(words)
    return options.main(options)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output went away; leave nothing to be flushed into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
