"""The installed package: what is in the library, and whether others can build with it."""

import re
import shutil
import sys
from pathlib import Path

import lists
import manual
from checks import clean_environment, run

PROGRAMS = Path(__file__).resolve().parent / "programs"
FACES = Path(__file__).resolve().parents[1] / "faces"
TLS_LIMIT = 64
# Operators new and delete, the only C++ names that may be seen from outside.
CXX_OPERATORS = re.compile(r"^_Z(nw|na|dl|da)")


class Prefix:
    """Where acre is installed."""

    def __init__(self, path):
        self.path = path
        found = sorted(path.rglob("libacre.so"))
        self.libdir = found[0].parent if found else path / "lib"
        self.library = self.libdir / "libacre.so"
        self.include = path / "include"


def install(checks, build, work):
    """Into one prefix, moved to another: nothing in a package may hold on to where it was made."""
    if not checks.succeeds("cmake --install", ["cmake", "--install", build, "--prefix", work / "first"]):
        return None
    shutil.move(work / "first", work / "prefix")
    prefix = Prefix(work / "prefix")
    for name in ("libacre.so", "libacre.so.1", "libacre.a", "pkgconfig/acre.pc", "cmake/acre/acreConfig.cmake",
                 "cmake/acre/acreConfigVersion.cmake"):
        checks.that((prefix.libdir / name).exists(), f"{name} is installed")
    for header in ("acre/acre.h", "acre/jemalloc.h", "acre/tcmalloc.h", "acre/tcmalloc/gperftools/tcmalloc.h"):
        checks.that((prefix.include / header).exists(), f"{header} is installed")
    return prefix


def check_elf(checks, prefix):
    dynamic = run(["readelf", "-dW", prefix.library]).stdout
    soname = re.findall(r"SONAME\).*\[(.*)\]", dynamic)
    checks.that(soname == ["libacre.so.1"], "SONAME is libacre.so.1", soname)
    needed = re.findall(r"NEEDED\).*\[(.*)\]", dynamic)
    allowed = re.compile(r"^(libc\.so\.6|ld-linux.*\.so\.\d)$")
    checks.that(needed and all(allowed.match(name) for name in needed), "libacre.so needs libc only", needed)
    checks.that("TEXTREL" not in dynamic, "libacre.so has no text relocations")
    segments = run(["readelf", "-lW", prefix.library]).stdout
    # TLS  offset  virtual  physical  file size  memory size
    tls = [int(size, 16) for size in re.findall(r"^ +TLS +\S+ +\S+ +\S+ +\S+ +(0x[0-9a-f]+)", segments, re.M)]
    checks.that(sum(tls) <= TLS_LIMIT, f"the TLS block has at most {TLS_LIMIT} bytes", tls)
    cxx = [name for name in exported(prefix.library) if name.startswith("_Z") and not CXX_OPERATORS.match(name)]
    checks.that(not cxx, "of C++, only operators new and delete are exported", "\n".join(cxx))


def exported(library):
    lines = run(["nm", "-D", "--defined-only", library]).stdout.splitlines()
    return [line.split()[-1].split("@")[0] for line in lines]


# What Debian's libjemalloc.so.2 exports, but for two hooks of its own tests and the operators.
JEMALLOC_NAMES = """aligned_alloc calloc dallocx free mallctl mallctlbymib mallctlnametomib malloc malloc_conf
    malloc_message malloc_stats_print malloc_usable_size mallocx memalign nallocx posix_memalign rallocx realloc sallocx
    sdallocx valloc xallocx""".split()


def check_jemalloc(checks, prefix, work):
    """A program that was linked with jemalloc runs on acre by LD_LIBRARY_PATH alone."""
    missing = set(JEMALLOC_NAMES) - set(exported(prefix.library))
    checks.that(not missing, "all that jemalloc exports is exported", missing)
    folder = prefix.libdir / "acre" / "jemalloc"
    check_filter(checks, folder / "libjemalloc.so.2", ["$ORIGIN/../.."])
    checks.that((folder / "libjemalloc.so").resolve() == prefix.library.resolve(), "libjemalloc.so is libacre.so")
    for name in ("libjemalloc.so.2", "libjemalloc.so"):
        checks.that(not (prefix.libdir / name).exists(), f"{name} is in its own folder alone")
    # A library that has jemalloc's name and nothing in it that works, to link with.
    stub, program = work / "stub", work / "jemalloc_user"
    stub.mkdir()
    (stub / "stub.c").write_text("\n".join(f"void *{name};" if name in ("malloc_conf", "malloc_message") else
                                          f"void {name}(void) {{}}" for name in JEMALLOC_NAMES))
    built = checks.succeeds("a stub of libjemalloc.so.2 builds", [
        "gcc", "-shared", "-fPIC", "-w", "-fno-builtin", "-Wl,-soname,libjemalloc.so.2", "-o",
        stub / "libjemalloc.so.2", stub / "stub.c"])
    if not built or not checks.succeeds("jemalloc_user.c builds", [
            "gcc", "-o", program, PROGRAMS / "jemalloc_user.c", stub / "libjemalloc.so.2"]):
        return
    needed = run(["readelf", "-dW", program]).stdout
    checks.that("libjemalloc.so.2" in needed and "libacre" not in needed, "jemalloc_user needs libjemalloc.so.2", needed)
    version = pkg_config(prefix, "--modversion").stdout.strip()
    checks.succeeds("jemalloc_user runs on acre by LD_LIBRARY_PATH", [program, version],
                    environment=clean_environment(LD_LIBRARY_PATH=folder))
    if checks.succeeds("jemalloc_user.c links with acre's libjemalloc.so", [
            "gcc", "-o", program, PROGRAMS / "jemalloc_user.c", f"-L{folder}", "-ljemalloc"]):
        checks.succeeds("and runs", [program, version], environment=clean_environment(LD_LIBRARY_PATH=prefix.libdir))


def check_filter(checks, library, paths):
    """A library with another allocator's SONAME, which ldconfig goes by; the loader looks names up in acre first."""
    dynamic = run(["readelf", "-dW", library]).stdout
    checks.that(re.findall(r"SONAME\).*\[(.*)\]", dynamic) == [library.name], f"{library.name} has that SONAME", dynamic)
    checks.that(re.findall(r"(?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic) == [":".join(paths)],
                f"{library.name} finds libacre.so.1 by its own place", dynamic)
    checks.that(re.findall(r"AUXILIARY\).*\[(.*)\]", dynamic) == ["libacre.so.1"],
                f"{library.name} is a filter for libacre.so.1", dynamic)


def state(folder):
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def check_command(checks, prefix, work):
    """The command, by a link and from another folder, where nothing but Python and the program is."""
    tools, cache = work / "command tools", work / "cache"
    tools.mkdir()
    for name in ("sh", "readlink", "env", "cat", "true"):
        (tools / name).symlink_to(shutil.which(name))
    (tools / "acre-link").symlink_to(prefix.path / "bin/acre")
    (tools / "acre").symlink_to("acre-link")
    environment = clean_environment(PATH=tools, HOME=work, XDG_CACHE_HOME=cache)

    def acre(*words, **options):
        return run(["acre", *words], environment=environment, cwd=work, **options)

    before = state(prefix.path)
    ended = acre("run", "--", "cat", "/proc/self/maps")
    checks.that(str(prefix.library.with_name("libacre.so.1").resolve()) in ended.stdout and not ended.stderr,
                "the installed acre run uses the installed library and builds nothing", ended)
    version = pkg_config(prefix, "--modversion").stdout
    checks.that(acre("--version").stdout == f"acre {version}", "acre --version is the package's", acre("--version"))
    listed = acre("--help").stdout.partition("commands:")[2].partition("examples:")[0]
    commands = re.findall(r"^    (\w+) ", listed, re.M)
    checks.that({"run", "ps", "heap", "bench"} <= set(commands) and not {"test", "package", "docs"} & set(commands),
                "acre --help lists the commands, without those of the sources", commands)
    for words in ([], *([name] for name in commands), *(["bench", name] for name in ("report", "overhead", "compare"))):
        ended = acre(*words, "--help")
        examples = ended.stdout.partition("\nexamples:\n")[2].partition("\nexit codes:\n")
        checks.that(ended.returncode == 0 and examples[0].count("\n  ") >= 3 and "  2 " in examples[2]
                    and "./acre" not in ended.stdout and max(map(len, ended.stdout.splitlines())) <= 80,
                    f"acre {' '.join(words)} --help has examples, exit codes and the installed command's name", ended)
        if len(words) < 2:
            checks.that(acre("help", *words).stdout == ended.stdout, f"acre help {' '.join(words)} is the same")
    checks.that(all(acre("bench", "--list", *words).stdout for words in ([], ["--json"])), "acre bench --list works")
    ended = acre("run", "--profile=0", "-o", work, "--", "true")
    profiles = [str(path) for path in work.glob("*.live.pb.gz")]
    ended = run(["acre", "heap", "--html=page.html", *profiles], cwd=work,
                environment=dict(environment, PATH=f"{tools}:/usr/bin:/bin"))
    checks.that(profiles and ended.returncode == 0 and (work / "page.html").is_file(), "acre heap finds its template",
                ended)
    program = "import ctypes; ctypes.CDLL(None).malloc(5000)"
    ended = acre("run", "--leaks", "--", sys.executable, "-c", program)
    checks.that(ended.returncode == 23 and "leaked" in ended.stderr, "acre run --leaks finds its suppressions", ended)
    check_record(checks, acre, prefix, work)
    checks.that(state(prefix.path) == before and not cache.exists(), "acre writes nothing where it is installed, and "
                "help and lists make nothing", state(prefix.path).items() ^ before.items())


def check_record(checks, acre, prefix, work):
    recorded = acre("record", "-o", "sort.actrace", "--", "/usr/bin/sort", "/dev/null")
    if not (prefix.libdir / "acre/acre-trace").exists():
        checks.that(recorded.returncode == 1 and "installed without acre-trace" in recorded.stderr and
                    recorded.stderr.count("\n") == 1, "acre record says that it lacks acre-trace", recorded)
        return
    found = acre("trace", "sort.actrace", "--check")
    checks.that(recorded.returncode == 0 and found.returncode == 0 and found.stdout.endswith("\nsound\n"),
                "acre record and acre trace are installed with acre-trace", [recorded, found])
    tools = prefix.libdir / "acre"
    made = run([tools / "acre-trace", "schedule", "sort.actrace", "-o", "sort.schedule"], cwd=work)
    played = run([tools / "acre-replay", "sort.schedule"], cwd=work)
    checks.that(made.returncode == 0 and played.returncode == 0 and played.stdout.startswith('{"seconds":'),
                "and acre-replay beside it", [made, played])


def check_cmake(checks, prefix, work):
    folder = work / "cmake-user"
    configured = checks.succeeds("find_package(acre) finds the moved prefix", [
        "cmake", "-S", PROGRAMS.parent / "project", "-B", folder, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix.path}", f"-DPROGRAMS={PROGRAMS}"])
    if not configured or not checks.succeeds("find_package(acre): builds", ["cmake", "--build", folder]):
        return
    for program in ("c_shared", "cc_shared", "c_archive", "cc_archive", "c_static", "cc_static"):
        checks.succeeds(f"find_package(acre): {program} runs on acre", [folder / program])


def pkg_config(prefix, *arguments):
    environment = clean_environment(PKG_CONFIG_PATH=prefix.libdir / "pkgconfig")
    return run(["pkg-config", *arguments, "acre"], environment)


def check_compilers(checks, prefix, work):
    version = pkg_config(prefix, "--modversion")
    checks.that(version.returncode == 0, "pkg-config finds acre", version.stderr)
    cflags = pkg_config(prefix, "--cflags").stdout.split()
    libs = pkg_config(prefix, "--libs").stdout.split()
    static_libs = pkg_config(prefix, "--libs", "--static").stdout.split()
    plain = [f"-I{prefix.include}", f"-L{prefix.libdir}"]
    environment = clean_environment(LD_LIBRARY_PATH=prefix.libdir)
    for compiler, source in (("gcc", "in_use.c"), ("g++", "in_use.cc")):
        ways = {
            "pkg-config": [*cflags, source, *libs],
            "pkg-config --static": ["-static", *cflags, source, *static_libs],
            "pkg-config --static, static-pie": ["-static-pie", *cflags, source, *static_libs],
            "-lacre": [*plain, source, "-lacre"],
            "-static -lacre": ["-static", *plain, source, "-lacre"],
        }
        for way, arguments in ways.items():
            program = work / "program"
            if checks.succeeds(f"{compiler} {source} {way}: builds", [compiler, "-o", program, *arguments],
                               cwd=PROGRAMS):
                checks.succeeds(f"{compiler} {source} {way}: runs on acre", [program], environment=environment)
                if compiler == "gcc" and way == "-lacre":
                    needed = run(["readelf", "-dW", program]).stdout
                    checks.that("libacre.so.1" in needed and "stdc++" not in needed,
                                "a C program with -lacre needs libacre.so.1 and no libstdc++", needed)


def check_dlopen(checks, prefix, work):
    program = work / "dlopened"
    if checks.succeeds("dlopened.c builds", ["gcc", "-o", program, PROGRAMS / "dlopened.c"]):
        checks.succeeds("dlopen with RTLD_NOW works and dlclose does no harm", [program, prefix.library])
    plugin, host = work / "plugin.so", work / "host"
    built = checks.succeeds("libacre.a links into a shared object", [
        "gcc", "-shared", "-fPIC", f"-I{prefix.include}", "-o", plugin, PROGRAMS / "plugin.c",
        prefix.libdir / "libacre.a"])
    if built and checks.succeeds("host.c builds", ["gcc", "-o", host, PROGRAMS / "host.c"]):
        checks.succeeds("a dlopened shared object has its own acre", [host, plugin])


def check_tcmalloc(checks, prefix, work):
    """The library that stands in for TCMalloc's, and a program that is linked with each of the two."""
    folder = prefix.libdir / "acre/tcmalloc"
    library = folder / "libtcmalloc.so.4"
    for name in ("libtcmalloc.so", "libtcmalloc_minimal.so"):
        checks.that((folder / name).resolve() == library.resolve(), f"acre/tcmalloc/{name} is libtcmalloc.so.4")
    check_filter(checks, library, ["$ORIGIN/../.."])
    check_filter(checks, folder / "libtcmalloc_minimal.so.4", ["$ORIGIN/../..", "$ORIGIN"])
    ways = {"acre's headers and library": [f"-I{prefix.include}/acre/tcmalloc", f"-L{folder}"]}
    original = Path(run(["gcc", "-print-file-name=libtcmalloc.so.4"]).stdout.strip())
    if original.is_absolute() and Path("/usr/include/gperftools").is_dir():
        ways["gperftools'"] = []
        extra = wanted_names(original) - set(exported(library)) - set(exported(prefix.library))
        checks.that(not extra, "all names of gperftools' headers are there", "\n".join(sorted(extra)))
    for way, flags in ways.items():
        program = work / "tcmalloc"
        if checks.succeeds(f"a program builds with {way}", [
                "g++", "-std=c++17", "-O0", "-w", *flags, "-o", program, FACES / "tcmalloc.cc", "-ltcmalloc"]):
            for variable, to in (("LD_LIBRARY_PATH", folder), ("LD_PRELOAD", library)):
                checks.succeeds(f"a program built with {way} runs on acre by {variable}", [program],
                                environment=clean_environment(**{variable: to}))


def wanted_names(library):
    """What the headers of gperftools' that acre has, too, declare; of the names in its library."""
    headers = re.compile(r"^(tc_\w+|MallocExtension_\w+|nallocx|malloc_size|_ZN15MallocExtension\w+"
                         r"|HeapProfiler\w+|IsHeapProfilerRunning|GetHeapProfile|_Z\d+GetStack\w+"
                         r"|_ZN12SysAllocatorD\w+|_ZT[IV](15MallocExtension|12SysAllocator))$")
    return {name for name in exported(library) if headers.match(name)}


def check_prefix_only(checks, source, work):
    folder = work / "prefix-only"
    if not (checks.succeeds("ACRE_PREFIX_ONLY configures", [
            "cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DACRE_PREFIX_ONLY=ON", "-DACRE_BUILD_TESTS=OFF",
            "-DCMAKE_UNITY_BUILD=ON",  # a third of the time
            "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
            f"-DCMAKE_INSTALL_PREFIX={work / 'prefix-only-installed'}"])
            and checks.succeeds("ACRE_PREFIX_ONLY builds", ["cmake", "--build", folder])
            and checks.succeeds("ACRE_PREFIX_ONLY installs", ["cmake", "--install", folder])):
        return
    prefix = Prefix(work / "prefix-only-installed")
    others = [name for name in exported(prefix.library) if not name.startswith("acre_")]
    checks.that(not others, "ACRE_PREFIX_ONLY exports acre_* only", "\n".join(others))
    environment = clean_environment(LD_LIBRARY_PATH=prefix.libdir)
    for way, arguments in (("shared", []), ("static", ["-static"])):
        program = work / f"beside-{way}"
        libs = pkg_config(prefix, "--libs", *(["--static"] if arguments else [])).stdout.split()
        if checks.succeeds(f"ACRE_PREFIX_ONLY, {way}: builds", [
                "gcc", *arguments, f"-I{prefix.include}", "-o", program, PROGRAMS / "beside.c", *libs]):
            checks.succeeds(f"ACRE_PREFIX_ONLY, {way}: malloc is libc's, acre_malloc is acre's",
                            [program], environment=environment)


def check(checks, source, build, work):
    prefix = install(checks, build, work)
    if prefix is None:
        return
    check_elf(checks, prefix)
    lists.check(checks, source, prefix, pkg_config(prefix, "--modversion").stdout.strip(), set(exported(prefix.library)))
    check_jemalloc(checks, prefix, work)
    check_command(checks, prefix, work)
    manual.check(checks, source, prefix)
    check_cmake(checks, prefix, work)
    check_compilers(checks, prefix, work)
    check_dlopen(checks, prefix, work)
    check_tcmalloc(checks, prefix, work)
    check_prefix_only(checks, source, work)
