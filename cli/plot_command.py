"""acre plot: a recording as a page (plot/page.py) or as a picture (plot/picture.py)."""

import contextlib
import os
import subprocess
import sys
import tempfile

import trace_tool
from say import fail, say, usage_error

HERE = os.path.dirname(os.path.realpath(__file__))


def add_arguments(parser):
    from command_line import add_yes
    from trace_command import seconds, whole
    parser.explain(
        """
        Makes a page of a recording, for a browser: the heap's addresses against time, down to single blocks; under it
        curves of live and resident memory; and for each range of time what was allocated in it, by call site. Of two
        recordings it shows both, and what is more in the second. The page is one file and needs no network.
        """,
        (("{acre} plot redis-server.actrace", "the page redis-server.html"),
         ("{acre} plot before.actrace after.actrace -o page.html", "two recordings beside each other"),
         ("{acre} plot --png redis-server.actrace", "the picture redis-server.png, for a report")))
    parser.add_argument("-o", "--output", metavar="PAGE", help="write to PAGE and not to FILE.html or FILE.png")
    parser.add_argument("--png", action="store_true", help="a picture in place of a page")
    parser.add_argument("--process", type=whole, metavar="N",
                        help="this process, as `acre trace --info` numbers them; otherwise that with most events")
    parser.add_argument("--from", dest="start", type=seconds, metavar="SECONDS", help="from then on")
    parser.add_argument("--to", dest="end", type=seconds, metavar="SECONDS", help="until then")
    parser.add_argument("--binaries", metavar="FOLDER", help="where programs and libraries are looked for first")
    add_yes(parser)
    parser.add_argument("files", nargs="+", metavar="FILE", help="a recording of `acre record`; one or two")


def output_path(options):
    if options.output:
        return options.output
    name = os.path.basename(options.files[-1]).removesuffix(".actrace")
    return name + (".png" if options.png else ".html")


def read(tool, file, path, options):
    """Writes what is drawn of a recording to path."""
    words = [tool, "plot", file, "-o", path]
    for option, value in (("--process", options.process), ("--from", options.start), ("--to", options.end)):
        if value is not None:
            words += [option, value]
    done = subprocess.run(words, stdin=subprocess.DEVNULL)
    if done.returncode and not (os.path.exists(path) and os.path.getsize(path)):
        sys.exit(done.returncode if done.returncode > 0 else 1)  # it has said why


def names_of(tool, file, options):
    """-> a function from a process's number and return addresses to their locations"""
    def name_sites(process, addresses):
        if not addresses:
            return {}
        from heap_profile.symbols import ensure_tool, where_binaries_are
        from recording import names
        found = names.named(names.processes(names.ask(tool, "mappings", file)), {(process, at) for at in addresses},
                            ensure_tool("plot", options.yes), where_binaries_are(options.binaries),
                            lambda text: say(f"plot: {text}"))
        return {address: location for (_, address), location in found.items()}
    return name_sites


@contextlib.contextmanager
def written(path):
    """A file that is there when it is whole."""
    made = f"{path}.new"
    try:
        with open(made, "wb") as file:
            yield file
        os.replace(made, path)
    except OSError as error:
        fail(f"plot: cannot write '{path}': {error.strerror}")
    finally:
        with contextlib.suppress(OSError):
            os.unlink(made)


def temporary_folder():
    try:
        return tempfile.TemporaryDirectory(prefix="acre-plot.")
    except OSError as error:
        fail(f"plot: there is no temporary folder: {error.strerror}")


def main(options):
    if len(options.files) > 2:
        usage_error("plot", "one recording, or two that are compared")
    path, tool = output_path(options), trace_tool.ensure("plot", options.yes)
    with temporary_folder() as folder:
        data = [os.path.join(folder, str(number)) for number in range(len(options.files))]
        for file, there in zip(options.files, data):
            read(tool, file, there, options)
        if options.png:
            import environment
            python = environment.ensure(options.yes)
            with written(path) as out:
                words = [python, "-I", os.path.join(HERE, "plot", "picture.py"), *data]
                code = subprocess.run(words, stdout=out).returncode
                if code:
                    fail("plot: the picture could not be drawn; what was said about it is above")
        else:
            from plot import page
            from recording.names import Unreadable
            try:
                with written(path) as out:
                    page.write(out, [(there, names_of(tool, file, options)) for file, there in zip(options.files, data)])
            except (page.Malformed, Unreadable) as error:
                fail(f"plot: {error}")
    print(path)
    return 0
