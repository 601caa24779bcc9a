"""What the library has written about leaks, made readable."""

import json

import suppressions
from heap_profile.profile import TRUNCATED
from leak_stacks import Stacks
from say import count, fail

MOST_FRAMES = 24   # of a stack, in the text
MOST_HELD = 5      # stacks of held blocks for each site, in the text


class Part:
    """Leaked blocks that one stack allocated. truncated: the stack has outer frames that are not known."""

    def __init__(self, stack, frames, truncated=False, blocks=0, size=0):
        self.stack = stack
        self.frames = frames
        self.truncated = truncated
        self.blocks = blocks
        self.bytes = size

    @property
    def labels(self):
        return (TRUNCATED,) if self.truncated else ()

    def lines(self, indent):
        if not self.frames:
            return [indent + "a stack that is not known"]
        lines = [indent + frame.text() for frame in self.frames[:MOST_FRAMES]]
        more = len(self.frames) - MOST_FRAMES
        if more > 0:
            lines.append(indent + f"and {more} more" + (", and perhaps others" if self.truncated else ""))
        elif self.truncated:
            lines.append(indent + "and perhaps others")
        return lines

    def as_json(self):
        return {"blocks": self.blocks, "bytes": self.bytes, "truncated": self.truncated,
                "frames": [frame.as_json() for frame in self.frames]}


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

    def group(self):
        sites = {}
        for leak in self.raw["leaks"]:
            root = leak["held_by"] if "held_by" in leak else leak["stack"]
            frames = self.stacks.frames(leak["stack"] or [])
            root_frames = self.stacks.frames(root or [])
            rule = next((rule for rule in self.rules if rule.fits(frames) or rule.fits(root_frames)), None)
            if rule:
                rule.blocks += leak["blocks"]
                rule.bytes += leak["bytes"]
                self.suppressed_blocks += leak["blocks"]
                self.suppressed_bytes += leak["bytes"]
                continue
            key = tuple(root or ())
            site = sites.setdefault(key, Site(root, root_frames))
            truncated = bool(leak["truncated"])
            if "held_by" in leak:
                site.held.append(Part(leak["stack"], frames, truncated, leak["blocks"], leak["bytes"]))
            else:
                site.blocks += leak["blocks"]
                site.bytes += leak["bytes"]
                site.truncated = site.truncated or truncated
        for site in sites.values():
            site.held.sort(key=lambda part: (-part.bytes, part.stack or []))
        return sorted(sites.values(), key=lambda site: (-site.bytes - site.held_bytes, site.stack or []))

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
        if self.raw["prof_sample"] != 0 and self.raw["leaks"]:
            yield "not every block was sampled: the stack of others is not known (prof_sample:0 samples all)"

    def title(self):
        moment = {"exit": "at its end", "live": "while it runs", "section": f"in '{self.raw.get('name')}'"}
        return (f"{self.raw['program']} ({self.raw['pid']}), {moment[self.raw['moment']]}, "
                f"mode {self.raw['mode']}: ")

    def as_text(self):
        lines = []
        for site in self.sites:
            lines.append(f"{count(site.bytes, 'byte')} in {count(site.blocks, 'block')}" +
                         (f", which hold {count(site.held_bytes, 'byte')} in {count(site.held_blocks, 'block')}"
                          if site.held else "") + ", allocated by")
            lines += site.lines("    ")
            for part in site.held[:MOST_HELD]:
                lines.append(f"    hold {count(part.bytes, 'byte')} in {count(part.blocks, 'block')}, allocated by")
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
                "live_blocks", "live_bytes")
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
