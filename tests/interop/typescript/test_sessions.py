"""The same conversation with sessions: one text for both versions, where calls of single methods need one each."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from acp_bindings import permissions, v1, v2

from tests.interop.typescript import turns
from tests.interop.typescript.node import OVER
from tests.interop.typescript.our_client import Recorder, driving

pytestmark = pytest.mark.interop


class V2(Recorder, v2.Client):
    p: ClassVar[Any] = v2
    info = v2.Implementation(name="python", version="1")


class Unstable(Recorder, v2.unstable.Client):
    p: ClassVar[Any] = v2.unstable
    info = v2.Implementation(name="python", version="1")


class V1(Recorder, v1.Client):
    p: ClassVar[Any] = v1
    info = v1.Implementation(name="python", version="1")


CLIENTS: dict[str, Any] = {"v2": V2, "v2-unstable": Unstable, "v1": V1}


def turn_of(p: Any) -> list[Any]:
    """What the agent tells in its turn."""
    return [*turns.opening_v1(), *turns.news_v1(), *turns.ending_v1()] if p is v1 else turns.turn_v2(p)


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("channel", CLIENTS)
def test_a_conversation(over: str, channel: str) -> None:
    client = CLIENTS[channel]()

    async def main() -> None:
        async with driving(client, channel, over=over, strict=True) as (agent, _):
            async with agent.session("/project", permissions=permissions.allow_once) as session:
                turn = session.prompt("turn")
                assert [update async for update in turn] == turn_of(client.p)
                assert turn.stop_reason == "end_turn"
                with pytest.raises(v2.RequestError, match="out of quota"):
                    await session.prompt("fail")
                with pytest.raises(v2.RequestError, match="Internal error"):
                    await session.prompt("break")
                # The question that this turn comes to is one that nobody answers.
                session.permissions = lambda request: asyncio.Event().wait()
                stalled = session.prompt("stall")
                async for _ in stalled:
                    await stalled.cancel()
                assert stalled.stop_reason == "cancelled"
                said = "".join(turns.TEXT)
                assert next(one.text for one in session.state.messages.values() if one.kind == "agent") == said
                assert session.state.tool_calls["call-1"].locations
            assert session.is_closed

    asyncio.run(main())
    # The client's own handler hears what the session does.
    assert client.updates[: len(turn_of(client.p))] == turn_of(client.p)
