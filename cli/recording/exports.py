"""Files for other tools, from recordings: acre-trace gives what each call stack allocated, or what happened over time,
and names.py the names."""

import gzip
import os
import subprocess
import tempfile
from dataclasses import dataclass

from . import dhat, firefox, names, perfetto, pprof


@dataclass
class Recording:
    """A file, and what of it is asked for. process: its number, or None. start, end, at: seconds as text, or None.
    within: of temporary blocks, how many events as text, or None."""
    tool: str
    path: str
    process: int
    start: str
    end: str
    at: str
    within: str
    symbolizer: object
    binaries: object
    warn: object

    def __post_init__(self):
        self.is_damaged = False
        self.info = names.ask(self.tool, "info", "--json", "--", self.path)
        self.processes = names.processes(names.ask(self.tool, "mappings", "--", self.path))
        if self.process is not None and self.process not in self.processes:
            raise names.Unreadable(f"'{self.path}' has no process {self.process}; --info lists them")

    def words(self):
        named = (("--process", self.process), ("--from", self.start), ("--to", self.end))
        return [str(word) for name, value in named if value is not None for word in (name, value)]

    def sites(self):
        """What each call stack allocated: the JSON of `acre-trace sites`."""
        more = [word for name, value in (("--at", self.at), ("--within", self.within)) if value is not None
                for word in (name, value)]
        return self.ask("sites", *self.words(), *more)["processes"]

    def timeline(self, *words):
        return self.ask("timeline", *self.words(), *words)

    def ask(self, *words):
        return names.ask(self.tool, *words, "--", self.path, on_damage=self.note_damage)

    def note_damage(self):
        self.is_damaged = True

    def named(self, stacks):
        """stacks: process's number -> lists of return addresses -> (number, address) -> Location."""
        pairs = {(number, address) for number, of in stacks.items() for frames in of for address in frames}
        return names.named(self.processes, pairs, self.symbolizer, self.binaries, self.warn)

    def one_process(self):
        """The number of the process that was asked for, or that has most events."""
        if self.process is not None:
            return self.process
        found = sorted(self.info["processes"], key=lambda process: (-process["events"], process["process"]))
        if not found:
            raise names.Unreadable(f"nothing is recorded in '{self.path}'")
        if len(found) > 1:
            self.warn(f"this is process {found[0]['process']}, which has most events of {len(found)}; --process names "
                      "another")
        return found[0]["process"]

    def title(self, number):
        process = self.processes[number]
        return os.path.basename(process.program) or f"process {number}"

    def command(self, number):
        words = self.processes[number].start.get("argv")
        return " ".join(map(str, words)) if isinstance(words, list) and words else self.title(number)



def events(format_name):
    """What acre-trace writes itself, event by event."""
    def write(recording, out):
        number = recording.one_process()
        words = [recording.tool, "export", "--format", format_name, "--process", str(number)]
        words += [word for name, value in (("--from", recording.start), ("--to", recording.end)) if value is not None
                  for word in (name, value)]
        with tempfile.NamedTemporaryFile("w", suffix=".names", encoding="utf-8", errors="surrogateescape") as file:
            if format_name == "heaptrack":
                write_names(recording, number, file)
                words += ["--names", file.name]
            tool = subprocess.Popen([*words, "--", recording.path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            with tool.stdout:
                while data := tool.stdout.read(1 << 20):
                    out.write(data)
            if tool.wait() == 1:
                recording.note_damage()
            elif tool.returncode != 0:
                raise names.Unreadable
    return write


def write_names(recording, number, file):
    """A line an address, as chunks of names have them; that of address 0 is the command."""
    file.write(f"0\t{clean(recording.command(number))}\n")
    asked = recording.process
    recording.process = number
    stacks = {process["process"]: [site["frames"] for site in process["sites"]] for process in recording.sites()}
    recording.process = asked
    for (_, address), location in recording.named(stacks).items():
        lines = [field for line in location.lines for field in (line.function, line.file, str(line.number))]
        of = location.mapping.file if location.mapping else ""
        file.write("\t".join(clean(field) for field in (f"{address:x}", of, *lines)) + "\n")
    file.flush()


def clean(text):
    return "".join(" " if letter < " " else letter for letter in text)


def whole(make):
    """A format whose file is made in memory."""
    return lambda recording, out: out.write(make(recording))


FORMATS = {"pprof": whole(pprof.make), "perfetto": whole(perfetto.make), "dhat": whole(dhat.make),
           "firefox": whole(firefox.make), "heaptrack": events("heaptrack"), "text": events("text")}


def write(recording, format_name, path):
    """Raises OSError or names.Unreadable. A file that is not whole is removed."""
    is_packed = path.endswith(".gz") and format_name in ("dhat", "heaptrack", "text")
    part = f"{path}.part"
    try:
        with (gzip.open if is_packed else open)(part, "wb") as out:
            FORMATS[format_name](recording, out)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
