"""The progress bar with the time left; a line now and then where there is no terminal."""

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

QUIET_S = 20  # between two lines without a terminal


def minutes(seconds):
    if seconds is None:
        return "time left not known yet"
    seconds = round(seconds)
    return f"{seconds // 60}:{seconds % 60:02} left"


class Bar:
    def __init__(self, console):
        self.console = console
        self.last = time.monotonic()
        self.task = None
        self.bar = Progress(
            TextColumn("acre:"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        )

    def __enter__(self):
        if self.console.is_terminal:
            self.bar.start()
        return self

    def __exit__(self, *_):
        self.bar.stop()

    def update(self, step, position, count, left, text):
        doing = f"round {step.round}, {step.title}, {step.allocator.name}"
        if text is not None and text.startswith("failed"):
            self.console.print(f"acre: {doing} {text}", markup=False, highlight=False, soft_wrap=True)
        if self.console.is_terminal:
            if self.task is None:
                self.task = self.bar.add_task("", total=count, left="")
            self.bar.update(self.task, completed=position, total=count, description=doing, left=minutes(left))
        elif time.monotonic() - self.last >= QUIET_S:
            self.last = time.monotonic()
            line = f"acre: {position}/{count}, {minutes(left)}: {doing}"
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)
