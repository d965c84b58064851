# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the collections importable by their names, starts a browser, and installs what Node.js needs, once.

The browser is chromium (apt-get install chromium), which is driven over a pipe, by its DevTools protocol.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tree import ROOT, import_collections_by_name

HERE = Path(__file__).parent
CACHE = ROOT / ".cache" / "browser"
# In seconds
PATIENCE = 30

import_collections_by_name()


class Browser:
    """A chromium without a window, with one page."""

    def __init__(self, profile):
        program = shutil.which("chromium")
        assert program, "chromium is not on PATH: apt-get install chromium"
        read, self.orders = os.pipe()
        self.answers, write = os.pipe()
        # It reads orders from file 3 and answers on file 4, whatever their numbers are here.
        command = f"exec {program} --headless --no-sandbox --disable-gpu --remote-debugging-pipe"
        shell = f"{command} --user-data-dir={profile} about:blank 3<&{read} 4>&{write}"
        self.process = subprocess.Popen(
            ["bash", "-c", shell], pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read)
        os.close(write)
        self.number, self.rest, self.session, self.events = 0, b"", None, []
        target = next(info for info in self.ask("Target.getTargets")["targetInfos"] if info["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **params):
        self.number += 1
        order = {"id": self.number, "method": method, "params": params}
        order |= {"sessionId": self.session} if self.session else {}
        os.write(self.orders, json.dumps(order).encode() + b"\0")
        while True:
            message = self.hear()
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def hear(self):
        while b"\0" not in self.rest:
            more = os.read(self.answers, 1 << 16)
            assert more, "chromium has ended"
            self.rest += more
        message, _zero, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"]["value"]

    def show(self, path, width, scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media="", features=features)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
        self.open(path.as_uri())

    def open(self, url):
        """Load a page, and forget what happened before."""
        self.events = []
        self.ask("Page.navigate", url=url)
        self.wait_for(f"document.readyState + location.href === {json.dumps('complete' + url)}")

    def wait_for(self, condition):
        until = time.monotonic() + PATIENCE
        while not self.value(condition):
            assert time.monotonic() < until, f"not so within {PATIENCE} s: {condition}"
            time.sleep(0.05)

    def requested(self):
        """Return what the page has asked for since it was opened, without what it has in itself."""
        events = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        urls = {event["params"]["request"]["url"] for event in events}
        return {url for url in urls if not url.startswith("data:")}

    def close(self):
        with contextlib.suppress(OSError, AssertionError):
            self.ask("Browser.close")
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.orders)
        os.close(self.answers)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def parse():
    """Return a function that gives Mermaid's parser a text, and returns how that ended."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    CACHE.mkdir(parents=True, exist_ok=True)
    # A program finds its modules next to itself.
    for path in (HERE / "package.json", HERE / "parse_mermaid.mjs"):
        shutil.copy(path, CACHE)
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]["mermaid"]
    there = CACHE / "node_modules" / "mermaid" / "package.json"
    if not there.exists() or json.loads(there.read_text())["version"] != wanted:
        install = "npm install --no-audit --no-fund --no-package-lock --ignore-scripts"
        subprocess.run(install.split(), cwd=CACHE, check=True)

    def run(text):
        return subprocess.run(
            ["node", "parse_mermaid.mjs"], cwd=CACHE, input=text, capture_output=True, encoding="utf-8", check=False
        )

    return run
