"""Interpreters: each runs one script of programs/, which prints digests of what it computed."""

from harness import PROGRAMS, case


@case("perl", needs={"perl": "perl"}, probes=[["perl", "-e", "1"]], quick=True, timeout=120)
def perl(side):
    out = side.run(["perl", PROGRAMS / "workload.pl", 3 * side.scale], env={"PERL_HASH_SEED": "0"})
    return {"stdout": out, "stderr": side.last_stderr}


@case("ruby", needs={"ruby": "ruby"}, probes=[["ruby", "-e", "1"]], quick=True, timeout=120)
def ruby(side):
    out = side.run(["ruby", PROGRAMS / "workload.rb", 3 * side.scale])
    return {"stdout": out, "stderr": side.last_stderr}


@case("node", needs={"node": "nodejs"}, probes=[["node", "-e", "1"]], quick=True, timeout=120)
def node(side):
    out = side.run(["node", PROGRAMS / "workload.js", 3 * side.scale])
    return {"stdout": out, "stderr": side.last_stderr}


# Linked with TCMalloc, whose properties it reads and sets, and which it tells when a thread is idle.
@case("swipl", needs={"swipl": "swi-prolog-core"}, probes=[["swipl", "-g", "halt"]], quick=True, timeout=120,
      face="tcmalloc")
def swipl(side):
    out = side.run(["swipl", PROGRAMS / "workload.pro", side.scale])
    return {"stdout": out, "stderr": side.last_stderr}
