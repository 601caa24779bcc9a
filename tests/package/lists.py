"""What packaging/ says of files, symbols and packages, held against what cmake --install and the sources have."""

import fnmatch
import json
import re

from checks import run

# Made by the packages' own rules, for alternatives.
CHOICES = ("usr/lib/acre/*/use-*.conf",)


def installed_files(prefix):
    return {f"usr/{path.relative_to(prefix.path)}" for path in prefix.path.rglob("*")
            if not path.is_dir() or path.is_symlink()}


def owners(patterns, file):
    """Patterns of files, and of folders with all that is in them."""
    return [pattern for pattern in patterns if fnmatch.fnmatchcase(file, pattern) or fnmatch.fnmatchcase(file, f"{pattern}/*")]


def check_list(checks, what, patterns, files):
    patterns = [pattern for pattern in patterns if not any(fnmatch.fnmatchcase(pattern, choice) for choice in CHOICES)]
    wrong = [f"{file}: {owners(patterns, file) or 'in no package'}" for file in sorted(files) if len(owners(patterns, file)) != 1]
    wrong += [f"{pattern}: no such file" for pattern in patterns if not any(owners([pattern], file) for file in files)]
    checks.that(files and not wrong, f"{what}: each installed file is in one package, and each entry is a file", "\n".join(wrong))


def debian_patterns(folder):
    """As below usr/lib, without the architecture's folder."""
    for path in (*folder.glob("*.install"), folder / "not-installed"):
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                yield line.replace("usr/lib/*/", "usr/lib/")


def spec_patterns(text):
    macros = {"_libdir": "usr/lib", "_bindir": "usr/bin", "_datadir": "usr/share", "_mandir": "usr/share/man",
              "_includedir": "usr/include"}
    for line in text.partition("\n%files\n")[2].partition("\n%changelog")[0].splitlines():
        if found := re.fullmatch(r"(?:%doc )?%\{(\w+)\}(/\S+)", line):
            yield macros[found[1]] + found[2]
    for line in re.findall(r"^rm (.*)$", text, re.M):  # what it leaves out
        for name in line.split():
            yield re.sub(r"%\{buildroot\}%\{(\w+)\}", lambda found: macros[found[1]], name)


def check_symbols(checks, packaging, names):
    listed = set(re.findall(r"^ (\S+)@Base ", (packaging / "debian/libacre1.symbols").read_text(), re.M))
    checks.that(listed == names, "debian/libacre1.symbols has what libacre.so exports: add new names there, with the version",
                sorted(listed ^ names))


def check_symbol_versions(checks, packaging, version):
    """A package's own shlibs would ask for a later package than itself."""
    symbols = re.findall(r"^ (\S+)@Base ([\d.]+)", (packaging / "debian/libacre1.symbols").read_text(), re.M)
    number = [int(part) for part in version.split(".")]
    later = [name for name, since in symbols if [int(part) for part in since.split(".")] > number]
    checks.that(symbols and not later, "debian/libacre1.symbols: no name is of a later version than the package", later)


def check_requirements(checks, source):
    control = (source / "packaging/debian/control").read_text()
    wanted = re.findall(r"[\w.+-]+(?=[ :,\n(])", re.search(r"^Build-Depends: ((?:.*,\n)*.*\n)", control, re.M)[1])
    other = {"debhelper-compat": "debhelper", "dh-sequence-python3": "dh-python"}
    wanted = {other.get(name, name) for name in wanted if re.match("[a-z]", name) and name != "any"}
    section = re.search(r"^\[deb\].*\n((?:[^\[\n].*\n)+)", (source / "packages.txt").read_text(), re.M)[1]
    missing = wanted - {line.split()[0] for line in section.splitlines()}
    checks.that(len(wanted) > 4 and not missing, "packages.txt has what the Debian packages are built with", missing)


def check(checks, source, prefix, version, exported):
    packaging = source / "packaging"
    files = {re.sub(r"^usr/lib/[^/]*-linux-gnu/", "usr/lib/", file) for file in installed_files(prefix)
             if "__pycache__" not in file}
    check_list(checks, "debian/*.install", list(debian_patterns(packaging / "debian")), files)
    check_list(checks, "acre.spec", list(spec_patterns((packaging / "acre.spec").read_text())), files)
    check_symbols(checks, packaging, exported)
    check_symbol_versions(checks, packaging, version)
    check_requirements(checks, source)
    parsed = run(["sh", "-c", '. "$0" && type build package libs jemalloc tcmalloc >&2 && echo $pkgname $pkgver $source',
                  packaging / "APKBUILD"])
    checks.that(parsed.stdout == f"acre {version} acre-{version}.tar.xz\n", "APKBUILD is a script that sets what it should", parsed)
    port = json.loads((packaging / "vcpkg/acre/vcpkg.json").read_text())
    checks.that(port["name"] == "acre" and {"description", "license", "supports", "dependencies"} <= port.keys(),
                "vcpkg.json is JSON with the fields of a port", port)
