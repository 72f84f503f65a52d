# SPDX-License-Identifier: Apache-2.0
"""A browser, driven by its own driver (Debian's chromium and chromium-driver), by the protocol WebDriver."""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

MISSING = "no chromium with its driver here (apt install chromium chromium-driver): the page is not looked at"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015"}


def installed():
    return shutil.which("chromium") and shutil.which("chromedriver")


class Browser:
    def __init__(self, folder, is_dark=False):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            if match := re.search(r"started successfully on port (\d+)", line):
                self.address = f"http://localhost:{match[1]}"
                break
        profile = tempfile.mkdtemp(dir=folder)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,900",
                     f"--user-data-dir={profile}", f"--blink-settings=preferredColorScheme={0 if is_dark else 1}"]
        options = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as problem:
            raise RuntimeError(f"{method} {path}: {json.load(problem)['value']['message']}") from None

    def command(self, path, body):
        return self.call("POST", f"/session/{self.session}/{path}", body)

    def open(self, page):
        self.command("url", {"url": f"file://{page}"})

    def run(self, script, *arguments):
        """What a function with this body returns."""
        return self.command("execute/sync", {"script": script, "args": arguments})

    def press(self, *keys):
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.command("actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def point(self, x, y):
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y), "origin": "viewport"}
        self.command("actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [move]}]})
        time.sleep(0.1)

    def rendered(self, method, path, body=None):
        """What takes the browser long to draw: its driver waits for 10 seconds, and a machine may be busy."""
        for _ in range(10):
            try:
                return base64.b64decode(self.call(method, f"/session/{self.session}/{path}", body))
            except RuntimeError as problem:
                if "Timed out" not in str(problem):
                    raise
        raise RuntimeError(f"{path}: the browser does not draw the page")

    def picture(self, file):
        data = self.rendered("GET", "screenshot")
        pathlib.Path(file).write_bytes(data)
        return data

    def resize(self, width, height):
        self.command("window/rect", {"width": width, "height": height})

    def part(self, selector, file):
        """The element that a CSS selector finds."""
        element = self.command("element", {"using": "css selector", "value": selector})
        data = self.rendered("GET", f"element/{next(iter(element.values()))}/screenshot")
        pathlib.Path(file).write_bytes(data)
        return data

    def printed(self):
        """The page as a PDF."""
        return self.rendered("POST", "print", {})

    def messages(self):
        """What the page had to complain about."""
        return [entry["message"] for entry in self.command("se/log", {"type": "browser"})]

    def close(self):
        self.call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
