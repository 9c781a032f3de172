"""Turns of Goose: text as it streams in, tools that need permission, cancellation, a model that fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp_bindings.runtime.errors import RequestError
from acp_bindings.v1 import unstable as v1

from tests.interop.goose.harness import Choosing, Client, Goose, said, session
from tests.interop.goose.model import Calls, Fails, Says

pytestmark = pytest.mark.interop


def test_a_prompt_is_answered_piece_by_piece(peer: Goose, home: Path) -> None:
    pieces = ("Grüße ", "aus\n", "\u2028Zeile ", "🪿")

    async def run() -> None:
        async with session(peer, home, {"say hello": Says(pieces)}) as (talk, _):
            turn = talk.prompt("say hello")
            updates = [update async for update in turn]
            assert turn.stop_reason == "end_turn"
            assert turn.usage.total_tokens == turn.usage.input_tokens + turn.usage.output_tokens
            chunks = [update for update in updates if isinstance(update, v1.AgentMessageChunk)]
            assert [chunk.content for chunk in chunks] == [v1.TextContent(text=piece) for piece in pieces]
            assert (said(talk), len(talk.state.messages)) == ("".join(pieces), 1)
            assert talk.state.info.title and talk.state.usage and talk.state.commands

    asyncio.run(run())


@pytest.mark.parametrize(
    ("choice", "status", "happened"), [("allow_once", "completed", True), ("reject_once", "failed", False)]
)
def test_a_tool_runs_if_the_client_permits(peer: Goose, home: Path, choice: str, status: str, happened: bool) -> None:
    command = "echo made by the tool | tee made.txt"
    calls = Calls("shell", {"command": command}, then=Says(("that ", "was it")))

    async def run() -> None:
        async with session(peer, home, {"use the tool": calls}, policy := Choosing(choice)) as (talk, model):
            assert (await talk.prompt("use the tool")).stop_reason == "end_turn"
            (call,) = talk.state.tool_calls.values()
            assert (call.raw_input, call.status) == ({"command": command}, status)
            (asked,) = policy.asked
            assert (asked.session_id, asked.tool_call.tool_call_id) == (talk.id, call.tool_call_id)
            assert said(talk) == "that was it"
            assert ("made by the tool" in model.results()[0]) is happened
            assert (home / "made.txt").exists() is happened

    asyncio.run(run())


def test_always_is_not_asked_again(peer: Goose, home: Path) -> None:
    async def run() -> None:
        calls = Calls("shell", {"command": "echo again"})
        async with session(peer, home, {"use the tool": calls}, policy := Choosing("allow_always")) as (talk, model):
            for _ in range(2):
                assert (await talk.prompt("use the tool")).stop_reason == "end_turn"
            assert (len(model.results()), len(policy.asked)) == (2, 1)

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
        calls = Calls("write", {"path": "poem.txt", "content": "honk\n"})
        async with session(peer, home, {"write a poem": calls}, Choosing(), Editor()) as (talk, _):
            assert (await talk.prompt("write a poem")).stop_reason == "end_turn"
            path = str(home / "poem.txt")
            assert written == [v1.WriteTextFileRequest(session_id=talk.id, path=path, content="honk\n")]
            assert not (home / "poem.txt").exists()

    asyncio.run(run())


def test_a_turn_is_cancelled_while_the_model_speaks(peer: Goose, home: Path) -> None:
    async def run() -> None:
        script = {"think forever": Says(("well, ",), stalls=True), "say hello": Says(("hello",))}
        async with session(peer, home, script) as (talk, model):
            turn = talk.prompt("think forever")
            async for _ in turn:
                if said(talk) == "well, ":
                    break
            # Leaving the loop has cancelled it; the session goes on.
            assert (await talk.prompt("say hello")).stop_reason == "end_turn"
            assert turn.stop_reason == "cancelled"
            await model.hung_up.wait()
            assert said(talk) == "well, hello"

    asyncio.run(run())


def test_a_turn_is_cancelled_while_it_waits_for_permission(peer: Goose, home: Path) -> None:
    async def run() -> None:
        asked = asyncio.Event()

        async def think(request: v1.RequestPermissionRequest) -> None:
            asked.set()
            await asyncio.Event().wait()

        calls = Calls("shell", {"command": "echo no > made.txt"})
        async with session(peer, home, {"use the tool": calls}, think) as (talk, _):
            turn = asyncio.ensure_future(ended(talk.prompt("use the tool")))
            await asked.wait()
            await talk.cancel()
            assert await turn == "cancelled"
            assert not (home / "made.txt").exists()

    asyncio.run(run())


async def ended(turn: v1.Turn[v1.SessionUpdate]) -> str | None:
    return (await turn).stop_reason


def test_a_model_that_refuses_ends_the_turn_with_an_error(peer: Goose, home: Path) -> None:
    async def run() -> None:
        script = {"no key": Fails(401, "who are you"), "no money": Fails(402, "pay first")}
        async with session(peer, home, script) as (talk, _):
            with pytest.raises(RequestError) as refused:
                await talk.prompt("no key")
            assert refused.value.code == -32000
            with pytest.raises(RequestError) as refused:
                await talk.prompt("no money")
            assert (refused.value.code, refused.value.data) == (-32603, {"reason": "credits_exhausted"})

    asyncio.run(run())


def test_a_model_that_breaks_is_told_of_in_the_conversation(peer: Goose, home: Path) -> None:
    async def run() -> None:
        async with session(peer, home, {"break": Fails(500, "out of geese")}) as (talk, _):
            assert (await talk.prompt("break")).stop_reason == "end_turn"
            assert "out of geese" in said(talk)

    asyncio.run(run())
