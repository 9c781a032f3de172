"""Sessions of Goose: two at once, one that a later process takes up, what is asked of one that is not there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp_bindings.runtime.errors import RequestError
from acp_bindings.v1 import unstable as v1

from tests.interop.goose.harness import Choosing, Client, Goose, conversation, said, session
from tests.interop.goose.model import Calls, Model, Says, Turn

pytestmark = pytest.mark.interop


def test_two_sessions_at_once_keep_apart(peer: Goose, home: Path) -> None:
    async def run() -> None:
        # Neither answer starts before both were asked for: one session after the other would never end.
        both = asyncio.Barrier(2)
        script = {"sing left": Says(("la ", "la"), first=both.wait), "sing right": Says(("ho ", "ho"), first=both.wait)}

        async def sing(agent: v1.RemoteAgent, prompt: str) -> tuple[str, str]:
            async with agent.session(home) as talk:
                assert (await talk.prompt(prompt)).stop_reason == "end_turn"
                return talk.id, said(talk)

        async with Model(script) as model, conversation(peer, home, model, Client()) as agent:
            (left, la), (right, ho) = await asyncio.gather(sing(agent, "sing left"), sing(agent, "sing right"))
            assert left != right
            assert (la, ho) == ("la la", "ho ho")

    asyncio.run(run())


def test_a_new_process_loads_a_session_and_replays_it(peer: Goose, home: Path) -> None:
    async def run() -> None:
        calls = Calls("shell", {"command": "echo once"}, then=Says(("it ", "ran")))
        script: dict[str, Turn] = {"use the tool": calls, "say more": Says(("and ", "more"))}
        async with session(peer, home, script, Choosing()) as (talk, _):
            await talk.prompt("use the tool")
        policy = Choosing()
        async with (
            Model(script) as model,
            conversation(peer, home, model, Client()) as agent,
            agent.session(home, load=talk.id, permissions=policy) as again,
        ):
            # The replay was handled before the call returned.
            assert (said(again, "user"), said(again)) == ("use the tool", "it ran")
            assert [call.status for call in again.state.tool_calls.values()] == ["completed"]
            assert list(again.state.tool_calls) == list(talk.state.tool_calls)
            assert policy.asked == []
            listed = await agent.session_list(v1.ListSessionsRequest())
            assert [(one.session_id, one.cwd) for one in listed.sessions] == [(talk.id, str(home))]
            await again.prompt("say more")
            assert said(again) == "it ranand more"
            # The model was told of what the first process did.
            assert any("once" in result for result in model.results())

    asyncio.run(run())


def test_a_session_that_is_not_there_cannot_be_loaded(peer: Goose, home: Path) -> None:
    async def run() -> None:
        async with Model({}) as model, conversation(peer, home, model, Client()) as agent:
            with pytest.raises(RequestError) as refused:
                await agent.session(home, load="19700101_1").__aenter__()
            assert refused.value.code == -32002

    asyncio.run(run())
