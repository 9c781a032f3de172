"""What a caller refuses to send: nothing of it reaches the wire. And `check`, which tells all that is wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from acp_bindings import memory, v2
from acp_bindings.runtime.checking import refuse_wrong
from acp_bindings.runtime.connection import Context
from acp_bindings.v2 import unstable

from tests.package.connection.agents import SESSION, ScriptedAgent, chunk
from tests.package.connection.clients import Recorder
from tests.support.aio import run

TEXT = v2.TextContent(text="t")


def update(one: Any) -> v2.UpdateSessionNotification:
    return v2.UpdateSessionNotification(session_id=SESSION, update=one)


def prompt(*blocks: Any) -> v2.PromptRequest:
    return v2.PromptRequest(session_id=SESSION, prompt=list(blocks))


def decoded(value: dict[str, Any], form: Any) -> Any:
    return v2.convert(value, form)


class MyChunk(v2.AgentMessageChunk):
    """A user's subclass of a variant is that variant."""


# What is always refused: the message's type, the message, the error, and what it says.
WRONG: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "a base class of a variant": (
        v2.UpdateSessionNotification, update(v2.ToolCallUpdate(tool_call_id="t")), TypeError,
        "/update: ToolCallUpdate has no tag here; expected one of .*SessionToolCallUpdate"),
    "a payload shared by variants": (
        v2.UpdateSessionNotification, update(v2.ContentChunk(message_id="m", content=TEXT)), TypeError,
        "/update: ContentChunk"),
    "a variant of another union": (
        v2.PromptRequest, prompt(TEXT, chunk("x").update), TypeError, "/prompt/1: AgentMessageChunk"),
    "an unknown variant of another union": (
        v2.UpdateSessionNotification, update(v2.UnknownContentBlock(type="_x")), TypeError,
        "/update: UnknownContentBlock"),
    "a dict for a variant": (v2.PromptRequest, prompt({"type": "text", "text": "t"}), TypeError, "/prompt/0: dict"),
    "a dict for a message": (v2.NewSessionRequest, {"cwd": "/w"}, TypeError, "expected NewSessionRequest, got dict"),
    "nothing for a message": (v2.NewSessionRequest, None, TypeError, "got NoneType"),
    "another message": (v2.NewSessionRequest, prompt(TEXT), TypeError, "expected NewSessionRequest, got PromptRequest"),
    "an invented value": (
        v2.UpdateSessionNotification, update(v2.SessionToolCallUpdate(tool_call_id="t", kind="teleport")), ValueError,
        "/update/kind: 'teleport' is not defined"),
    "an invented value deep inside": (
        v2.PromptRequest, prompt(TEXT, v2.TextContent(text="t", annotations=v2.Annotations(audience=["everybody"]))),
        ValueError, "/prompt/1/annotations/audience/0: 'everybody' is not defined"),
    "another constant": (
        v2.UpdateSessionNotification, update(v2.RunningStateUpdate(state="walking")),  # type: ignore[arg-type]
        ValueError, "/update/state: "),
    "an invented tag that is a member": (
        v2.UpdateSessionNotification, update(v2.IdleStateUpdate(stop_reason="bored")),  # type: ignore[arg-type]
        ValueError,
        "/update/stopReason: 'bored' is not defined"),
}  # fmt: skip

# What passes though it looks like the above.
RIGHT: dict[str, tuple[Any, Any]] = {
    "a value of one's own": (
        v2.UpdateSessionNotification, update(v2.SessionToolCallUpdate(tool_call_id="t", kind="_acme/teleport"))),
    "a tag of one's own": (v2.PromptRequest, prompt(v2.UnknownContentBlock(type="_acme/x", a=1))),
    "an unknown variant that came from elsewhere": (
        v2.PromptRequest, prompt(decoded({"type": "hologram"}, v2.ContentBlock))),
    "a user's subclass": (v2.UpdateSessionNotification, update(MyChunk(message_id="m", content=TEXT))),
    "null and absent": (v2.UpdateSessionNotification, update(v2.SessionToolCallUpdate(tool_call_id="t", kind=None))),
    "known tags that are a member": (v2.UpdateSessionNotification, update(v2.IdleStateUpdate(stop_reason="end_turn"))),
    "bytes": (v2.NewSessionRequest, b'{"cwd":"/w"}'),
}  # fmt: skip


async def sent(message: Any, form: Any, strict: bool) -> list[bytes]:
    """Send a message by the caller that has a method for its type; what reached the wire."""
    frames: list[bytes] = []
    methods: dict[Any, str] = {
        v2.UpdateSessionNotification: "session_update",
        v2.PromptRequest: "session_prompt",
        v2.NewSessionRequest: "session_new",
    }

    class Sending(ScriptedAgent):
        async def session_close(self, request: Any, context: Context) -> v2.CloseSessionResponse:
            failed.append(await outcome(context.remote.session_update, message))
            return v2.CloseSessionResponse()

        async def session_prompt(self, request: v2.PromptRequest, context: Context) -> v2.PromptResponse:
            return v2.PromptResponse(message_id="m")

    def observe(direction: str, frame: bytes) -> None:
        if (direction == "in") == (form is v2.UpdateSessionNotification) and b'"method"' in frame:
            frames.append(frame)

    failed: list[Exception | None] = []
    client = Recorder()
    # What may be sent by its form may still be more than the other side takes.
    async with memory.connect(Sending(), client=client, strict=strict, observer=observe, gates=False) as agent:
        frames.clear()
        if form is v2.UpdateSessionNotification:
            await agent.session_close(v2.CloseSessionRequest(session_id=SESSION))
        else:
            failed.append(await outcome(getattr(agent, methods[form]), message))
    if failed[0] is not None:
        raise failed[0] from AssertionError(f"{len(frames)} frames were sent") if frames else failed[0]
    return frames


async def outcome(call: Callable[[Any], Awaitable[Any]], message: Any) -> Exception | None:
    try:
        await call(message)
    except (TypeError, ValueError) as error:
        return error
    return None


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_before_a_byte_is_sent(name: str, strict: bool) -> None:
    form, message, error, text = WRONG[name]
    with pytest.raises(error, match=text) as caught:
        run(lambda: sent(message, form, strict))
    assert not isinstance(caught.value.__cause__, AssertionError)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", RIGHT)
def test_what_only_looks_wrong_is_sent(name: str, strict: bool) -> None:
    form, message = RIGHT[name]
    assert len(run(lambda: sent(message, form, strict))) == 1


def test_strict_callers_refuse_whatever_check_finds() -> None:
    bad = v2.NewSessionRequest(cwd=7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="/cwd: expected string, got integer"):
        run(lambda: sent(bad, v2.NewSessionRequest, True))
    with pytest.raises(v2.RequestError, match="/cwd: expected string, got integer"):
        run(lambda: sent(bad, v2.NewSessionRequest, False))


def test_strict_handlers_refuse_their_own_answers(caplog: pytest.LogCaptureFixture) -> None:
    class Wrong(ScriptedAgent):
        async def session_new(self, request: v2.NewSessionRequest, context: Context) -> v2.NewSessionResponse:
            return v2.NewSessionResponse(session_id=7)  # type: ignore[arg-type]

    async def test() -> None:
        async with memory.connect(Wrong(), client=Recorder()) as agent:
            with pytest.raises(v2.RequestError) as caught:
                await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert caught.value.code == -32603

    run(test)
    assert "/sessionId: expected string, got integer" in caplog.text


def test_check_tells_all_that_is_wrong() -> None:
    assert v2.check(v2.NewSessionRequest(cwd="/w")) == []
    assert v2.check(v2.NewSessionRequest(cwd=7)) == [("/cwd", "expected string, got integer")]  # type: ignore[arg-type]
    call = v2.ToolCallUpdate(tool_call_id="t", kind="teleport", title=3)  # type: ignore[arg-type]
    assert [pointer for pointer, _ in v2.check(call)] == ["/kind", "/title"]
    # A value that a receiver would drop without a word is wrong all the same.
    assert v2.check(v2.ToolCallUpdate(tool_call_id="t", title=3)) == [("/title", "expected string, got integer")]  # type: ignore[arg-type]
    assert v2.check(call, v2.SessionUpdate)[0][0] == ""
    assert v2.check(v2.NewSessionRequest(cwd="/w", meta={"a": float("nan")}))[0][0] == "/_meta/a"
    assert v2.check(v2.NewSessionRequest(cwd="/w", meta={"a": object()}))[0][0] == "/_meta/a"
    assert unstable.check is v2.check


def test_check_looks_into_what_is_nested() -> None:
    plan = v2.PromptRequest(session_id=SESSION, prompt=[TEXT, v2.ToolCallUpdate(tool_call_id="t")])  # type: ignore[list-item]
    pointer, reason = v2.check(plan)[0]
    assert pointer == "/prompt/1" and "ToolCallUpdate has no tag here" in reason


def test_a_class_of_another_profile_is_named_with_its_module() -> None:
    stable = v2.NewSessionRequest(cwd="/w")
    with pytest.raises(TypeError, match=r"expected NewSessionRequest, got .* of another profile \(acp_bindings\.v2\."):
        refuse_wrong(stable, unstable.NewSessionRequest, strict=False)
