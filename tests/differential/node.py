"""The reference TypeScript validators as a stream: requests in, answers out, in the same order.

One Node process (`validate.mjs`) answers them all. A thread writes while the caller reads, so neither pipe can fill up
with nobody to empty it, and what is under way is bounded by what the pipes hold.
"""

import json
import subprocess
import tempfile
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

from tests.support import npm

HERE = Path(__file__).resolve().parent
SDK = "@agentclientprotocol/sdk"


@dataclass(frozen=True)
class Request:
    """One value to be read as the definition `type` of `profile`."""

    profile: str
    type: str
    value: object

    def text(self) -> bytes:
        """The value as JSON text."""
        return json.dumps(self.value, ensure_ascii=False).encode()

    def line(self) -> bytes:
        head = json.dumps({"profile": self.profile, "type": self.type})
        return b'%s, "value": %s}\n' % (head[:-1].encode(), self.text())


@dataclass(frozen=True)
class Answer:
    """What TypeScript makes of a value: the normalised value, or a path and a message for each fault that it finds."""

    ok: bool
    value: Any = None
    issues: tuple[tuple[tuple[str | int, ...], str], ...] = ()


def pinned() -> str:
    """The SDK version that package.json asks for."""
    return npm.pinned(HERE, SDK)


def install() -> None:
    """Install the pinned SDK, unless it is there. Raises as `npm.install` does."""
    npm.install(HERE, SDK)


def ask(requests: Iterable[Request]) -> Generator[tuple[Request, Answer], None, None]:
    """Every request with its answer. Raises RuntimeError when Node fails, and whatever `requests` raises."""
    with tempfile.TemporaryFile() as complaints:
        node = subprocess.Popen(
            ["node", "validate.mjs"], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints
        )
        assert node.stdin is not None and node.stdout is not None
        sent: SimpleQueue[Request] = SimpleQueue()
        failures: list[Exception] = []
        feeder = Thread(target=_feed, args=(node.stdin, requests, sent, failures))
        feeder.start()
        finished = False
        try:
            for line in node.stdout:
                yield _paired(sent.get(), json.loads(line))
            finished = True
        finally:
            if not finished:
                node.kill()
            node.wait()
            feeder.join()
            node.stdout.close()
        if failures:
            raise failures[0]
        if node.returncode != 0 or not sent.empty():
            complaints.seek(0)
            raise RuntimeError(f"node ended with status {node.returncode}: {complaints.read().decode()[-2000:]}")


def _feed(stdin: IO[bytes], requests: Iterable[Request], sent: SimpleQueue[Request], failures: list[Exception]) -> None:
    try:
        with stdin:
            for request in requests:
                sent.put(request)
                stdin.write(request.line())
    except BrokenPipeError:
        pass  # Node has ended, which the reader notices too
    except Exception as error:
        failures.append(error)


def _paired(request: Request, answer: dict[str, Any]) -> tuple[Request, Answer]:
    if "missing" in answer:
        raise RuntimeError(f"the SDK has no validator for {request.type} of {request.profile}")
    issues = tuple((tuple(issue["path"]), issue["message"]) for issue in answer.get("issues", ()))
    return request, Answer(answer["ok"], answer.get("value"), issues)
