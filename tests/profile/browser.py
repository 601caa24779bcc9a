"""A real browser without a window, driven through two pipes (Chrome's DevTools protocol): for pages that are tested."""

import json
import os
import shutil
import subprocess

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """Raises RuntimeError if the browser ends, or says that a command failed."""

    def __init__(self, path, folder):
        commands, self.to = os.pipe()
        self.of, answers = os.pipe()

        def put_pipes():
            # The protocol's numbers are 3 and 4; the pipes may lie there crosswise.
            high = os.dup(commands), os.dup(answers)
            for number, end in zip((3, 4), high):
                os.dup2(end, number)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             f"--user-data-dir={folder}", "--window-size=1200,800", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=put_pipes,
            close_fds=False, env={**os.environ, "LD_PRELOAD": "", "HOME": str(folder)})
        os.close(commands)
        os.close(answers)
        self.rest, self.last, self.events, self.session = b"", 0, [], None
        page = next(target for target in self.ask("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.of, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def ask(self, method, **parameters):
        self.last += 1
        question = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.to, json.dumps(question).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.last:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def open(self, path):
        self.ask("Page.navigate", url=f"file://{path}")
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        self.events = [event for event in self.events if event["method"] != "Page.loadEventFired"]

    def value(self, expression):
        """What a JavaScript expression is."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression):
        """Until it is true, or some seconds have passed."""
        for _ in range(100):
            if self.value(expression):
                return
            self.value("new Promise(done => setTimeout(done, 50))")

    def point_at(self, expression):
        """With the mouse, at the middle of this element. -> where it is"""
        x, y = self.value(f"(e => {{ e.scrollIntoView(); const r = e.getBoundingClientRect(); "
                          f"return [r.left + r.width / 2, r.top + r.height / 2] }})({expression})")
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, expression):
        x, y = self.point_at(expression)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def prefer(self, scheme):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        import base64
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def problems(self):
        """Exceptions and errors that pages had, and addresses that were asked for over the network."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"])[:500])
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif event["method"] == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append(f"asked for {url}")
        return found

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.of)
