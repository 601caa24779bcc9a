"""stdin, stdout and stderr where they are closed, full or broken: a line on stderr or none, never a traceback."""

import errno
import io
import os
import sys


class OutputError(Exception):
    """stdout takes no more."""


class Output(io.FileIO):
    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is left in buffers
            raise OutputError(error.errno) from None


def open_closed():
    """A closed one would be the next file that is opened. The system gives the lowest free number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            # A closed stdout takes nothing, which is an error as on a full disk.
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, open(number, mode, closefd=False))


def guard(command):
    """-> the exit code of command()"""
    open_closed()
    before = sys.stdout  # names of files need not be UTF-8, and a terminal need not know each letter
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(Output(1, "w", closefd=False)), before.encoding, "backslashreplace",
                                  line_buffering=before.line_buffering)
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()
    except OutputError as failed:
        if failed.args[0] == errno.EPIPE:
            end_by("SIGPIPE")
        from say import fail
        fail(f"cannot write to stdout: {os.strerror(failed.args[0])}")


def end_by(name):
    """A shell has to see which signal it was: Ctrl-C ends its script or loop, too."""
    import signal
    number = getattr(signal, name)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
