"""Sessions of Goose: two at once, one that a later process takes up, what is asked of one that is not there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp_bindings.runtime.errors import RequestError
from acp_bindings.v1 import unstable as v1

from tests.interop.goose.harness import Client, Goose, conversation, new_session, say
from tests.interop.goose.model import Calls, Model, Says, Turn

pytestmark = pytest.mark.interop


def test_two_sessions_at_once_keep_apart(peer: Goose, home: Path) -> None:
    async def run() -> None:
        # Neither answer starts before both were asked for: one session after the other would never end.
        both = asyncio.Barrier(2)
        script = {"sing left": Says(("la ", "la"), first=both.wait), "sing right": Says(("ho ", "ho"), first=both.wait)}
        client = Client()
        async with Model(script) as model, conversation(peer, home, model, client) as agent:
            left, right = await asyncio.gather(new_session(agent, home), new_session(agent, home))
            assert left != right
            answers = await asyncio.gather(say(agent, left, "sing left"), say(agent, right, "sing right"))
            assert [answer.stop_reason for answer in answers] == ["end_turn", "end_turn"]
            assert (client.text(left), client.text(right)) == ("la la", "ho ho")

    asyncio.run(run())


def test_a_new_process_loads_a_session_and_replays_it(peer: Goose, home: Path) -> None:
    async def run() -> None:
        turn = Calls("shell", {"command": "echo once"}, then=Says(("it ", "ran")))
        script: dict[str, Turn] = {"use the tool": turn, "say more": Says(("and ", "more"))}
        async with Model(script) as model:
            async with conversation(peer, home, model, Client()) as agent:
                session = await new_session(agent, home)
                await say(agent, session, "use the tool")
            client = Client()
            async with conversation(peer, home, model, client) as agent:
                await agent.session_load(v1.LoadSessionRequest(session_id=session, cwd=str(home), mcp_servers=[]))
                # The replay was handled before the call returned.
                assert client.text(session, v1.UserMessageChunk) == "use the tool"
                assert client.text(session) == "it ran"
                calls = [update for update in client.of(session) if isinstance(update, v1.ToolCall)]
                ends = [update for update in client.of(session) if isinstance(update, v1.ToolCallUpdate)]
                assert [(end.tool_call_id, end.status) for end in ends] == [(calls[0].tool_call_id, "completed")]
                assert client.asked == []
                listed = await agent.session_list(v1.ListSessionsRequest())
                assert [(one.session_id, one.cwd) for one in listed.sessions] == [(session, str(home))]
                await say(agent, session, "say more")
                assert client.text(session) == "it ranand more"
                # The model was told of what the first process did.
                assert any("once" in result for result in model.results())

    asyncio.run(run())


def test_a_session_that_is_not_there_cannot_be_loaded(peer: Goose, home: Path) -> None:
    async def run() -> None:
        async with Model({}) as model, conversation(peer, home, model, Client()) as agent:
            request = v1.LoadSessionRequest(session_id="19700101_1", cwd=str(home), mcp_servers=[])
            with pytest.raises(RequestError) as refused:
                await agent.session_load(request)
            assert refused.value.code == -32002

    asyncio.run(run())
