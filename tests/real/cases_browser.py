"""Headless chromium: a screenshot of a local page, and the page's text after its scripts have run."""

import re
import struct
import time
import zlib

from harness import PROGRAMS, Failure, case, descendants

WIDTH, HEIGHT = 800, 600


def picture_of(png):
    """Return the width, the height and the set of distinct pixel rows of a PNG file, undecoded."""
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        raise Failure("the screenshot is no PNG file")
    place, data = 8, b""
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", png[place + 8:place + 18])
        if kind == b"IDAT":
            data += png[place + 8:place + 8 + length]
        place += length + 12
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    row = 1 + width * channels * depth // 8
    pixels = zlib.decompress(data)
    if len(pixels) != row * height:
        raise Failure("the screenshot is cut short")
    return width, height, {pixels[start:start + row] for start in range(0, len(pixels), row)}


def run_browser(side, name, *options):
    """Run chromium to its end; return its stdout."""
    log, out = side.dir / "chromium.log", side.dir / f"{name}.out"
    profile = side.dir / f"profile-{name}"
    process = side.start(
        ["sh", "-c", 'exec "$@" >"$0"', out, "chromium", "--headless", "--no-sandbox", "--disable-gpu",
         "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage", "--disable-breakpad", "--hide-scrollbars",
         f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}", "--virtual-time-budget=5000", *options,
         (PROGRAMS / "page.html").as_uri()], log=log)
    with_library = set()
    while process.poll() is None:
        if side.remaining() < 1:
            raise Failure("chromium hangs", log.read_text(errors="replace"))
        if side.lib:
            with_library |= {pid for pid in descendants(process.pid) | {process.pid} if side.is_mapped(pid)}
        time.sleep(0.05)
    side.stop(process, "chromium")
    # Browser, zygotes, GPU, network, renderer: each of these allocates.
    if side.lib and len(with_library) < 4:
        raise Failure(f"only {len(with_library)} of chromium's processes have the library")
    return out.read_bytes()


# chromium brings its own malloc, so that the library serves only those who ask for it by other ways.
@case("chromium", needs={"chromium": "chromium"}, probes=[["chromium", "--version"]], timeout=180, own_malloc=True)
def chromium(side):
    shot = side.dir / "shot.png"
    run_browser(side, "screenshot", f"--screenshot={shot}")
    if not shot.exists():
        raise Failure("there is no screenshot", (side.dir / "chromium.log").read_text(errors="replace"))
    width, height, rows = picture_of(shot.read_bytes())
    if (width, height) != (WIDTH, HEIGHT):
        raise Failure(f"the screenshot is {width} by {height}")
    if len(rows) < 50:
        raise Failure("the screenshot is blank")
    dom = run_browser(side, "dom", "--dump-dom")
    if b'<p id="result">done ' not in dom:
        raise Failure("the page's scripts did not come to their end", dom[-2000:].decode())
    # Whether the workers have answered by then is a matter of time.
    return {"dom": re.sub(rb'(?<=<p id="workers">)[-\d,]*', b"", dom)}
