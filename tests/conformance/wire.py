"""A client that knows nothing but frames: it starts an agent, writes lines, and judges every line that comes back."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.schemas import schema
from tests.support.cli import ROOT

LIMIT = 30.0
"""Seconds after which something hangs."""
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "generated"), str(ROOT)))}
ECHO, STREAMING = ((sys.executable, str(ROOT / f"examples/{name}_agent.py")) for name in ("echo", "streaming"))
FULL = sys.executable, "-m", "tests.conformance.full_agent"
HELLO = {
    1: {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "bare", "version": "1"}},
    2: {"protocolVersion": 2, "capabilities": {}, "info": {"name": "bare", "version": "1"}},
}
HERE = str(ROOT)
Frame = dict[str, Any]
Answer = Callable[[Frame], dict[str, Any] | None]


@dataclass
class Turn:
    """What came between a prompt and the end of its turn."""

    version: int
    session_id: str
    request: object
    frames: list[Frame] = field(default_factory=list)

    @property
    def response(self) -> Frame:
        return next(one for one in self.frames if "method" not in one and one.get("id") == self.request)

    @property
    def updates(self) -> list[dict[str, Any]]:
        return [one["params"]["update"] for one in self.frames if one.get("method") == "session/update"]

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        """The updates of some kinds."""
        return [one for one in self.updates if one["sessionUpdate"] in kinds]

    @property
    def states(self) -> list[str]:
        return [one["state"] for one in self.of("state_update")]

    @property
    def questions(self) -> list[Frame]:
        return [one for one in self.frames if one.get("method") == "session/request_permission"]

    @property
    def text(self) -> str:
        return "".join(one["content"]["text"] for one in self.of("agent_message_chunk"))

    @property
    def stop_reason(self) -> str | None:
        """None while the turn goes on."""
        answered = [one for one in self.frames if "method" not in one and one.get("id") == self.request]
        if self.version == 1:
            return answered[0]["result"]["stopReason"] if answered and "result" in answered[0] else None
        ends = [one["stopReason"] for one in self.of("state_update") if one.get("stopReason") is not None]
        return ends[-1] if ends else None

    @property
    def over(self) -> bool:
        answers = [one for one in self.frames if "method" not in one and one.get("id") == self.request]
        return bool(answers) and ("error" in answers[0] or self.stop_reason is not None)


def allow(question: Frame) -> dict[str, Any]:
    return chosen(question, "allow_once")


def reject(question: Frame) -> dict[str, Any]:
    return chosen(question, "reject_once")


def chosen(question: Frame, kind: str) -> dict[str, Any]:
    option = next(one for one in question["params"]["options"] if one["kind"] == kind)
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}


class Wire:
    """One agent's process. `frames` is everything that it has said, in order, each line of it judged."""

    def __init__(self, command: Sequence[str], version: int) -> None:
        self.version = version
        self.frames: list[Frame] = []
        self.asked: dict[object, str] = {}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, cwd=ROOT
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stderr: list[bytes] = []
        self._readers = [threading.Thread(target=one, daemon=True) for one in (self._read, self._drain)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self._stderr.append(self.process.stderr.read())

    # out

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, *, id: object = None, method: str, params: object = None) -> None:
        """A request with an id, a notification without."""
        frame = {"jsonrpc": "2.0", "method": method, "params": {} if params is None else params}
        if id is not None:
            self.asked[id] = method
            frame["id"] = id
        self.write(json.dumps(frame).encode())

    def answer(self, question: Frame, result: object) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": result}).encode())

    # in

    def receive(self) -> Frame:
        """The next frame. Raises for a line that no agent may write, and for the end of them."""
        line = self._lines.get(timeout=LIMIT)
        assert line, f"the agent has ended: {self.end()!r}"
        return self.judge(line)

    def judge(self, line: bytes) -> Frame:
        """A line as the message that it is. Raises for one that no agent may write."""
        assert line.endswith(b"\n") and b"\r" not in line
        frame = json.loads(line.decode("utf-8"), parse_constant=_refuse)
        assert isinstance(frame, dict), frame
        self.frames.append(frame)
        assert frame["jsonrpc"] == "2.0"
        if "method" in frame:
            assert not {"result", "error"} & frame.keys()
            schema(self.version).check(frame, None)
        else:
            assert len({"result", "error"} & frame.keys()) == 1
            schema(self.version).check(frame, self.asked.get(frame["id"]))
        return frame

    def until(self, wanted: Callable[[Frame], bool]) -> Frame:
        """Reads up to a frame, and gives it."""
        while not wanted(frame := self.receive()):
            pass
        return frame

    def call(self, method: str, params: object = None, id: object = None) -> Frame:
        """The response to a request."""
        identity = f"call {len(self.asked)}" if id is None else id
        self.send(id=identity, method=method, params=params)
        return self.until(is_answer(identity))

    def result(self, method: str, params: object = None) -> dict[str, Any]:
        """What a request that goes well is answered with."""
        frame = self.call(method, params)
        assert isinstance(frame.get("result"), dict), frame
        result: dict[str, Any] = frame["result"]
        return result

    def settle(self) -> list[Frame]:
        """What the agent had still to say before the answer to one more request."""
        start = len(self.frames)
        assert self.call("_no/such/method")["error"]["code"] == -32601
        return self.frames[start:-1]

    def end(self) -> bytes:
        """Closes the agent's input; it must end by itself, with nothing more to say that is no message.

        Returns what it wrote to stderr.
        """
        assert self.process.stdin is not None
        self.process.stdin.close()
        while line := self._lines.get(timeout=LIMIT):
            self.judge(line)
        assert self.process.wait(LIMIT) == 0
        for reader in self._readers:
            reader.join(LIMIT)
        return b"".join(self._stderr)

    def kill(self) -> None:
        """Nothing of the process is left, whatever became of it."""
        with self.process:
            self.process.kill()
            for reader in self._readers:
                reader.join(LIMIT)

    # whole conversations

    def hello(self, **members: object) -> dict[str, Any]:
        return self.result("initialize", HELLO[self.version] | members)

    def new(self, **members: object) -> str:
        """The id of a new session."""
        servers: Frame = {"mcpServers": []} if self.version == 1 else {}
        session_id: str = self.result("session/new", {"cwd": HERE} | servers | members)["sessionId"]
        return session_id

    def prompt(self, session_id: str, text: str, *blocks: dict[str, Any], **members: object) -> Turn:
        """Sends a prompt; `finish` reads its turn."""
        turn = Turn(self.version, session_id, f"prompt {len(self.asked)}")
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}, *blocks]} | members
        self.send(id=turn.request, method="session/prompt", params=params)
        return turn

    def finish(self, turn: Turn, answer: Answer = allow, until: Callable[[Frame], bool] | None = None) -> Turn:
        """Reads a turn to its end, or up to a frame; questions are answered."""
        while not turn.over:
            frame = self.receive()
            turn.frames.append(frame)
            if until is not None and until(frame):
                break
            if is_question(frame):
                self.answer(frame, answer(frame))
            else:
                assert "id" not in frame or "method" not in frame, f"nobody offered to answer {frame}"
        return turn

    def turn(self, session_id: str, text: str, answer: Answer = allow, **members: object) -> Turn:
        """A whole turn."""
        return self.finish(self.prompt(session_id, text, **members), answer)

    def cancel(self, session_id: str, **members: object) -> None:
        self.send(method="session/cancel", params={"sessionId": session_id} | members)


@contextmanager
def started(command: Sequence[str], version: int) -> Iterator[Wire]:
    """An agent to which nothing was said yet; at the end it must end by itself."""
    wire = Wire(command, version)
    try:
        yield wire
        if wire.process.poll() is None:
            wire.end()
    finally:
        wire.kill()


@contextmanager
def opened(command: Sequence[str], version: int, **members: object) -> Iterator[Wire]:
    """An agent that is through with `initialize`."""
    with started(command, version) as wire:
        wire.hello(**members)
        yield wire


def is_question(frame: Frame) -> bool:
    return frame.get("method") == "session/request_permission"


def is_answer(request: object) -> Callable[[Frame], bool]:
    """Whether a frame answers a request, by the type of its id too."""

    def matches(frame: Frame) -> bool:
        return "method" not in frame and type(frame["id"]) is type(request) and frame["id"] == request

    return matches


def says(kind: str) -> Callable[[Frame], bool]:
    """Whether a frame is an update of some kind."""

    def matches(frame: Frame) -> bool:
        return frame.get("method") == "session/update" and frame["params"]["update"]["sessionUpdate"] == kind

    return matches


def _refuse(text: str) -> None:
    raise AssertionError(f"not JSON: {text}")
