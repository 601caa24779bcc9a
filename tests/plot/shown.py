"""A page in the browser, and what is done with it."""

READY = "document.documentElement.dataset.ready === 'true'"
IMAGE = "images[0]"


class Page:
    """A page in the browser, and what is done with it."""

    def __init__(self, browser, path, words="", scheme="light", size=(1200, 800)):
        self.browser = browser
        browser.ask(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )
        browser.prefer(scheme)
        browser.open(f"{path}{words}")
        browser.wait_for(READY)
        self.wait(f"{IMAGE}.list && [...{IMAGE}.tiles.planes.values()].every(tile => tile.bytes)")

    def value(self, expression):
        return self.browser.value(expression)

    def wait(self, expression):
        self.browser.wait_for(expression)
        self.frame()

    def frame(self):
        """What was asked for is drawn: once in a frame."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def text(self, name):
        return self.value(f"document.getElementById('{name}').innerText")

    def place(self, time, offset):
        """Of the picture, in the window."""
        self.value(f"{IMAGE}.element.scrollIntoView({{ block: 'center' }})")
        return self.value(
            f"(r => [r.left + {IMAGE}.xOf({time}), r.top + {IMAGE}.yOf({offset})])"
            f"({IMAGE}.element.getBoundingClientRect())"
        )

    def colour(self, time, offset):
        return self.value(
            f"[...{IMAGE}.canvas.getContext('2d')"
            f".getImageData({IMAGE}.xOf({time}), {IMAGE}.yOf({offset}), 1, 1).data].slice(0, 3)"
        )

    def mouse(self, kind, at, **more):
        self.browser.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def drag(self, start, end, modifiers=0):
        self.mouse("mouseMoved", start)
        self.mouse("mousePressed", start, button="left", clickCount=1, modifiers=modifiers)
        for part in (0.5, 1):
            at = [a + (b - a) * part for a, b in zip(start, end)]
            self.mouse("mouseMoved", at, button="left", buttons=1, modifiers=modifiers)
        self.mouse("mouseReleased", end, button="left", clickCount=1, modifiers=modifiers)
        self.frame()

    def wheel(self, at, by, modifiers=0):
        before = self.view()
        self.mouse("mouseWheel", at, deltaX=0, deltaY=by, modifiers=modifiers)
        self.wait(f"JSON.stringify([view.from, view.to, {IMAGE}.low, {IMAGE}.high]) !== JSON.stringify({before})")

    def view(self):
        return self.value(f"[view.from, view.to, {IMAGE}.low, {IMAGE}.high]")

    def choose(self, name, what):
        self.value(
            f"(choice => {{ choice.value = '{what}'; choice.onchange({{ target: choice }}) }})"
            f"(document.getElementById('{name}'))"
        )
        self.frame()

    def press(self, *keys):
        for key in keys:
            self.browser.press(key)
        self.frame()

    def tab(self, name):
        self.browser.click(f"document.querySelector('[data-tab={name}]')")
        self.frame()

    def rows(self):
        return self.value(
            "[...document.querySelectorAll('#table tbody tr')].map(row => "
            "[...row.cells].map(cell => cell.innerText))"
        )

    def bars(self):
        return self.value("[...document.querySelectorAll('#graph .bar')].map(bar => bar.textContent)")


def spans(view):
    return view[1] - view[0], view[3] - view[2]
