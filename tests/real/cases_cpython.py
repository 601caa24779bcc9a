"""CPython's own test suite, with every object taken from malloc."""

import re
import xml.etree.ElementTree as ElementTree

from harness import HERE, case

QUICK = """test_dict test_list test_json test_gc test_thread test_threading_local test_re test_ctypes test_pickle
    test_zlib test_xml_etree_c test_unicode test_fork1""".split()

# PYTHONMALLOC: without it, most objects come from CPython's own pools and never reach the library.
ENVIRONMENT = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}

MODULE_RESULT = re.compile(r"\[ *\d+/\d+(?:/\d+)?\] (test_\w+) (\w+)")


def full_list():
    """Return the fixed list of modules."""
    lines = (HERE / "cpython_modules.txt").read_text().splitlines()
    return " ".join(line for line in lines if not line.startswith("#")).split()


def run_modules(side, modules, jobs):
    """Run test modules; return {module: {"ended": how, test: outcome}} and the text about those that did not pass."""
    report = side.dir / "junit.xml"
    report.unlink(missing_ok=True)
    # Exit codes of regrtest: 2 a test failed, 3 a test changed the environment, 4 no test ran.
    out = side.run(["python3", "-m", "test", f"-j{jobs}", "--timeout", "400", "--tempdir", side.dir,
                    "--junit-xml", report, *modules], env=ENVIRONMENT, codes=(0, 2, 3, 4)).decode()
    results = {module: {"ended": word} for module, word in MODULE_RESULT.findall(out)}
    if report.exists():
        for test in ElementTree.parse(report).getroot().iter("testcase"):
            name = test.get("name")
            module = next((part for part in name.split(".") if part in results), "")
            bad = test.find("error") is not None or test.find("failure") is not None
            results.setdefault(module, {})[name] = "failed" if bad else test.get("result")
    return results, out


@case("cpython",
      needs={"/usr/bin/python3": "python3", "/usr/lib/python3*/test/test_dict.py": "libpython3.11-testsuite"},
      probes=[["/usr/bin/python3", "-c", "pass"]], quick=True, timeout=1500)
def cpython(side):
    modules = full_list() if side.full else QUICK
    results, out = run_modules(side, modules, 2)
    # Some tests depend on the time that things take. What failed gets a second chance, alone; what crashed does not.
    again = [module for module in modules if results.get(module, {}).get("ended") == "failed"]
    if again:
        second, second_out = run_modules(side, again, 1)
        results.update(second)
        out += second_out
    bad = [module for module in modules if results.get(module, {}).get("ended") not in ("passed", "skipped")]
    if again:
        side.notes.append("second try: " + " ".join(again))
    if bad and side.lib:
        side.notes.append("not passed: " + " ".join(bad))
    starts = [out.find(f"test {module} ") for module in bad]
    side.tail = "\n".join(out[start:start + 2000] for start in starts if start >= 0)
    return {module: results.get(module, {"ended": "not run"}) for module in modules}
