"""Any interleaving of any sessions' updates gives what a plain reading of the rules gives (facts S).

Updates are drawn from the raw schemas. The other reading is in `plainly.py`; it has nothing of ours in it.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from acp_bindings import memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.package.codec.profiles import Profile, profiles, same_json
from tests.package.sessions.plainly import reading, tidy
from tests.support.aio import run

IDS = ("a", "b", "agent/1")
NAMED = ("messageId", "toolCallId", "terminalId", "compactionId", "sessionId")
SESSIONS = ("s1", "s2", "s3")
thorough = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
over_profiles = pytest.mark.parametrize("name", profiles())


def version_of(profile: Profile) -> int:
    version: int = profile.module.PROTOCOL_VERSION
    return version


def drawn(profile: Profile, rng: random.Random) -> Any:
    """A random update, about one of a few things, so that updates meet; as JSON, as it would come over the wire."""
    wire: Any = profile.values.valid("SessionUpdate", rng)
    wire |= {key: rng.choice(IDS) for key in NAMED if isinstance(wire.get(key), str)}
    if isinstance(wire.get("plan"), dict):
        wire["plan"]["planId"] = rng.choice(IDS)
    if "planId" in wire:
        wire["planId"] = rng.choice(IDS)
    if isinstance(wire.get("_meta"), dict) and rng.random() < 0.8:
        # Keys that meet, and some that go.
        wire["_meta"] |= {rng.choice("xy"): rng.choice((1, {"z": 2}, None))}
    return json.loads(profile.module.encode(profile.module.convert(wire, profile.module.SessionUpdate)))


def told(profile: Profile, rng: random.Random, count: int) -> list[tuple[str, Any]]:
    return [(rng.choice(SESSIONS), drawn(profile, rng)) for _ in range(count)]


def assert_as_read(profile: Profile, state: Any, updates: list[Any]) -> None:
    plain = json.loads(json.dumps(state.to_builtins()))
    expected = reading(updates, version_of(profile))
    found = tidy(plain)
    assert {
        key: (found.get(key), expected.get(key))
        for key in {*found, *expected}
        if key not in found or key not in expected or not same_json(found[key], expected[key])
    } == {}
    # The order of entries is part of what is told.
    assert [list(plain.get(key, ())) for key in ("messages", "toolCalls", "plans")] == [
        list(expected.get(key, ())) for key in ("messages", "toolCalls", "plans")
    ]


@over_profiles
@thorough
@given(st.integers(0, 2**32), st.integers(0, 40), st.floats(0, 1))
def test_any_interleaving(name: str, seed: int, count: int, share: float) -> None:
    """Applied as they come, read after a part and at the end; and each session's own part again, from the start."""
    profile = profiles()[name]
    module = profile.module
    transcript = told(profile, random.Random(seed), count)
    cut = int(share * count)
    states = {session: module.SessionState() for session in SESSIONS}
    for start, end in ((0, cut), (cut, count)):
        for session, wire in transcript[start:end]:
            states[session].apply(module.convert(wire, module.SessionUpdate))
        for session, state in states.items():
            assert_as_read(profile, state, [wire for whose, wire in transcript[:end] if whose == session])
    for session, state in states.items():
        alone = module.SessionState()
        for whose, wire in transcript:
            if whose == session:
                alone.apply(module.convert(wire, module.SessionUpdate))
        assert alone == state


@over_profiles
def test_every_kind_of_update_is_drawn_and_read(name: str) -> None:
    """The property is about all of them; here each also stands alone, and twice."""
    profile = profiles()[name]
    rng = random.Random(name)
    seen = set()
    for _ in range(600):
        wires = [drawn(profile, rng)]
        seen.add(wires[0]["sessionUpdate"])
        state = profile.module.SessionState()
        for wire in (*wires, *wires):
            state.apply(profile.module.convert(wire, profile.module.SessionUpdate))
        assert_as_read(profile, state, wires * 2)
    union = profile.schema["$defs"]["SessionUpdate"]
    tags = [one["properties"]["sessionUpdate"].get("const") for one in union.get("anyOf") or union["oneOf"]]
    assert seen >= {tag for tag in tags if tag}


@over_profiles
@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(1, 20))
def test_over_a_connection(name: str, seed: int, count: int, size: int) -> None:
    """Three sessions on one connection, told of before, while and after they are opened, in turns and outside."""
    profile = profiles()[name]
    module, version = profile.module, version_of(profile)
    transcript = told(profile, random.Random(seed), count)
    batches = [transcript[at : at + size] for at in range(0, len(transcript), size)]

    class Agent(module.Agent):  # type: ignore[misc,name-defined]  # of which profile is open
        opened = 0

        async def say(self, context: Any, part: list[tuple[str, Any]]) -> None:
            for session, wire in part:
                await context.remote.connection.notify("session/update", {"sessionId": session, "update": wire})

        async def session_new(self, request: Any, context: Any) -> Any:
            identity = SESSIONS[self.opened]
            self.opened += 1
            await self.say(context, batches.pop(0) if batches else [])
            return module.NewSessionResponse(session_id=identity)

        async def session_prompt(self, request: Any, context: Any) -> Any:
            await self.say(context, [one for batch in batches for one in batch])
            batches.clear()
            if version == 1:
                return module.PromptResponse(stop_reason="end_turn")
            return module.PromptResponse(message_id="m")

        async def session_cancel(self, notification: Any, context: Any) -> None:
            """Nothing to stop."""

    async def main() -> None:
        async with memory.connect(Agent(), client=module.Client(), strict=False) as agent:
            contexts = [agent.session("/x", close=False) for _ in SESSIONS]
            async with asyncio.TaskGroup() as group:
                # All at once: what comes for one that is still being opened is held for it.
                opened = [group.create_task(context.__aenter__()) for context in contexts]
            sessions = {one.result().id: one.result() for one in opened}
            request = module.PromptRequest(session_id="s1", prompt=[module.TextContent(text="go")])
            await agent.session_prompt(request)
            for identity, session in sessions.items():
                assert_as_read(profile, session.state, [wire for whose, wire in transcript if whose == identity])
            for context in contexts:
                await context.__aexit__(None, None, None)

    run(main)
