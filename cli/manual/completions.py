"""Completions of the command for bash, zsh and fish, from its parsers."""

import argparse
import re

FILES, FOLDERS, PROCESSES, PROGRAM = "files", "folders", "processes", "program"
KINDS = {"FOLDER": FOLDERS, "PID": PROCESSES}
KINDS |= dict.fromkeys(("FILE", "PATH", "PAGE", "RESULTS", "A", "B", "PROFILE", "REPORT|PID"), FILES)


def values_of(action):
    """What may stand for an argument's value: a kind, words, or nothing that is known."""
    if action.nargs == argparse.REMAINDER:
        return PROGRAM
    if action.choices:
        return list(action.choices)
    return KINDS.get(action.metavar, [])


def options_of(parser):
    return [action for action in parser.arguments() if action.option_strings]


def others_of(parser):
    return [action for action in parser.arguments() if not action.option_strings]


def key_of(parser):
    """'' for acre, 'bench report' for acre bench report."""
    return parser.prog.partition(" ")[2]


# --- bash -----------------------------------------------------------------------------------------------------------

BASH = """\
# bash completion of acre, made by cli/manual from the parsers of the command
_acre() {
    # Of each command: its options, the commands and kinds of words after it.
    local -A options=(%(options)s)
    local -A commands=(%(commands)s)
    local -A words=(%(words)s)
    # Of each option that has a value: which. Those in `joined` have it after a = only.
    local -A values=(%(values)s)
    local joined=" %(joined)s "

    local command=acre option= at=1 word=${COMP_WORDS[COMP_CWORD]} known
    while ((at < COMP_CWORD)); do
        known=${COMP_WORDS[at]}
        if [[ $known == -- ]]; then
            ((at++))
            break
        elif [[ ${COMP_WORDS[at + 1]} == = ]]; then
            ((at + 2 >= COMP_CWORD)) && option=$known
            ((at += 2))
        elif [[ $known == -* ]]; then
            if [[ -v values["$command $known"] && $joined != *" $command $known "* ]]; then
                ((at + 1 == COMP_CWORD)) && option=$known
                ((at++))
            fi
        elif [[ " ${commands[$command]} " == *" $known "* ]]; then
            command+=" $known"
        elif [[ ${words[$command]} == program ]]; then
            break
        fi
        ((at++))
    done

    [[ $word == = ]] && word=
    COMPREPLY=()
    if [[ $option ]]; then
        known=${values[$command $option]}
    elif [[ ${words[$command]} == program && $word != -* ]] || ((at < COMP_CWORD)); then
        known=program
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${options[$command]}" -- "$word")
        [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace
        return
    else
        known=${commands[$command]:-${words[$command]}}
    fi
    case $known in
        unknown) ;;
        files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ; compopt -o filenames ;;
        folders) mapfile -t COMPREPLY < <(compgen -d -- "$word") ; compopt -o filenames ;;
        processes) mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" ps 2>/dev/null | awk 'NR > 1 {print $1}')" -- "$word") ;;
        program)
            if declare -F _command_offset >/dev/null; then
                _command_offset $at
            elif ((at < COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -f -- "$word") ; compopt -o filenames
            else
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            fi ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$known" -- "$word") ;;
    esac
}
complete -F _acre acre
"""


def array(pairs):
    return "".join(f"\n        [\"{key}\"]=\"{value}\"" for key, value in pairs if value) + "\n    "


def for_bash(acre, commands):
    options, names, words, values, joined = [], [], [], [], []
    for parser in (acre, *commands):
        key = parser.prog
        strings = []
        for action in options_of(parser):
            strings += action.option_strings
            if action.nargs == 0:
                continue
            known = values_of(action)
            for string in action.option_strings:
                values.append((f"{key} {string}", known if isinstance(known, str) else " ".join(known) or "unknown"))
                if action.nargs == argparse.OPTIONAL:
                    joined.append(f"{key} {string}")
                    strings.append(f"{string}=")
        options.append((key, " ".join(strings)))
        names.append((key, " ".join(key_of(child).split()[-1] for child in parser.commands())))
        kinds = [known for known in map(values_of, others_of(parser)) if known]
        words.append((key, kinds[0] if kinds else ""))
    return BASH % {"options": array(options), "commands": array(names), "words": array(words),
                   "values": array(values), "joined": "  ".join(joined)}


# --- zsh ------------------------------------------------------------------------------------------------------------

ZSH_ACTIONS = {FILES: "_files", FOLDERS: "_files -/", PROCESSES: "_acre_processes"}


def zsh_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_action(action):
    known = values_of(action)
    return ZSH_ACTIONS[known] if isinstance(known, str) else f"({' '.join(known)})" if known else ""


def zsh_option(action):
    """A spec of _arguments for each of its names."""
    rest = " ".join(action.option_strings)
    for name in action.option_strings:
        spec = f"({rest})" if len(action.option_strings) > 1 else ""
        spec += "*" if isinstance(action, argparse._AppendAction) else ""
        if action.nargs == 0:
            spec += f"{name}[{zsh_text(action.help)}]"
        elif action.nargs == argparse.OPTIONAL:
            spec += f"{name}=-[{zsh_text(action.help)}]::{zsh_text(action.metavar)}:{zsh_action(action)}"
        else:
            spec += f"{name}{'=' if name.startswith('--') else '+'}[{zsh_text(action.help)}]"
            spec += f":{zsh_text(action.metavar)}:{zsh_action(action)}"
        yield spec


def zsh_others(parser):
    for action in others_of(parser):
        if values_of(action) == PROGRAM:
            yield "(-):program:_command_names -e"
            yield "*::argument:_normal"
            continue
        head = {None: ":", argparse.OPTIONAL: "::"}.get(action.nargs, "*:")
        yield f"{head}{zsh_text(action.metavar)}:{zsh_action(action)}"


def zsh_function(parser):
    name = "_" + parser.prog.replace(" ", "_")
    specs = [spec for action in options_of(parser) for spec in zsh_option(action)] + list(zsh_others(parser))
    children = parser.commands()
    if not children:
        body = [f"    _arguments -s -S {' '.join(map(zsh_quoted, specs))}"]
    else:
        described = " ".join(zsh_quoted(f"{key_of(child).split()[-1]}:{zsh_text(parser.meaning_of(child))}") for child in children)
        cases = [f"            {key_of(child).split()[-1]}) _{child.prog.replace(' ', '_')} ;;" for child in children]
        body = ["    local context state state_descr line", "    typeset -A opt_args",
                f"    local -a names=({described})",
                f"    _arguments -s -C {' '.join(map(zsh_quoted, specs))} '1: :->command' '*:: :->rest'",
                "    case $state in", "        command) _describe command names ;;",
                "        rest) case $line[1] in", *cases, "        esac ;;", "    esac"]
    return [f"{name}() {{", *body, "}", ""] + [line for child in children for line in zsh_function(child)]


def for_zsh(acre):
    lines = ["#compdef acre", "# made by cli/manual from the parsers of the command", "",
             "_acre_processes() {", "    local -a processes",
             "    processes=(${(f)\"$(_call_program processes acre ps 2>/dev/null | awk 'NR > 1 {print $1 \":\" $NF}')\"})",
             "    _describe process processes", "}", "", *zsh_function(acre), '_acre "$@"']
    return "\n".join(lines) + "\n"


# --- fish -----------------------------------------------------------------------------------------------------------

FISH_VALUES = {FILES: "-F", FOLDERS: "-xa '(__fish_complete_directories)'", PROCESSES: "-xa '(__acre_processes)'"}


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(action):
    if action.nargs == 0:
        return ""
    known = values_of(action)
    if isinstance(known, str):
        return f" -r {FISH_VALUES[known]}"
    needed = "" if action.nargs == argparse.OPTIONAL else " -x"
    return f"{needed} -a {fish_quoted(' '.join(known))}" if known else needed


def fish_lines(parser):
    names = key_of(parser).split()
    children = [key_of(child).split()[-1] for child in parser.commands()]
    condition = " && ".join(f"__fish_seen_subcommand_from {name}" for name in names)
    if children:
        condition += (" && " if names else "") + f"not __fish_seen_subcommand_from {' '.join(children)}"
    start = f"complete -c acre -n {fish_quoted(condition)}"
    for child in parser.commands():
        yield f"{start} -f -a {key_of(child).split()[-1]} -d {fish_quoted(parser.meaning_of(child))}"
    for action in options_of(parser):
        flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings)
        yield f"{start} {flags}{fish_value(action)} -d {fish_quoted(action.help)}"
    valued = [name for action in options_of(parser) if action.nargs is None for name in action.option_strings]
    for action in others_of(parser):
        known = values_of(action)
        if known == PROGRAM:
            yield f"{start} -xa '(__acre_program {' '.join(valued)})'"
        elif known in (FILES, PROCESSES):
            yield f"{start} {FISH_VALUES[known]}"
    yield from (line for child in parser.commands() for line in fish_lines(child))


FISH = """\
# fish completion of acre, made by cli/manual from the parsers of the command
function __acre_processes
    acre ps 2>/dev/null | awk 'NR > 1 {print $1 "\\t" $NF}'
end

# Completes the program's own command line. The arguments are the options of acre whose value is the next word.
function __acre_program
    set -l words (commandline -opc)[3..]
    while string match -q -- '-*' $words[1]
        set -l option $words[1]
        set -e words[1]
        test "$option" = -- && break
        contains -- $option $argv && set -e words[1]
    end
    set -q words[1]; or string match -qv -- '-*' (commandline -ct); or return
    complete --do-complete="$(string join ' ' -- (string escape -- $words) (commandline -ct))"
end

complete -c acre -f
"""


def for_fish(acre):
    return FISH + "\n".join(fish_lines(acre)) + "\n"
