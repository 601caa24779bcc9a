"""What the library has written about leaks, made readable."""

import json
import math

import suppressions
from heap_profile.profile import TRUNCATED
from heap_profile.views import shown_interval
from leak_stacks import Stacks
from say import count, fail

MOST_FRAMES = 24   # of a stack, in the text
MOST_HELD = 5      # stacks of held blocks for each site, in the text
NOT_SAMPLED = "stacks that are not known: none was sampled, or from before the profiler was on"
SURELY = 3         # standard deviations: how far a sample may be from what it stands for


class Part:
    """Leaked blocks that one stack allocated. truncated: the stack has outer frames that are not known. sampled: of the
    blocks, those that the profiler saw; they stand for the others."""

    def __init__(self, stack, frames, truncated=False, blocks=0, size=0, sampled=0):
        self.stack = stack
        self.frames = frames
        self.truncated = truncated
        self.blocks = blocks
        self.bytes = size
        self.sampled = sampled

    @property
    def labels(self):
        return (TRUNCATED,) if self.truncated else ()

    def add(self, leak, blocks, size):
        self.blocks += blocks
        self.bytes += size
        self.sampled += leak["blocks"]
        self.truncated = self.truncated or bool(leak["truncated"])

    def amount(self):
        """How much, in words; an amount that is estimated says from how many blocks."""
        if self.frames and self.sampled != self.blocks:
            return f"about {count(self.bytes, 'byte')} in {count(self.blocks, 'block')} ({self.sampled} sampled)"
        return f"{count(self.bytes, 'byte')} in {count(self.blocks, 'block')}"

    def lines(self, indent, unknown="a stack that is not known"):
        if not self.frames:
            return [indent + unknown]
        lines = [indent + frame.text() for frame in self.frames[:MOST_FRAMES]]
        more = len(self.frames) - MOST_FRAMES
        if more > 0:
            lines.append(indent + f"and {more} more" + (", and perhaps others" if self.truncated else ""))
        elif self.truncated:
            lines.append(indent + "and perhaps others")
        return lines

    def as_json(self):
        return {"blocks": self.blocks, "bytes": self.bytes, "sampled_blocks": self.sampled,
                "truncated": self.truncated, "frames": [frame.as_json() for frame in self.frames]}


class Site(Part):
    """All that one stack allocated and that no other leaked block holds, and what it holds."""

    def __init__(self, stack, frames):
        super().__init__(stack, frames)
        self.held = []

    @property
    def held_blocks(self):
        return sum(part.blocks for part in self.held)

    @property
    def held_bytes(self):
        return sum(part.bytes for part in self.held)


class Scale:
    """What the sampled blocks of one size stand for. How many blocks of the size leaked is known, so their number is
    the best measure, unless it is more than chance explains: the others are then from before the profiler was on."""

    def __init__(self, mean):
        self.mean = mean
        self.blocks = self.bytes = self.sampled = 0
        self.taken_blocks = self.taken_bytes = 0  # of the estimates, before they are rounded

    def add(self, leak):
        self.blocks += leak["blocks"]
        self.bytes += leak["bytes"]
        if leak["stack"]:
            self.sampled += leak["blocks"]

    @property
    def factor(self):
        if self.sampled == 0:
            return 1
        probability = -math.expm1(-self.bytes / self.blocks / self.mean)
        most = self.sampled / probability * (1 + SURELY / math.sqrt(self.sampled))
        return min(self.blocks, most) / self.sampled

    def take(self, leak):
        """-> the blocks and bytes that a sampled leak stands for, rounded so that their sums are right."""
        blocks, size = round(self.taken_blocks), round(self.taken_bytes)
        self.taken_blocks += leak["blocks"] * self.factor
        self.taken_bytes += leak["bytes"] * self.factor
        return round(self.taken_blocks) - blocks, round(self.taken_bytes) - size


class Report:
    def __init__(self, path, rules, text=None):
        """text: what would be in the file, if there is none."""
        try:
            if text is None:
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    text = file.read()
            self.raw = json.loads(text)
            assert self.raw["acre_leaks"] == 1
        except OSError as error:
            fail(f"leaks: '{path}' cannot be read: {error.strerror}", 2)
        except (ValueError, KeyError, TypeError, AssertionError):
            fail(f"leaks: '{path}' is no report of acre's leak checker", 2)
        self.stacks = Stacks(self.raw["mappings"])
        for leak in self.raw["leaks"]:
            for stack in (leak["stack"], leak.get("held_by")):
                self.stacks.add(stack or [])
        self.stacks.resolve()
        self.rules = rules
        self.suppressed_blocks = self.suppressed_bytes = 0
        self.sites = self.group()

    @property
    def is_sampled(self):
        """Whether only some of the blocks have stacks."""
        return self.raw["profiled"] and self.raw["prof_sample"] != 0

    def scaled(self):
        """-> the leaks with what they stand for: [(leak, blocks, bytes)]. The sums are those of all leaks."""
        if not self.is_sampled:
            return [(leak, leak["blocks"], leak["bytes"]) for leak in self.raw["leaks"]]
        scales = {}
        for leak in self.raw["leaks"]:
            scales.setdefault(leak["block_bytes"], Scale(self.raw["prof_sample"])).add(leak)
        rows = [(leak, *scales[leak["block_bytes"]].take(leak)) for leak in self.raw["leaks"] if leak["stack"]]
        blocks = self.raw["leaked_blocks"] - sum(row[1] for row in rows)
        size = self.raw["leaked_bytes"] - sum(row[2] for row in rows)
        if blocks > 0:
            rows.append(({"stack": None, "truncated": 0, "blocks": 0}, blocks, size))
        return rows

    def group(self):
        sites = {}
        for leak, blocks, size in self.scaled():
            stack = leak["stack"]
            is_held = "held_by" in leak and (leak["held_by"] or not self.is_sampled)
            root = leak["held_by"] if is_held else stack
            frames, root_frames = self.stacks.frames(stack or []), self.stacks.frames(root or [])
            rule = next((rule for rule in self.rules if rule.fits(frames) or rule.fits(root_frames)), None)
            if rule:
                rule.blocks += blocks
                rule.bytes += size
                self.suppressed_blocks += blocks
                self.suppressed_bytes += size
                continue
            site = sites.setdefault(tuple(root or ()), Site(root, root_frames))
            if is_held:
                part = next((part for part in site.held if part.stack == stack), None)
                if part is None:
                    site.held.append(part := Part(stack, frames))
                part.add(leak, blocks, size)
            else:
                site.add(leak, blocks, size)
        for site in sites.values():
            site.held.sort(key=lambda part: (-part.bytes, part.stack or []))
        return sorted(sites.values(), key=lambda site: (self.is_sampled and not site.frames,
                                                        -site.bytes - site.held_bytes, site.stack or []))
    @property
    def blocks(self):
        return sum(site.blocks + site.held_blocks for site in self.sites)

    @property
    def bytes(self):
        return sum(site.bytes + site.held_bytes for site in self.sites)

    def notes(self):
        if self.raw["threads_not_stopped"]:
            yield (f"{count(self.raw['threads_not_stopped'], 'thread')} could not be stopped (error "
                   f"{self.raw['refusal']}): what only their registers led to counts as leaked")
        if self.is_sampled and self.raw["leaks"]:
            sampled = sum(leak["blocks"] for leak in self.raw["leaks"] if leak["stack"])
            interval = shown_interval(self.raw["prof_sample"])
            yield (f"{sampled} of {count(self.raw['leaked_blocks'], 'leaked block')} were sampled, one in "
                   f"{interval} on average, and stand for the others of their size "
                   "(prof_sample:0 samples all)")
        elif not self.raw["profiled"] and self.raw["leaks"]:
            yield ("no stack is known, since the program was started without the profiler: start it by "
                   "`acre run --leaks` or `acre run --profile`")
        if hidden := self.raw["doubtful_blocks"]:
            yield (f"about {count(hidden, 'more block')} {'is' if hidden == 1 else 'are'} probably leaked, hidden by "
                   "pointers that earlier blocks left in memory: `acre run --leaks` (option leaks) clears new blocks "
                   "and finds them")

    def title(self):
        moment = {"exit": "at its end", "live": "while it runs", "section": f"in '{self.raw.get('name')}'"}
        return (f"{self.raw['program']} ({self.raw['pid']}), {moment[self.raw['moment']]}, "
                f"mode {self.raw['mode']}: ")

    def as_text(self):
        lines = []
        for site in self.sites:
            lines.append(site.amount() +
                         (f", which hold {count(site.held_bytes, 'byte')} in {count(site.held_blocks, 'block')}"
                          if site.held else "") + ", allocated by")
            lines += site.lines("    ", NOT_SAMPLED) if self.is_sampled else site.lines("    ")
            for part in site.held[:MOST_HELD]:
                lines.append(f"    hold {part.amount()}, allocated by")
                lines += part.lines("        ")
            if len(site.held) > MOST_HELD:
                lines.append(f"    and blocks of {count(len(site.held) - MOST_HELD, 'more stack')}")
            lines.append("")
        lines += [f"note: {note}" for note in self.notes()]
        lines += [f"suppressed: {count(rule.bytes, 'byte')} in {count(rule.blocks, 'block')} by '{rule.text}'"
                  for rule in self.rules if rule.blocks]
        lines.append(self.title() + (f"{count(self.bytes, 'byte')} in {count(self.blocks, 'block')} leaked, from "
                                     f"{count(len(self.sites), 'place')}" if self.sites else "no leaks"))
        return "\n".join(lines) + "\n"

    def as_json(self):
        keys = ("program", "pid", "moment", "mode", "threads", "threads_not_stopped", "stopped_us", "prof_sample",
                "live_blocks", "live_bytes", "doubtful_blocks")
        return {
            **{key: self.raw[key] for key in keys}, "name": self.raw.get("name"),
            "leaked_blocks": self.blocks, "leaked_bytes": self.bytes,
            "suppressed_blocks": self.suppressed_blocks, "suppressed_bytes": self.suppressed_bytes,
            "suppressions": [{"rule": rule.text, "blocks": rule.blocks, "bytes": rule.bytes}
                             for rule in self.rules if rule.blocks],
            "notes": list(self.notes()),
            "sites": [{**site.as_json(), "held_blocks": site.held_blocks, "held_bytes": site.held_bytes,
                       "held": [part.as_json() for part in site.held]} for site in self.sites],
        }

    def write_pprof(self, path):
        from heap_profile import pprof
        from heap_profile.profile import Kind, Profile
        kinds = [Kind("leaked_objects", "count"), Kind("leaked_space", "bytes"),
                 Kind("held_objects", "count"), Kind("held_space", "bytes")]
        profile = Profile(kinds, default=len(kinds) - 1)
        for site in self.sites:
            profile.add(self.stacks.locations(site.stack or []), site.labels, (site.blocks, site.bytes, 0, 0))
            for part in site.held:
                profile.add(self.stacks.locations(part.stack or []), part.labels, (0, 0, part.blocks, part.bytes))
        with open(path, "wb") as file:
            file.write(pprof.write(profile))


def rules_from(files, default=True):
    rules = suppressions.read(suppressions.DEFAULT) if default else []
    for file in files:
        rules += suppressions.read(file)
    return rules
