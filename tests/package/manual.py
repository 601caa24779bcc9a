"""What cmake --install makes from the parsers, the table of options and the headers: manual pages and completions."""

import os
import pty
import re
import select

from checks import clean_environment, run

WAIT_S = 30
# A line, and what its completion offers.
COMPLETED = (("acre st", "stats"), ("acre run --sta", "--stats"), ("acre run --stats=te", "text"),
             ("acre bench comp", "compare"), ("acre bench compare --al", "--alloc"), ("acre bench --qu", "--quick"),
             ("acre run -o /usr/li", "/usr/lib"), ("acre run -- tru", "true"), ("acre run --stats -o /tmp tru", "true"),
             ("acre heap /usr/lib/os-r", "os-release"), ("acre top -d 3 --tim", "--times"))


def check_pages(checks, prefix, source):
    pages = {name: prefix.path / "share/man" / f"man{name[-1]}" / name for name in ("acre.1", "acre.conf.5", "acre.3")}
    if not checks.has("mandoc", "it reads the manual pages"):
        return
    texts = {}
    for name, page in pages.items():
        said = run(["mandoc", "-T", "lint", page])
        checks.that(page.is_file() and said.returncode == 0 and not said.stdout + said.stderr,
                    f"{name} renders without a warning", said.stdout + said.stderr)
        said = run(["groff", "-man", "-Tutf8", "-ww", "-z", page])
        checks.that(said.returncode == 0 and not said.stderr, f"{name}: groff has no warning either", said.stderr)
        shown = run(["mandoc", "-T", "utf8", "-O", "width=200", page]).stdout
        texts[name] = " ".join(re.sub(r".\x08", "", shown).split())
    options = re.findall(r"^\| `(\w+)` \|", (source / "docs/reference.md").read_text().partition("## Names")[0], re.M)
    missing = [name for name in options if f" {name}: " not in texts["acre.conf.5"]]
    checks.that(len(options) > 40 and not missing, "acre.conf(5) has every option", missing)
    functions = [name for header in ("acre.h", "heap.h", "tags.h", "leaks.h")
                 for name in re.findall(r"^\w[\w *]*\b(acre_\w+)\(", (source / "include/acre" / header).read_text(), re.M)]
    missing = [name for name in functions if f"{name}(" not in texts["acre.3"]]
    checks.that(len(functions) > 60 and not missing, "acre(3) has every function", missing)
    return texts["acre.1"]


def check_help(checks, prefix, page):
    """The page has what the help has."""
    acre = prefix.path / "bin/acre"
    missing = []
    for name in re.findall(r"^    (\w+) ", run([acre, "--help"]).stdout.partition("commands:")[2], re.M):
        said = run([acre, name, "--help"]).stdout
        words = re.findall(r"^  (?:-\w, )?(--[\w-]+)", said.partition("\noptions:\n")[2], re.M)
        missing += [f"{name} {word}" for word in words if word != "--help" and word not in page.partition(f" acre {name} ")[2]]
        checks.that(len(words) > 1 or name == "lib", f"acre {name} --help has options", said)
    checks.that(not missing, "acre(1) has every option of every command", missing)


def completed_by_bash(line, prefix):
    words = re.findall(r"=|[^\s=]+", line)
    script = ('compopt() { :; }; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _acre; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return run(["bash", "--norc", "-c", script, "bash", prefix.path / "share/bash-completion/completions/acre", *words])


def completed_by_fish(line, prefix):
    page = prefix.path / "share/fish/vendor_completions.d/acre.fish"
    return run(["fish", "-N", "-c", f"source {page}; complete -C '{line}'"])


class Zsh:
    """An interactive one."""

    def __init__(self, folder):
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], clean_environment(TERM="dumb", COLUMNS=120, LINES=50))
        self.write(f"fpath=({folder} $fpath); PS1= RPS1=; autoload -U compinit; compinit -D -u; print re''ady\n")
        self.until("ready\r\n")

    def write(self, text):
        os.write(self.terminal, text.encode())

    def until(self, text):
        seen = ""
        while text not in seen and select.select([self.terminal], [], [], WAIT_S)[0]:
            seen += os.read(self.terminal, 1 << 16).decode(errors="replace")
        return seen

    def completed(self, line, offered):
        self.write(line + "\t\t")
        seen = self.until(offered)
        self.write("\x15\x0bprint do''ne\n")  # without what is on the line
        self.until("done\r\n")
        return seen


def check_completions(checks, prefix):
    if checks.has("bash", "its completion"):
        for line, offered in COMPLETED:
            ended = completed_by_bash(line, prefix)
            checks.that(offered in ended.stdout.splitlines() or any(word.endswith("/" + offered) for word in ended.stdout.split()),
                        f"bash completes {line}", ended)
    if checks.has("fish", "its completion"):
        for line, offered in COMPLETED:
            ended = completed_by_fish(line, prefix)
            checks.that(offered in ended.stdout and not ended.stderr, f"fish completes {line}", ended)
    if checks.has("zsh", "its completion"):
        shell = Zsh(prefix.path / "share/zsh/site-functions")
        for line, offered in COMPLETED:
            seen = shell.completed(line, offered)
            checks.that(offered in seen, f"zsh completes {line}", repr(seen))
        os.close(shell.terminal)


def check(checks, source, prefix):
    page = check_pages(checks, prefix, source)
    if page is not None:
        check_help(checks, prefix, page)
    check_completions(checks, prefix)
