"""`initialize`, and what an agent offers in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from acp_bindings import v2

from tests.conformance.cases import agents, some, versions
from tests.conformance.points import holds
from tests.conformance.wire import ECHO, FULL, HELLO, STREAMING, Frame, Wire, opened, started

FAR = 65535
"""A protocol version that nobody speaks, the largest that there can be."""


@agents
@holds(v1="INIT-001 INIT-002 INIT-004 SCHEMA-001", v2="INIT-001 INIT-201 INIT-203 INIT-204 SCHEMA-001")
@versions
def test_initialize_answers_in_the_version_asked_for(command: Sequence[str], version: int) -> None:
    with started(command, version) as wire:
        answer = wire.hello()
    assert answer["protocolVersion"] == version and type(answer["protocolVersion"]) is int
    info = answer["info" if version == 2 else "agentInfo"]
    assert info["name"] and info["version"]
    if version == 2:
        assert list(booleans(answer["capabilities"])) == []


def booleans(value: Any, path: str = "") -> Any:
    """Where there are booleans in a value, except under `_meta`."""
    if isinstance(value, bool):
        yield path
    elif isinstance(value, dict):
        for name, one in value.items():
            if name != "_meta":
                yield from booleans(one, f"{path}/{name}")


@agents
@holds(both="INIT-003")
def test_a_version_that_nobody_speaks_is_answered_with_our_newest(command: Sequence[str]) -> None:
    both = HELLO[1] | HELLO[2] | {"protocolVersion": FAR}
    with started(command, 2) as wire:
        assert wire.result("initialize", both)["protocolVersion"] == 2


@agents
@holds(v2="INIT-202")
def test_a_client_of_version_1_is_served_as_one(command: Sequence[str]) -> None:
    with opened(command, 1) as wire:
        assert wire.turn(wire.new(), "hi").stop_reason == "end_turn"


@versions
@holds(v1="AUTH-002", v2="AUTH-202")
def test_logins_in_a_terminal_are_offered_to_those_who_can(version: int) -> None:
    assert "terminal" not in [one.get("type") for one in methods(version, able=False)]
    assert "terminal" in [one.get("type") for one in methods(version, able=True)]


@versions
@holds(v1="AUTH-001", v2="AUTH-201 AUTH-206 AUTH-207")
def test_auth_methods_arrive_as_the_author_wrote_them(version: int) -> None:
    listed = methods(version, able=True)
    identities = [one["methodId" if version == 2 else "id"] for one in listed]
    assert len(set(identities)) == len(identities) == version + 1
    shell = next(one for one in listed if one.get("type") == "terminal")
    assert shell["args"] == ["login"]
    if version == 2:
        assert shell["env"] == [{"name": "A", "value": "1"}]
        assert [one["type"] for one in listed] == ["agent", "terminal", "_example.dev/card"]
        with pytest.raises(ValueError, match="leading underscore"):
            v2.UnknownAuthMethod({"type": "card", "methodId": "card", "name": "Card"})


def methods(version: int, *, able: bool) -> list[dict[str, Any]]:
    """The auth methods that a client is offered."""
    members: dict[str, object] = {}
    if able:
        auth: Frame = {"terminal": {} if version == 2 else True}
        members["capabilities" if version == 2 else "clientCapabilities"] = {"auth": auth}
    with started(FULL, version) as wire:
        listed: list[dict[str, Any]] = wire.hello(**members)["authMethods"]
    return listed


@versions
@holds(v1="AUTH-003 AUTH-004", v2="AUTH-203 AUTH-204")
def test_login_and_logout_reach_the_author(version: int) -> None:
    with opened(FULL, version) as wire:
        login, logout = ("auth/login", "auth/logout") if version == 2 else ("authenticate", "logout")
        assert wire.result(login, {"methodId": "key"}) == {}
        wire.new()
        assert wire.result(logout) == {}


@some(echo=ECHO, streaming=STREAMING)
@versions
@holds(v1="AUTH-005", v2="AUTH-205")
def test_without_auth_methods_nobody_has_to_log_in(command: Sequence[str], version: int) -> None:
    with started(command, version) as wire:
        assert not wire.hello().get("authMethods")
        wire.new()


@holds(v2="EXT-202")
def test_extensions_are_advertised_under_meta() -> None:
    with started(FULL, 2) as wire:
        capabilities = wire.hello()["capabilities"]
    assert capabilities["_meta"] == {"example.dev/moods": {}}
    assert capabilities.keys() == {"session", "_meta"}


def reached(wire: Wire) -> str:
    """What the full agent was told when it called what nobody had offered."""
    return wire.turn(wire.new(), "reach").text


@versions
@holds(v1="CLIENTCAP-001 CLIENTCAP-002 CLIENTCAP-003", v2="CLIENTCAP-201")
def test_what_the_client_did_not_offer_is_not_called(version: int) -> None:
    with opened(FULL, version) as wire:
        tried = reached(wire).split()
        asked = {frame["method"] for frame in wire.frames if "method" in frame and "id" in frame}
    assert tried == ["CapabilityError"] * (4 if version == 1 else 1)
    assert asked == set()
