"""A headless Chromium on a pipe: just enough of its protocol to look at a page as a reader does."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

#: Seconds to wait for any one answer; a busy machine needs some.
PATIENCE = 60
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
)
KEYS = {"Tab": 9, "Enter": 13, "ArrowDown": 40, "Home": 36}


def find():
    """Return the path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Tab:
    """One tab: commands go out, answers come back, events are kept."""

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer
        self._buffer, self._last, self._session = b"", 0, None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method, **params):
        """Send a command and return its result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        number = self._last
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _receive(self):
        """Return the next message; events are noted on the way."""
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reader], [], [], deadline - time.monotonic())
            assert ready, f"Chromium said nothing for {PATIENCE} s"
            more = os.read(self._reader, 1 << 20)
            assert more, "Chromium ended"
            self._buffer += more
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def seen(self, method):
        """Return the parameters of all events of one kind since the page was opened."""
        return [event["params"] for event in self.events if event["method"] == method]

    def open(self, address):
        """Open an address afresh and wait until it is loaded."""
        # By way of an empty page: an address that differs in its fragment alone loads nothing.
        self._go("about:blank")
        self.events.clear()
        self._go(address)

    def _go(self, address):
        loader = self.call("Page.navigate", url=address)["loaderId"]
        while not any(
            event["name"] == "load" and event["loaderId"] == loader
            for event in self.seen("Page.lifecycleEvent")
        ):
            self._receive()

    def run(self, script):
        """Return the value of an expression inside the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def size(self, width, height=900):
        """Give the window a size in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def scheme(self, name):
        """Prefer the light or the dark scheme."""
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": name}],
        )

    def programs(self, allowed):
        """Allow or forbid JavaScript from the next page on."""
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def press(self, key):
        """Press and release a key; a single letter is typed."""
        code = KEYS.get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self):
        """Return what is in the window as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def paper(self):
        """Return the page as printed, a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


@contextmanager
def chromium(program, folder):
    """Run Chromium with a fresh profile in a folder, and end it whatever happens."""
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()
    # Chromium listens on descriptor 3 and answers on 4; bash puts the pipes there.
    process = subprocess.Popen(
        [
            "bash",
            "-c",
            f'exec "$@" 3<&{read_commands} 4>&{write_answers}',
            "bash",
            program,
            *FLAGS,
            f"--user-data-dir={folder}",
        ],
        pass_fds=(read_commands, write_answers),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        yield Tab(read_answers, write_commands)
    finally:
        os.close(write_commands)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(read_answers)
