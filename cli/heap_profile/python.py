"""Python functions in profiles: acre writes them as locations without an address (docs/profiling.md); an interpreter's
perf map names the code that it made for them "py::NAME"."""

from dataclasses import replace

from .profile import TRUNCATED, Line, Location

MADE = "py::"
NO_FUNCTION = Location(0, lines=(Line("[no Python function]"),))
MOST_FRAMES = 128  # of Python functions that acre keeps of a stack
SAME_NAMES = ("__init__.py", "__main__.py")  # of files in many folders


def is_read(location):
    """Has acre read it from the interpreter?"""
    return location.address == 0 and bool(location.lines)


def is_made(location):
    return bool(location.lines) and location.lines[0].function.startswith(MADE)


def place(file):
    parts = file.rsplit("/", 2)
    return "/".join(parts[-2:]) if parts[-1] in SAME_NAMES else parts[-1]


def labelled(location):
    """With the file beside the name, since <module> and <lambda> are in each."""
    line = location.lines[0]
    name = line.function.removeprefix(MADE)
    if is_made(location):
        name, _, file = name.partition(":")
        line = Line(name, file)
    return Location(0, lines=(Line(f"{name} ({place(line.file)})" if line.file else name, line.file, line.number),))


def python_stack(stack):
    """Its Python functions. Where acre has read them, what the interpreter made for them says the same again."""
    return list(filter(is_read, stack)) or list(filter(is_made, stack))


def has_functions(profile):
    return any(is_read(location) or is_made(location) for location in profile.locations())


def for_people(profile, only, with_files=True):
    """The profile with Python functions as people read them. only: without native ones."""
    to = replace(profile, samples={})
    for (stack, labels), values in profile.samples.items():
        functions = python_stack(stack)
        names = {location: labelled(location) if with_files or is_made(location) else location
                 for location in functions}
        if only:
            shown = [names[location] for location in functions] or [NO_FUNCTION]
            if len(functions) < MOST_FRAMES:  # all are there, though native ones may be missing
                labels = tuple(label for label in labels if label != TRUNCATED)
        else:
            shown = [names.get(location, location) for location in stack if location in names or not is_made(location)]
        to.add(tuple(shown), labels, values)
    return to
