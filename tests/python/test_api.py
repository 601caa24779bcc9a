"""The package acre (bindings/python) in a process that runs on acre: as unittest and pytest take it."""

import asyncio
import gc
import gzip
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

import acre

MIB = 1 << 20
KNOWS_PYTHON = sys.version_info >= (3, 11)  # the profiler knows functions of these


def hoard(blocks, size=100_000):
    return [bytearray(size) for _ in range(blocks)]


class Stats(unittest.TestCase):
    def test_version(self):
        self.assertTrue(acre.is_active())
        self.assertEqual(acre.version(), acre.ctl["version"])
        self.assertEqual(acre.__version__, acre.version())

    def test_figures(self):
        before = acre.stats()
        block = bytearray(10 * MIB)
        after = acre.stats()
        self.assertTrue(0 <= after.allocated - before.allocated - len(block) < MIB, (before.allocated, after.allocated))
        self.assertEqual(after.allocated, after["process"]["allocated"])
        self.assertEqual(after["pid"], os.getpid())
        self.assertIn("acre", str(after))
        self.assertIn("resident", dir(after))
        with self.assertRaises(AttributeError):
            after.no_such_figure

    def test_purge(self):
        acre.ctl["opt.dirty_decay_ms"] = -1  # nothing goes back by itself
        kept = hoard(500)
        del kept
        gc.collect()
        self.assertGreater(acre.stats().dirty, 10 * MIB)
        self.assertIs(acre.purge(), True)
        self.assertLess(acre.stats().dirty, MIB)

    def test_forked_child(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # acre run has given the process a thread
            child = os.fork()
        if child == 0:
            with acre.tag("child"):
                block = bytearray(MIB)
            counts = acre.tag("child").info().live >= len(block)
            os._exit(0 if counts and acre.stats()["pid"] == os.getpid() else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Ctl(unittest.TestCase):
    def test_values(self):
        self.assertIs(acre.ctl["config.stats"], True)
        self.assertEqual(acre.ctl.get("arenas.bin.0.size") % 8, 0)
        allocated, block = acre.ctl["stats.allocated"], bytearray(4 * MIB)
        self.assertGreaterEqual(acre.ctl["stats.allocated"] - allocated, len(block))
        acre.ctl["arenas.dirty_decay_ms"] = 1234
        self.assertEqual(acre.ctl["arenas.dirty_decay_ms"], 1234)
        acre.ctl.set("opt.stats_print", True)
        acre.ctl.set("opt.stats_print", False)

    def test_actions(self):
        number = acre.ctl.do("arenas.create")
        acre.ctl[f"arena.{number}.name"] = "mine"
        self.assertEqual(acre.ctl[f"arena.{number}.name"], "mine")
        self.assertIsNone(acre.ctl.do(f"arena.{number}.destroy"))

    def test_names(self):
        names = {name.name: name for name in acre.ctl.names()}
        self.assertEqual(names["prof.active"], ("prof.active", "bool", True, True))
        self.assertGreater(len(names), 200)

    def test_errors(self):
        for error, what in ((KeyError, lambda: acre.ctl["no.such.name"]), (KeyError, lambda: acre.ctl["arenas.bin.9999.size"]),
                            (PermissionError, lambda: acre.ctl["arena.0.purge"]),
                            (PermissionError, lambda: acre.ctl.set("version", "2")),
                            (PermissionError, lambda: acre.ctl.set("stats.allocated", 1)),
                            (ValueError, lambda: acre.ctl.set("opt.dirty_decay_ms", -2)),
                            (ValueError, lambda: acre.ctl.set("prof.reset", -1)),
                            (ValueError, lambda: acre.ctl["arena.0.extent_hooks"]),
                            (TypeError, lambda: acre.ctl.set("prof.active", 1)),
                            (TypeError, lambda: acre.ctl.set("opt.dirty_decay_ms", "1"))):
            with self.assertRaises(error) as caught:
                what()
            self.assertNotIn("\n", str(caught.exception))


class Tags(unittest.TestCase):
    def live(self, name):
        return acre.tag(name).info().live

    def test_live_bytes(self):
        with acre.tag("request 17"):
            block = bytearray(3 * MIB)
        other = bytearray(MIB)
        self.assertTrue(0 <= self.live("request 17") - 3 * MIB < 100_000)
        self.assertIn("request 17", [tag["name"] for tag in acre.stats()["tags"]])
        del block
        self.assertLess(self.live("request 17"), 100_000)
        self.assertGreaterEqual(acre.tag("request 17").info().peak, 3 * MIB)
        del other

    def test_nested(self):
        outer = acre.tag("outer")
        with outer, acre.tag("inner"), outer:
            deep = bytearray(MIB)
        with self.assertRaises(ZeroDivisionError), acre.tag("inner"):
            1 / 0
        outside = bytearray(MIB)
        self.assertGreaterEqual(self.live("outer"), len(deep))
        self.assertLess(self.live("inner"), len(outside))

    def test_too_deep(self):
        tags = [acre.tag(f"deep {depth}") for depth in range(65)]
        for tag in tags[:64]:
            tag.__enter__()
        with self.assertRaises(OSError):
            tags[64].__enter__()
        for tag in reversed(tags[:64]):
            tag.__exit__()
        block = bytearray(MIB)
        self.assertLess(sum(self.live(tag.name) for tag in tags), len(block))

    def test_threads(self):
        inside, go_on, kept = threading.Barrier(2), threading.Barrier(2), []

        def work():
            kept.append(bytearray(MIB))  # a thread begins without a tag
            with acre.tag("of a thread"):
                inside.wait()
                kept.append(bytearray(MIB))
                go_on.wait()

        with acre.tag("of main"):
            thread = threading.Thread(target=work)
            thread.start()
            inside.wait()
            kept.append(bytearray(2 * MIB))
            go_on.wait()
            thread.join()
        self.assertTrue(0 <= self.live("of a thread") - MIB < 100_000)
        self.assertTrue(0 <= self.live("of main") - 2 * MIB < 200_000)

    def test_limit_and_drop(self):
        tag = acre.tag("limited")
        tag.limit(4 * MIB)
        with tag:
            with self.assertRaises(MemoryError):
                bytearray(5 * MIB)
            block = bytearray(2 * MIB)
        self.assertEqual(tag.info().limit, 4 * MIB)
        self.assertGreaterEqual(tag.info().refused, 1)
        tag.limit(None)
        self.assertIsNone(tag.info().limit)
        tag.drop()
        self.assertEqual(tag.info().allocated, 0)
        with tag:
            again = bytearray(MIB)
        self.assertTrue(0 <= tag.info().live - len(again) < 100_000)
        del block

    def test_decorator(self):
        @acre.tag("decorated")
        def make(size):
            """Text."""
            return bytearray(size)

        block = make(MIB)
        self.assertEqual(make.__doc__, "Text.")
        self.assertGreaterEqual(self.live("decorated"), len(block))
        with self.assertRaises(TypeError):
            @acre.tag("generator")
            def generate():
                yield 1

    def test_errors(self):
        for name in ("", "x" * 64, "ü" * 32, "a\0b"):
            with self.assertRaises(ValueError):
                acre.tag(name)
        first, second = acre.tag("first"), acre.tag("second")
        first.__enter__()
        second.__enter__()
        with self.assertRaises(RuntimeError):
            first.__exit__()
        block = bytearray(MIB)  # the other one is still in force
        second.__exit__()
        outside = bytearray(MIB)
        self.assertTrue(0 <= self.live("second") - len(block) < 100_000)
        with self.assertRaises(RuntimeError):
            second.__exit__()
        del outside


class Coroutines(unittest.TestCase):
    """Many tasks in one thread, each of which waits in the midst of its block."""

    async def blocks(self, kept, size):
        for _ in range(10):
            kept.append(bytearray(size))
            await asyncio.sleep(0)

    def check(self, sizes, kept):
        for name, size in sizes.items():
            self.assertTrue(0 <= acre.tag(name).info().live - 10 * size < 100_000, (name, acre.tag(name).info()))
        block = bytearray(MIB)  # nothing is left in force
        self.assertLess(sum(acre.tag(name).info().live for name in sizes), sum(sizes.values()) * 10 + len(block))
        del kept[:]

    def test_run(self):
        sizes, kept = {f"run {number}": (number + 1) * MIB // 8 for number in range(4)}, []

        async def main():
            await asyncio.gather(self.blocks(kept, MIB // 4),
                                 *(acre.tag(name).run(self.blocks(kept, size)) for name, size in sizes.items()))

        asyncio.run(main())
        self.check(sizes, kept)

    def test_decorated_with_blocks_inside(self):
        kept, sizes = [], {f"inside {number}": (number + 1) * MIB // 8 for number in range(4)}

        @acre.tag("decorated task")
        async def task(name, size):
            with acre.tag(name):
                await self.blocks(kept, size)
            await self.blocks(kept, 4096)

        async def main():
            await asyncio.gather(*(task(name, size) for name, size in sizes.items()))

        asyncio.run(main())
        self.check(sizes, kept)

    def test_task_factory(self):
        kept, sizes = [], {f"factory {number}": (number + 1) * MIB // 8 for number in range(4)}

        async def task(name, size):
            with acre.tag(name):
                await asyncio.create_task(self.blocks(kept, size))  # which has the tag from here

        async def main():
            asyncio.get_running_loop().set_task_factory(acre.task_factory)
            await asyncio.gather(*(asyncio.create_task(task(name, size)) for name, size in sizes.items()))

        asyncio.run(main())
        self.check(sizes, kept)

    def test_errors_and_cancelling(self):
        seen = []

        @acre.tag("cancelled")
        async def task():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append(bytearray(MIB))
                raise
            finally:
                seen.append("finally")

        @acre.tag("fails")
        async def fails():
            await asyncio.sleep(0)
            raise ZeroDivisionError

        async def main():
            waits = asyncio.ensure_future(task())
            with self.assertRaises(ZeroDivisionError):
                await fails()
            waits.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waits
            return await acre.tag("result").run(asyncio.sleep(0, "answer"))

        self.assertEqual(asyncio.run(main()), "answer")
        self.assertEqual(seen[1], "finally")
        self.assertTrue(0 <= acre.tag("cancelled").info().live - MIB < 100_000)


class Profiles(unittest.TestCase):
    def total_of(self, profile, by=None):
        rows = {row["function"]: row["total"] for row in profile.functions(by)}
        return rows.get("hoard (test_api.py)", 0) if KNOWS_PYTHON else max(rows.values(), default=0)

    def about(self, value, wanted):
        more = 0.05 if KNOWS_PYTHON else 0.5  # of native functions, what others allocate is in it
        self.assertTrue(0.95 * wanted < value < (1 + more) * wanted, (value, wanted))

    def test_every_block(self):
        with acre.profile(sample=0) as profile:
            kept = hoard(50)
            hoard(20)
        self.about(self.total_of(profile), 5_000_000)
        self.about(self.total_of(profile, "alloc_space"), 7_000_000)
        kept += hoard(50)  # which is after it
        self.about(self.total_of(profile), 5_000_000)
        self.assertFalse(acre.ctl["prof.active"])
        self.assertIn("hoard" if KNOWS_PYTHON else "inuse", str(profile))
        with self.assertRaises(ValueError):
            profile.functions("no_such_kind")

    def test_while_it_runs(self):
        profile = acre.profile(sample=0).start()
        kept = hoard(50)
        self.about(self.total_of(profile), 5_000_000)
        kept += hoard(50)
        self.about(self.total_of(profile), 10_000_000)
        profile.stop()
        with self.assertRaises(RuntimeError):
            profile.stop()
        with self.assertRaises(RuntimeError):
            profile.start()

    def test_one_in_another(self):
        outer = acre.profile(sample=0).start()
        first = hoard(50)
        with acre.profile() as inner:
            second = hoard(20)
            del first
        self.about(self.total_of(inner, "alloc_space"), 2_000_000)
        self.assertLess(self.total_of(inner), 0 if KNOWS_PYTHON else 10**9)  # more was freed
        self.assertTrue(acre.ctl["prof.active"])
        self.about(self.total_of(outer.stop()), 2_000_000)
        self.assertFalse(acre.ctl["prof.active"])
        del second

    def test_all_threads(self):
        kept = []
        with acre.profile(sample=0) as profile:
            thread = threading.Thread(target=lambda: kept.extend(hoard(50)))
            thread.start()
            thread.join()
        self.about(self.total_of(profile), 5_000_000)

    def test_files(self):
        from acre._home.cli.heap_profile import pprof
        with acre.profile(sample=0) as profile:
            kept = hoard(50)
        with tempfile.TemporaryDirectory() as folder:
            file, page = Path(folder, "a.pb.gz"), Path(folder, "a.html")
            profile.save(file)
            profile.save(str(page))
            again = pprof.read(file.read_bytes())
            self.assertIn(b"inuse_space", gzip.decompress(file.read_bytes()))
            self.about(again.total(again.index("inuse_space")), 5_000_000)
            self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))
            with self.assertRaises(OSError):
                profile.save(Path(folder, "no such folder", "a.pb.gz"))
        if KNOWS_PYTHON:
            self.assertIn("hoard (test_api.py)", profile.html())
            self.assertNotIn("bytearray", profile.html())
        native = {row["function"] for row in profile.functions(native=True)}
        self.assertTrue(any("PyByteArray" in name or "ython" in name for name in native), native)
        self.assertTrue(profile._repr_html_().startswith("<iframe"))
        del kept

    def test_not_started(self):
        profile = acre.profile()
        self.assertIsNone(profile._repr_html_())
        self.assertIn("not started", str(profile))
        for what in (profile.stop, profile.table, lambda: profile.save("/nowhere/a.pb.gz")):
            with self.assertRaises(RuntimeError):
                what()
        with self.assertRaises(ValueError):
            acre.profile(sample=-1)


WITHOUT = """
import acre
assert acre.is_active() is False
for what in (acre.stats, acre.purge, acre.profile().start, acre.tag("a").__enter__, acre.tag("a").info, acre.tag("a").drop,
             lambda: acre.ctl["version"], lambda: list(acre.ctl.names()), lambda: acre.ctl.set("epoch", 1)):
    try:
        what()
    except acre.NotActive as error:
        assert "acre run -- python3" in str(error) and "\\n" not in str(error)
    else:
        raise AssertionError(what)
"""


class WithoutAcre(unittest.TestCase):
    def run_without(self, program):
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        ended = subprocess.run([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_each_function_says_so(self):
        self.run_without(WITHOUT)

    def test_library_that_is_not_malloc(self):
        library = os.environ["LD_PRELOAD"].split(":")[0]
        self.run_without(f"import ctypes\nctypes.CDLL({library!r}, ctypes.RTLD_GLOBAL)\n{WITHOUT}")


if __name__ == "__main__":
    unittest.main()
