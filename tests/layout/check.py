#!/usr/bin/env python3
"""Holds src/ to its layers, and trace/ to itself: check.py [SOURCE_ROOT]

- A file includes files of lower layers, or of its own folder.
- No include cycle, no source that includes a source, no path that leads nowhere.
- Only os/ and base/ ask which platform this is.
- A file has at most 350 lines.
- A folder has a README.md, which names its headers.
- A file of src/ that uses a precompiled header includes it, itself or by the files that it includes: so it compiles
  without precompiled headers, too.
- docs/porting.md names each function of the contract in os/, and no other.
- trace/ includes its own headers, and of src/ record/format.h alone.
"""

import os
import re
import sys
from pathlib import Path

# Top to bottom; a folder may include those that stand after it.
LAYERS = ("entry", "live", "control", "leaks", "report", "guard", "sample", "process", "hardened", "observe", "record",
          "reclaim", "manual",
          "cache", "slab", "pages", "tables", "os", "base")
PLATFORM_FOLDERS = ("os", "base")
PLATFORM_MACROS = (
    "__linux__", "__linux", "__gnu_linux__", "__unix__", "__ANDROID__", "__APPLE__", "__MACH__",
    "__FreeBSD__", "__NetBSD__", "__OpenBSD__", "_WIN32", "_WIN64", "__CYGWIN__",
    "__x86_64__", "__amd64__", "__i386__", "__aarch64__", "__arm__", "__riscv", "__powerpc64__", "__s390x__",
    "__GLIBC__", "__GLIBC_PREREQ", "__BIONIC__",
)
LINES_CAP = 350

# Of a header of the contract: a function's declaration, and what is not for a port.
DECLARED = re.compile(r"^(?:\[\[\w+\]\] )?[\w:]+(?:<[^>]*>)?[*&]?(?: [\w:]+[*&]?)*[ *&](\w+)\(", re.M)
FOR_TESTS = re.compile(r"^namespace testing \{.*?^\}", re.M | re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
CONDITION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif|elifdef|elifndef)\b(.*)")
STANDARD = re.compile(r"^\s*#\s*include\s*<([^>]+)>")
# The headers that cmake/AcreTarget.cmake precompiles, and the names of each that src/ uses.
PRECOMPILED = {
    "atomic": re.compile(r"\bstd::(?:atomic|memory_order)\w*"),
    "cstddef": re.compile(r"\bstd::(?:size_t|ptrdiff_t|max_align_t|byte)\b"),
    "cstdint": re.compile(r"\bu?int(?:\d+|ptr)_t\b"),
    "new": re.compile(r"\bstd::(?:nothrow|align_val_t|launder|bad_alloc|\w+_new_handler)\b|\bnew \((?!std::)"),
}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
PLATFORM = re.compile(r"\b(" + "|".join(PLATFORM_MACROS) + r")\b")


def numbered_lines(text):
    """Lines with their numbers, those that end in a backslash joined."""
    start, whole = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        yield start, whole + line
        start, whole = 0, ""


class Layout:
    def __init__(self, root):
        self.root = root
        self.problems = []
        self.includes = {}  # file -> [(line number, file)], all relative to the root
        self.standard = {}  # file -> the standard headers that it includes
        self.used = {}  # file -> the precompiled headers that it uses names of

    def name(self, file):
        return str(file.relative_to(self.root))

    def check_file(self, file):
        name = self.name(file)
        text = file.read_text(encoding="utf-8")
        length = text.count("\n")
        if length > LINES_CAP:
            self.problems.append(f"{name}: {length} lines, more than {LINES_CAP}: split it")
        folder = file.relative_to(self.root / "src").parts[0] if name.startswith("src/") else None
        if folder is not None and folder not in LAYERS:
            self.problems.append(f"{name}: '{folder}' is no layer; the layers are {', '.join(LAYERS)}")
            return
        self.includes[name] = []
        self.standard[name] = set()
        code = COMMENT.sub("", text)
        self.used[name] = {header for header, names in PRECOMPILED.items() if folder and names.search(code)}
        for number, line in numbered_lines(text):
            where = f"{name}:{number}"
            include = INCLUDE.match(line)
            standard = STANDARD.match(line)
            if standard:
                self.standard[name].add(re.sub(r"^(std\w+)\.h$", r"c\1", standard.group(1)))
            if include:
                self.check_include(where, name, folder, include.group(1), number)
            condition = CONDITION.match(line)
            macro = condition and PLATFORM.search(condition.group(1))
            if macro and folder not in PLATFORM_FOLDERS + (None,):
                self.problems.append(f"{where}: {macro.group(1)} is asked for in {folder}/; "
                                     f"only {' and '.join(PLATFORM_FOLDERS)} may ask for the platform")

    def check_include(self, where, name, folder, target, number):
        for root in ("src", "include"):
            file = self.root / root / target
            if file.is_file():
                break
        else:
            self.problems.append(f"{where}: '{target}' is neither under src/ nor under include/; "
                                 "write includes from there")
            return
        self.includes[name].append((number, self.name(file)))
        if file.suffix == ".cc":
            self.problems.append(f"{where}: includes the source '{target}'; move what both need to a header")
        if root == "include":
            return
        if folder is None:
            self.problems.append(f"{where}: a public header includes '{target}' of src/, which is not installed")
            return
        other = Path(target).parts[0]
        if other in LAYERS and LAYERS.index(other) < LAYERS.index(folder):
            self.problems.append(f"{where}: {folder}/ includes '{target}' of the higher layer {other}/")

    def check_precompiled(self):
        target = (self.root / "cmake/AcreTarget.cmake").read_text(encoding="utf-8")
        listed = set(re.findall(r"<(\w+)>", re.search(r"target_precompile_headers\((.*?)\)", target, re.S)[1]))
        for header in sorted(listed ^ set(PRECOMPILED)):
            self.problems.append(f"cmake/AcreTarget.cmake and tests/layout/check.py: only one of them has <{header}>")
        for name in sorted(self.used):
            reached, left = set(), [name]
            while left:
                file = left.pop()
                if file not in reached:
                    reached.add(file)
                    left += [target for _, target in self.includes.get(file, ())]
            headers = set().union(*(self.standard.get(file, set()) for file in reached))
            for header in sorted(self.used[name] - headers):
                self.problems.append(f"{name}: uses <{header}>, which neither it nor a file that it includes has")

    def check_readmes(self):
        for layer in LAYERS:
            folder = self.root / "src" / layer
            readme = folder / "README.md"
            if not readme.is_file():
                self.problems.append(f"src/{layer}: no README.md")
                continue
            text = readme.read_text(encoding="utf-8")
            for header in sorted(folder.glob("*.h")):
                if f"`{header.name}`" not in text:
                    self.problems.append(f"src/{layer}/README.md: does not name {header.name}")

    def check_cycles(self):
        finished, path = set(), []

        def visit(name):
            if name in path:
                cycle = path[path.index(name):] + [name]
                self.problems.append("include cycle: " + " -> ".join(cycle))
                return
            if name in finished:
                return
            path.append(name)
            for _, target in self.includes.get(name, ()):
                visit(target)
            path.pop()
            finished.add(name)

        for name in sorted(self.includes):
            visit(name)


    def check_porting(self):
        contract = set()
        for header in sorted((self.root / "src/os").glob("*.h")):
            if not header.name.startswith("linux"):
                contract.update(DECLARED.findall(FOR_TESTS.sub("", header.read_text(encoding="utf-8"))))
        text = (self.root / "docs/porting.md").read_text(encoding="utf-8")
        named = set()
        for row in re.findall(r"^\| (`.*?) \|", text.partition("\n## Beside")[0], re.M):
            named.update(re.findall(r"`(\w+)`", row))
        for function in sorted(contract - named):
            self.problems.append(f"docs/porting.md: does not have {function} of src/os, which a port has to supply")
        for function in sorted(named - contract):
            self.problems.append(f"docs/porting.md: has {function}, which is no function of src/os's headers")

    def check_style(self):
        """What docs/style.md quotes of the sources stands there."""
        sources = "\n".join(path.read_text(encoding="utf-8") for folder in ("src", "tests")
                            for path in sorted((self.root / folder).rglob("*")) if path.suffix in (".h", ".cc", ".c"))
        squeezed = " ".join(sources.split())
        page = self.root / "docs/style.md"
        quotes = re.findall(r"(?:^    .*\n)+", page.read_text(encoding="utf-8"), re.M) if page.exists() else []
        for quote in quotes:
            text = " ".join(quote.split())
            if not text.startswith("acre: ") and text not in squeezed:
                self.problems.append(f"docs/style.md: quotes what no source has: {text}")

    def check_trace(self):
        """acre-trace stands beside the library."""
        folder = self.root / "trace"
        readme = (folder / "README.md").read_text(encoding="utf-8")
        for file in sorted(folder.glob("*.h")) + sorted(folder.glob("*.cc")):
            name, text = self.name(file), file.read_text(encoding="utf-8")
            if text.count("\n") > LINES_CAP:
                self.problems.append(f"{name}: more than {LINES_CAP} lines: split it")
            if file.suffix == ".h" and f"`{file.name}`" not in readme:
                self.problems.append(f"trace/README.md: does not name {file.name}")
            for number, line in numbered_lines(text):
                include = INCLUDE.match(line)
                if include and include[1] != "record/format.h" and not (folder / include[1]).is_file():
                    self.problems.append(f"{name}:{number}: '{include[1]}' is neither in trace/ nor record/format.h")


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ACRE_SOURCE", Path(__file__).parents[2]))
    layout = Layout(root.resolve())
    files = sorted(file for folder in ("src", "include") for file in (layout.root / folder).rglob("*")
                   if file.suffix in (".h", ".hpp", ".cc"))
    if not files:
        sys.exit(f"{root}: no sources under src/ and include/; give the root of acre's sources")
    for file in files:
        layout.check_file(file)
    layout.check_cycles()
    layout.check_precompiled()
    layout.check_readmes()
    layout.check_style()
    layout.check_porting()
    layout.check_trace()
    for problem in layout.problems:
        print(problem)
    print(f"{len(files)} files, {len(layout.problems)} problems")
    return 1 if layout.problems else 0


if __name__ == "__main__":
    sys.exit(main())
