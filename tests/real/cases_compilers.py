"""Compilers, and what they build: g++ with ninja, javac and a JVM, Go with cgo."""

import hashlib
import random
import shutil

from harness import PROGRAMS, PROJECT, Failure, case

GXX = {"g++": "g++", "as": "binutils", "ld": "binutils"}
GXX_PROBES = [["g++", "--version"], ["/usr/bin/as", "--version"], ["/usr/bin/ld", "--version"],
              ["g++", "-fsyntax-only", "-x", "c++", "/dev/null"]]


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@case("g++", needs=GXX, probes=GXX_PROBES, quick=True, timeout=150)
def gxx(side):
    side.run(["g++", "-std=c++20", "-O2", "-g", "-pipe", "-c", PROGRAMS / "templates.cc", "-o", "templates.o"])
    side.run(["g++", "templates.o", "-o", "templates"])
    return {"object": digest_of(side.dir / "templates.o"), "program": digest_of(side.dir / "templates"),
            "stdout": side.run(["./templates"])}


@case("build", needs=GXX | {"cmake": "cmake", "ninja": "ninja-build"},
      probes=[*GXX_PROBES, ["cmake", "--version"], ["ninja", "--version"]], timeout=600)
def build(side):
    """Build this project's library, which is then preloaded into a program of its own."""
    source, out = side.dir / "source", side.dir / "out"
    source.mkdir()
    for name in ("CMakeLists.txt", "LICENSE"):
        shutil.copy(PROJECT / name, source)
    for name in ("src", "include", "cmake"):
        shutil.copytree(PROJECT / name, source / name)
    result = {f"source {path.relative_to(source)}": digest_of(path) for path in source.rglob("*") if path.is_file()}
    side.run(["cmake", "-S", source, "-B", out, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DACRE_BUILD_TESTS=OFF",
              "-DCMAKE_CXX_FLAGS=-frandom-seed=0"])
    side.run(["ninja", "-C", out, "-j2"])
    for path in out.rglob("*"):
        if path.suffix == ".o" or path.name.startswith("libacre."):
            result[f"built {path.relative_to(out)}"] = digest_of(path)
    fresh = out / "libacre.so"
    if not fresh.exists():
        raise Failure("no libacre.so came out")
    result["sorted"] = side.run(["sort", "-r", source / "CMakeLists.txt"], env={"LD_PRELOAD": str(fresh)})
    return result


def java_sources(classes):
    """Return one large Java file: classes with generics, lambdas, streams and switches, that call each other."""
    rng = random.Random(5)
    out = ["import java.util.*;", "import java.util.function.*;", "import java.util.stream.*;", "public class Big {"]
    for n in range(classes):
        fields = "\n".join(f"    final Map<String, List<Integer>> field{i} ="
                           f' new TreeMap<>(Map.of("k{rng.randrange(9)}", List.of({i}, {n})));' for i in range(8))
        methods = "\n".join(f"""
    <T extends Comparable<T>> Optional<T> pick{i}(Collection<T> from, Predicate<T> test) {{
      return from.stream().filter(test).sorted(Comparator.reverseOrder()).skip({rng.randrange(3)}).findFirst();
    }}
    int step{i}(int x) {{
      IntUnaryOperator op = y -> y * {rng.randint(2, 99)} + {rng.randint(1, 9999)};
      switch ((x & 0x7fffffff) % 4) {{
        case 0: return op.applyAsInt(x);
        case 1: return op.andThen(z -> z ^ {rng.randrange(10**6)}).applyAsInt(x);
        case 2: return pick{i}(List.of(x, {i}, {n}), v -> v != {rng.randrange(50)}).map(v -> v + 1).orElse(0);
        default: return field{i}.values().stream().flatMap(List::stream).mapToInt(v -> v + x).sum();
      }}
    }}""" for i in range(8))
        calls = " ".join(f"x = step{i}(x);" for i in range(8))
        follow = f"x = new C{n - 1}<String>().run(x);" if n % 10 else ""
        out.append(f"  static class C{n}<A> {{\n{fields}\n{methods}\n"
                   f"    int run(int x) {{ {calls} {follow} return x; }}\n  }}")
    runs = "\n".join(f"    x = new C{n}<Integer>().run(x);" for n in range(classes))
    out.append("  public static void main(String[] args) {\n    int x = 1;\n"
               f"    for (int i = 0; i < 300; i++) {{\n{runs}\n    }}\n    System.out.println(x);\n  }}\n}}")
    return "\n".join(out)


@case("java", needs={"java": "openjdk-17-jdk-headless", "javac": "openjdk-17-jdk-headless"},
      probes=[["java", "-version"], ["javac", "-version"]], timeout=300)
def java(side):
    (side.dir / "Big.java").write_text(java_sources(50 * side.scale))
    (side.dir / "classes").mkdir()
    jvm = ["-Xmx700m", "-XX:-UsePerfData"]
    side.run(["javac", *(f"-J{option}" for option in jvm), "-Xlint:-options", "-d", "classes",
              "Big.java", PROGRAMS / "Load.java"])
    result = {f"class {path.name}": digest_of(path) for path in (side.dir / "classes").iterdir()}
    result["big"] = side.run(["java", *jvm, "-cp", "classes", "Big"])
    result["load"] = side.run(["java", *jvm, "-cp", "classes", "Load", str(30 * side.scale)])
    return result


@case("go", needs={"go": "golang-go", "gcc": "gcc"}, probes=[], timeout=300)
def go(side):
    environment = {"GOCACHE": str(side.dir / "cache"), "GOPATH": str(side.dir / "path"), "GO111MODULE": "off",
                   "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "1", "GOTELEMETRY": "off"}
    program = side.dir / "cgo"
    side.run(["go", "build", "-trimpath", "-o", program, PROGRAMS / "cgo.go"], env=environment)
    side.prove([program, "1"])
    return {"stdout": side.run([program, str(200 * side.scale)])}
