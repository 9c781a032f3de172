"""Turns: prompts, what is told of them, questions for permission, cancelling."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from tests.conformance.cases import agents, some, versions
from tests.conformance.points import holds
from tests.conformance.schemas import schema
from tests.conformance.wire import (
    FULL,
    STREAMING,
    Turn,
    Wire,
    allow,
    is_answer,
    is_question,
    opened,
    reject,
    says,
)

DATA = base64.b64encode(b"data").decode()
BLOCKS: list[dict[str, Any]] = [
    {"type": "resource_link", "name": "notes", "uri": "file:///tmp/notes"},
    {"type": "image", "data": DATA, "mimeType": "image/png"},
    {"type": "audio", "data": DATA, "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "file:///tmp/notes", "text": "x", "mimeType": "text/plain"}},
]
REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}


def courses(command: Sequence[str], version: int) -> tuple[Wire, list[Turn]]:
    """A session's turns, of which each takes another course."""
    with opened(command, version) as wire:
        made = wire.new()
        turns = [wire.turn(made, "everything"), wire.turn(made, "ask", answer=reject)]
        assert wire.settle() == []
    return wire, turns


@agents
@versions
@holds(v1="PROMPT-001 PROMPT-002", v2="PROMPT-201 PROMPT-203 PROMPT-205 PATCH-201 PATCH-203")
def test_a_prompt_is_answered_and_its_updates_name_its_session(command: Sequence[str], version: int) -> None:
    _, turns = courses(command, version)
    for turn in turns:
        assert turn.stop_reason in REASONS
        told = [one["params"] for one in turn.frames if one.get("method") == "session/update"]
        assert told and all(one["sessionId"] == turn.session_id for one in told)
        if version == 2:
            assert "stopReason" not in turn.response["result"]
            inserted = [one["messageId"] for one in turn.of("user_message", "user_message_chunk")]
            assert inserted == [turn.response["result"]["messageId"]]
            messages = [one for one in turn.updates if "message" in one["sessionUpdate"]]
            messages += turn.of("agent_thought_chunk", "agent_thought")
            assert all(isinstance(one["messageId"], str) and one["messageId"] for one in messages)
    if version == 2:
        assert turns[0].response["result"] != turns[1].response["result"]


@agents
@holds(v2="STATE-201 STATE-202 STATE-203")
def test_a_turn_begins_running_and_ends_idle_with_a_reason(command: Sequence[str]) -> None:
    _, turns = courses(command, 2)
    for turn in turns:
        states = turn.of("state_update")
        assert turn.states[0] == "running" and turn.states[-1] == "idle"
        assert turn.states.count("idle") == 1 and states[-1]["stopReason"] in REASONS
        # Everything that belongs to the turn is in it.
        assert turn.updates[-1] == states[-1]


@versions
@holds(both="PROMPT-003 PROMPTCAP-001 PROMPTCAP-002 PROMPTCAP-003")
def test_blocks_of_every_kind_that_is_offered_are_taken(version: int) -> None:
    with opened(FULL, version) as wire:
        made = wire.new()
        for blocks in [[one] for one in BLOCKS] + [BLOCKS]:
            turn = wire.finish(wire.prompt(made, "hi", *blocks))
            assert (turn.text, turn.stop_reason) == (f"{len(blocks) + 1} blocks", "end_turn")


@some(streaming=STREAMING, full=FULL)
@versions
@holds(v2="PERM-201 PATCH-209")
def test_questions_are_well_formed_and_the_turn_goes_on(command: Sequence[str], version: int) -> None:
    """In version 2 the session says that it waits, and that it goes on."""
    with opened(command, version) as wire:
        made = wire.new()
        for answer in (allow, reject):
            turn = wire.turn(made, "ask", answer=answer)
            (question,) = turn.questions
            asked = question["params"]
            assert asked["sessionId"] == made
            assert all(one["optionId"] and one["name"] and one["kind"] for one in asked["options"])
            assert turn.stop_reason == "end_turn"
            if version == 2:
                assert asked["title"]
                assert turn.states == ["running", "requires_action", "running", "idle"]
                before = [one for one in turn.frames[: turn.frames.index(question)] if "method" in one]
                assert before[-1]["params"]["update"]["state"] == "requires_action"


@versions
@holds(v2="ENUM-203")
def test_an_outcome_of_somebody_s_own_is_not_a_yes(version: int) -> None:
    """Version 1 has no such outcomes: there the question fails, and the turn ends in its own way."""
    own = {"outcome": {"outcome": "_example.dev/later", "optionId": "allow_once"}}
    with opened(FULL, version) as wire:
        made = wire.new()
        turn = wire.turn(made, "ask", answer=lambda _: own)
        if version == 2:
            assert (turn.text, turn.stop_reason) == ("denied", "end_turn")
        assert "allowed" not in turn.text
        assert wire.turn(made, "hi").stop_reason == "end_turn"


def waiting(wire: Wire, command: Sequence[str]) -> Turn:
    """A turn that is at work, and would be for ever."""
    turn = wire.prompt(wire.new(), "wait")
    if command is STREAMING:
        return wire.finish(turn, until=is_question)
    return wire.finish(turn, until=says("agent_message_chunk"))


def hi(session_id: str) -> dict[str, Any]:
    """The params of a prompt."""
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": "hi"}]}


waiters = some(asking=STREAMING, working=FULL)


@waiters
@versions
@holds(
    v1="CANCEL-001 CANCEL-002",
    v2="CANCEL-201 CANCEL-202 CANCEL-203 CANCEL-205 CANCEL-206 CANCEL-207 INFO-CANCEL-202",
)
def test_a_cancelled_turn_ends_as_cancelled(command: Sequence[str], version: int) -> None:
    """A question that it waits for is withdrawn, and may still be answered. The session goes on."""
    with opened(command, version) as wire:
        for meta in ({}, {"_meta": {"example.dev/why": "tired"}}):
            turn = waiting(wire, command)
            wire.cancel(turn.session_id, **meta)
            for question in turn.questions:
                withdrawn = wire.until(lambda frame: frame.get("method") == "$/cancel_request")
                assert withdrawn["params"]["requestId"] == question["id"]
                wire.answer(question, {"outcome": {"outcome": "cancelled"}})
            wire.finish(turn)
            assert turn.stop_reason == "cancelled" and "result" in turn.response
            assert wire.settle() == []
            if version == 2:
                assert turn.states.count("idle") == 1
                assert turn.updates[-1] == {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}
            assert wire.turn(turn.session_id, "hi").stop_reason == "end_turn"


@waiters
@versions
@holds(v1="CLOSE-002", v2="CLOSE-202 CANCEL-208")
def test_closing_a_session_cancels_its_turn(command: Sequence[str], version: int) -> None:
    """The client hears of the end before the answer, so that nothing comes for a session that is gone."""
    with opened(command, version) as wire:
        for method in ("session/close", "session/delete"):
            turn = waiting(wire, command)
            wire.send(id=method, method=method, params={"sessionId": turn.session_id})
            assert wire.until(is_answer(method))["result"] == {}
            turn.frames += wire.frames[wire.frames.index(turn.frames[-1]) + 1 : -1]
            assert turn.stop_reason == "cancelled"
            assert wire.settle() == []
            assert wire.call("session/prompt", hi(turn.session_id))["error"]["code"] == -32002


@waiters
@versions
@holds(both="INFO-UNKNOWNSESSION-001", v2="INFO-CANCEL-201 INFO-CONCURRENT-201")
def test_what_the_protocol_leaves_open_has_an_outcome(command: Sequence[str], version: int) -> None:
    """Unknown sessions: -32002, and a cancellation of nothing is nothing. A prompt during a turn waits for its end."""
    with opened(command, version) as wire:
        made = wire.new()
        assert wire.call("session/prompt", hi("none"))["error"]["code"] == -32002
        wire.cancel("none")
        wire.cancel(made)
        assert wire.settle() == []
        assert wire.turn(made, "hi").stop_reason == "end_turn"
        turn = waiting(wire, command)
        second = wire.prompt(turn.session_id, "hi")
        assert wire.settle() == []
        # Cancelling is for all of it: the prompt that waits is called off too.
        wire.cancel(turn.session_id)
        wire.finish(turn)
        answers = [one for one in turn.frames + wire.frames if one.get("id") == second.request]
        assert (answers or [wire.until(is_answer(second.request))])[0]["error"]["code"] == -32800


@some(streaming=STREAMING, full=FULL)
@holds(v2="PATCH-204 PATCH-205 PATCH-206 PATCH-207 PATCH-208 ENUM-201")
def test_what_is_told_of_calls_plans_and_terminals_is_keyed_and_known(command: Sequence[str]) -> None:
    _, turns = courses(command, 2)
    updates = [one for turn in turns for one in turn.updates]
    calls = [one for one in updates if one["sessionUpdate"].startswith("tool_call")]
    plans = [one["plan"] for one in updates if one["sessionUpdate"] == "plan_update"]
    terminals = [one for one in updates if one["sessionUpdate"].startswith("terminal")]
    assert calls and all(one["toolCallId"] for one in calls)
    assert all(one["content"] for one in calls if one["sessionUpdate"] == "tool_call_content_chunk")
    for identity in {one["toolCallId"] for one in calls}:
        own = [one for one in calls if one["toolCallId"] == identity]
        assert own[0]["title"] and len({one["name"] for one in own if "name" in one}) <= 1
    assert all(one["planId"] for one in plans)
    assert all(one["cwd"].startswith("/") for one in terminals if "cwd" in one)
    data = [one["data"] for one in terminals if "data" in one]
    data += [one["output"]["data"] for one in terminals if "output" in one]
    assert all(base64.b64decode(one, validate=True) for one in data)
    entries = [entry for plan in plans for entry in plan.get("entries", ())]
    sites = {
        "ToolKind": [one["kind"] for one in calls if "kind" in one],
        "ToolCallStatus": [one["status"] for one in calls if "status" in one],
        "PlanEntryPriority": [one["priority"] for one in entries],
        "PlanEntryStatus": [one["status"] for one in entries],
    }
    for name, said in sites.items():
        assert {one for one in said if not one.startswith("_")} <= constants(name)
    if command is FULL:
        assert plans and entries and data


def constants(name: str) -> set[str]:
    """The values that the schema names for an open enum."""
    return {one["const"] for one in schema(2).document["$defs"][name]["anyOf"] if "const" in one}
