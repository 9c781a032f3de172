"""Histories of one protocol version, told in the words of another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.runtime.sessions.replay import Replay
from acp_bindings.runtime.sessions.words import Words

TEXT = {"type": "text", "text": "a"}
CONTENT = {"type": "content", "content": TEXT}
STEP = {"content": "look", "priority": "low", "status": "pending"}


def told(version: int, *kept: dict[str, Any]) -> list[dict[str, Any]]:
    """What a history is told as, as JSON."""
    replay = Replay(Words(v1.SessionAgent() if version == 1 else v2.SessionAgent()))
    return [v2.to_builtins(one) for update in kept for one in replay.told(json.dumps(update).encode())]


def chunk(kind: str, message: str | None) -> dict[str, Any]:
    return {"sessionUpdate": f"{kind}_chunk", "content": TEXT} | ({} if message is None else {"messageId": message})


def test_a_message_is_told_empty_before_its_first_piece_only() -> None:
    whole = {"sessionUpdate": "user_message", "messageId": "u", "content": [TEXT]}
    pieces = [chunk("agent_message", "m"), chunk("agent_thought", "t"), chunk("agent_message", "m")]
    empty = [
        {"sessionUpdate": kind, "messageId": key, "content": []}
        for kind, key in (("agent_message", "m"), ("agent_thought", "t"))
    ]
    assert told(2, whole, chunk("user_message", "u"), *pieces) == [
        whole,
        chunk("user_message", "u"),
        empty[0],
        pieces[0],
        empty[1],
        pieces[1],
        pieces[2],
    ]


def test_pieces_without_an_id_are_of_one_message_as_long_as_they_follow_each_other() -> None:
    agent, user = chunk("agent_message", None), chunk("user_message", None)
    found = told(2, agent, agent, user, agent, {"sessionUpdate": "plan", "entries": []}, agent)
    ids = [one["messageId"] for one in found if one["sessionUpdate"].endswith("_chunk")]
    assert ids[0] == ids[1] and len(set(ids)) == 4
    assert [one["sessionUpdate"] for one in found].count("agent_message") == 3


OLDER = [
    ({"sessionUpdate": "agent_message", "messageId": "m", "content": [TEXT, TEXT]}, [chunk("agent_message", "m")] * 2),
    ({"sessionUpdate": "agent_message", "messageId": "m", "content": None}, []),
    ({"sessionUpdate": "agent_message", "messageId": "m"}, []),
    (
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Look"},
        [{"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look"}],
    ),
    (
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "cancelled"},
        [{"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"}],
    ),
    (
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": [STEP]}},
        [{"sessionUpdate": "plan", "entries": [STEP]}],
    ),
    ({"sessionUpdate": "plan_update", "plan": {"type": "_tree", "planId": "p"}}, []),
    ({"sessionUpdate": "terminal_update", "terminalId": "t"}, []),
    ({"sessionUpdate": "_example.dev/mood"}, []),
]
NEWER = [
    (
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look", "content": [CONTENT]},
        [{"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Look", "content": [CONTENT]}],
    ),
    (
        {"sessionUpdate": "plan", "entries": [STEP]},
        [{"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "plan", "entries": [STEP]}}],
    ),
    ({"sessionUpdate": "current_mode_update", "currentModeId": "m"}, []),
    ({"sessionUpdate": "_example.dev/mood"}, [{"sessionUpdate": "_example.dev/mood"}]),
]


@pytest.mark.parametrize(("kept", "expected"), OLDER)
def test_in_version_1(kept: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    assert told(1, kept) == expected


@pytest.mark.parametrize(("kept", "expected"), NEWER)
def test_in_version_2(kept: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    assert told(2, kept) == expected


def test_version_1_is_told_the_content_of_a_call_whole_each_time() -> None:
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "c"}
    piece = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": CONTENT}
    found = told(1, call | {"title": "Look", "content": [CONTENT]}, piece, piece, call | {"content": None}, piece)
    assert [len(one.get("content") or ()) for one in found] == [1, 2, 3, 0, 1]
    assert {one["toolCallId"] for one in found} == {"c"}


def test_a_history_of_the_same_version_is_told_as_it_was() -> None:
    older = [chunk("agent_message", None), {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look"}]
    newer = [{"sessionUpdate": "plan_update", "plan": {"type": "_tree", "planId": "p", "root": 1}}]
    newer += [{"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": CONTENT}]
    assert told(1, *older) == older
    assert told(2, *newer) == newer
