"""A browser without a network, driven through the pipes of the DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self


class Browser:
    """A Chromium with one page."""

    def __init__(self, chromium: str, profile: Path) -> None:
        commands, self._commands = os.pipe()
        self._messages, messages = os.pipe()
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]
        flags += ["--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars"]
        # Chromium reads commands from the file descriptor 3 and writes messages to 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (commands, messages)]

        def take_ends() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [chromium, *flags, "about:blank"],
            preexec_fn=take_ends,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in ends:
            os.close(end)
        os.close(commands)
        os.close(messages)
        self._pending = b""
        self._number = 0
        self._session: str | None = None
        #: Errors that the page wrote to the console, and exceptions.
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._messages)

    def call(self, method: str, **parameters: Any) -> Any:
        """Carry out a command of the protocol and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def open(self, url: str) -> None:
        """Open a page and wait for its load event."""
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        done = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"].get("description", expression))
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a condition holds in the page, for at most two minutes."""
        test = f"({condition}) ? done(true) : performance.now() < end ? setTimeout(test, 20) : done(false)"
        start = "const end = performance.now() + 120000"
        assert self.value(f"new Promise((done) => {{ {start}; const test = () => {test}; test(); }})"), condition

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page."""
        size = {"width": width, "height": height}
        self.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=width < 600)

    def prefer(self, **features: str) -> None:
        """Set preferences of the user, such as a colour scheme."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=named)

    def cpu_s(self) -> float:
        """Return the processor time that the browser's processes have used, in seconds."""
        parents, used = {}, {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                number = int(stat.parent.name)
                parents[number] = int(fields[1])
                used[number] = int(fields[11]) + int(fields[12])
        own = {self._process.pid}
        while more := {number for number, parent in parents.items() if parent in own} - own:
            own |= more
        return sum(used.get(number, 0) for number in own) / os.sysconf("SC_CLK_TCK")

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            part = os.read(self._messages, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self._pending += part
        message, _, self._pending = self._pending.partition(b"\0")
        received: dict[str, Any] = json.loads(message)
        return received

    def _note(self, event: dict[str, Any]) -> None:
        details = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                thrown = details["exceptionDetails"]
                self.errors.append(thrown.get("exception", {}).get("description") or thrown["text"])
            case "Runtime.consoleAPICalled" if details["type"] == "error":
                self.errors.append(json.dumps(details["args"]))
            case "Log.entryAdded" if details["entry"]["level"] == "error":
                self.errors.append(details["entry"]["text"])
