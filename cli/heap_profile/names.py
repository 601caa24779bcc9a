"""Names of functions in the room that there is: template arguments and parameters are folded to …, the innermost first."""

import os
import re

OPERATOR = re.compile(r"operator(?:\(\)|\[\]|<=>|<<=?|>>=?|->\*?|<=?|>=?)|->")
BRACKETS = {"<": ">", "(": ")"}
# Arguments that a template has by default, which say nothing.
DEFAULTS = re.compile(r", std::(?:allocator|char_traits|less|hash|equal_to|default_delete)$")
STRING = re.compile(r"std::(?:__cxx11::|__1::)?basic_string<char, std::(?:__1::)?char_traits<char>, "
                    r"std::(?:__1::)?allocator<char> ?>")
# Of Python, with the file (python.py) or without.
PYTHON = re.compile(r"(.*?)( \((?:[^()]*\.pyx?|<[^()]*>)\))?$")
PYTHON_ANGLES = re.compile(r"<(?:locals|module|lambda|listcomp|setcomp|dictcomp|genexpr)>")
MOST_BRACKETS = 64  # in each other


class Group:
    """What stands in brackets; parts: texts and groups."""

    def __init__(self, opening):
        self.opening, self.parts = opening, [""]

    def text(self, depth):
        """depth: so many brackets in each other are shown, what is deeper becomes …"""
        inside = "".join(shown(part, depth - 1) for part in self.parts).rstrip()
        return self.opening + (inside if depth > 0 or not inside else "…") + BRACKETS[self.opening]

    def depth(self):
        return 1 + max((part.depth() for part in self.parts if isinstance(part, Group)), default=0)


def is_list(part):
    """Of parameters."""
    return isinstance(part, Group) and part.opening == "("


def shown(part, depth):
    return part if isinstance(part, str) else part.text(depth)


def parts_of(name):
    """Texts and groups; None if its brackets are not in pairs, or too deep. Braces, and what is in round brackets but no list of
    parameters ("(anonymous namespace)", Go's "(*T)"), are text."""
    stack, plain, at = [Group("")], 0, 0
    while at < len(name):
        operator = OPERATOR.match(name, at)
        letter = operator[0] if operator else name[at]
        before = name[at - 1] if at else ""
        parts = stack[-1].parts
        if letter == "<" or letter == "(" and (before.isalnum() or before in tuple("_>)]}")):
            stack.append(Group(letter))
        elif letter == ")" and plain:
            plain -= 1
            parts[-1] += letter
        elif letter == BRACKETS.get(stack[-1].opening) and not plain:
            group = stack.pop()
            around = stack[-1].parts
            default = DEFAULTS.search(around[-1]) if stack[-1].opening == "<" else None
            if default:
                around[-1] = around[-1][:default.start()]
            else:
                around += [group, ""]
        elif letter == ")" or len(stack) > MOST_BRACKETS:
            return None
        else:
            plain += letter == "("
            parts[-1] += letter
        at += len(letter)
    return stack[0].parts if len(stack) == 1 and not plain else None


def without_parameters(parts):
    """Up to the last list of parameters, which is followed by nothing but "const" and its kind."""
    for at in range(len(parts) - 1, 0, -1):
        if is_list(parts[at]):
            return parts[:at]
        if not isinstance(parts[at], Group) and "::" in parts[at]:
            break
    return parts


def without_result(name):
    """The type of a function's result stands before its name."""
    return name if re.search(r"operator|[({]", name) else name.rpartition(" ")[2]


def python_forms(name):
    """The whole name, then without what it lies in, then without the file; None: it is not Python's."""
    function, file = PYTHON.match(name).groups()
    if not file and not PYTHON_ANGLES.search(name):
        return None
    last = function.rpartition(".")[2]
    return list(dict.fromkeys([name, last + (file or ""), last]))


def forms(name, gain=1.0):
    """The name without what says nothing, then ever shorter ones, down to the function's own without what it lies in.
    gain: a form is left out if it is not shorter than this part of the one before."""
    if found := python_forms(name):
        return found
    tidy = STRING.sub("std::string", re.sub(r"\[abi:\w+\]|::h[0-9a-f]{16}$", "", name))
    parts = parts_of(re.sub(r"\bstd::(__cxx11|__1)::", "std::", tidy))
    if parts is None:
        return [name]
    deepest = max((part.depth() for part in parts if isinstance(part, Group)), default=0)
    found = ["".join(shown(part, deepest) for part in parts)]
    shorter = ["".join(shown(part, 0 if is_list(part) else depth) for part in parts) for depth in range(deepest, -1, -1)]
    head = "".join(shown(part, 0) for part in without_parameters(parts))
    name = without_result(head)
    shorter += [name + shorter[-1][len(head):], name]
    last = name.rpartition("::")[2]
    if not last.startswith("operator"):  # which says little alone
        shorter.append(last)
    for form in shorter[:-1]:
        if len(form) < gain * len(found[-1]):
            found.append(form)
    if len(shorter[-1]) < len(found[-1]):
        found.append(shorter[-1])
    return found


def fitting(name, room):
    """In so many columns; None: the whole name."""
    if room is None:
        return name
    possible = forms(name)
    return next((form for form in possible if len(form) <= room), possible[-1][:max(room - 1, 0)] + "…")


def line_fitting(line, room):
    """A function with its place (profile.py, Line), if it has one: the place's folders go first."""
    if not line.file:
        return fitting(line.function, room)
    place = f"{line.file}:{line.number}"
    if room is not None and len(line.function) + 1 + len(place) > room:
        place = f"{os.path.basename(line.file)}:{line.number}"
    return f"{fitting(line.function, room and max(room - 1 - len(place), room // 3))} {place}"
