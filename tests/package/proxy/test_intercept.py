"""What an interceptor may make of a message, and what becomes of what it fails at."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import proxy, v2
from acp_bindings.runtime.errors import DecodeError, ProtocolError, RequestError

from tests.package.proxy.ends import Between, between, error, notification, request, result
from tests.support.aio import run

PROMPT = request(1, "session/prompt", sessionId="s", prompt=[{"type": "text", "text": "hi"}])
NEXT = request(2, "_next")


class Script:
    """An interceptor that a test tells what to do, and that tells what it saw."""

    def __init__(self, **verdicts: Any) -> None:
        self.verdicts = verdicts
        self.seen: list[tuple[str, str, str, Any]] = []

    def __call__(self, direction: proxy.Direction, message: proxy.Passing) -> Any:
        self.seen.append((direction, message.kind, message.method, message.id))
        return self.verdicts.get(message.kind, lambda message: message)(message)


def test_it_sees_each_message_once_in_its_direction() -> None:
    """A response is told with the method that it answers; ids of both sides are their own."""
    script = Script()

    async def test() -> None:
        async with between(script) as (client, agent, _):
            client.send(PROMPT, notification("session/cancel", sessionId="s"), b"noise")
            agent.send(request(1, "session/request_permission"), request("1", "_x"))
            for _ in range(3):
                await agent.raw()
            for _ in range(2):
                await client.raw()
            script.seen.sort()
            assert script.seen == [
                ("to_agent", "malformed", "", None),
                ("to_agent", "notification", "session/cancel", None),
                ("to_agent", "request", "session/prompt", 1),
                ("to_client", "request", "_x", "1"),
                ("to_client", "request", "session/request_permission", 1),
            ]
            script.seen.clear()
            client.send(error("1", -1, "no"), result(1), result(1), result(7))
            agent.send(result(1))
            for _ in range(4):
                await agent.raw()
            await client.raw()
            assert [one for one in script.seen if one[0] == "to_agent"] == [
                ("to_agent", "response", "_x", "1"),
                ("to_agent", "response", "session/request_permission", 1),
                ("to_agent", "response", "", 1),
                ("to_agent", "response", "", 7),
            ]
            assert [one for one in script.seen if one[0] == "to_client"] == [
                ("to_client", "response", "session/prompt", 1)
            ]

    run(test)


def test_a_changed_message_goes_in_its_place() -> None:
    script = Script(
        request=lambda message: message.changed({"sessionId": "t"}),
        notification=lambda message: message.changed(v2.CancelSessionNotification(session_id="t")),
        response=lambda message: message.changed(b'{"b": 1}'),
    )

    async def test() -> None:
        async with between(script) as (client, agent, _):
            client.send(PROMPT, notification("session/cancel", sessionId="s"))
            agent.send(result(1), error(2, -1, "no"))
            assert await agent.receive() == request(1, "session/prompt", sessionId="t")
            assert await agent.receive() == notification("session/cancel", sessionId="t")
            assert await client.receive() == result(1, {"b": 1})
            assert await client.receive() == result(2, {"b": 1})

    run(test)


def test_an_answer_of_its_own_goes_back() -> None:
    script = Script(request=lambda message: message.answer({"mine": True}) if message.id == 1 else message)

    async def test() -> None:
        async with between(script) as (client, agent, _):
            for one, other in ((client, agent), (agent, client)):
                one.send(PROMPT, NEXT)
                assert await one.receive() == result(1, {"mine": True})
                assert await other.receive() == NEXT

    run(test)


@pytest.mark.parametrize("how", ["refused", "raised"])
def test_an_error_of_its_own_goes_back(how: str) -> None:
    problem = RequestError(-32001, "not here", {"why": "policy"})

    def judge(message: proxy.Passing) -> Any:
        if message.id != 1:
            return message
        if how == "raised":
            raise problem
        return message.refuse(problem)

    async def test() -> None:
        async with between(Script(request=judge)) as (client, agent, _):
            client.send(PROMPT, NEXT)
            answer = await client.receive()
            assert answer["error"] == {"code": -32001, "message": "not here", "data": {"why": "policy"}}
            assert await agent.receive() == NEXT

    run(test)


def test_nobody_waits_for_what_was_dropped() -> None:
    script = Script(
        request=lambda message: message if message.method == "_next" else None,
        response=lambda message: None,
        notification=lambda message: None,
        malformed=lambda message: None,
    )

    async def test() -> None:
        async with between(script) as (client, agent, _):
            client.send(PROMPT, notification("session/cancel"), b"noise", NEXT)
            assert await client.receive() == error(1, -32601, "method not found: session/prompt")
            assert await agent.receive() == NEXT
            agent.send(result(2))
            assert await client.receive() == error(2, -32603, "the answer was withheld")
            assert client.silent and agent.silent

    run(test)


def test_an_interceptor_that_fails_lets_nothing_pass(caplog: pytest.LogCaptureFixture) -> None:
    def broken(message: proxy.Passing) -> Any:
        if message.method == "_next" and message.kind == "request":
            return message
        raise KeyError("a secret")

    script = Script(request=broken, response=broken, notification=broken, malformed=broken)

    async def test() -> None:
        async with between(script) as (client, agent, _):
            client.send(PROMPT, notification("session/cancel"), b"noise", NEXT)
            assert await client.receive() == error(1, -32603, "internal error")
            assert await agent.receive() == NEXT
            agent.send(result(2))
            assert await client.receive() == error(2, -32603, "internal error")
            assert client.silent and agent.silent

    run(test)
    assert caplog.text.count("the interceptor of") == 4


@pytest.mark.parametrize("waits", [False, True])
def test_a_verdict_that_is_none(waits: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def later() -> Any:
        return True

    def judge(direction: str, message: proxy.Passing) -> Any:
        return message if message.id != 1 else later() if waits else True

    async def test() -> None:
        async with between(judge) as (client, agent, _):
            client.send(PROMPT, NEXT)
            assert await client.receive() == error(1, -32603, "internal error")
            assert await agent.receive() == NEXT

    run(test)
    assert "the interceptor of session/prompt failed" in caplog.text


def test_what_a_message_has() -> None:
    seen: list[proxy.Passing] = []

    def see(direction: str, message: proxy.Passing) -> proxy.Passing:
        seen.append(message)
        return message

    async def test() -> None:
        async with between(see) as (client, agent, _):
            client.send(PROMPT, {"jsonrpc": "2.0", "method": "x"}, error(3, -5, "no"), b"noise")
            for _ in range(4):
                await agent.raw()

    run(test)
    asked, bare, failed, noise = seen
    assert asked.decode(v2.PromptRequest).prompt == [v2.TextContent(text="hi")]
    assert asked.error is None and bare.decode(dict[str, Any]) == {} and failed.id == 3
    assert failed.error is not None and failed.error.code == -5
    for one in (failed, noise):
        with pytest.raises(DecodeError):
            one.decode(dict[str, Any])
        with pytest.raises(TypeError):
            one.answer({})
    with pytest.raises(TypeError):
        noise.changed({})
    with pytest.raises(DecodeError, match="/prompt: "):
        asked.changed({"sessionId": "s"}).decode(v2.PromptRequest)


# Single methods, as models.


def test_methods_get_and_return_models() -> None:
    def louder(prompt: v2.PromptRequest, message: proxy.Passing) -> v2.PromptRequest:
        block = prompt.prompt[0]
        assert isinstance(block, v2.TextContent)
        # In place: what is the same object may have changed all the same.
        block.text = block.text.upper()
        return prompt

    def renamed(answer: v2.NewSessionResponse, message: proxy.Passing) -> v2.NewSessionResponse:
        return v2.NewSessionResponse(session_id=answer.session_id + "!")

    def refused(listing: v2.ListSessionsRequest, message: proxy.Passing) -> proxy.Answer:
        return message.refuse(RequestError(-1, "none of your business"))

    intercept = proxy.by_method(
        v2.METHODS,
        {"session/prompt": louder, "session/list": refused, "session/update": lambda update, message: None},
        {"session/new": renamed},
    )

    async def test() -> None:
        async with between(intercept) as (client, agent, _):
            client.send(PROMPT, request(2, "session/new", cwd="/w"), request(3, "session/list"))
            assert (await agent.receive())["params"]["prompt"] == [{"type": "text", "text": "HI"}]
            await agent.raw()
            assert (await client.receive())["error"]["code"] == -1
            chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "t"}}
            agent.send(notification("session/update", sessionId="s", update=chunk), result(2, {"sessionId": "s"}))
            assert await client.receive() == result(2, {"sessionId": "s!"})
            # The same method the other way is another one; what does not decode passes as it is.
            odd = [b'{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"prompt":7} }', b"noise"]
            agent.send(b'{"jsonrpc":"2.0","id":6,"method":"session/prompt" }')
            assert await client.raw() == b'{"jsonrpc":"2.0","id":6,"method":"session/prompt" }'
            client.send(*odd)
            assert [await agent.raw(), await agent.raw()] == odd

    run(test)


# Interceptors that wait.


class Gate:
    """A coroutine function that waits with the first request until it is told to go on."""

    def __init__(self) -> None:
        self.busy = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = False

    async def __call__(self, direction: proxy.Direction, message: proxy.Passing) -> proxy.Passing:
        if message.method == "session/prompt":
            self.busy.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return message


def test_what_comes_behind_waits_and_the_other_direction_does_not() -> None:
    async def test() -> None:
        gate = Gate()
        async with between(gate) as (client, agent, _):
            client.send(PROMPT, NEXT, notification("a"))
            await gate.busy.wait()
            agent.send(notification("b"))
            assert (await client.receive())["method"] == "b"
            assert agent.silent
            gate.go_on.set()
            assert [(await agent.receive())["method"] for _ in range(3)] == ["session/prompt", "_next", "a"]

    run(test)


def test_a_cancelled_request_that_it_is_busy_with_goes_no_further() -> None:
    async def test() -> None:
        gate = Gate()
        async with between(gate) as (client, agent, _):
            client.send(PROMPT, NEXT)
            await gate.busy.wait()
            # Neither "1" nor true is 1; these pass in their turn.
            for identity in ("1", True, 9):
                client.send(notification("$/cancel_request", requestId=identity))
            client.send(notification("$/cancel_request", requestId=1))
            assert await client.receive() == error(1, -32800, "the request was cancelled")
            assert gate.cancelled
            assert await agent.receive() == NEXT
            assert [(await agent.receive())["params"]["requestId"] for _ in range(3)] == ["1", True, 9]
            # One that has passed is the other side's to cancel.
            client.send(notification("$/cancel_request", requestId=2))
            assert (await agent.receive())["params"] == {"requestId": 2}
            agent.send(error(2, -32800, "as you like"))
            assert await client.receive() == error(2, -32800, "as you like")

    run(test)


def test_an_interceptor_that_is_cancelled_before_it_began() -> None:
    async def test() -> None:
        gate = Gate()
        async with between(gate) as (client, agent, _):
            client.send(PROMPT, notification("$/cancel_request", requestId=1), NEXT)
            assert await client.receive() == error(1, -32800, "the request was cancelled")
            assert await agent.receive() == NEXT

    run(test)


def test_one_that_fails_while_it_waits(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(direction: str, message: proxy.Passing) -> proxy.Passing:
        await asyncio.sleep(0)
        if message.id == 1:
            raise KeyError("a secret")
        if message.id == 3:
            raise RequestError(-7, "on purpose")
        return message

    async def test() -> None:
        async with between(broken) as (client, agent, _):
            client.send(PROMPT, request(3, "x"), NEXT)
            assert await client.receive() == error(1, -32603, "internal error")
            assert await client.receive() == error(3, -7, "on purpose")
            assert await agent.receive() == NEXT

    run(test)
    assert "a secret" in caplog.text


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("data", [object(), float("nan"), "\ud800"])
def test_an_error_that_cannot_be_sent(data: Any, waits: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Who asked gets an answer all the same, and what comes behind passes."""

    def broken(direction: str, message: proxy.Passing) -> Any:
        if message.id == 1:
            raise RequestError(-7, "a secret", data)
        return message

    async def late(direction: str, message: proxy.Passing) -> Any:
        await asyncio.sleep(0)
        return broken(direction, message)

    async def test() -> None:
        async with between(late if waits else broken) as (client, agent, _):
            client.send(PROMPT, NEXT)
            assert await agent.receive() == NEXT
            assert await client.receive() == error(1, -32603, "internal error")

    run(test)
    assert "a secret" in caplog.text


# What the proxy asks itself.


def test_it_asks_both_sides_and_the_other_learns_nothing() -> None:
    async def test() -> None:
        async with between() as (client, agent, link):
            for side, asked, other in (("agent", agent, client), ("client", client, agent)):
                asking = asyncio.create_task(link.request(side, "_acme.dev/x", {"a": 1}))  # type: ignore[arg-type]
                got = await asked.receive()
                assert (got["method"], got["params"]) == ("_acme.dev/x", {"a": 1})
                # Ids of the peers are integers or strings of their own, whatever they are.
                other.send(request(1, "ping"))
                assert await asked.receive() == request(1, "ping")
                asked.send(result(1), result(got["id"], {"b": 2}))
                assert await asking == {"b": 2}
                assert await other.receive() == result(1)
                await link.notify(side, "_acme.dev/y")  # type: ignore[arg-type]
                assert (await asked.receive())["method"] == "_acme.dev/y"
                assert other.silent

    run(test)


def test_its_calls_fail_time_out_and_are_given_up() -> None:
    async def test() -> None:
        async with between() as (client, agent, link):
            asking = asyncio.create_task(link.request("agent", "a"))
            got = await agent.receive()
            agent.send(error(got["id"], -3, "no"))
            with pytest.raises(RequestError, match="no"):
                await asking
            with pytest.raises(v2.RequestTimeout, match="not answered within 0"):
                await link.request("agent", "b", timeout=0)
            late = (await agent.receive())["id"]
            assert await agent.receive() == notification("$/cancel_request", requestId=late)
            asking = asyncio.create_task(link.request("agent", "c"))
            later = (await agent.receive())["id"]
            asking.cancel()
            assert await agent.receive() == notification("$/cancel_request", requestId=later)
            # Late answers to it are nobody else's.
            agent.send(result(late), result(later), request(1, "x"))
            assert await client.receive() == request(1, "x")
            asking = asyncio.create_task(link.request("agent", "d"))
            await agent.raw()
            await agent.transport.close()
            with pytest.raises(v2.ConnectionClosed):
                await asking
            with pytest.raises(v2.ConnectionClosed):
                await link.request("agent", "e")

    run(test)


async def _asks(pair: Between, side: str) -> Any:
    return await pair.link.request(side, "_may", timeout=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("side", ["client", "agent"])
def test_an_interceptor_may_ask_and_wait(side: str) -> None:
    """Also the side whose messages wait behind it: more than may be queued of them."""
    pairs: list[Between] = []

    async def ask(direction: str, message: proxy.Passing) -> Any:
        if message.method != "session/prompt" or message.kind != "request":
            return message
        return message.changed(await _asks(pairs[0], side))

    async def test() -> None:
        async with between(ask, max_queued=1000) as pair:
            pairs.append(pair)
            client, agent, _ = pair
            client.send(PROMPT)
            asked = await (client if side == "client" else agent).receive()
            client.send(*[notification("n", text="x" * 200) for _ in range(20)])
            (client if side == "client" else agent).send(result(asked["id"], {"allowed": True}))
            assert await agent.receive() == request(1, "session/prompt", allowed=True)
            for _ in range(20):
                assert (await agent.receive())["method"] == "n"

    run(test)


@pytest.mark.parametrize(
    "answer", [b'{"jsonrpc":"2.0","id":ID,"result":{"a":x}}', b'{"jsonrpc":"1.0","id":ID,"result":{}}']
)
def test_an_answer_to_its_own_call_that_cannot_be_read(answer: bytes) -> None:
    """It ends the call, and is nothing that the other side is told of."""

    async def test() -> None:
        async with between() as (client, agent, link):
            asking = asyncio.create_task(link.request("agent", "a"))
            identity = (await agent.receive())["id"]
            agent.send(answer.replace(b"ID", b'"%b"' % identity.encode()), request(1, "x"))
            with pytest.raises(ProtocolError, match="cannot be read"):
                await asking
            assert await client.receive() == request(1, "x")

    run(test)
