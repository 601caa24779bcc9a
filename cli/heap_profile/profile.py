"""A profile in memory: samples, each with a stack and a value of every kind."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Kind:
    """What a value is: "inuse_space" in "bytes"."""
    name: str
    unit: str


@dataclass(frozen=True)
class Mapping:
    start: int
    limit: int
    offset: int  # in the file
    file: str
    build_id: str = ""


@dataclass(frozen=True)
class Line:
    function: str
    file: str = ""
    number: int = 0


@dataclass(frozen=True)
class Location:
    """A place in the code. lines: the function that it lies in, after those that were inlined there; none while it has
    no name yet."""
    address: int
    mapping: Mapping = None
    lines: tuple = ()


TRUNCATED = "stack", "truncated"  # a sample's label: frames are missing, the outermost ones
INCOMPLETE = "incomplete: "        # a comment that begins so says what is missing in the profile
CUT = Location(0, lines=(Line("[truncated]"),))


def shown_stack(stack, labels):
    """A sample's stack as people see it: where frames are missing, one says so."""
    return stack + (CUT,) if TRUNCATED in labels else stack


@dataclass
class Profile:
    kinds: list                                   # of values
    default: int = 0                              # the kind to show
    period: int = 0                               # bytes from sample to sample, on average
    time_ns: int = 0
    main: Mapping = None                          # of the program itself
    pid: int = 0
    active: bool = None                           # of a running process, where nothing is sampled: is sampling on?
    comments: list = field(default_factory=list)
    samples: dict = field(default_factory=dict)   # (stack, labels) -> values; stack: locations, the innermost first

    def add(self, stack, labels, values):
        key = stack, labels
        there = self.samples.get(key)
        self.samples[key] = list(values) if there is None else [a + b for a, b in zip(there, values)]

    def index(self, name):
        """The kind of this name, or None."""
        return next((at for at, kind in enumerate(self.kinds) if kind.name == name), None)

    def total(self, at):
        return sum(values[at] for values in self.samples.values())

    def locations(self):
        return {location for stack, _ in self.samples for location in stack}

    def renamed(self, names):
        """The same with other locations: names maps old ones to new ones."""
        to = replace(self, samples={})
        for (stack, labels), values in self.samples.items():
            to.add(tuple(names.get(location, location) for location in stack), labels, values)
        return to


class Differ(Exception):
    """Profiles that have other kinds of values cannot be added up or compared."""


def combined(profiles, signs):
    """Their sum; a sign of -1 takes one away."""
    first = profiles[0]
    whole = replace(first, samples={})
    for profile, sign in zip(profiles, signs):
        if profile.kinds != first.kinds:
            raise Differ(f"one has {', '.join(kind.name for kind in first.kinds)}, "
                         f"another {', '.join(kind.name for kind in profile.kinds)}")
        for (stack, labels), values in profile.samples.items():
            whole.add(stack, labels, [sign * value for value in values])
    return whole
