#!/usr/bin/env python3
"""The crate acre-sys against the headers: C's compiler judges each declaration, each structure and each constant, and
nothing is missing. Versions and compilers' flags are those of CMake. Needs no cargo.

Exit code 0: all well, 1: not.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
CRATES = ROOT / "bindings/rust"
sys.path.insert(0, str(ROOT / "tests/package"))

from checks import Checks

HEADERS = ("acre.h", "heap.h", "tags.h", "leaks.h", "trace.h", "extent_hooks.h")
PLAIN = {"c_char": "char", "c_int": "int", "c_uint": "unsigned", "c_longlong": "long long", "c_void": "void",
         "usize": "size_t", "u64": "uint64_t", "bool": "bool"}
OPAQUE = {"FILE", "acre_heap_t", "acre_tag_t", "extent_hooks_t"}
# Of glibc's <malloc.h>, and what C calls otherwise than Rust.
STRUCTS_OF_OTHERS = {"mallinfo", "mallinfo2"}


def c_type(rust, functions):
    """-> the C type that a type of Rust's stands for"""
    rust = rust.strip()
    for pointer, qualifier in (("*mut ", " *"), ("*const ", " const *")):
        if rust.startswith(pointer):
            return c_type(rust[len(pointer):], functions) + qualifier
    if option := re.fullmatch(r"Option<(\w+)>", rust):
        return f"rust_{option[1]}"
    if rust in PLAIN or rust in OPAQUE:
        return PLAIN.get(rust, rust)
    return f"rust_{rust}" if rust in functions else f"struct {rust}"


def arguments(text, functions):
    types = [argument.split(":", 1)[1] for argument in text.split(",") if ":" in argument]
    return ", ".join(c_type(each, functions) for each in types) or "void"


class Declarations:
    """What the crate declares."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*", "", text)
        signature = r"\(([^)]*)\)(?: -> ([^;{]+))?;"
        self.pointers = re.findall(r'pub type (\w+) =\s*unsafe extern "C" fn' + signature, text)
        self.functions = re.findall(r"pub fn (\w+)" + signature, text)
        self.structs = re.findall(r"#\[repr\(C\)\]\s*(?:#\[derive[^\]]*\]\s*)?pub struct (\w+) \{([^}]*)\}", text)
        self.constants = re.findall(r"pub const (\w+): \w+ = ([^;]+);", text)

    def as_c(self):
        names = {name for name, _, _ in self.pointers}
        lines = ["#include <acre/jemalloc.h>", "#include <stddef.h>", *(f"#include <acre/{name}>" for name in HEADERS)]
        for name, given, result in self.pointers:
            lines.append(f"typedef {c_type(result or 'c_void', names)} (*rust_{name})({arguments(given, names)});")
        for name, given, result in self.functions:
            of_c = f"{c_type(result or 'c_void', names)} (*const pointer_{name})({arguments(given, names)})"
            lines.append(f"{of_c} = {name};")
        for name, fields in self.structs:
            found = re.findall(r"pub (\w+): ([^,]+(?:\[[^\]]*\])?),", fields)
            mirror, asserts = [], []
            for field, rust in found:
                field = field.rstrip("_")
                array = re.fullmatch(r"\[(\w+); (\d+)\]", rust)
                length = f"[{array[2]}]" if array else ""
                mirror.append(f"{c_type(array[1] if array else rust, names)} {field}{length};")
                both = [f"((struct {kind} *)0)->{field}" for kind in (name, f"rust_{name}")]
                asserts.append(f"_Static_assert(offsetof(struct {name}, {field}) == "
                               f"offsetof(struct rust_{name}, {field}) && "
                               f"__builtin_types_compatible_p(__typeof__({both[0]}), __typeof__({both[1]})), "
                               f'"{name}.{field}");')
            lines += [f"struct rust_{name} {{ {' '.join(mirror)} }};", *asserts,
                      f'_Static_assert(sizeof(struct {name}) == sizeof(struct rust_{name}), "{name}");']
        lines += [f'_Static_assert({name} == ({value}), "{name}");' for name, value in self.constants]
        return "\n".join(lines) + "\n"


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


def in_headers():
    """-> names of functions, structures and constants"""
    text = "\n".join(without_comments(ROOT / "include/acre" / name) for name in HEADERS)
    functions = re.findall(r"^(?:const )?(?:struct )?\w[\w ]*?\*?\b(acre_\w+)\(", text, re.MULTILINE)
    structs = re.findall(r"^struct (\w+) \{", text, re.MULTILINE)
    constants = re.findall(r"^#define (ACRE_\w+) +-?\d+ *$", text, re.MULTILINE)
    for body in re.findall(r"^enum \{([^}]*)\}", text, re.MULTILINE):
        constants += [entry.split("=")[0].strip() for entry in body.split(",")]
    return set(functions), set(structs), set(constants)


def check_declarations(checks, text):
    found = Declarations(text)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "declarations.c")
        source.write_text(found.as_c())
        checks.succeeds("C's compiler finds that declarations, structures and constants fit the headers",
                        [os.environ.get("CC", "cc"), "-std=gnu17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                         f"-I{ROOT / 'include'}", source])
    functions, structs, constants = in_headers()
    checks.that(len(functions) > 60 and len(structs) > 5 and len(constants) > 6, "the headers are understood",
                (functions, structs, constants))
    for what, declared, wanted in (
            ("functions", {name for name, _, _ in found.functions}, functions),
            ("structures", {name for name, _ in found.structs} - STRUCTS_OF_OTHERS, structs),
            ("constants", {name for name, _ in found.constants if name.startswith("ACRE_")}, constants)):
        checks.that(declared == wanted, f"{what} are those of the headers",
                    f"only in the crate: {sorted(declared - wanted)}; only in the headers: {sorted(wanted - declared)}")


def check_versions(checks):
    version = re.search(r"project\(acre VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    workspace, crate = ((CRATES / name).read_text() for name in ("Cargo.toml", "acre/Cargo.toml"))
    checks.that(f'\nversion = "{version}"\n' in workspace, f"the crates have the version {version}")
    checks.that(f'acre-sys = {{ path = "../acre-sys", version = "{version}" }}' in crate, "and need acre-sys of it")


def check_flags(checks, build):
    text = (ROOT / "cmake/AcreTarget.cmake").read_text()
    options = text[text.index("  target_compile_options(${target} PRIVATE\n"):text.index("# GNU ld and lld take it")]
    flags = {"-fvisibility=hidden", "-fvisibility-inlines-hidden",
             *re.findall(r"-f[\w=-]+", re.sub(r'#[^\n]*|MATCHES "[^"]*"', "", options))}
    words = re.search(r"foreach\(function IN ITEMS ([^)]*)\)", text)[1].split()
    missing = [word for word in (*flags, *words) if f'"{word}"' not in build]
    checks.that(len(flags) > 7 and len(words) > 9 and not missing, "build.rs has the flags of cmake/AcreTarget.cmake",
                missing)
    for name, value in re.findall(r"\n    (ACRE_\w+)=(\S+)", options + text):
        checks.that(f'"{name}"' in build, f"build.rs defines {name}", value)


def main():
    checks = Checks()
    check_declarations(checks, (CRATES / "acre-sys/src/lib.rs").read_text())
    check_versions(checks)
    check_flags(checks, (CRATES / "acre-sys/build.rs").read_text())
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
