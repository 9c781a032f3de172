"""Calls: at the same time, given up, out of time, from inside handlers, in order with the notifications."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from acp_bindings import v2
from acp_bindings.runtime.connection import Context

from tests.package.connection.agents import SESSION
from tests.package.connection.clients import Recorder, allowed
from tests.package.connection.wires import Link
from tests.support.aio import run


def prompt(chunks: int) -> v2.PromptRequest:
    return v2.PromptRequest(session_id=SESSION, prompt=[v2.TextContent(text=str(chunks))])


def test_a_call_and_its_answer(link: Link) -> None:
    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            assert isinstance(agent, v2.RemoteAgent)
            assert agent.initialized.info == v2.Implementation(name="scripted", version="1")
            answer = await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert answer == v2.NewSessionResponse(session_id=SESSION)

    run(test)


def test_requests_run_at_the_same_time(link: Link) -> None:
    """Neither side waits for a slow handler: the one that started first answers last."""

    async def test() -> None:
        client = Recorder()
        async with link.agent("scripted", client) as agent:
            slow = [asyncio.create_task(agent.extension_request("_test/wait", {"number": n})) for n in range(20)]
            begun = [await client.news.get() for _ in slow]
            assert begun == [("started", {"number": n}) for n in range(20)]
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert not any(task.done() for task in slow)
            await agent.extension_notification("_test/release")
            assert await asyncio.gather(*slow) == [{"outcome": "released"}] * 20

    run(test)


def test_the_answer_comes_after_the_last_chunk_was_handled(link: Link) -> None:
    """A handler that waits for something else at every chunk still sees all of them before the call returns."""

    async def test() -> None:
        client = Recorder()
        client.pause = lambda: asyncio.sleep(0)
        async with link.agent("scripted", client) as agent:
            for _ in range(3):
                client.seen.clear()
                await agent.session_prompt(prompt(200))
                assert client.seen == [str(number) for number in range(200)]

    run(test)


def test_the_answer_waits_for_a_chunk_whose_handler_is_running(link: Link) -> None:
    async def test() -> None:
        client, go_on, answered = Recorder(), asyncio.Event(), asyncio.Event()
        client.pause = go_on.wait

        def observe(direction: str, frame: bytes) -> None:
            if direction == "in" and b"messageId" in frame and b"result" in frame:
                answered.set()

        async with link.agent("scripted", client, observer=observe) as agent:
            turn = asyncio.create_task(agent.session_prompt(prompt(1)))
            await answered.wait()
            # The answer has been read. Everything that may follow from that happens in the next turns of the loop.
            for _ in range(10):
                await asyncio.sleep(0)
            assert not turn.done() and client.seen == []
            go_on.set()
            await turn
            assert client.seen == ["0"]

    run(test)


def test_an_update_that_comes_before_the_answer_that_names_its_session(link: Link) -> None:
    async def test() -> None:
        client = Recorder()
        async with link.agent("scripted", client) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/early"))
            if link.one_way:
                assert client.seen == ["before the answer"]
            assert await client.news.get() == "before the answer"

    run(test)


def test_a_hook_runs_after_the_answer_was_written(link: Link) -> None:
    async def test() -> None:
        frames: list[tuple[str, Any]] = []
        client = Recorder()
        observe = lambda direction, frame: frames.append((direction, msgspec.json.decode(frame)))  # noqa: E731
        async with link.agent("scripted", client, observer=observe) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/commands"))
            assert await client.news.get() == "AvailableCommandsUpdate"
            came = [frame for direction, frame in frames if direction == "in"]
            assert came[-2]["result"] == {"sessionId": SESSION} and came[-1]["method"] == "session/update"
            with pytest.raises(v2.RequestError):
                await agent.session_new(v2.NewSessionRequest(cwd="/hook-of-a-failure"))
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert client.seen == ["AvailableCommandsUpdate"]

    run(test)


def test_calls_from_inside_a_request_and_from_inside_a_notification(link: Link) -> None:
    """Each waits for an answer while the other side waits for it: neither deadlocks."""

    async def test() -> None:
        client = Recorder()
        async with link.agent("scripted", client) as agent:
            selected = {"outcome": "selected", "optionId": "yes"}
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert await agent.extension_request("_test/ask") == {"outcome": selected}
            await agent.extension_notification("_test/notice")
            assert await client.news.get() == ("noticed", selected)

    run(test)


def test_both_sides_call_from_inside_their_notifications(link: Link) -> None:
    """The client's handler of a notification calls the agent, which calls the client, before it returns."""

    async def test() -> None:
        class Calling(Recorder):
            async def session_update(self, notification: Any, context: Context) -> None:
                answer = await context.remote.extension_request("_test/ask")
                self.note(answer["outcome"]["optionId"])

        client = Calling()
        async with link.agent("scripted", client) as agent:
            await agent.session_prompt(prompt(3))
            assert client.seen == ["yes"] * 3 and client.asked == 3

    run(test)


def test_giving_up_a_call_cancels_its_handler(link: Link) -> None:
    async def test() -> None:
        client = Recorder()
        async with link.agent("scripted", client) as agent:
            call = asyncio.create_task(agent.extension_request("_test/wait", {}))
            assert await client.news.get() == ("started", {})
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await client.news.get() == ("cancelled", {})
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))

    run(test)


def test_a_late_answer_is_dropped_without_a_word(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        client = Recorder()
        async with link.agent("scripted", client) as agent:
            call = asyncio.create_task(agent.extension_request("_test/wait", {"own answer": True}))
            await client.news.get()
            call.cancel()
            await asyncio.wait([call])
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert await agent.extension_request("_test/double", {"number": 2}) == {"number": 4}

    run(test)
    assert [one for one in caplog.records if one.levelname in ("WARNING", "ERROR")] == []


def test_time_out(link: Link) -> None:
    """A call that is not answered in time says so and is cancelled; the others, and the connection, go on."""

    async def test() -> None:
        client = Recorder()
        async with link.agent("scripted", client, timeout=30) as agent:
            with pytest.raises(v2.RequestTimeout, match=r"_test/wait was not answered within 0\.05 s") as caught:
                await agent.extension_request("_test/wait", {}, timeout=0.05)
            assert isinstance(caught.value, TimeoutError)
            assert [await client.news.get() for _ in range(2)] == [("started", {}), ("cancelled", {})]
            assert await agent.extension_request("_test/double", {"number": 2}, timeout=float("inf")) == {"number": 4}

    run(test)


def test_the_time_limit_of_a_connection_is_the_default_of_its_calls(link: Link) -> None:
    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            agent.connection.timeout = 0.05
            with pytest.raises(v2.RequestTimeout):
                await agent.extension_request("_test/wait", {})

    run(test)


def test_the_agent_gives_up_a_permission_request(link: Link) -> None:
    """The client's handler is cancelled and answers in its own way, which nobody waits for."""

    async def test() -> None:
        async def answer(request: v2.RequestPermissionRequest, context: Context) -> v2.RequestPermissionResponse:
            await context.remote.extension_notification("_test/release")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                client.note("cancelled")
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())

        client = Recorder(answer)
        async with link.agent("scripted", client) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert await agent.extension_request("_test/ask_and_give_up") == {"given up": True}
            assert await client.news.get() == "cancelled"

    run(test)


def test_a_session_is_cancelled_while_a_permission_request_is_pending(link: Link) -> None:
    async def test() -> None:
        async def answer(request: v2.RequestPermissionRequest, context: Context) -> v2.RequestPermissionResponse:
            await context.remote.session_cancel(v2.CancelSessionNotification(session_id=request.session_id))
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())

        async with link.agent("scripted", Recorder(answer)) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert await agent.extension_request("_test/ask") == {"outcome": {"outcome": "cancelled"}}
            assert await agent.extension_request("_test/cancelled_sessions") == [SESSION]

    run(test)


def test_a_handler_that_ends_by_a_stray_cancellation_is_answered(link: Link) -> None:
    """A handler that lets a CancelledError of something else out has not been cancelled itself."""

    async def test() -> None:
        class Straying(Recorder):
            async def session_update(self, notification: Any, context: Context) -> None:
                await super().session_update(notification, context)
                raise asyncio.CancelledError

        client = Straying()
        async with link.agent("scripted", client) as agent:
            with pytest.raises(v2.RequestError) as caught:
                await agent.session_new(v2.NewSessionRequest(cwd="/stray"))
            assert caught.value.code == -32800
            await agent.session_prompt(prompt(2))
            assert client.seen == ["0", "1"]

    run(test)


def test_calls_made_by_a_task_that_outlives_its_handler_are_in_order_again(link: Link) -> None:
    async def test() -> None:
        turns: list[asyncio.Task[Any]] = []

        class Leaving(Recorder):
            async def session_request_permission(self, request: Any, context: Context) -> Any:
                turns.append(asyncio.create_task(turn(context)))
                return allowed()

        async def turn(context: Context) -> None:
            await done.wait()
            client.seen.clear()
            client.pause = lambda: asyncio.sleep(0)
            await context.remote.session_prompt(prompt(50))
            assert client.seen == [str(number) for number in range(50)]

        client, done = Leaving(), asyncio.Event()
        async with link.agent("scripted", client) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            await agent.extension_request("_test/ask")
            done.set()
            await turns[0]

    run(test)


def test_a_connection_is_closed_once(link: Link) -> None:
    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            call = asyncio.create_task(agent.extension_request("_test/wait", {}))
            await asyncio.gather(agent.connection.close(), agent.connection.close())
            with pytest.raises(v2.ConnectionClosed, match="closed here"):
                await call
            with pytest.raises(v2.ConnectionClosed, match="closed here"):
                await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            await agent.connection.wait_closed()

    run(test)
