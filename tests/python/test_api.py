"""The package acre (bindings/python) in a process that runs on acre: statistics and names. For unittest and pytest."""

import gc
import os
import subprocess
import sys
import unittest
import warnings

import acre

MIB = 1 << 20

WITHOUT = """
import acre
assert acre.is_active() is False
for what in (acre.stats, acre.purge, acre.profile().start, acre.tag("a").__enter__, acre.tag("a").info,
             acre.tag("a").drop, lambda: acre.ctl["version"], lambda: list(acre.ctl.names()),
             lambda: acre.ctl.set("epoch", 1)):
    try:
        what()
    except acre.NotActive as error:
        assert "acre run -- python3" in str(error) and "\\n" not in str(error)
    else:
        raise AssertionError(what)
"""


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
        kept = [bytearray(100_000) for _ in range(500)]
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
        for error, what in ((KeyError, lambda: acre.ctl["no.such.name"]),
                            (KeyError, lambda: acre.ctl["arenas.bin.9999.size"]),
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
