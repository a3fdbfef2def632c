# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A headless Chromium, driven by its DevTools protocol.

    with Browser(folder) as browser:
        browser.open("http://127.0.0.1:9810/")
        browser.wait("document.querySelector('#state').textContent.includes('up')", "the page shows the state")
        browser.run("location.hash = '#/hosts'")
        browser.screenshot("hosts.png")
"""
import base64
import itertools
import json
import pathlib
import shutil
import subprocess
import time
import urllib.request

try:
    import websocket
except ImportError:  # the tests that need it are long, and have a list of packages of their own
    websocket = None

DEADLINE_S = 60
POLL_S = 0.05


class Browser:
    def __init__(self, folder, width=1280, height=900, dark=False, scale=1, touch=False, script_flags=()):
        self.folder = pathlib.Path(folder)
        self.size = width, height, scale, touch
        self.dark = dark
        self.script_flags = ["--expose-gc", *script_flags]  # of V8
        self.process = self.socket = None
        self.numbers = itertools.count(1)
        self.errors = []  # that scripts threw, or the console was told of
        self.bytes = 0  # that came over the network
        self.asked = []  # addresses of all requests, those that the browser answers by itself too

    def __enter__(self):
        profile = self.folder / "chromium"
        shutil.rmtree(profile, ignore_errors=True)
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
             "--force-color-profile=srgb", f"--js-flags={','.join(self.script_flags)}", f"--user-data-dir={profile}", "--remote-debugging-port=0",
             "--remote-allow-origins=*", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.connect(profile / "DevToolsActivePort")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.socket:
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def connect(self, port_file):
        end = time.monotonic() + DEADLINE_S
        while not (port_file.exists() and port_file.read_text().count("\n") >= 1):
            assert time.monotonic() < end and self.process.poll() is None, "chromium does not start"
            time.sleep(POLL_S)
        port = port_file.read_text().split("\n")[0]
        pages = [page for page in json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json")) if page["type"] == "page"]
        self.socket = websocket.create_connection(pages[0]["webSocketDebuggerUrl"], timeout=DEADLINE_S, suppress_origin=True)
        for domain in "Page", "Runtime", "Network", "Log":
            self.call(f"{domain}.enable")
        width, height, scale, touch = self.size
        self.resize(width, height, scale, touch)
        self.prefer(self.dark)

    # ---- The protocol

    def call(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.heard(message)

    def heard(self, message):
        kind, params = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif kind == "Log.entryAdded" and params["entry"]["level"] == "error" and params["entry"]["source"] != "network":
            self.errors.append(params["entry"]["text"])
        elif kind == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif kind == "Network.loadingFinished":
            self.bytes += params["encodedDataLength"]

    # ---- What tests do

    def resize(self, width, height, scale=1, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    def prefer(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address):
        self.call("Page.navigate", url=address)

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, script, what, deadline_s=DEADLINE_S):
        """Until an expression is true; one that throws is not yet."""
        end = time.monotonic() + deadline_s
        while True:
            if self.run(f"(() => {{ try {{ return Boolean({script}); }} catch {{ return false; }} }})()"):
                return
            assert time.monotonic() < end, f"not within {deadline_s} s: {what}; errors: {self.errors}; the page says: {self.text()[:2000]}"
            time.sleep(POLL_S)

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, code=None):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        keys = {"key": key, "windowsVirtualKeyCode": {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowRight": 39}.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **keys)
        self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def click(self, x, y):
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def heap(self):
        """Bytes of JavaScript's heap after a collection."""
        for _ in range(3):
            self.call("HeapProfiler.collectGarbage")
        return self.call("Runtime.getHeapUsage")["usedSize"]

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
