"""The method list of the pinned schemas, held against a second reading of their envelopes and `x-` keywords."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from codegen import ir
from codegen.pipeline import load
from codegen.sources import PROFILE_FILES
from tests.support.tiny import STRING, build, obj, ref

ROOT = Path(__file__).resolve().parents[2]
PROFILES = tuple(PROFILE_FILES)
# Who receives what a side sends. A proxy is spoken to by whoever stands beside it.
RECEIVERS = {"Agent": "client", "Client": "agent", "Proxy": "proxy"}
KINDS_OF_ENVELOPE = ("Request", "Response", "Notification")
# Of SDK 2.4.0: requests and notifications by the side that receives them.
COUNTS = {
    "v1/stable": {("agent", "request"): 12, ("agent", "notification"): 1, ("client", "request"): 9,
                  ("client", "notification"): 2, ("protocol", "notification"): 1},
    "v1/unstable": {("agent", "request"): 21, ("agent", "notification"): 2, ("client", "request"): 10,
                    ("client", "notification"): 3, ("protocol", "notification"): 1,
                    ("proxy", "request"): 2, ("proxy", "notification"): 1},
    "v2/stable": {("agent", "request"): 12, ("agent", "notification"): 1, ("client", "request"): 2,
                  ("client", "notification"): 2, ("protocol", "notification"): 1},
    "v2/unstable": {("agent", "request"): 21, ("agent", "notification"): 2, ("client", "request"): 3,
                    ("client", "notification"): 3, ("protocol", "notification"): 1,
                    ("proxy", "request"): 2, ("proxy", "notification"): 1},
}  # fmt: skip


@cache
def definitions(profile: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "schema" / PROFILE_FILES[profile]).read_text(encoding="utf-8"))["$defs"]
    return found


@cache
def lowered(profile: str) -> ir.Profile:
    return load(ROOT / "schema", [profile])[0]


def payloads(profile: str, envelope: str) -> set[str]:
    """Definitions that an envelope may carry, without those for extensions and those of the frame itself."""
    text = json.dumps(definitions(profile).get(envelope, {}))
    names = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    return {name for name in names if not name.startswith("Ext") and name not in ("RequestId", "Error")}


def expected(profile: str) -> set[ir.Method]:
    """The methods, read without the generator: kind by envelope, the rest by keyword."""
    found = set()
    defs = definitions(profile)
    answers = {
        (defs[name]["x-side"], defs[name]["x-method"]): name
        for sender in RECEIVERS
        for name in payloads(profile, f"{sender}Response")
        if "x-method" in defs[name]
    }
    kinds: dict[ir.Kind, str] = {"request": "Request", "notification": "Notification"}
    for (kind, suffix), sender in product(kinds.items(), RECEIVERS):
        for name in payloads(profile, sender + suffix):
            side, method = defs[name]["x-side"], defs[name]["x-method"]
            assert side == RECEIVERS[sender]
            found.add(ir.Method(side, kind, method, name, answers.pop((side, method)) if kind == "request" else None))
    for name, definition in defs.items():
        if isinstance(definition, dict) and definition.get("x-side") == "protocol":
            found.add(ir.Method("protocol", "notification", definition["x-method"], name))
    assert not answers
    return found


@pytest.mark.parametrize("profile", PROFILES)
def test_methods_are_what_the_schema_says(profile: str) -> None:
    methods = lowered(profile).methods
    # What an unhandled request is answered with, and what a request needs, is not the schema's word.
    assert {replace(one, unhandled=None, needs=None) for one in methods} == expected(profile)
    assert len(methods) == len(set(methods))
    assert Counter((one.side, one.kind) for one in methods) == COUNTS[profile]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_marked_definition_is_in_one_method(profile: str) -> None:
    marked = {name for name, one in definitions(profile).items() if isinstance(one, dict) and "x-method" in one}
    used = Counter(name for one in lowered(profile).methods for name in (one.params, one.result) if name)
    assert set(used) == marked
    assert set(used.values()) == {1}


@pytest.mark.parametrize("profile", PROFILES)
def test_envelopes_are_no_definitions(profile: str) -> None:
    loaded = lowered(profile)
    sent = {name for name in definitions(profile) if name in {a + b for a, b in product(RECEIVERS, KINDS_OF_ENVELOPE)}}
    assert set(loaded.envelopes) == sent
    assert not sent & set(loaded.definitions) and not sent & set(loaded.exported)
    assert set(loaded.exported) == set(definitions(profile)) - sent


@pytest.mark.parametrize("profile", ["v1/unstable", "v2/unstable"])
def test_mcp_message_goes_both_ways(profile: str) -> None:
    """As a request to the client and a notification to the agent: a table by name alone would lose one."""
    both = {(one.side, one.kind): one for one in lowered(profile).methods if one.name == "mcp/message"}
    assert {key: (one.params, one.result) for key, one in both.items()} == {
        ("client", "request"): ("MessageMcpRequest", "MessageMcpResponse"),
        ("agent", "notification"): ("MessageMcpNotification", None),
    }
    successors = [(one.side, one.kind) for one in lowered(profile).methods if one.name == "proxy/successor"]
    assert sorted(successors) == [("proxy", "notification"), ("proxy", "request")]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_generated_table_is_that_list(profile: str) -> None:
    version, channel = profile.split("/")
    module = importlib.import_module(f"acp_bindings.{version}" + ("" if channel == "stable" else ".unstable"))
    table = {
        (one.side, one.kind, one.name): (getattr(module, one.params), one.result and getattr(module, one.result))
        for one in lowered(profile).methods
    }
    assert {key: (spec.params, spec.result) for key, spec in module.METHODS.items()} == table
    assert all(key == (spec.side, spec.kind, spec.name) for key, spec in module.METHODS.items())


# Shapes that the pinned schemas do not have, and older ones do.


def marked(method: str, side: str) -> dict[str, Any]:
    return obj({"x": STRING}, **{"x-method": method, "x-side": side})


def table(module: Any) -> dict[tuple[str, str, str], tuple[str, str | None]]:
    return {key: (one.params.__name__, one.result and one.result.__name__) for key, one in module.METHODS.items()}


def test_one_method_in_both_directions_and_kinds(tmp_path: Path) -> None:
    module = build(
        tmp_path,
        {
            "ToAgent": marked("do", "agent"),
            "FromAgent": marked("do", "agent"),
            "ToClient": marked("do", "client"),
            "FromClient": marked("do", "client"),
            "Told": marked("do", "agent"),
            "ClientRequest": obj({"id": {}, "params": ref("ToAgent")}),
            "AgentResponse": {"anyOf": [obj({"result": ref("FromAgent")})]},
            "AgentRequest": obj({"id": {}, "params": ref("ToClient")}),
            "ClientResponse": {"anyOf": [obj({"result": ref("FromClient")})]},
            "ClientNotification": obj({"params": ref("Told")}),
        },
    )
    assert table(module) == {
        ("agent", "request", "do"): ("ToAgent", "FromAgent"),
        ("client", "request", "do"): ("ToClient", "FromClient"),
        ("agent", "notification", "do"): ("Told", None),
    }


def test_a_side_called_both_is_two_methods(tmp_path: Path) -> None:
    module = build(
        tmp_path,
        {
            "PingRequest": marked("ping", "both"),
            "PingResponse": marked("ping", "both"),
            "ClientRequest": obj({"id": {}, "params": ref("PingRequest")}),
            "AgentRequest": obj({"id": {}, "params": ref("PingRequest")}),
            "AgentResponse": {"anyOf": [obj({"result": ref("PingResponse")})]},
        },
    )
    pair = ("PingRequest", "PingResponse")
    assert table(module) == {("agent", "request", "ping"): pair, ("client", "request", "ping"): pair}


def test_definitions_named_like_envelopes_that_are_none(tmp_path: Path) -> None:
    """An envelope has a frame's properties or alternatives; `AgentRequest` may be a definition as well."""
    module = build(tmp_path, {"AgentRequest": obj({"text": STRING}, "text"), "Use": obj({"it": ref("AgentRequest")})})
    assert module.METHODS == {}
    assert module.decode('{"it": {"text": "x"}}', module.Use).it == module.AgentRequest(text="x")
