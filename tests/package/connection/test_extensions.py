"""Extensions, and what passes through untouched: `_meta`, raw frames, the observer's view."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pytest
from acp_bindings import memory, v2
from acp_bindings.runtime.connection import Context
from acp_bindings.v2 import advertise, extension

from tests.package.connection.agents import SESSION, Doubled, Doubling, ScriptedAgent
from tests.package.connection.clients import Recorder
from tests.package.connection.wires import Link
from tests.support.aio import run

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_typed_params_and_results(link: Link) -> None:
    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            assert await agent.extension_request("_test/double", Doubling(4), Doubled) == Doubled(8)
            assert await agent.extension_request("_test/double", {"number": 4}) == {"number": 8}
            with pytest.raises(v2.RequestError) as caught:
                await agent.extension_request("_test/double", {})
            assert caught.value.code == -32602 and "number" in caught.value.data["reason"]
            with pytest.raises(v2.ProtocolError, match="/number: Expected `str`, got `int`"):
                await agent.extension_request("_test/double", Doubling(4), TextNumber)

    run(test)


class TextNumber(msgspec.Struct):
    number: str


@dataclass
class Point:
    x: int


class Named(TypedDict):
    name: str


@pytest.mark.parametrize(
    ("form", "good", "value", "bad", "pointer"),
    [
        (Doubling, {"number": 1}, Doubling(1), {"number": "1"}, "/number"),
        (Point, {"x": 1}, Point(1), {"x": None}, "/x"),
        (Named, {"name": "n"}, {"name": "n"}, {"name": 1}, "/name"),
        (list[Point], [{"x": 1}], [Point(1)], [{"x": 1}, {"x": "1"}], "/1/x"),
        (v2.TextContent, {"text": "t"}, v2.TextContent(text="t"), {"text": 1}, "/text"),
        (v2.ContentBlock, {"type": "text", "text": "t"}, v2.TextContent(text="t"), {"type": "text"}, "/text"),
        (Any, [1], [1], None, None),
    ],
)
def test_params_may_be_of_any_type_that_msgspec_knows(
    form: Any, good: Any, value: Any, bad: Any, pointer: str | None
) -> None:
    came: list[Any] = []

    class Taking(ScriptedAgent):
        @extension("_take", params=form, result=form)
        async def take(self, request: Any, context: Context) -> Any:
            came.append(request)
            return request

    async def test() -> None:
        async with memory.connect(Taking(), client=Recorder()) as agent:
            assert await agent.extension_request("_take", good, form) == value
            assert came == [value]
            if pointer is not None:
                with pytest.raises(v2.RequestError) as caught:
                    await agent.extension_request("_take", bad)
                assert caught.value.code == -32602 and caught.value.data["pointer"] == pointer

    run(test)


def test_names_pass_verbatim(link: Link) -> None:
    names = ["_a", "_acme.dev/x y", "_é\u2028", '_quote"', "_$/cancel_request"]

    async def test() -> None:
        sent: list[str] = []

        def observe(direction: str, frame: bytes) -> None:
            message = json.loads(frame)
            if direction == "out" and "method" in message:
                sent.append(message["method"])

        async with link.agent("scripted", Recorder(), observer=observe) as agent:
            sent.clear()
            for name in names:
                await agent.extension_notification(name, {})
                with pytest.raises(v2.RequestError) as caught:
                    await agent.extension_request(name)
                assert caught.value.code == -32601
            assert sent == [name for name in names for _ in range(2)]

    run(test)


@pytest.mark.parametrize("name", ["", "acme", "$/x", "session/new", " _x"])
def test_names_without_an_underscore_are_refused(name: str) -> None:
    async def test() -> None:
        frames: list[bytes] = []
        observe = lambda direction, frame: frames.append(frame)  # noqa: E731
        async with memory.connect(ScriptedAgent(), client=Recorder(), observer=observe) as agent:
            frames.clear()
            with pytest.raises(ValueError, match="underscore"):
                await agent.extension_request(name)
            with pytest.raises(ValueError, match="underscore"):
                await agent.extension_notification(name)
            assert frames == []

    with pytest.raises(ValueError, match="underscore"):
        extension(name)
    run(test)


def test_extensions_are_inherited_and_overridden() -> None:
    class Other(ScriptedAgent):
        @extension("_test/raw")
        async def raw(self, request: Any, context: Context) -> dict[str, Any]:
            return {"raw": "other"}

    async def test() -> None:
        async with memory.connect(Other(), client=Recorder()) as agent:
            assert await agent.extension_request("_test/raw") == {"raw": "other"}
            assert await agent.extension_request("_test/double", {"number": 1}) == {"number": 2}

    run(test)


def test_advertise_at_the_root_and_nested() -> None:
    capabilities = advertise(v2.AgentCapabilities(), "acme.dev", {"index": True})
    assert isinstance(capabilities, v2.AgentCapabilities)
    assert v2.to_builtins(capabilities) == {"_meta": {"acme.dev": {"index": True}}}
    advertise(capabilities, "other.dev/x", 1)
    assert v2.to_builtins(capabilities) == {"_meta": {"acme.dev": {"index": True}, "other.dev/x": 1}}
    capabilities.session = advertise(v2.SessionCapabilities(meta=None), "acme.dev", {})
    assert v2.to_builtins(capabilities)["session"] == {"_meta": {"acme.dev": {}}}
    with pytest.raises(ValueError, match="namespace"):
        advertise(capabilities, "index", True)


def test_advertised_extensions_reach_the_other_side() -> None:
    async def test() -> None:
        client = Recorder()
        client.capabilities = advertise(v2.ClientCapabilities(), "acme.dev", {"ui": 2})
        agent = ScriptedAgent()
        agent.capabilities = advertise(v2.AgentCapabilities(), "acme.dev", {"index": True})
        async with memory.connect(agent, client=client) as remote:
            assert remote.initialized.capabilities.meta == {"acme.dev": {"index": True}}
            assert remote.initialized.capabilities == agent.capabilities

    run(test)


def test_trace_context_passes_through_meta(link: Link) -> None:
    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            meta = {"traceparent": TRACE, "tracestate": "a=b", "baggage": "c=d"}
            answer = await agent.session_new(v2.NewSessionRequest(cwd="/meta", meta=meta))
            assert answer.meta == meta

    run(test)


def test_a_handler_sees_the_frame_byte_for_byte(link: Link) -> None:
    frame = b'{ "params" : {"a":1.50,  "b":[ ]},"id":"x" ,"method":"_test/raw","jsonrpc":"2.0"}'

    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            (answer,) = await wire.replies(frame)
            assert answer == {"jsonrpc": "2.0", "id": "x", "result": {"raw": frame.decode()}}

    run(test)


def test_raw_json_passes_unread_in_both_directions(link: Link) -> None:
    """What a proxy does: params and results are handed on as bytes."""

    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            params = msgspec.Raw(b'{"cwd":"/meta","_meta":{"a":1.50}}')
            answer = await agent.connection.request("session/new", params, msgspec.Raw)
            assert bytes(answer) == b'{"sessionId":"s1","_meta":{"a":1.5}}'
            assert (await agent.session_new(params)).meta == {"a": 1.5}

    run(test)


def test_the_observer_sees_every_frame(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """One that fails is told of in the log, and changes nothing."""

    async def test() -> None:
        frames: list[tuple[str, Any]] = []

        def observe(direction: str, frame: bytes) -> None:
            frames.append((direction, json.loads(frame)))
            raise RuntimeError("observer's own")

        client = Recorder()
        async with link.agent("scripted", client, observer=observe) as agent:
            prompt = v2.PromptRequest(session_id=SESSION, prompt=[v2.TextContent(text="2")])
            await agent.session_prompt(prompt)
            await agent.extension_request("_test/ask")
        shown = [(direction, frame.get("method", "answer")) for direction, frame in frames]
        assert shown == [
            ("out", "initialize"),
            ("in", "answer"),
            ("out", "session/prompt"),
            ("in", "session/update"),
            ("in", "session/update"),
            ("in", "answer"),
            ("out", "_test/ask"),
            ("in", "session/request_permission"),
            ("out", "answer"),
            ("in", "answer"),
        ]

    run(test)
    assert "observer's own" in caplog.text


def test_an_agents_observer_sees_its_frames(capfd: pytest.CaptureFixture[str]) -> None:
    """On stdio too, where its log goes to stderr."""
    from tests.package.transports.programs import agent_program, connected

    async def test() -> None:
        lines: asyncio.Queue[str] = asyncio.Queue()
        program = agent_program("serve(Agent(), observer=lambda way, frame: print(way, len(frame)))")
        async with connected(program, on_stderr=lines.put_nowait):
            assert (await lines.get()).startswith("in ")
            assert (await lines.get()).startswith("out ")

    run(test)
