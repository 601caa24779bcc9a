"""Tags of the package acre, in threads and in coroutines."""

import asyncio
import threading
import unittest

import acre

MIB = 1 << 20


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
