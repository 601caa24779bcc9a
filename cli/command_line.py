"""The command line: argparse with options whose value is optional (--NAME=VALUE), "did you mean", examples and exit
codes.

A command is a module NAME_command.py with add_arguments(parser) and main(options) -> exit code, imported when it is
called. add_arguments begins with parser.explain(…). An option with nargs="?" takes a value after a = only.
"""

import argparse
import difflib
import importlib
import re
import shutil
import textwrap

from command_names import COMMANDS, OF_THE_SOURCES
from places import NAME, installed, version
from say import usage_error

DESCRIPTION = "A memory allocator for Linux, and the tools around it."
EXAMPLES = (
    ("{acre} run --stats -- python3 -c 'print(\"hello\")'", "run a program on acre, and print what memory it had"),
    ("{acre} why $(pidof redis-server)", "explain the resident memory of a process that runs on acre"),
)
EXIT_CODES = {0: "all is well", 1: "it could not be done; stderr says why", 2: "the command line is wrong",
              130: "ended by Ctrl-C"}


def nearest(word, known):
    """'; did you mean …?' or nothing"""
    plain = {name.lstrip("-"): name for name in known}
    found = difflib.get_close_matches(word.lstrip("-"), plain, 1)
    return f"; did you mean '{plain[found[0]]}'?" if found else ""


class Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog):
        super().__init__(prog, max_help_position=28)

    def _format_args(self, action, default_metavar):
        """An option's optional value as it is given, --NAME[=VALUE]; and the name of what takes the rest."""
        name = self._metavar_formatter(action, default_metavar)(1)[0]
        if action.nargs == argparse.OPTIONAL and action.option_strings:
            return f"[={name}]"
        return name if action.nargs == argparse.REMAINDER else super()._format_args(action, default_metavar)

    def _format_action_invocation(self, action):
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, action.dest.upper())
        return ", ".join(action.option_strings) + ("" if value.startswith("[=") else " ") + value

    def _fill_text(self, text, width, indent):
        """Paragraphs are filled; lists, which have lines that begin with a blank, stay as they are."""
        return "\n\n".join(part if "\n " in part else textwrap.fill(part, width) for part in text.split("\n\n"))

    def format_help(self):
        return super().format_help().replace(" [=", "[=")  # of the usage


class Parser(argparse.ArgumentParser):
    def __init__(self, *arguments, command=None, **settings):
        super().__init__(*arguments, formatter_class=Formatter, allow_abbrev=False, add_help=False, **settings)
        self.add_argument("-h", "--help", action="help", help="print this and end")
        self._positionals.title = "arguments"
        self.command = command    # whose module adds the arguments when they are needed
        self.examples = ()
        self.exit_codes = EXIT_CODES

    def explain(self, description, examples, exit_codes=None):
        """examples: (command line with {acre}, what it does) …; exit_codes: those that other commands do not have."""
        self.description = textwrap.dedent(description).strip()
        self.examples = examples
        self.exit_codes = dict(sorted({**EXIT_CODES, **(exit_codes or {})}.items()))

    def complete(self):
        """Adds the arguments of the command, if that was not done yet."""
        if self.command:
            module = importlib.import_module(f"{self.command}_command")
            self.command = None
            module.add_arguments(self)
            self.set_defaults(main=module.main)

    def arguments(self):
        """Its options and other words, without its commands."""
        return [action for action in self._actions if action.nargs != argparse.PARSER]

    def commands(self):
        return [parser for action in self._actions if action.nargs == argparse.PARSER
                for parser in action.choices.values()]

    def meaning_of(self, command):
        """What the list of commands says of one of them."""
        return next(shown.help for action in self._actions if action.nargs == argparse.PARSER
                    for shown in action._choices_actions if command.prog.endswith(f" {shown.dest}"))

    def value_of(self, action):
        """The name of an argument's value; empty if it has none."""
        return self._get_formatter()._format_args(action, action.metavar or "") if action.nargs != 0 else ""

    def format_help(self):
        self.complete()
        width = shutil.get_terminal_size().columns - 2

        def filled(first, indent, text):
            return textwrap.fill(text, width, initial_indent=first, subsequent_indent=indent)

        lines = ["examples:"]
        for line, meaning in self.examples:
            lines += [f"  {line.replace('{acre}', NAME)}", filled(" " * 6, " " * 6, meaning)]
        lines += ["", "exit codes:"]
        lines += [filled(f"  {code:<5} ", " " * 8, meaning) for code, meaning in self.exit_codes.items()]
        self.epilog = "\n".join(lines)
        return super().format_help()

    def parse_known_args(self, args=None, namespace=None):
        self.complete()
        namespace, unknown = super().parse_known_args(self.in_order(args), namespace)
        if unknown:
            self.error(f"unexpected argument '{unknown[0]}'")
        return namespace, []

    def in_order(self, words):
        """Options before the other words, so that they may stand anywhere, and optional values with their option. What
        belongs to a program or a command of its own stays as it is."""
        takes_rest = next((action for action in self._actions if action.nargs in (argparse.REMAINDER, argparse.PARSER)),
                          None)
        options, others, rest = [], [], list(words)
        while rest:
            word = rest.pop(0)
            if word == "--" or (takes_rest and not word.startswith("-")):
                if word != "--" and takes_rest.choices and word not in takes_rest.choices:
                    self.error(f"there is no command '{word}'{nearest(word, takes_rest.choices)}")
                return [*options, *others, word, *rest]
            if not word.startswith("-") or word == "-" or word[1].isdigit():  # a value may be a negative number
                others.append(word)
                continue
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            action = self.option(name)
            if action.nargs == argparse.OPTIONAL and word == name:
                word = f"{name}={action.const}"
            options.append(word)
            if action.nargs is None and word == name and rest:
                options.append(rest.pop(0))
        return [*options, *others]

    def option(self, name):
        known = {string: action for action in self._actions for string in action.option_strings}
        return known.get(name) or self.error(f"there is no option '{name}'{nearest(name, known)}")

    def error(self, message):
        usage_error(self.prog.partition(" ")[2], re.sub(r"^argument ", "", message))


def add_yes(parser):
    parser.add_argument("-y", "--yes", action="store_true", help="install missing packages without asking")


def add_json(parser, what="print JSON, for programs"):
    parser.add_argument("--json", action="store_true", help=what)


def add_process(parser):
    parser.add_argument("pid", type=process_number, metavar="PID", help="the number of the process")


def process_number(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no process number")
    return int(text)


def at_least(least, kind=int):
    """The type of a number that has a lower bound."""
    def number(text):
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is no {'whole ' if kind is int else ''}number") from None
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return value
    return number


def whole():
    """The parser of all commands; they get their arguments when they are parsed, or by complete()."""
    parser = Parser(prog=NAME)
    parser.explain(DESCRIPTION, EXAMPLES)
    parser.add_argument("--version", action="version", version=f"acre {version()}", help="print the version and end")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in COMMANDS:
        if not installed or name not in OF_THE_SOURCES:
            commands.add_parser(name, command=name, help=COMMANDS[name])
    return parser


def parse(words):
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    return whole().parse_args(words or ["--help"])
