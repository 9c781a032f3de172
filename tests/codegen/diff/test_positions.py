"""Where a definition stands decides who is affected, and whether a fault in it fails the message."""

from __future__ import annotations

from typing import Any, Final

from codegen.diff import Report, compare, summary
from tests.support.diffs import profiles, report, told, with_methods
from tests.support.tiny import INTEGER, STRING, array, const, obj, ref

FORGIVING: Final = {"x-deserialize-default-on-error": True}
SKIPPING: Final = {"x-deserialize-skip-invalid-items": True}
CLOSED: Final = {"anyOf": [const("red")]}
WIDER: Final = {"anyOf": [const("red"), const("blue")]}
COLOUR: Final = ref("Colour")


def ask(colour: dict[str, Any], request: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """A method of the agent with these properties in its params and its result."""
    defs = {"Colour": colour, "AskRequest": obj(request), "AskResponse": obj(response)}
    return with_methods(defs, ("agent", "request", "ask", "AskRequest", "AskResponse"))


def changed(request: dict[str, Any], response: dict[str, Any]) -> Report:
    """A value more in a closed enum that stands there."""
    return report(ask(CLOSED, request, response), ask(WIDER, request, response))


def pairings(found: Report) -> dict[tuple[str, str], int]:
    return {(one.old, one.new): one.breaking for one in found.pairings}


def test_sent_by_the_client() -> None:
    """Old agents refuse what new clients may write; nobody else is affected."""
    found = changed({"colour": COLOUR}, {})
    assert found.changes[0].flows == (("client", "agent"),)
    assert found.changes[0].receivers.level == "breaking"
    assert pairings(found) == {("agent", "client"): 1, ("client", "agent"): 0}


def test_sent_by_the_agent() -> None:
    found = changed({}, {"colour": COLOUR})
    assert found.changes[0].flows == (("agent", "client"),)
    assert pairings(found) == {("agent", "client"): 0, ("client", "agent"): 1}


def test_sent_by_both() -> None:
    found = changed({"colour": COLOUR}, {"colours": array(COLOUR)})
    assert found.changes[0].flows == (("agent", "client"), ("client", "agent"))
    assert pairings(found) == {("agent", "client"): 1, ("client", "agent"): 1}


def test_sent_by_nobody_that_is_known() -> None:
    """What no method carries (errors, ids) may stand in any message, so it counts both ways."""
    found = changed({}, {})
    assert found.changes[0].flows == ()
    assert pairings(found) == {("agent", "client"): 1, ("client", "agent"): 1}


def test_tolerant_wherever_it_stands() -> None:
    """Old receivers drop the new value and keep the message (wire rules 5 and 6)."""
    for place in ({"colour": {**COLOUR, **FORGIVING}}, {"colours": {**array(COLOUR), **SKIPPING}}):
        found = changed(place, {})
        assert found.changes[0].receivers.level == "additive"
        assert "forgives" in found.changes[0].receivers.reason
        assert pairings(found) == {("agent", "client"): 0, ("client", "agent"): 0}


def test_tolerant_further_out() -> None:
    """A tolerant field rescues whatever is inside its value."""
    inner = {"Inner": obj({"colour": COLOUR}, "colour")}
    outer = {"inner": {**ref("Inner"), **FORGIVING}}
    found = report(inner | ask(CLOSED, outer, {}), inner | ask(WIDER, outer, {}))
    assert [(one.owner, one.receivers.level) for one in found.changes] == [("Colour", "additive")]


def test_tolerant_in_one_place_only() -> None:
    """Tolerance stops at the field (rule 8): one strict place is enough to fail a message."""
    found = changed({"colour": {**COLOUR, **FORGIVING}, "other": COLOUR}, {})
    assert found.changes[0].receivers.level == "breaking"


def test_the_reading_side_has_to_forgive() -> None:
    """New receivers forgive, old ones do not: what new senders write is read by the old."""
    old, new = ask(CLOSED, {"colour": COLOUR}, {}), ask(WIDER, {"colour": {**COLOUR, **FORGIVING}}, {})
    found = {one.kind: one for one in report(old, new).changes}
    assert found["value-added-closed"].receivers.level == "breaking"
    back = {one.kind: one for one in report(new, old).changes}
    assert back["value-removed-closed"].senders.level == "breaking"
    # With tolerance on the side of the new readers, old senders break nothing.
    lost = report(ask(WIDER, {"colour": COLOUR}, {}), ask(CLOSED, {"colour": {**COLOUR, **FORGIVING}}, {}))
    assert next(one for one in lost.changes if one.kind == "value-removed-closed").senders.level == "additive"


def test_required_field_of_what_is_tolerated() -> None:
    """A missing field fails the object, and the tolerant field around it drops that."""
    outer = {"inner": {**ref("Inner"), **FORGIVING}}
    old = {"Inner": obj({"n": INTEGER})} | ask(CLOSED, outer, {})
    new = {"Inner": obj({"n": INTEGER}, "n")} | ask(CLOSED, outer, {})
    (change,) = report(old, new).changes
    assert (change.kind, change.senders.level, change.python.level) == ("field-now-required", "additive", "breaking")


def test_inherited_fields_are_told_once() -> None:
    """Both variants inherit from their payload, whose field it is."""
    branches = [
        obj({"type": const(tag)}, "type", allOf=[ref("Chunk")]) for tag in ("first", "second")
    ]  # fmt: skip
    old = {"Update": {"anyOf": branches}, "Chunk": obj({"text": STRING}, "text")}
    new = {"Update": {"anyOf": branches}, "Chunk": obj({"text": STRING, "id": STRING}, "text")}
    assert [one.place for one in told(report(old, new))] == ["Chunk.id"]


def test_recursive_types_are_compared() -> None:
    """Two definitions that contain themselves, and differ at the bottom, under another name each."""
    old = with_methods(
        {"Tree": obj({"leaf": STRING, "kids": array(ref("Tree"))}, "leaf")}, ("agent", "notification", "grow", "Tree")
    )
    other = with_methods(
        {"Tree": obj({"x": STRING}), "Bush": obj({"leaf": INTEGER, "kids": array(ref("Bush"))}, "leaf")},
        ("agent", "notification", "grow", "Bush"),
    )
    change = next(one for one in report(old, other).changes if one.kind == "method-params")
    assert (change.senders.level, change.receivers.level) == ("breaking", "breaking")


def test_protocol_versions() -> None:
    """Two single profiles are compared whatever they are called; speaking another version breaks everybody."""
    (old,) = profiles({"Thing": obj({"id": STRING}, "id")})
    new = type(old)("v3", *(getattr(old, name) for name in list(old.__dataclass_fields__)[1:]))
    found = compare([old], [new])
    assert [(one.kind, one.level) for one in found.changes] == [("protocol-version", "breaking")]
    assert (found.changes[0].before, found.changes[0].after) == ("2", "3")


def test_profiles_that_one_side_lacks() -> None:
    both = profiles({"Thing": obj({"id": STRING})}, unstable={"Thing": obj({"id": STRING})})
    assert [(one.kind, one.owner, one.level) for one in compare(both, both[:1]).changes] == [
        ("profile-removed", "v2/unstable", "breaking")
    ]
    assert [(one.kind, one.owner, one.level) for one in compare(both[:1], both).changes] == [
        ("profile-added", "v2/unstable", "additive")
    ]
    assert [one.kind for one in compare([], both).changes] == ["profile-added", "profile-added"]
    assert compare([], []).changes == ()


def test_changes_of_both_channels_are_told_once() -> None:
    old, new = {"Thing": obj({"id": STRING})}, {"Thing": obj({"id": STRING, "n": INTEGER})}
    more = {"Thing": obj({"id": STRING, "n": INTEGER, "x": STRING})}
    found = compare(profiles(old, unstable=old), profiles(new, unstable=more))
    assert [(one.member, one.profiles) for one in found.changes] == [
        ("n", ("v2/stable", "v2/unstable")),
        ("x", ("v2/unstable",)),
    ]


def test_promotions_and_withdrawals() -> None:
    """What stable takes from unstable was there before; what only unstable had may go without ceremony."""
    plain, trial = {"Thing": obj({"id": STRING})}, {"Thing": obj({"id": STRING, "n": INTEGER})}
    more = {**trial, "Extra": obj({"x": STRING})}
    promoted = compare(profiles(plain, unstable=more), profiles(trial, unstable=more))
    assert [(one.profiles, one.member, one.notes) for one in promoted.changes] == [
        (("v2/stable",), "n", ("promoted from unstable",))
    ]
    withdrawn = compare(profiles(plain, unstable=more), profiles(plain, unstable=plain))
    assert [(one.profiles, one.owner, one.notes) for one in withdrawn.changes] == [
        (("v2/unstable",), "Thing", ("an experiment withdrawn",)),
        (("v2/unstable",), "Extra", ("an experiment withdrawn",)),
    ]
    assert "  ^ promoted      Thing.n\n" in summary(promoted)
    assert "  ^ withdrawn     Thing.n, Extra\n" in summary(withdrawn)
    # Added to both at once, it was never an experiment; gone from both, it was none any more.
    at_once = compare(profiles(plain, unstable=plain), profiles(trial, unstable=trial))
    gone = compare(profiles(trial, unstable=trial), profiles(plain, unstable=plain))
    assert [one.notes for one in (*at_once.changes, *gone.changes)] == [(), ()]
