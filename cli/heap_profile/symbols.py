"""Names for the addresses of a profile: functions, files, lines, and what was inlined, by llvm-symbolizer or addr2line."""

import os
import shutil
import subprocess
from collections import defaultdict

from .elf_file import ElfFile
from .profile import Line, Location

UNKNOWN = "??"


class Tool:
    """path: of the program."""

    def __init__(self, path):
        self.path = path

    def ask(self, arguments, questions):
        environment = {**os.environ, "DEBUGINFOD_URLS": "", "LC_ALL": "C"}
        environment.pop("LD_PRELOAD", None)
        done = subprocess.run([self.path, *arguments], input="\n".join(questions) + "\n", stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, errors="replace", env=environment)
        return done.stdout.splitlines()


class LlvmSymbolizer(Tool):
    def lines(self, file, addresses):
        """-> for each address its lines, the innermost first."""
        out = self.ask(["--demangle", "--inlining", "--functions=linkage", f"--obj={file}"],
                       [hex(address) for address in addresses])
        found, pairs = [], []
        for line in out:
            if line:
                pairs.append(line)
            else:  # an empty line ends an answer
                found.append(pairs)
                pairs = []
        return [[line_of(*pair) for pair in zip(pairs[::2], pairs[1::2])] for pairs in found]


class Addr2line(Tool):
    def lines(self, file, addresses):
        out = self.ask(["-a", "-f", "-i", "-C", "-e", file], [hex(address) for address in addresses])
        found = []
        for line in out:
            if line.startswith("0x"):
                found.append([])
            elif found:
                found[-1].append(line)
        return [[line_of(*pair) for pair in zip(pairs[::2], pairs[1::2])] for pairs in found]


def line_of(function, place):
    """place: FILE:LINE, FILE:LINE:COLUMN or FILE:LINE (discriminator N)."""
    place = place.split(" (", 1)[0]
    parts = place.rsplit(":", 2)
    if len(parts) == 3 and not (parts[1].isdigit() and parts[2].isdigit()):
        parts = place.rsplit(":", 1)
    number = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0
    file = "" if parts[0] == UNKNOWN else parts[0]
    return Line("" if function == UNKNOWN else function, file, number)


def find_tool():
    """What there is of the two; None if there is neither."""
    for name, make in (("llvm-symbolizer", LlvmSymbolizer), ("addr2line", Addr2line)):
        path = shutil.which(name)
        if path:
            return make(path)
    return None


def ensure_tool(command, yes):
    """The same; installed by the rule of every command if there is neither."""
    tool = find_tool()
    if tool is None:
        import packages
        packages.ensure(["heap"], yes)
        tool = find_tool()
    if tool is None:
        from say import fail
        fail(f"{command}: neither llvm-symbolizer nor addr2line is there, which give addresses their names")
    return tool


def where_binaries_are(folder):
    """With a folder, programs and libraries are looked for there: under their whole path, then under their name."""
    def path(file):
        if folder is not None:
            for candidate in (os.path.join(folder, file.lstrip("/")), os.path.join(folder, os.path.basename(file))):
                if os.path.isfile(candidate):
                    return candidate
        return file
    return path


def nameless(location):
    """For code without a name: its place in its file."""
    mapping = location.mapping
    if mapping is None or not mapping.file:
        return Line(hex(location.address))
    return Line(f"{os.path.basename(mapping.file)}+{location.address - mapping.start + mapping.offset:#x}")


def named(profile, tool, binaries, warn):
    """The same profile, each of whose locations has a name, and lines as far as they are known. binaries, warn: as of
    known_lines."""
    nameless_ones = [location for location in profile.locations() if not location.lines]
    known = known_lines(nameless_ones, tool, binaries, warn)
    return profile.renamed({location: Location(location.address, location.mapping,
                                               known.get(location) or (nameless(location),))
                            for location in nameless_ones})


def known_lines(locations, tool, binaries, warn):
    """-> location -> its lines, the innermost first, where there are any. binaries: a function from a mapping's file to
    the path where it is now; warn: one that is told what gives no names."""
    by_file, known = defaultdict(list), {}
    for location in locations:
        if location.mapping is not None and location.mapping.file.startswith("/"):
            by_file[location.mapping.file, location.mapping.build_id].append(location)
    for (file, build_id), there in sorted(by_file.items()):
        path = binaries(file)
        try:
            elf = ElfFile(path)
        except (OSError, ValueError) as error:
            warn(f"no names from '{path}': {error}")
            continue
        if build_id and elf.build_id != build_id:
            warn(f"no names from '{path}': it is another one than the program ran (its build id differs)")
            continue
        known.update(lines_in_file(elf, path, there, tool))
    return known


def lines_in_file(elf, path, locations, tool):
    asked = []
    for location in sorted(locations, key=lambda location: location.address):
        address = elf.address_of(location.address - location.mapping.start + location.mapping.offset)
        if address is not None:
            asked.append((location, address))
    answers = tool.lines(path, [address for _, address in asked])
    if len(answers) != len(asked):
        return {}  # it died of the file
    # What was inlined always has a name; without debugging data the function may have none.
    found = {location: tuple(line for line in lines if line.function) for (location, _), lines in zip(asked, answers)}
    return {location: lines for location, lines in found.items() if lines}
