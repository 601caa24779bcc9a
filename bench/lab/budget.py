"""A run of the lab that ends in time: what no longer fits is left out, and named."""

import time

from .plan import WARM_UP


def block_of(step):
    """What is taken as a whole or not at all: a case in a round under all allocators, since ratios are taken within a
    round. The warm-up belongs to the first round."""
    return (*step.place, max(step.round, WARM_UP + 1))


class Budget:
    """seconds: None, or how long all steps may take, from now on. clock: -> seconds"""

    def __init__(self, seconds=None, clock=time.monotonic):
        self.seconds, self.clock = seconds, clock
        self.begin = clock()
        self.block = None
        self.left_out = {}  # block -> its steps

    @property
    def left(self):
        return None if self.seconds is None else self.seconds - (self.clock() - self.begin)

    def allows(self, step, steps, expected):
        """May this step be taken? steps: it and those that follow. expected: (steps) -> seconds, or None if unknown."""
        if self.seconds is None:
            return True
        block = block_of(step)
        if block != self.block and block not in self.left_out:
            self.block = block
            needed = expected([other for other in steps if block_of(other) == block])
            fits = self.left > 0 and (needed is None or needed <= self.left)
        else:
            fits = block not in self.left_out and self.left > 0
        if not fits:
            self.left_out.setdefault(block, []).append(step)
        return fits

    def summary(self):
        """What was left out -> a line, or None."""
        if not self.left_out:
            return None
        titles = {}
        for (*_, number), steps in self.left_out.items():
            titles.setdefault(steps[0].title, []).append(number)
        listed = "; ".join(
            f"{title}, round{'s' * (len(rounds) > 1)} {', '.join(map(str, rounds))}" for title, rounds in titles.items())
        return f"left out, as the {self.seconds // 60 + 1} minutes are over: {listed}"
