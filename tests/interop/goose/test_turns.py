"""Turns of Goose: text as it streams in, tools that need permission, cancellation, a model that fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp_bindings.runtime.errors import RequestError
from acp_bindings.v1 import unstable as v1

from tests.interop.goose.harness import Client, Goose, conversation, new_session, say
from tests.interop.goose.model import Calls, Fails, Model, Says

pytestmark = pytest.mark.interop


def test_a_prompt_is_answered_piece_by_piece(peer: Goose, home: Path) -> None:
    pieces = ("Grüße ", "aus\n", "\u2028Zeile ", "🪿")

    async def run() -> None:
        client = Client()
        async with (
            Model({"say hello": Says(pieces)}) as model,
            conversation(peer, home, model, client) as agent,
        ):
            session = await new_session(agent, home)
            answer = await say(agent, session, "say hello")
            assert answer.stop_reason == "end_turn"
            assert isinstance(answer.usage, v1.Usage)
            assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
            # All of it was handled before the prompt returned.
            chunks = [update for update in client.of(session) if isinstance(update, v1.AgentMessageChunk)]
            assert [chunk.content for chunk in chunks] == [v1.TextContent(text=piece) for piece in pieces]
            assert len({chunk.message_id for chunk in chunks}) == 1
            kinds = {type(update) for update in client.of(session)}
            assert kinds >= {v1.SessionInfoUpdate, v1.UsageUpdate, v1.AvailableCommandsUpdate}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("choice", "status", "happened"), [("allow_once", "completed", True), ("reject_once", "failed", False)]
)
def test_a_tool_runs_if_the_client_permits(peer: Goose, home: Path, choice: str, status: str, happened: bool) -> None:
    command = "echo made by the tool | tee made.txt"

    async def run() -> None:
        client = Client(choice)
        turn = Calls("shell", {"command": command}, then=Says(("that ", "was it")))
        async with Model({"use the tool": turn}) as model, conversation(peer, home, model, client) as agent:
            session = await new_session(agent, home)
            answer = await say(agent, session, "use the tool")
            assert answer.stop_reason == "end_turn"
            updates = client.of(session)
            call = next(update for update in updates if isinstance(update, v1.ToolCall))
            assert call.raw_input == {"command": command}
            (asked,) = client.asked
            assert (asked.session_id, asked.tool_call.tool_call_id) == (session, call.tool_call_id)
            ends = [update for update in updates if isinstance(update, v1.ToolCallUpdate)]
            assert {end.tool_call_id for end in ends} == {call.tool_call_id}
            assert ends[-1].status == status
            assert client.text(session) == "that was it"
            assert ("made by the tool" in model.results()[0]) is happened
            assert (home / "made.txt").exists() is happened

    asyncio.run(run())


def test_always_is_not_asked_again(peer: Goose, home: Path) -> None:
    async def run() -> None:
        client = Client("allow_always")
        turn = Calls("shell", {"command": "echo again"})
        async with Model({"use the tool": turn}) as model, conversation(peer, home, model, client) as agent:
            session = await new_session(agent, home)
            for _ in range(2):
                assert (await say(agent, session, "use the tool")).stop_reason == "end_turn"
            assert len(model.results()) == 2
            assert len(client.asked) == 1

    asyncio.run(run())


def test_files_are_written_through_a_client_that_offers_to(peer: Goose, home: Path) -> None:
    written: list[v1.WriteTextFileRequest] = []

    class Editor(Client):
        capabilities = v1.ClientCapabilities(fs=v1.FileSystemCapabilities(write_text_file=True))

        async def fs_write_text_file(
            self, request: v1.WriteTextFileRequest, context: object
        ) -> v1.WriteTextFileResponse:
            written.append(request)
            return v1.WriteTextFileResponse()

    async def run() -> None:
        client = Editor()
        turn = Calls("write", {"path": "poem.txt", "content": "honk\n"})
        async with Model({"write a poem": turn}) as model, conversation(peer, home, model, client) as agent:
            session = await new_session(agent, home)
            assert (await say(agent, session, "write a poem")).stop_reason == "end_turn"
            path = str(home / "poem.txt")
            assert written == [v1.WriteTextFileRequest(session_id=session, path=path, content="honk\n")]
            assert not (home / "poem.txt").exists()

    asyncio.run(run())


def test_a_turn_is_cancelled_while_the_model_speaks(peer: Goose, home: Path) -> None:
    async def run() -> None:
        client = Client()
        script = {"think forever": Says(("well, ",), stalls=True), "say hello": Says(("hello",))}
        async with Model(script) as model, conversation(peer, home, model, client) as agent:
            session = await new_session(agent, home)
            turn = asyncio.create_task(say(agent, session, "think forever"))
            await client.until(lambda: client.text(session) == "well, ")
            await agent.session_cancel(v1.CancelNotification(session_id=session))
            assert (await turn).stop_reason == "cancelled"
            await model.hung_up.wait()
            # The session goes on.
            assert (await say(agent, session, "say hello")).stop_reason == "end_turn"
            assert client.text(session) == "well, hello"

    asyncio.run(run())


def test_a_turn_is_cancelled_while_it_waits_for_permission(peer: Goose, home: Path) -> None:
    async def run() -> None:
        client = Client("cancelled")
        turn = Calls("shell", {"command": "echo no > made.txt"})
        async with Model({"use the tool": turn}) as model, conversation(peer, home, model, client) as agent:
            session = await new_session(agent, home)
            assert (await say(agent, session, "use the tool")).stop_reason == "cancelled"
            assert len(client.asked) == 1
            assert not (home / "made.txt").exists()

    asyncio.run(run())


def test_a_model_that_refuses_ends_the_turn_with_an_error(peer: Goose, home: Path) -> None:
    async def run() -> None:
        script = {"no key": Fails(401, "who are you"), "no money": Fails(402, "pay first")}
        async with Model(script) as model, conversation(peer, home, model, Client()) as agent:
            session = await new_session(agent, home)
            with pytest.raises(RequestError) as refused:
                await say(agent, session, "no key")
            assert refused.value.code == -32000
            with pytest.raises(RequestError) as refused:
                await say(agent, session, "no money")
            assert (refused.value.code, refused.value.data) == (-32603, {"reason": "credits_exhausted"})

    asyncio.run(run())


def test_a_model_that_breaks_is_told_of_in_the_conversation(peer: Goose, home: Path) -> None:
    async def run() -> None:
        client = Client()
        script = {"break": Fails(500, "out of geese")}
        async with Model(script) as model, conversation(peer, home, model, client) as agent:
            session = await new_session(agent, home)
            assert (await say(agent, session, "break")).stop_reason == "end_turn"
            assert "out of geese" in client.text(session)

    asyncio.run(run())
