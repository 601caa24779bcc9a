"""How allocators look in every plot: colour, marker and line, in light and in dark.

The colours are told apart by people with the usual colour blindnesses (after Okabe and Ito, and Tol), and no
plot relies on colour alone. Plots are drawn in the light colours; in the page each becomes a CSS variable.
"""

from dataclasses import dataclass

from ..results import BASE

# role: light, dark
ROLES = {
    "ink": ("#1c1c21", "#e9e9ee"),
    "muted": ("#64646f", "#a3a3af"),
    "grid": ("#dcdce3", "#3a3a44"),
    "paper": ("#fffffe", "#17171b"),
}
OURS = ("#c94a00", "#ff8b45")
BASE_COLOURS = ("#50505b", "#bcbcc8")
PEERS = (
    ("#0072b2", "#4ea8e6"),
    ("#007a5a", "#35c79b"),
    ("#b4508b", "#e69bca"),
    ("#7d6b00", "#dcc64a"),
    ("#3f3aa5", "#a59cf5"),
    ("#2a93c9", "#8fd2f7"),
    ("#882255", "#dd7ba6"),
    ("#2d8f83", "#7edccd"),
    ("#8a5523", "#d5a06a"),
    ("#5f7a1f", "#b4d06a"),
    ("#7a4fa0", "#c9a3ea"),
)
MARKERS = ("s", "^", "v", "P", "X", "<", ">", "p", "h", "d", "8")
LINES = ("--", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (6, 2)), (0, (2, 1)), (0, (4, 1, 1, 1, 1, 1)))


@dataclass(frozen=True)
class Look:
    name: str
    index: int
    light: str
    dark: str
    marker: str
    line: object
    emphasised: bool = False

    @property
    def group(self):
        """What the allocator's shapes are called in an SVG."""
        return f"allocator-{self.index}"

    @property
    def variable(self):
        return f"--a{self.index}"

    @property
    def width(self):
        return 2.4 if self.emphasised else 1.2

    @property
    def layer(self):
        return 10 if self.emphasised else 5


def looks(names):
    """Name -> Look, in the order of the names."""
    found, peers = {}, 0
    for index, name in enumerate(names):
        if name == "acre":
            found[name] = Look(name, index, *OURS, "o", "-", True)
        elif name == BASE:
            found[name] = Look(name, index, *BASE_COLOURS, "D", (0, (5, 2)))
        else:
            light, dark = PEERS[peers % len(PEERS)]
            marker = MARKERS[(peers + peers // len(PEERS)) % len(MARKERS)]
            found[name] = Look(name, index, light, dark, marker, LINES[peers % len(LINES)])
            peers += 1
    return found


def variables(all_looks, which):
    """CSS declarations; which: 0 in light, 1 in dark."""
    lines = [f"--{role}: {colours[which]};" for role, colours in ROLES.items()]
    lines += [f"{look.variable}: {(look.light, look.dark)[which]};" for look in all_looks.values()]
    return " ".join(lines)


def replacements(all_looks):
    """Light colour -> how the page says it."""
    colours = {colours[0]: f"var(--{role})" for role, colours in ROLES.items()}
    for look in reversed(all_looks.values()):
        colours[look.light] = f"var({look.variable})"
    return colours
