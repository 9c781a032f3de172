"""Frames that are no message, or that break the rules of JSON-RPC: each gets the answer it is due, and all goes on."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from acp_bindings import v2

from tests.package.connection.agents import SESSION
from tests.package.connection.clients import Recorder
from tests.package.connection.wires import Link, Wire
from tests.support.aio import run

NEW = {"jsonrpc": "2.0", "method": "session/new", "params": {"cwd": "/w"}}
CREATED = {"sessionId": SESSION}


def error(code: int, identity: Any = None) -> tuple[Any, int]:
    return identity, code


def outline(messages: list[Any]) -> list[tuple[Any, Any]]:
    """Of each answer its id, and its error's code or its result."""
    for message in messages:
        assert message["jsonrpc"] == "2.0" and "id" in message
        assert ("result" in message) != ("error" in message)
    return [
        (message["id"], message["error"]["code"] if "error" in message else message["result"]) for message in messages
    ]


# What is sent to an agent, and the answers that it draws.
REFUSED: dict[str, tuple[Any, list[tuple[Any, Any]]]] = {
    "garbage": (b"garbage", [error(-32700)]),
    "half a message": (b'{"jsonrpc":"2.0","id":1,"method":"sess', [error(-32700)]),
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/\xff"}}', [error(-32700)]),
    "invalid UTF-8 in what is ignored": (b'{"jsonrpc":"2.0","id":1,"method":"x","\xc3":1}', [error(-32700)]),
    "a lone surrogate": (
        b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"\\ud800"}}',
        [error(-32700)],
    ),
    "nested too deeply": (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 9999 + b"]" * 9999 + b"}",
        [error(-32700)],
    ),
    "an array": ([], [error(-32600)]),
    "a batch": ([NEW | {"id": 1}], [error(-32600)]),
    "a number": (42, [error(-32600)]),
    "a string": ("text", [error(-32600)]),
    "null": (None, [error(-32600)]),
    "an empty object": ({}, [error(-32600)]),
    "another jsonrpc": (NEW | {"jsonrpc": "1.0", "id": 1}, [error(-32600, 1)]),
    "a jsonrpc that is a number": (NEW | {"jsonrpc": 2.0, "id": 1}, [error(-32600, 1)]),
    "no jsonrpc": ({"id": "a", "method": "session/new"}, [error(-32600, "a")]),
    "no jsonrpc and no id": ({"method": "session/new"}, [error(-32600)]),
    "no method": ({"jsonrpc": "2.0", "id": 1, "params": {}}, [error(-32600, 1)]),
    "no method and no id": ({"jsonrpc": "2.0", "params": {}}, [error(-32600)]),
    "a method that is a number": ({"jsonrpc": "2.0", "id": 1, "method": 7}, [error(-32600, 1)]),
    "a method that is null": ({"jsonrpc": "2.0", "id": 1, "method": None}, [error(-32600, 1)]),
    "an id that is true": (NEW | {"id": True}, [error(-32600)]),
    "an id that is 1.5": (NEW | {"id": 1.5}, [error(-32600)]),
    "an id that is 1.0": (NEW | {"id": 1.0}, [error(-32600)]),
    "an id that is an array": (NEW | {"id": [1]}, [error(-32600)]),
    "an id that is an object": (NEW | {"id": {}}, [error(-32600)]),
    "an id that is null": (NEW | {"id": None}, [error(-32600)]),
    "an unknown method": ({"jsonrpc": "2.0", "id": 1, "method": "session/none"}, [error(-32601, 1)]),
    "an unknown extension": ({"jsonrpc": "2.0", "id": 1, "method": "_acme/none"}, [error(-32601, 1)]),
    "an unknown $/ request": ({"jsonrpc": "2.0", "id": 1, "method": "$/none"}, [error(-32601, 1)]),
    "a request for a notification": (
        {"jsonrpc": "2.0", "id": 1, "method": "session/cancel", "params": {}},
        [error(-32601, 1)],
    ),
    "a method that is not overridden": (
        {"jsonrpc": "2.0", "id": 1, "method": "session/delete", "params": 7},
        [error(-32601, 1)],
    ),
    "a request of the other side": (
        {"jsonrpc": "2.0", "id": 1, "method": "session/update", "params": {}},
        [error(-32601, 1)],
    ),
    "params that are an array": (NEW | {"id": 1, "params": ["/w"]}, [error(-32602, 1)]),
    "params that are missing": ({"jsonrpc": "2.0", "id": 1, "method": "session/new"}, [error(-32602, 1)]),
    "typed params of an extension": (
        {"jsonrpc": "2.0", "id": 1, "method": "_test/double", "params": {"number": "x"}},
        [error(-32602, 1)],
    ),
    "a notification of no type": ({"jsonrpc": "2.0", "method": "session/none", "params": 7}, []),
    "a $/ notification": ({"jsonrpc": "2.0", "method": "$/none", "params": {}}, []),
    "a notification with wrong params": ({"jsonrpc": "2.0", "method": "session/cancel", "params": {}}, []),
    "a request without an id": (NEW, []),
    "the cancellation of nothing": ({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 77}}, []),
    "the cancellation of an array": ({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": []}}, []),
    "a cancellation without params": ({"jsonrpc": "2.0", "method": "$/cancel_request", "params": 1}, []),
    "an answer to nobody": ({"jsonrpc": "2.0", "id": 9, "result": {}}, []),
    "an error to nobody": ({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}}, []),
    "an answer with both": ({"jsonrpc": "2.0", "id": 9, "result": {}, "error": {"code": 1, "message": "m"}}, []),
    "an answer with neither": ({"jsonrpc": "2.0", "id": 9}, []),
    "an answer with an id that is true": ({"jsonrpc": "2.0", "id": True, "result": {}}, []),
    "an answer with a malformed error": ({"jsonrpc": "2.0", "id": 9, "error": "oops"}, []),
    "an answer with another jsonrpc": ({"jsonrpc": "1.0", "id": 9, "result": {}}, []),
    "an answer without an id": ({"jsonrpc": "2.0", "result": {}}, []),
    "an answer that is no JSON": (b'{"jsonrpc":"2.0","id":9,"result":{"text":"\\ud83d"}}', []),
}


def test_what_is_no_message_gets_its_answer_and_the_connection_lives_on(link: Link) -> None:
    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            for name, (frame, answers) in REFUSED.items():
                if link.text and name.startswith("invalid UTF-8"):
                    continue
                assert outline(await wire.replies(frame)) == answers, name
            assert outline(await wire.replies(NEW | {"id": 5})) == [(5, CREATED)]

    run(test)


def test_ids_are_echoed_exactly(link: Link) -> None:
    identities = [0, -1, "", "1", 1, "0", 2**53 + 1, 2**70, "\u2028", 'quote"d']

    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            answers = await wire.replies(*(NEW | {"id": identity} for identity in identities))
            assert outline(answers) == [(identity, CREATED) for identity in identities]

    run(test)


def test_an_id_that_is_null_is_one_in_version_1(link: Link) -> None:
    async def test() -> None:
        async with link.wire("both") as wire:
            first = {"jsonrpc": "2.0", "id": None, "method": "initialize", "params": {"protocolVersion": 1}}
            await wire.send(first)
            assert (await wire.receive())["id"] is None
            params = {"cwd": "/w", "mcpServers": []}
            assert outline(await wire.replies(NEW | {"id": None, "params": params})) == [(None, CREATED)]

    run(test)


def test_an_id_in_use_is_refused_without_ending_the_call_that_uses_it(link: Link) -> None:
    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            waiting = {"jsonrpc": "2.0", "id": 1, "method": "_test/wait", "params": {}}
            release = {"jsonrpc": "2.0", "method": "_test/release"}
            await wire.send(waiting)
            assert (await wire.receive())["method"] == "_test/started"
            # The same text is another id.
            answers = await wire.replies(waiting, NEW | {"id": "1"})
            assert outline(answers) == [error(-32600), ("1", CREATED)]
            assert outline(await wire.replies(release)) in ([], [(1, {"outcome": "released"})])

    run(test)


def test_a_request_that_is_cancelled_at_once_is_answered_once(link: Link) -> None:
    """Both arrive together, before the handler has begun."""

    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 3}}
            await wire.send({"jsonrpc": "2.0", "id": 3, "method": "_test/wait", "params": {}}, cancel)
            answers: list[Any] = []
            while not answers or "id" not in answers[-1]:
                answers.append(await wire.receive())
            assert outline(answers[-1:]) == [(3, -32800)]
            assert outline(await wire.replies(cancel)) == []

    run(test)


def test_a_cancelled_handler_may_answer_in_its_own_way(link: Link) -> None:
    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            await wire.send({"jsonrpc": "2.0", "id": "a", "method": "_test/wait", "params": {"own answer": 1}})
            assert (await wire.receive())["method"] == "_test/started"
            await wire.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "a"}})
            assert outline([await wire.receive()]) == [("a", {"outcome": "cancelled"})]

    run(test)


def test_undecodable_params_are_told_with_pointer_and_reason(link: Link) -> None:
    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            cases = {"/cwd": {"cwd": 7}, "/mcpServers/0/name": {"cwd": "/w", "mcpServers": [{"type": "stdio"}]}}
            for pointer, params in cases.items():
                (answer,) = await wire.replies(NEW | {"id": 1, "params": params})
                assert answer["error"]["code"] == -32602
                assert answer["error"]["data"]["pointer"] == pointer and answer["error"]["data"]["reason"]
            double = {"jsonrpc": "2.0", "id": 1, "method": "_test/double", "params": {"number": "x"}}
            (answer,) = await wire.replies(double)
            assert answer["error"]["data"] == {"pointer": "/number", "reason": "Expected `int`, got `str`"}

    run(test)


def test_null_params_and_results_read_as_empty_objects(link: Link) -> None:
    async def test() -> None:
        async with link.wire("scripted") as wire:
            await wire.initialize()
            call = {"jsonrpc": "2.0", "id": 1, "method": "_test/wait", "params": None}
            await wire.send(call)
            assert (await wire.receive())["params"] == {}
            release = {"jsonrpc": "2.0", "method": "_test/release", "params": None}
            assert len(await wire.replies(release)) <= 1
            close = {"jsonrpc": "2.0", "id": 2, "method": "session/close", "params": {"sessionId": SESSION}}
            assert (2, {}) in outline(await wire.replies(close))

    run(test)


HANDLERS = {"/none": "returned None", "/wrong": "ListSessionsResponse", "/bug": "a secret", "/bad-data": "data"}


@pytest.mark.parametrize("cwd", HANDLERS)
def test_a_handlers_mistake_is_logged_and_nothing_of_it_is_told(cwd: str, caplog: pytest.LogCaptureFixture) -> None:
    from tests.package.connection.links import LINKS

    async def test() -> None:
        async with LINKS["memory"].wire("scripted") as wire:
            await wire.initialize()
            answers = await wire.replies(NEW | {"id": 1, "params": {"cwd": cwd}})
            assert answers == [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "internal error"}}]
            assert outline(await wire.replies(NEW | {"id": 1})) == [(1, CREATED)]

    run(test)
    (record,) = (one for one in caplog.records if one.levelno >= logging.ERROR)
    assert "session/new" in record.getMessage() and record.exc_info is not None
    assert HANDLERS[cwd] in caplog.text


def test_a_handlers_own_error_travels_whole(link: Link) -> None:
    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            with pytest.raises(v2.RequestError) as caught:
                await agent.session_new(v2.NewSessionRequest(cwd="/hook-of-a-failure"))
            assert (caught.value.code, caught.value.message, caught.value.data) == (-32000, "log in first", {"hint": 1})

    run(test)


# Answers that a client gets to session/new, and what becomes of the call.
ANSWERS: dict[str, tuple[dict[str, Any] | bytes, type[Exception] | None, str]] = {
    "as it should be": ({"jsonrpc": "2.0", "id": 2, "result": CREATED}, None, ""),
    "an integral float": (b'{"jsonrpc":"2.0","id":2.0,"result":{"sessionId":"s1"}}', None, ""),
    "an error that is null": ({"jsonrpc": "2.0", "id": 2, "result": CREATED, "error": None}, None, ""),
    "a result that is null beside an error": (
        {"jsonrpc": "2.0", "id": 2, "result": None, "error": {"code": 7, "message": "m"}}, v2.RequestError, "m"),
    "both": ({"jsonrpc": "2.0", "id": 2, "result": {}, "error": {"code": 7, "message": "m"}}, v2.ProtocolError, "both"),
    "neither": ({"jsonrpc": "2.0", "id": 2}, v2.ProtocolError, "neither"),
    "a result that does not decode": ({"jsonrpc": "2.0", "id": 2, "result": {}}, v2.ProtocolError, "/sessionId"),
    "a result that is null": ({"jsonrpc": "2.0", "id": 2, "result": None}, v2.ProtocolError, "/sessionId"),
    "a malformed error": ({"jsonrpc": "2.0", "id": 2, "error": "oops"}, v2.RequestError, "malformed"),
    "another jsonrpc": ({"jsonrpc": "1.0", "id": 2, "result": CREATED}, v2.ProtocolError, "jsonrpc"),
    "no JSON": (b'{"jsonrpc":"2.0","id":2,"result":{"sessionId":"\\ud83d"}}', v2.ProtocolError, "no JSON"),
}  # fmt: skip

# What does not answer request 2, though it may look so.
STRAYS: list[Any] = [
    {"jsonrpc": "2.0", "id": "2", "result": {"sessionId": "wrong"}},
    {"jsonrpc": "2.0", "id": True, "result": {"sessionId": "wrong"}},
    {"jsonrpc": "2.0", "id": 2.5, "result": {"sessionId": "wrong"}},
    {"jsonrpc": "2.0", "id": 77, "result": {"sessionId": "wrong"}},
    {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}},
    {"level": "info", "id": 2},
    {"level": "error", "id": 2, "error": "a log line"},
]


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_to_a_call(link: Link, name: str) -> None:
    answer, expected, text = ANSWERS[name]

    async def script(wire: Wire) -> None:
        first = await wire.receive()
        capabilities: dict[str, Any] = {"session": {}}
        result = {"protocolVersion": 2, "info": {"name": "bare", "version": "1"}, "capabilities": capabilities}
        await wire.send({"jsonrpc": "2.0", "id": first["id"], "result": result})
        assert (await wire.receive())["id"] == 2
        await wire.send(*STRAYS, answer)
        # The call that follows shows that nothing else was broken; a response is never answered.
        last = await wire.receive()
        assert last["method"] == "_last"
        await wire.send({"jsonrpc": "2.0", "id": last["id"], "result": 1})
        await wire.receive()

    async def test() -> None:
        async with link.scripted(script, Recorder()) as agent:
            call = agent.session_new(v2.NewSessionRequest(cwd="/w"))
            if expected is None:
                assert v2.to_builtins(await call) == CREATED
            else:
                with pytest.raises(expected, match=text):
                    await call
            assert await agent.extension_request("_last") == 1

    run(test)


def test_every_frame_has_an_entry_of_its_own() -> None:
    """The tables would hide a case behind another of the same text."""
    frames = [json.dumps(frame) if not isinstance(frame, bytes) else str(frame) for frame, _ in REFUSED.values()]
    assert len(set(frames)) == len(frames)
