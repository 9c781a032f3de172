"""What type checkers make of sessions. Read by tests/package/test_typing.py, never run."""

from typing import Any, assert_type

from acp_bindings import memory, permissions, stdio, v1, v2
from acp_bindings.runtime.sessions.entries import Message, Terminal, ToolCall
from acp_bindings.v2 import unstable


async def client(agent: v2.RemoteAgent) -> None:
    async with agent.session("/x", permissions=permissions.remember(permissions.allow_once)) as session:
        assert_type(session, v2.Session)
        turn = session.prompt("hi")
        assert_type(turn, v2.Turn[v2.SessionUpdate])
        async for update in turn:
            assert_type(update, v2.SessionUpdate)
            match update:
                case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                    assert_type(text, str)
                case _:
                    assert_type(v2.describe(update), str)
        assert_type(turn.stop_reason, str | None)
        assert_type(await session.prompt([v2.TextContent(text="a")]), v2.Turn[v2.SessionUpdate])
        async for update in session.updates():
            assert_type(update, v2.SessionUpdate)
        state(session.state)
        session.prompt(v1.TextContent(text="a"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def state(known: v2.SessionState) -> None:
    assert_type(known.messages, dict[str, Message[v2.ContentBlock]])
    assert_type(known.messages["m"].content, list[v2.ContentBlock])
    assert_type(known.messages["m"].text, str)
    assert_type(known.tool_calls, dict[str, ToolCall[v2.ToolCallContent, v2.ToolCallLocation]])
    assert_type(known.terminals["t"], Terminal)
    assert_type(known.plans, dict[str, v2.PlanUpdateContent])
    assert_type(known.commands, list[v2.AvailableCommand] | None)
    assert_type(known.config_options, list[v2.SessionConfigOption] | None)
    assert_type(known.activity, v2.SessionUpdate | None)
    assert_type(known.unknown, list[v2.SessionUpdate])
    assert_type(known.is_idle, bool)
    known.apply(v2.RunningStateUpdate())
    known.apply(v1.UsageUpdate(used=1, size=1))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def older(agent: v1.RemoteAgent) -> None:
    async with agent.session("/x", load="s") as session:
        async for update in session.prompt(v1.TextContent(text="a")):
            assert_type(update, v1.SessionUpdate)
        assert_type(session.state, v1.SessionState)


class MyAgent(v2.SessionAgent):
    async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> str | None:
        await session.say("hi")
        await session.say(prompt[0])
        await session.update(v2.UsageUpdate(used=1, size=2))
        await session.update("hi")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        answer = await session.ask("May I?", options=[v2.PermissionOption(option_id="a", name="A", kind="allow_once")])
        assert_type(answer.allowed, bool)
        assert_type(answer.option, v2.PermissionOption | None)
        assert_type(session.cwd, str)
        return None


class Experimental(unstable.SessionAgent):
    async def turn(self, session: unstable.AgentSession, prompt: list[unstable.ContentBlock]) -> str | None:
        await session.update(unstable.PlanRemoved(plan_id="p"))
        return "end_turn"

    async def opened(self, session: unstable.AgentSession) -> None:
        session.commands = []


class Wrong(v2.SessionAgent):
    async def turn(self, session: v2.AgentSession, prompt: str) -> str | None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return None


async def serve() -> None:
    agents: list[Any] = [MyAgent(info=v2.Implementation(name="a", version="1")), Experimental()]
    await stdio.serve(agents)
    async with memory.connect(MyAgent(), client=v2.Client()) as agent:
        assert_type(agent, v2.RemoteAgent)
    async with memory.connect(MyAgent(), client=v1.Client()) as older:
        assert_type(older, v1.RemoteAgent)
    async with memory.connect(MyAgent(), client=unstable.Client()) as newest:
        assert_type(newest, unstable.RemoteAgent)
    async with memory.connect(MyAgent(), client=[v2.Client(), v1.Client()]) as either:
        if isinstance(either, v1.RemoteAgent):
            assert_type(either, v1.RemoteAgent)
