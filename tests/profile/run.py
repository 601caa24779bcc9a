"""Heap profiles from programs to pprof: what is written says what was allocated, and pprof can read it.

Exit code 0: all well, 1: not. ACRE_LIB names the library.
"""

import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "package"))

import heap
import python
from checks import Checks, check_page, clean_environment, run
from pprof import Profile

# What programs/sites.c allocates: blocks, bytes a block.
SMALL, MEDIUM, LARGE = (20000, 112), (30000, 1024), (50, 102400)
SOURCE = Path(os.environ.get("ACRE_SOURCE", HERE.parents[1]))


def library():
    path = os.environ.get("ACRE_LIB") or SOURCE / "build/release/libacre.so"
    return str(Path(path).resolve())


def build(work, *flags):
    program = work / ("sites" + "".join(flag.strip("-=,/.") for flag in flags))
    subprocess.run(["gcc", "-O1", "-g", *flags, HERE / "programs/sites.c", "-o", program], check=True)
    return program


def profiled(program, work, *arguments, conf="", **options):
    settings = f"prof:true,prof_final:true,prof_folder:{work}" + ("," + conf if conf else "")
    return run([program, *arguments], environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF=settings), **options)


def only(work, pattern):
    found = sorted(work.glob(pattern))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} files are named {pattern}: {sorted(os.listdir(work))}")
    return found[0]


def addresses(program):
    """Where the functions of a program lie, from nm: name -> (start, end)."""
    text = run(["nm", "-S", "--defined-only", program]).stdout
    return {name: (int(start, 16), int(start, 16) + int(size, 16))
            for start, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (\w+)$", text, re.M)}


def callers(profile, program):
    """A function: does the innermost frame of a stack lie in the function of this name?"""
    places = addresses(program)
    base = next(m for m in profile.mappings.values() if profile.strings[m[5]] == str(program))

    def is_in(name):
        start, end = places[name]

        def inside(stack):
            if not stack:
                return False
            address = profile.locations[stack[0]][3] - base[2] + base.get(4, 0)
            return start <= address < end
        return inside
    return is_in


def near(estimate, blocks, size, mean):
    """Within five standard deviations of the estimator: docs/profiling.md."""
    p = 1 if mean == 0 else -math.expm1(-size / mean)
    return abs(estimate - blocks) <= 5 * math.sqrt(blocks * (1 - p) / p) + 1


def check_estimates(checks, program, folder, conf, mean):
    work = Path(tempfile.mkdtemp(dir=folder))
    ended = profiled(program, work, conf=conf)
    if not checks.that(ended.returncode == 0 and not ended.stderr, f"a profiled program ends well ({conf})", ended):
        return
    live, peak = (Profile(only(work, f"sites*.{kind}.pb.gz")) for kind in ("live", "peak"))
    is_in = callers(live, program)
    rows = []
    for name, (blocks, size), lives in (("site_small", SMALL, True), ("site_medium", MEDIUM, False),
                                        ("site_large", LARGE, False)):
        got = live.sum("alloc_objects", is_in(name))
        rows.append((name, got, near(got, blocks, size, mean)))
        rows.append((name, "live", live.sum("inuse_objects", is_in(name)) == (got if lives else 0)))
        space = live.sum("alloc_space", is_in(name))
        rows.append((name, space, abs(space - got * size) <= size))  # each is rounded by itself
    checks.that(all(holds for *_, holds in rows), f"estimates are near what was allocated ({conf})", rows)
    is_in = callers(peak, program)
    at_peak = peak.sum("peak_objects", is_in("site_small")), peak.sum("peak_objects", is_in("site_large"))
    checks.that(near(at_peak[0], *SMALL, mean) and near(at_peak[1], *LARGE, mean),
                f"the peak has what was live at the highest moment ({conf})", at_peak)
    checks.that(live.period == max(mean, 1) and live.types[3] == "inuse_space", "rate and columns are named", live.types)


def check_stacks(checks, program, folder):
    work = Path(tempfile.mkdtemp(dir=folder))
    profiled(program, work, conf="prof_sample:64K")
    profile = Profile(only(work, "sites*.live.pb.gz"))
    places = addresses(program)
    base = next(m for m in profile.mappings.values() if profile.strings[m[5]] == str(program))
    chains, whole = set(), True
    for stack, _, labels in profile.samples:
        names = []
        for location in stack:
            at = profile.locations[location][3] - base[2] + base.get(4, 0)
            names += [name for name, (start, end) in places.items() if start <= at < end]
        chains.add(tuple(names))
        whole &= "stack" not in labels and all(location in profile.locations for location in stack)
    checks.that(whole, "each stack is whole")
    wanted = {(site, "fill", "main") for site in ("site_small", "site_medium", "site_large")}
    checks.that(wanted <= {chain[:3] for chain in chains}, f"stacks lead from the site to main ({program.name})", chains)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-n", program]).stdout)
    checks.that(build_id is None or profile.strings[base.get(6, 0)] == build_id.group(1), "the build id is the program's")


def check_static(checks, folder):
    """Where there is no unwinder stacks are those of frame pointers, and all figures are the same."""
    work = Path(tempfile.mkdtemp(dir=folder))
    program = work / "sites"
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-static", HERE / "programs/sites.c", "-o", program,
                    "-Wl,--undefined=malloc", Path(library()).parent / "libacre.a", "-lpthread"], check=True)
    ended = profiled(program, work, conf="prof_sample:0")
    if not checks.that(ended.returncode == 0 and not ended.stderr, "a static program is profiled", ended):
        return
    said = run([SOURCE / "acre", "heap", "--collapsed", only(work, "sites*.live.pb.gz")])
    got = {}
    for stack, value in re.findall(r"(main;fill;site_\w+)\b.* (\d+)$", said.stdout, re.M):
        got[stack] = got.get(stack, 0) + int(value)
    checks.that(got == {"main;fill;site_small": SMALL[0] * SMALL[1]}, "with its stacks", said.stdout + said.stderr)


def check_truncated(checks, folder):
    """A stack of more frames than are kept is marked, for pprof and for acre heap."""
    work = Path(tempfile.mkdtemp(dir=folder))
    program = work / "nested"
    subprocess.run(["gcc", "-O1", "-g", HERE / "programs/nested.c", "-o", program], check=True)
    for depth in (3, 300):
        profiled(program, work, 100, depth, conf=f"prof_sample:0,prof_prefix:deep{depth}")
        live = Profile(only(work, f"deep{depth}.*.live.pb.gz"))
        marked = [values["inuse_objects"] for _, values, said in live.samples if said.get("stack") == "truncated"]
        checks.that(marked == ([100] if depth > 128 else []), f"stacks of {depth} calls: marked if cut", marked)
        file = only(work, f"deep{depth}.*.live.pb.gz")
        collapsed = run([SOURCE / "acre", "heap", "--collapsed", file]).stdout
        table = run([SOURCE / "acre", "heap", file]).stdout
        checks.that(collapsed.startswith("[truncated];") == ("[truncated]" in table) == (depth > 128),
                    "for acre heap as well", collapsed + table)


def check_lifetimes(checks, program, folder):
    """Freed blocks are told by lifetime and thread; the estimates of all together are those of what was freed."""
    work = Path(tempfile.mkdtemp(dir=folder))
    profiled(program, work, conf="prof_sample:0")
    live = Profile(only(work, "sites*.live.pb.gz"))
    is_in = callers(live, program)
    got = {name: live.sum("freed_objects", is_in(name)) for name in ("site_small", "site_medium", "site_large")}
    checks.that(got == {"site_small": 0, "site_medium": MEDIUM[0], "site_large": LARGE[0]}, "freed blocks are counted", got)
    by = [live.sum("freed_objects", freed_by=who) for who in ("same thread", "other thread")]
    lasted = [live.sum("freed_objects", lifetime=how) for how in ("short", "medium", "long")]
    checks.that(by[1] == 0 and sum(by) == sum(lasted) == live.sum("freed_objects") > 0 and live.sum("freed_elsewhere") == 0,
                "and told by thread and lifetime", (by, lasted))
    said = run([SOURCE / "acre", "heap", "--lifetimes", only(work, "sites*.live.pb.gz")])
    checks.that(re.search(rf"^ *[\d.]+ MiB +{MEDIUM[0]} +[\d.]+%.* site_medium$", said.stdout, re.M) is not None,
                "acre heap --lifetimes shows them", said.stdout + said.stderr)


class Passing:
    """A program whose blocks another thread frees at once, or after more than 0.1 s, or after more than 10: it runs beside
    the other checks."""

    def __init__(self, folder):
        self.work = Path(tempfile.mkdtemp(dir=folder))
        program = folder / "passes"
        subprocess.run(["gcc", "-O1", "-g", "-pthread", HERE / "programs/passes.c", "-o", program], check=True)
        conf = f"prof:true,prof_final:true,prof_sample:0,prof_folder:{self.work}"
        self.process = subprocess.Popen([program], env=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))

    def check(self, checks):
        code = self.process.wait(timeout=100)
        live = Profile(only(self.work, "passes*.live.pb.gz"))
        blocks = [values["freed_objects"] for _, values, _ in live.samples]
        got = {(who, how): sum(values["freed_objects"] for stack, values, said in live.samples if values["freed_objects"] >= 100
                               and said.get("freed_by") == who and said.get("lifetime") == how)
               for who in ("same thread", "other thread") for how in ("short", "medium", "long")}
        # On a machine that is not ours alone a pause may make a short life a medium one.
        short = got.pop(("same thread", "short"))
        wanted = {("other thread", "short"): 0, ("same thread", "medium"): 0, ("other thread", "medium"): 200,
                  ("same thread", "long"): 100, ("other thread", "long"): 300}
        checks.that(code == 0 and got == wanted and 990 <= short <= 1000, "lifetimes and threads, in a file", (short, got, blocks))

    def end(self):
        self.process.kill()
        self.process.wait()


def check_held(checks, folder):
    """One block in thirty-two is kept, by one function: it holds the others' memory."""
    program = folder / "pins"
    subprocess.run(["gcc", "-O1", "-g", HERE / "programs/pins.c", "-o", program], check=True)
    for conf in ("prof_sample:0", "prof_sample:16K"):
        work = Path(tempfile.mkdtemp(dir=folder))
        profiled(program, work, conf=conf)
        file = only(work, "pins*.live.pb.gz")
        live = Profile(file)
        is_in = callers(live, program)
        held, others = live.sum("held_space", is_in("site_kept")), live.sum("held_space", is_in("site_dense"))
        wanted = 4000 * 31 * 1024
        # About 250 samples at 16 KiB: 6 %, of which five.
        checks.that(abs(held / wanted - 1) < (0.02 if conf == "prof_sample:0" else 0.32) and others < 0.02 * wanted,
                    f"what a few live blocks hold is told ({conf})", (held / wanted, others / wanted))
        said = run([SOURCE / "acre", "heap", "--by", "held_space", "-n", 1, file])
        checks.that(said.stdout.rstrip().splitlines()[3].endswith("site_kept"), "acre heap --by held_space", said.stdout)


def check_growth(checks, folder):
    """Where address space had to be got from the system."""
    work = Path(tempfile.mkdtemp(dir=folder))
    program = work / "grows"
    subprocess.run(["gcc", "-O1", "-g", HERE / "programs/grows.c", "-o", program, library(),
                    f"-Wl,-rpath,{Path(library()).parent}"], check=True)
    path = work / "dump.growth.pb.gz"
    ended = run([program, path], environment=clean_environment(ACRE_CONF="prof:true"))
    if not checks.that(ended.returncode == 0, "prof.dump writes where the heap grew", ended):
        return
    growth = Profile(path)
    is_in = callers(growth, program)
    checks.that(growth.sum("growth_space", is_in("site_huge")) == 100 << 20 and growth.sum("growth_count", is_in("site_huge")) == 1
                and growth.sum("growth_space", is_in("site_many")) >= 190 << 20, "with the stacks and what they got",
                [(values, len(stack)) for stack, values, _ in growth.samples])


def check_triggers(checks, folder):
    """prof_interval, prof_gdump and prof_prefix; the program waits for the files."""
    program = folder / "waits"
    subprocess.run(["gcc", "-O1", "-g", HERE / "programs/waits.c", "-o", program], check=True)
    for conf, rounds in (("prof_interval:20M", 2), ("prof_gdump:true", 2)):
        work = Path(tempfile.mkdtemp(dir=folder))
        settings = f"prof:true,prof_sample:64K,prof_folder:{work},prof_prefix:named,{conf}"
        ended = run([program, work, rounds], environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF=settings))
        files = sorted(path.name for path in work.glob("named.*"))
        checks.that(ended.returncode == 0 and re.fullmatch(r"named\.\d+\.0\.live\.pb\.gz", files[0]) is not None
                    and Profile(work / files[0]).samples, f"{conf} writes profiles", (ended, files))
    work = Path(tempfile.mkdtemp(dir=folder))
    settings = f"prof:true,prof_final:true,prof_folder:/nowhere,prof_prefix:{work}/other"
    ended = run([program, work, 0], environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF=settings))
    checks.that(ended.returncode == 0 and not ended.stderr and only(work, "other.*.live.pb.gz"),
                "a prefix with a folder counts more than prof_folder", ended)


def reported_stack(program, *arguments, conf=""):
    """The functions of the program in the last report, whether it says that there may be more, and its end."""
    said = run([program, *arguments], environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf)).stderr
    said = said[said.rfind("acre: large"):]
    at = [int(place, 16) for place in re.findall(rf"^acre:   0x[0-9a-f]+  {re.escape(str(program))}\+0x([0-9a-f]+)$", said, re.M)]
    inside = [next((name for name, (start, end) in addresses(program).items() if start <= place - 1 < end), "?")
              for place in at]
    return inside, said.endswith("acre:   (there may be more)\n"), said[-300:]


def check_large_report(checks, folder):
    """large_alloc_report tells each larger allocation once, with its stack, by one call of write."""
    program = folder / "large"
    subprocess.run(["gcc", "-O1", "-g", "-pthread", HERE / "programs/large.c", "-o", program], check=True)
    place = addresses(program)["site"]
    for conf, told in (("", 3), ("large_alloc_report:2G", 1), ("large_alloc_report:0", 0)):
        ended = run([program], environment=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))
        heads = re.findall(r"^acre: large allocation of .* \((\d+) bytes\) at 0x[0-9a-f]+; the next one is told from "
                           r"(\d+) bytes on\nacre:   0x[0-9a-f]+  (\S+)\+0x([0-9a-f]+)$", ended.stderr, re.M)
        whole = ended.stderr.count("\n") == len(re.findall(r"^acre: ", ended.stderr, re.M))
        right = all(int(following) == int(size) + int(size) // 8 and file == str(program)
                    and place[0] < int(at, 16) <= place[1] for size, following, file, at in heads)
        checks.that(ended.returncode == 0 and whole and right and len(heads) == told,
                    f"large allocations are told ({conf or 'by default'})", ended.stderr)
    for depth in (3, 100):
        inside, cut, said = reported_stack(program, depth)
        wanted = ["site"] + ["go_down"] * (47 if depth > 40 else depth + 1) + ([] if depth > 40 else ["main", "_start"])
        checks.that(inside == wanted and cut == (depth > 40),
                    f"with the whole stack, of {depth} calls, though nothing was profiled before", said)
    inside, cut, said = reported_stack(program, 3, "in a thread")
    checks.that(inside == ["site"] and cut, "where there are threads, with the caller of malloc", said)
    inside, cut, said = reported_stack(program, 3, "in a thread", conf="large_alloc_report:1000M")
    checks.that(inside == (["site"] + ["go_down"] * 4 + ["in_thread"]) and not cut,
                "or with the whole stack, where large_alloc_report is set", said)
    with_unwinder = folder / "large_with_unwinder"
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-Wl,--no-as-needed", "-lgcc_s", HERE / "programs/large.c",
                    "-o", with_unwinder], check=True)
    inside, cut, said = reported_stack(with_unwinder, 3, "in a thread")
    checks.that(inside == (["site"] + ["go_down"] * 4 + ["in_thread"]) and not cut,
                "or where the program has an unwinder, as C++ programs do", said)
    if checks.has("strace", "a report is written in one piece"):
        ended = run(["strace", "-f", "-e", "trace=write", "-E", f"LD_PRELOAD={library()}", program])
        checks.that(ended.stderr.count("write(2, \"acre: large") == 3, "each in one piece")


def check_ctl(checks, folder):
    """What a program says by ctl: names, when to write, and nothing while it is inactive."""
    work = Path(tempfile.mkdtemp(dir=folder))
    program = work / "says"
    subprocess.run(["gcc", "-O1", "-g", HERE / "programs/says.c", "-o", program, library(),
                    f"-Wl,-rpath,{Path(library()).parent}"], check=True)
    ended = run([program, work], environment=clean_environment(
        ACRE_CONF=f"prof:true,prof_active:false,prof_sample:0,prof_folder:{work}"))
    names = sorted(re.sub(r"\.\d+\.", ".PID.", path.name, count=1) for path in work.glob("*.pb.gz"))
    checks.that(ended.returncode == 0 and names == ["mine.PID.1.live.pb.gz", "mine.PID.2.live.pb.gz", "mine.PID.3.peak.pb.gz",
                                                    "says.PID.0.live.pb.gz"],
                "prof.dump without a path, prof.prefix and prof.gdump by ctl", (ended, names))
    if ended.returncode == 0:
        inactive, active = (Profile(only(work, pattern)) for pattern in ("says.*.0.live.pb.gz", "mine.*.1.live.pb.gz"))
        checks.that(not inactive.samples, "nothing is sampled while prof.active is false", inactive.samples)
        checks.that(active.sum("inuse_objects", callers(active, program)("site")) == 50, "and all from then on", active.samples)


def check_legacy(checks, program, folder):
    """google-pprof reads the text that prof.dump writes, and finds what was allocated."""
    work = Path(tempfile.mkdtemp(dir=folder))
    dumper = work / "dumper"
    source = (HERE / "programs/sites.c").read_text().replace("int main(", "int site_main(")
    (work / "dumper.c").write_text(source + '''
int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t size);
int main(int argc, char **argv) {
    site_main(1, argv);
    const char *path = argv[1];
    if (mallctl("prof.dump", 0, 0, &path, sizeof path) != 0) return 1;
    char to[4096];
    if (mallctl("prof.dump", to, &(size_t){sizeof to}, 0, 0) == 0) return 2;
    return 0;
}
''')
    subprocess.run(["gcc", "-O1", "-g", work / "dumper.c", "-o", dumper, library(),
                    f"-Wl,-rpath,{Path(library()).parent}"], check=True)
    heap = work / "dump.heap"
    conf = clean_environment(ACRE_CONF="prof:true,prof_sample:0")
    ended = run([dumper, heap], environment=conf)
    if not checks.that(ended.returncode == 0 and heap.exists(), "prof.dump writes a file", ended):
        return
    text = heap.read_text()
    checks.that(re.match(r"heap profile: +\d+: +\d+ \[ *\d+: +\d+\] @ heap_v2/1\n", text) is not None
                and "\nMAPPED_LIBRARIES:\n" in text, "the text has heap_v2's form", text[:200])
    for name in (work / "dump.pb.gz", work / "dump.peak.pb.gz"):
        checks.that(run([dumper, name], environment=conf).returncode == 0 and Profile(name).samples,
                    f"prof.dump goes by the name's end: {name.name}")
    checks.that(run([dumper, work / "none/dump.heap"], environment=conf).returncode == 1,
                "a file that cannot be written is an error")
    sampled = work / "sampled.heap"
    run([dumper, sampled], environment=clean_environment(ACRE_CONF="prof:true,prof_sample:64K"))
    for reader in ("google-pprof", "jeprof"):
        if not checks.has(reader, "it reads the text"):
            continue
        for of, mean in ((heap, 0), (sampled, 65536)):
            said = run([reader, "--text", "--show_bytes", "--inuse_space", dumper, of])
            row = re.search(r"^ *(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% +site_small$", said.stdout, re.M)
            checks.that(row is not None and near(int(row.group(1)) / SMALL[1], *SMALL, mean),
                        f"{reader} finds what lives, of samples {mean} bytes apart", said.stdout + said.stderr)
    said = run([SOURCE / "acre", "heap", "--collapsed", heap])
    checks.that(re.search(rf"main;site_main;fill;site_small {SMALL[0] * SMALL[1]}$", said.stdout, re.M) is not None,
                "acre heap reads the text", said.stdout + said.stderr)


def check_go(checks, program, folder):
    if not checks.has("go", "pprof itself reads profiles"):
        return
    work = Path(tempfile.mkdtemp(dir=folder))
    profiled(program, work, conf="prof_sample:0")
    said = run(["go", "tool", "pprof", "-raw", only(work, "sites*.live.pb.gz")], timeout=200,
               environment=clean_environment(PPROF_TMPDIR=work, DEBUGINFOD_URLS=""))
    checks.that(said.returncode == 0 and "inuse_space/bytes[dflt]" in said.stdout, "go tool pprof reads a profile",
                said.stdout[:500] + said.stderr)


def check_signal(checks, program, folder):
    work = Path(tempfile.mkdtemp(dir=folder))
    number = int(signal.SIGUSR2)
    conf = f"prof:true,prof_sample:0,prof_folder:{work},prof_signal:{number}"
    process = subprocess.Popen([program, str(number)],
                               env=clean_environment(LD_PRELOAD=library(), ACRE_CONF=conf))
    try:
        until = time.monotonic() + 60
        while not list(work.glob("sites*.1.peak.pb.gz")) and process.poll() is None and time.monotonic() < until:
            if list(work.glob("sites*.0.peak.pb.gz")):
                process.send_signal(number)  # and again
            time.sleep(0.05)
        time.sleep(0.2)
    finally:
        process.kill()
        process.wait()
    live = Profile(only(work, "sites*.0.live.pb.gz"))
    checks.that(live.sum("inuse_objects") >= SMALL[0] + LARGE[0], "a signal writes a profile, and again",
                sorted(os.listdir(work)))


def check_fork(checks, program, folder):
    work = Path(tempfile.mkdtemp(dir=folder))
    ended = profiled(program, work, "fork", conf="prof_sample:0")
    files = sorted(work.glob("sites*.live.pb.gz"))
    checks.that(ended.returncode == 0 and len(files) == 2, "a process and its child write a profile each", files)
    sums = sorted(Profile(file).sum("inuse_objects", lambda stack: len(stack) > 2) for file in files)
    checks.that(len(sums) == 2 and SMALL[0] <= sums[1] - sums[0] <= SMALL[0] + 20,
                "the child's frees are the child's", sums)


def check_command(checks, program, folder):
    work = Path(tempfile.mkdtemp(dir=folder))
    acre = SOURCE / "acre"
    for arguments, where in ((["--profile=0"], work), (["--profile", "-o", work / "other"], work / "other")):
        where.mkdir(exist_ok=True)
        ended = run([acre, "run", "--lib", library(), *arguments, "--", program], cwd=work)
        checks.that(ended.returncode == 0 and only(where, "sites*.live.pb.gz") and only(where, "sites*.peak.pb.gz"),
                    f"acre run {arguments[0]} leaves its files in the folder", ended)
    for arguments in (["-o", work], ["--profile", "-o", work / "none"]):
        checks.that(run([acre, "run", "--lib", library(), *arguments, "--", program], cwd=work).returncode != 0,
                    f"acre run {arguments[0]} …: refused")


def main():
    checks = Checks()
    folder = Path(tempfile.mkdtemp(prefix="acre-profile-"))
    passing = None
    try:
        passing = Passing(folder)
        program = build(folder)
        for conf, mean in (("prof_sample:0", 0), ("prof_sample:4K", 4096), ("prof_sample:64K", 65536), ("", 524288)):
            check_estimates(checks, program, folder, conf, mean)
        check_estimates(checks, program, folder, "prof_sample:0,junk:true", 0)
        for flags in ((), ("-fno-omit-frame-pointer",)):
            check_stacks(checks, build(folder, *flags), folder)
        check_static(checks, folder)
        check_truncated(checks, folder)
        check_legacy(checks, program, folder)
        check_lifetimes(checks, program, folder)
        check_held(checks, folder)
        check_growth(checks, folder)
        check_ctl(checks, folder)
        check_triggers(checks, folder)
        check_large_report(checks, folder)
        check_signal(checks, program, folder)
        check_fork(checks, program, folder)
        check_command(checks, program, folder)
        check_go(checks, program, folder)
        check_page(checks, SOURCE / "docs/profiling.md", library(), 20)
        heap.check(checks, SOURCE / "acre", library(), HERE, folder)
        python.check(checks, SOURCE / "acre", library(), folder)
        passing.check(checks)
    finally:
        if passing:
            passing.end()
        shutil.rmtree(folder, ignore_errors=True)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
