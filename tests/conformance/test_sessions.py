"""Sessions: made, listed, taken up again, closed and deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.cases import agents, versions
from tests.conformance.points import holds
from tests.conformance.wire import FULL, HERE, Frame, Turn, Wire, opened, says

CHUNKS = "user_message_chunk agent_message_chunk agent_thought_chunk".split()
CALL = {1: "tool_call", 2: "tool_call_update"}
"""The update that begins a tool call, by version."""
MESSAGES = "user_message agent_message agent_thought".split()


@agents
@versions
@holds(both="SESSION-001 SESSION-002", v2="SESSION-203")
def test_new_sessions_have_ids_of_their_own(command: Sequence[str], version: int) -> None:
    with opened(command, version) as wire:
        made = [wire.new(), wire.new(mcpServers=[]), wire.new()]
    assert all(isinstance(one, str) and one for one in made)
    assert len(set(made)) == 3


@holds(v2="MCP-201 MCP-202")
def test_mcp_servers_are_the_author_s_to_connect() -> None:
    """Nobody starts or calls them, so that none can fail `session/new`."""
    servers = [
        {"type": "stdio", "name": "none", "command": "/no/such/command", "args": [], "env": []},
        {"type": "http", "name": "none", "url": "http://127.0.0.1:9/none", "headers": []},
    ]
    with opened(FULL, 2) as wire:
        assert wire.new(mcpServers=servers)


@agents
@versions
@holds(v1="LIST-001 LIST-002", v2="LIST-201 LIST-202 LIST-203 LIST-204")
def test_lists_have_what_was_asked_for(command: Sequence[str], version: int) -> None:
    with opened(command, version) as wire:
        assert wire.result("session/list")["sessions"] == []
        here, there = wire.new(), wire.new(cwd="/tmp")
        assert {one["sessionId"] for one in wire.result("session/list")["sessions"]} == {here, there}
        found = wire.result("session/list", {"cwd": "/tmp"})["sessions"]
        assert [(one["sessionId"], one["cwd"]) for one in found] == [(there, "/tmp")]
        assert wire.result("session/list", {"cwd": "/no/such/folder"})["sessions"] == []


@agents
@versions
@holds(v1="CLOSE-001 DELETE-001 DELETE-002", v2="CLOSE-201 DELETE-201 DELETE-202 DELETE-203")
def test_closed_sessions_stay_in_lists_and_deleted_ones_do_not(command: Sequence[str], version: int) -> None:
    with opened(command, version) as wire:
        gone, kept = wire.new(), wire.new()
        assert wire.result("session/close", {"sessionId": gone}) == {}
        assert {one["sessionId"] for one in wire.result("session/list")["sessions"]} == {gone, kept}
        for _ in range(2):
            assert wire.result("session/delete", {"sessionId": gone}) == {}
        assert wire.result("session/delete", {"sessionId": "none"}) == {}
        assert [one["sessionId"] for one in wire.result("session/list")["sessions"]] == [kept]


@versions
@holds(v1="ADDDIRS-001", v2="ADDDIRS-201 ADDDIRS-202")
def test_additional_directories_are_taken(version: int) -> None:
    with opened(FULL, version) as wire:
        made = wire.new(additionalDirectories=["/tmp", "/var"])
        listed = wire.result("session/list")["sessions"]
        assert [one["additionalDirectories"] for one in listed] == [["/tmp", "/var"]]
        again(wire, made, "session/resume", additionalDirectories=["/tmp"])


def again(wire: Wire, session_id: str, method: str, **members: object) -> list[dict[str, Any]]:
    """The updates that come with a session that is taken up again; none may come after the answer."""
    start = len(wire.frames)
    servers: Frame = {"mcpServers": []} if wire.version == 1 else {}
    wire.result(method, {"sessionId": session_id, "cwd": HERE} | servers | members)
    said = [one for one in wire.frames[start:] if one.get("method") == "session/update"]
    assert all(one["params"]["sessionId"] == session_id for one in said)
    assert wire.settle() == []
    return [one["params"]["update"] for one in said]


def replayed(wire: Wire, session_id: str) -> list[dict[str, Any]]:
    """A session's history, as the version has it told."""
    if wire.version == 1:
        return again(wire, session_id, "session/load")
    return again(wire, session_id, "session/resume", replayFrom={"type": "start"})


def retired(wire: Wire, *prompts: str) -> Iterator[tuple[str, list[Turn]]]:
    """Sessions with some turns behind them: one that is open still, and one that was closed."""
    for closed in (False, True):
        made = wire.new()
        turns = [wire.turn(made, text) for text in prompts]
        if closed:
            wire.result("session/close", {"sessionId": made})
        yield made, turns


@agents
@versions
@holds(v1="RESUME-001 RESUME-002", v2="RESUME-201 RESUME-203")
def test_a_session_is_resumed_without_its_history(command: Sequence[str], version: int) -> None:
    with opened(command, version) as wire:
        for made, _ in retired(wire, "everything"):
            for members in ({}, {"replayFrom": None}) if version == 2 else ({},):
                said = [one["sessionUpdate"] for one in again(wire, made, "session/resume", **members)]
                assert not {*said} & {*CHUNKS, *MESSAGES}
            assert wire.turn(made, "hi").stop_reason == "end_turn"


@agents
@versions
@holds(v1="LOAD-001 LOAD-002 LOAD-003", v2="RESUME-202 RESUME-204")
def test_a_history_comes_before_the_answer(command: Sequence[str], version: int) -> None:
    with opened(command, version) as wire:
        for made, turns in retired(wire, "everything is said", "twice"):
            told = replayed(wire, made)
            assert spoken(told, "user") == ["everything is said", "twice"]
            assert "".join(spoken(told, "agent")) == "".join(turn.text for turn in turns)
            if version == 2:
                kept = [one["messageId"] for one in told if one["sessionUpdate"] == "user_message"]
                assert kept == [turn.response["result"]["messageId"] for turn in turns]


def spoken(updates: list[dict[str, Any]], who: str) -> list[str]:
    """The texts of a role's messages, whole or in pieces."""
    found = []
    for update in updates:
        if update["sessionUpdate"] == f"{who}_message_chunk":
            found.append(update["content"]["text"])
        elif update["sessionUpdate"] == f"{who}_message":
            found += [one["text"] for one in update["content"]]
    return found


@agents
@holds(v2="RESUME-205")
def test_in_a_history_no_piece_comes_before_its_message(command: Sequence[str]) -> None:
    """A client may have the message already: pieces would be added to what it has."""
    with opened(command, 2) as wire:
        made = wire.new()
        wire.turn(made, "everything")
        whole: set[str] = set()
        pieces = 0
        for update in replayed(wire, made):
            if update["sessionUpdate"] in MESSAGES:
                whole.add(update["messageId"])
            elif update["sessionUpdate"] in CHUNKS:
                assert update["messageId"] in whole
                pieces += 1
        assert pieces


@versions
@holds(v1="SCHEMA-001 LOAD-001", v2="SCHEMA-001 RESUME-202")
def test_a_history_of_the_other_version_is_told_in_this_one_s_words(version: int, tmp_path: Path) -> None:
    """Agents of both versions share a store; what the version has no words for is left out."""
    shared = [*FULL, str(tmp_path / "sessions")]
    with opened(shared, 3 - version) as wire:
        made = wire.new()
        text = wire.turn(made, "everything").text
        wire.result("session/close", {"sessionId": made})
    with opened(shared, version) as wire:
        told = replayed(wire, made)
        assert spoken(told, "user") == ["everything"]
        assert "".join(spoken(told, "agent")) == text
        calls = [one for one in told if one["sessionUpdate"].startswith("tool_call")]
        assert calls[0]["title"] == "Look around" and calls[0]["sessionUpdate"] == CALL[version]
        assert calls[-1]["status"] == "completed"
        (content,) = [one["content"] for one in calls if "content" in one]
        assert content == [{"type": "content", "content": {"type": "text", "text": "found"}}]
        plans = [one.get("plan", one)["entries"] for one in told if one["sessionUpdate"].startswith("plan")]
        assert [[entry["content"] for entry in entries] for entries in plans] == [["look around"]]
        assert wire.turn(made, "hi").stop_reason == "end_turn"


@versions
@holds(v1="CONFIG-001 CONFIG-002", v2="CONFIG-201 CONFIG-202 CONFIG-203 CONFIG-204")
def test_configuration_is_always_told_whole(version: int) -> None:
    name = "id" if version == 1 else "configId"
    can: Frame = {"clientCapabilities": {"session": {"configOptions": {"boolean": {}}}}} if version == 1 else {}
    servers: Frame = {"mcpServers": []} if version == 1 else {}
    with opened(FULL, version, **can) as wire:
        made = wire.result("session/new", {"cwd": HERE} | servers)
        assert values(made["configOptions"], name) == {"pace": "slow", "model": "small", "loud": False}
        session = {"sessionId": made["sessionId"]}
        kind = {} if version == 1 else {"type": "id"}
        changed = wire.result("session/set_config_option", session | kind | {"configId": "pace", "value": "fast"})
        assert values(changed["configOptions"], name) == {"pace": "fast", "model": "small", "loud": False}
        switch = session | {"configId": "loud", "type": "boolean", "value": True}
        changed = wire.result("session/set_config_option", switch)
        assert values(changed["configOptions"], name) == {"pace": "fast", "model": "small", "loud": True}
        refused = wire.call("session/set_config_option", session | kind | {"configId": "pace", "value": "idle"})
        assert refused["error"]["code"] == -32602
        resumed = wire.result("session/resume", session | {"cwd": HERE})
        assert values(resumed["configOptions"], name) == {"pace": "fast", "model": "small", "loud": True}


def values(options: list[dict[str, Any]], name: str) -> dict[str, object]:
    """The values by option; that of a list is on it, and a list is of options or of groups, not of both."""
    for option in options:
        if option["type"] == "select":
            grouped = ["options" in one for one in option["options"]]
            assert len(set(grouped)) == 1
            flat = [one for entry in option["options"] for one in entry.get("options", [entry])]
            assert option["currentValue"] in [one["value"] for one in flat]
    return {option[name]: option["currentValue"] for option in options}


@holds(v2="CONFIG-206")
def test_an_update_of_the_configuration_has_all_of_it() -> None:
    with opened(FULL, 2) as wire:
        turn = wire.turn(wire.new(), "retell")
        (update,) = turn.of("config_option_update")
        assert values(update["configOptions"], "configId") == {"pace": "slow", "model": "small", "loud": False}


@holds(v1="CONFIG-003")
def test_switches_are_for_clients_of_version_1_that_know_them() -> None:
    with opened(FULL, 1) as wire:
        made = wire.result("session/new", {"cwd": HERE, "mcpServers": []})
        assert values(made["configOptions"], "id") == {"pace": "slow", "model": "small"}
        session = {"sessionId": made["sessionId"]}
        changed = wire.result("session/set_config_option", session | {"configId": "pace", "value": "fast"})
        assert values(changed["configOptions"], "id") == {"pace": "fast", "model": "small"}
        wire.send(id="resume", method="session/resume", params=session | {"cwd": HERE})
        wire.until(says("available_commands_update"))
        resumed = wire.until(lambda frame: frame.get("id") == "resume")
        assert values(resumed["result"]["configOptions"], "id") == {"pace": "fast", "model": "small"}
