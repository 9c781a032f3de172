"""A language model that follows a script: an OpenAI-compatible server on loopback, on a port of its own.

Goose asks it GET /v1/models and POST /v1/chat/completions. What it answers hangs on the last thing that the user said;
it runs in the test's own event loop, so that a script may wait for the test and the test for the script.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

MODEL = "gpt-4o"
# Goose asks for a title once a session, without tools. It gets this one, whatever the script says.
TITLE = "A title by the script"


@dataclass(frozen=True)
class Says:
    """A text, piece by piece. `first` is awaited before the first piece; `stalls` leaves the answer without an end."""

    pieces: tuple[str, ...]
    first: Callable[[], Awaitable[object]] | None = None
    stalls: bool = False


@dataclass(frozen=True)
class Calls:
    """A call of a tool, and what to say once its result is there."""

    tool: str
    arguments: Mapping[str, Any]
    then: Says = field(default=Says(("done",)))


@dataclass(frozen=True)
class Fails:
    """An HTTP error."""

    status: int
    message: str


Turn = Says | Calls | Fails


class Model:
    """Serves while it is entered. `script` maps what the user says to what the model does.

    `asked` holds the chat requests, in order, `hung_up` is set when a stalled answer lost its reader. Leaving raises
    AssertionError for a request that the script does not know.
    """

    def __init__(self, script: Mapping[str, Turn]) -> None:
        self.script = script
        self.asked: list[dict[str, Any]] = []
        self.hung_up = asyncio.Event()
        self.url = ""
        self._surprises: list[str] = []

    async def __aenter__(self) -> Model:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        if error is None:
            assert not self._surprises

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            await self._answer(head[0].rpartition(" ")[0], body, _Answer(reader, writer))
        except ConnectionError:
            pass  # Goose does not wait for what it has given up
        finally:
            writer.close()

    async def _answer(self, request: str, body: bytes, answer: _Answer) -> None:
        if request == "GET /v1/models":
            await answer.json({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
            return
        if request != "POST /v1/chat/completions":
            self._surprises.append(request)
            await answer.error(404, "no such place")
            return
        chat = json.loads(body)
        self.asked.append(chat)
        streams = bool(chat.get("stream"))
        match self._turn(chat):
            case Fails(status, message):
                await answer.error(status, message)
            case Calls(tool, arguments):
                call = {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": tool, "arguments": json.dumps(arguments)},
                }
                await answer.message(
                    [{"role": "assistant", "tool_calls": [{"index": 0} | call]}], "tool_calls", streams
                )
            case Says(pieces, first, stalls):
                if first is not None:
                    await first()
                deltas = [{"role": "assistant", "content": piece} for piece in pieces]
                await answer.message(deltas, None if stalls else "stop", streams)
                if stalls:
                    await answer.abandoned()
                    self.hung_up.set()

    def _turn(self, chat: dict[str, Any]) -> Turn:
        """What the script says to the end of a conversation."""
        if not chat.get("tools"):
            return Says((TITLE,))
        said = next(_text(message) for message in reversed(chat["messages"]) if message["role"] == "user")
        # Goose puts more around what the user said, a prompt that was cancelled before this one too.
        prompt = max(self.script, key=said.rfind)
        if prompt not in said:
            self._surprises.append(said)
            return Fails(400, "not in the script")
        turn = self.script[prompt]
        has_result = chat["messages"][-1]["role"] == "tool"
        return turn.then if isinstance(turn, Calls) and has_result else turn

    def results(self) -> list[str]:
        """What the tools have answered, as far as the model was told."""
        return [_text(message) for message in self.asked[-1]["messages"] if message["role"] == "tool"]


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class _Answer:
    """One HTTP answer; the connection ends with it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def json(self, value: Mapping[str, Any], status: str = "200 OK") -> None:
        body = json.dumps(value).encode()
        self._head(status, "application/json", f"content-length: {len(body)}\r\n")
        self._writer.write(body)
        await self._writer.drain()

    async def error(self, status: int, message: str) -> None:
        await self.json({"error": {"message": message, "type": "scripted"}}, f"{status} Scripted")

    async def message(self, deltas: list[dict[str, Any]], reason: str | None, streams: bool) -> None:
        """An assistant's message out of pieces; without a `reason` for its end, the stream is left open."""
        usage = {"prompt_tokens": 3, "completion_tokens": len(deltas), "total_tokens": 3 + len(deltas)}
        common = {"id": "chat_1", "created": 1, "model": MODEL}
        if not streams:
            content = "".join(delta.get("content", "") for delta in deltas)
            whole = {"index": 0, "message": deltas[0] | {"content": content}, "finish_reason": reason}
            await self.json(common | {"object": "chat.completion", "choices": [whole], "usage": usage})
            return
        self._head("200 OK", "text/event-stream")
        steps: list[tuple[dict[str, Any], str | None]] = [(delta, None) for delta in deltas]
        for delta, end in steps if reason is None else [*steps, ({}, reason)]:
            chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
            self._event(json.dumps(common | chunk | ({"usage": usage} if end else {})))
            await self._writer.drain()
        if reason is not None:
            self._event("[DONE]")
            await self._writer.drain()

    async def abandoned(self) -> None:
        """Wait until the other side goes away."""
        await self._reader.read()

    def _head(self, status: str, kind: str, more: str = "") -> None:
        self._writer.write(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n{more}\r\n".encode())

    def _event(self, data: str) -> None:
        self._writer.write(f"data: {data}\n\n".encode())
