"""C headers, one behind the other, as a library's whole source is fed to a tool that studies its #ifs.

Each header is preceded by the line "//== NAME". write() also says what is in them: for every header, how
many directives of each kind and macros it has, and how deep its conditions nest.
"""

import json
import random

SEED = 2006
HEADERS = 640  # 10 MB

SUBJECTS = "alloc arena bin cache chunk clock codec cursor decay event field frame graph index lexer map".split()
OBJECTS = "page parser pipe pool queue range reader region ring scope shard slab socket table token tree".split()
VERBS = "add bind check clear close copy count find flush init insert lock merge next open purge read reset".split()
TYPES = ("int", "void", "size_t", "char *", "const char *", "uint64_t", "struct stat *", "unsigned long")
SYSTEMS = "__linux__ __FreeBSD__ __APPLE__ _WIN32 __sun __NetBSD__".split()
FEATURES = "HAVE_MMAP HAVE_THREADS HAVE_TLS USE_UTF8 NO_LOCKS ENABLE_STATS WITH_TRACE PARANOID NDEBUG".split()
NUMBERS = "__GNUC__ __STDC_VERSION__ _POSIX_C_SOURCE API_LEVEL __cplusplus PAGE_SHIFT".split()
KINDS = ("if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef", "include", "error", "pragma")


class Header:
    def __init__(self, rng, number):
        self.rng, self.name = rng, f"{rng.choice(SUBJECTS)}_{rng.choice(OBJECTS)}_{number}.h"
        self.lines = []
        self.counts = dict.fromkeys((*KINDS, "functions", "constants", "depth"), 0)

    def directive(self, kind, rest=""):
        self.counts[kind] += 1
        before, after = self.rng.choice((("", ""), ("", ""), ("", " "), ("  ", ""), ("", "\t")))
        self.lines.append(f"{before}#{after}{kind} {rest}".rstrip())

    def words(self, count):
        return " ".join(self.rng.choice(SUBJECTS + OBJECTS + VERBS) for _ in range(count))

    def name_of(self, depth=1):
        rng = self.rng
        return "_".join((rng.choice(SUBJECTS), *(rng.choice(OBJECTS) for _ in range(depth)), rng.choice(VERBS)))

    def comment(self):
        shape = self.rng.randrange(4)
        if shape == 0:
            self.lines.append(f"/* {self.words(8)}; see #if {self.rng.choice(FEATURES)} below */")
        elif shape == 1:
            self.lines += ["/*", *(f" * {self.words(11)}" for _ in range(3)), "#endif  (not one: a comment)", " */"]
        else:
            self.lines.append(f"// {self.words(9)}")

    def condition(self, depth=0):
        rng, shape = self.rng, self.rng.randrange(10)
        if depth < 3 and shape < 4:
            joined = rng.choice((" && ", " || ", " \\\n    && ")).join(
                self.condition(depth + 1) for _ in range(rng.randint(2, 3))
            )
            return f"({joined})"
        if shape == 4:
            return f"!{self.condition(depth + 1)}" if depth < 3 else "!defined(LAST_RESORT)"
        if shape < 8:
            return f"defined({rng.choice(SYSTEMS + FEATURES)})"
        compare = rng.choice((">=", "<", "==", "!=", ">"))
        return f"({rng.choice(NUMBERS)} {compare} {rng.choice(('4', '199901L', '0x10', '8 * 2 + 1', '0'))})"

    def define(self):
        rng, name = self.rng, self.name_of().upper()
        shape = rng.randrange(4)
        if shape == 0:
            self.counts["functions"] += 1
            steps = f"{name.lower()}_begin(a); \\\n    (b) += (a) * {rng.randint(1, 99)};"
            self.directive("define", f"{name}(a, b) do {{ \\\n    {steps} \\\n  }} while (0)")
        elif shape == 1:
            self.directive("define", name)
        else:
            self.counts["constants"] += 1
            text = f'"{self.words(2)} // #if"'
            value = rng.choice((f"{rng.randint(0, 4096)}u", text, f"(1 << {rng.randint(0, 31)})"))
            self.directive("define", f"{name} {value}")

    def declaration(self):
        rng = self.rng
        if rng.random() < 0.25:
            fields = [f"  {rng.choice(TYPES)} {self.name_of(0)}_{k};" for k in range(rng.randint(2, 8))]
            self.lines += [f"struct {self.name_of(0)} {{", *fields, "};"]
        else:
            arguments = ", ".join(f"{rng.choice(TYPES)} {rng.choice(OBJECTS)}{k}" for k in range(rng.randint(1, 4)))
            self.lines.append(f"extern {rng.choice(TYPES)} {self.name_of()}({arguments});")

    def body(self, depth, length):
        rng = self.rng
        for _ in range(length):
            shape = rng.random()
            if shape < 0.15:
                self.comment()
            elif shape < 0.35:
                self.define()
            elif shape < 0.38:
                self.directive("include", f"<{rng.choice(SUBJECTS)}/{rng.choice(OBJECTS)}.h>")
            elif shape < 0.39:
                self.directive(*rng.choice((("undef", self.name_of().upper()), ("pragma", "once"))))
            elif shape < 0.52 and depth < 7:
                self.group(depth + 1)
            else:
                self.declaration()

    def group(self, depth):
        rng = self.rng
        self.counts["depth"] = max(self.counts["depth"], depth)
        first = rng.choice(("if", "if", "ifdef", "ifndef"))
        self.directive(first, self.condition() if first == "if" else rng.choice(SYSTEMS + FEATURES))
        self.body(depth, rng.randint(1, 5))
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            self.directive("elif", self.condition())
            self.body(depth, rng.randint(1, 3))
        if rng.random() < 0.4:
            self.directive("else")
            if rng.random() < 0.1:
                self.directive("error", f"no {rng.choice(OBJECTS)} here")
            self.body(depth, rng.randint(1, 3))
        self.directive("endif")

    def make(self):
        guard = self.name.replace(".", "_").upper()
        self.lines += ["/*", *(f" * {self.words(12)}" for _ in range(12)), " */"]
        self.counts["depth"] = 1
        self.directive("ifndef", guard)
        self.directive("define", guard)
        self.body(1, self.rng.randint(40, 90))
        self.directive("endif")
        return f"//== {self.name}\n" + "\n".join(self.lines) + "\n"


def write(path, counts_path, headers=HEADERS):
    """The headers to path, and what is in each, a line of JSON a header, to counts_path."""
    rng = random.Random(SEED)
    with open(path, "w", encoding="ascii") as text, open(counts_path, "w", encoding="ascii") as known:
        for number in range(headers):
            header = Header(rng, number)
            text.write(header.make())
            print(json.dumps(header.counts), file=known)


def expected(counts_path, headers):
    """What a tool must count in the first of the headers."""
    total = {}
    with open(counts_path, encoding="ascii") as known:
        for _, line in zip(range(headers), known):
            for name, count in json.loads(line).items():
                total[name] = max(total.get(name, 0), count) if name == "depth" else total.get(name, 0) + count
    return total
