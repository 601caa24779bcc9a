"""Programs that clang compiles with allocation tokens: run.py

Exit code 0: all well, 1: not, 77: there is no clang that knows them. ACRE_SOURCE and ACRE_BUILD name the sources and a
release build.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "package"))

from checks import Checks, clean_environment, run

COMPILERS = [f"clang++-{version}" for version in (24, 23, 22)] + ["clang++"]
FLAG = "-fsanitize=alloc-token"
# What the program is compiled with, acre's options, and what the program is to say.
CASES = [
    ("tokens of the default number", [], "hardened:true", "apart"),
    ("8 tokens", ["-falloc-token-max=8"], "hardened:true,alloc_token_max:8", "apart"),
    ("2 tokens, in the names", ["-falloc-token-max=2", "-fsanitize-alloc-token-fast-abi"],
     "hardened:true,alloc_token_max:2", "apart"),
    ("one token, which tells nothing", ["-falloc-token-max=1"], "hardened:true,alloc_token_max:1", "shared"),
    ("without the hardened mode", [], "hardened:false", "shared"),
    ("2 tokens in the names, without it", ["-falloc-token-max=2", "-fsanitize-alloc-token-fast-abi"], "hardened:false",
     "shared"),
]


def compiler():
    for name in filter(shutil.which, COMPILERS):
        if run([name, FLAG, "-fsyntax-only", "-x", "c++", "-"], input="").returncode == 0:
            return name
    return None


def main():
    clang = compiler()
    if clang is None:
        print("no clang here knows allocation tokens: 22 does (Debian's clang-22)")
        return 77
    build = Path(os.environ.get("ACRE_BUILD", HERE.parents[1] / "build/release"))
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="acre-tokens-") as folder:
        for number, (what, flags, conf, wanted) in enumerate(CASES):
            for kind, library in (("dynamic", [build / "libacre.so", f"-Wl,-rpath,{build}"]),
                                  ("static", ["-static", build / "libacre.a"])):
                program = Path(folder) / f"{number}-{kind}"
                if checks.succeeds(f"{what}, {kind}: it links", [clang, "-O1", FLAG, *flags, HERE / "types.cc", *library,
                                                                  "-o", program]):
                    ended = run([program], environment=clean_environment(ACRE_CONF=conf))
                    checks.that(ended.stdout == f"{wanted}\n" and ended.returncode == 0, f"{what}, {kind}: {wanted}", ended)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
