"""One kind of change, one pair of schemas: what it means to senders, to receivers and to Python source, and why."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.support.diffs import Told, report, told
from tests.support.tiny import INTEGER, STRING, array, const, fallback, nullable, obj, ref, variant

B: Final = "breaking"
A: Final = "additive"
N: Final = "neutral"

TEXT: Final = nullable(STRING)
FORGIVING: Final = {"x-deserialize-default-on-error": True}
SHORT: Final = obj({"type": const("short"), "n": INTEGER}, "type")
LONG: Final = obj({"type": const("long"), "n": INTEGER}, "type")
UNTAGGED: Final = obj({"n": INTEGER}, title="none")
ENVELOPE: Final = fallback("type", required=("id",), id=STRING)
RED: Final = const("red")
BLUE: Final = const("blue")


def thing(**properties: Any) -> dict[str, Any]:
    return {"Thing": obj({"id": STRING, **properties}, "id")}


def needing(*required: str, **properties: Any) -> dict[str, Any]:
    return {"Thing": obj({"id": STRING, **properties}, "id", *required)}


def union(*branches: Any) -> dict[str, Any]:
    return {"Shape": {"anyOf": list(branches)}}


def colours(*branches: Any) -> dict[str, Any]:
    return {"Colour": {"anyOf": list(branches)}}


CHUNK: Final = obj({"text": STRING}, "text")


def own(tag: str) -> dict[str, Any]:
    return obj({"type": const(tag), "text": STRING}, "type", "text")


def derived(tag: str) -> dict[str, Any]:
    return variant("type", tag, "Chunk")


def payloads(name: str) -> dict[str, Any]:
    """A union with a variant that is a definition by that name; the other one stands nowhere."""
    both = {"One": obj({"n": STRING}), "Two": obj({"n": INTEGER}, "n")}
    return union(variant("type", "short", name), LONG) | both


def groups(keyword: str, *listed: dict[str, Any]) -> dict[str, Any]:
    return {"Scope": obj({"x": STRING}, **{keyword: list(listed)})}


def group(*required: str) -> dict[str, Any]:
    return {"title": "".join(required), **obj(dict.fromkeys(required, STRING), *required)}


PAIRS: Final[dict[str, tuple[dict[str, Any], dict[str, Any], list[Told]]]] = {
    # Nobody has to send it, whoever does not know it ignores it (wire rule 1), and in Python it may be left out.
    "optional field added": (thing(), thing(note=STRING), [Told("field-added-optional", "Thing.note", A, A, A)]),
    # Old senders leave it out, and new receivers insist; old receivers ignore it; the constructor asks for it.
    "required field added": (
        thing(),
        needing("note", note=STRING),
        [Told("field-added-required", "Thing.note", B, A, B)],
    ),
    # What old senders still write is ignored (rule 1); old receivers never counted on it; `thing.note` fails.
    "optional field removed": (thing(note=STRING), thing(), [Told("field-removed-optional", "Thing.note", N, N, B)]),
    # Ignored just the same, but old receivers insist on what new senders do not write.
    "required field removed": (
        needing("note", note=STRING),
        thing(),
        [Told("field-removed-required", "Thing.note", N, B, B)],
    ),
    # The same value at the same place: each side looks for a name that the other does not write.
    "required field renamed": (
        needing("a", a=INTEGER, z=STRING),
        needing("b", b=INTEGER, z=STRING),
        [Told("field-renamed-required", "Thing.b", B, B, B)],
    ),
    # Nobody insists on it: the value is lost, the message is not. The attribute has another name all the same.
    "optional field renamed": (
        thing(a=INTEGER, z=STRING),
        thing(b=INTEGER, z=STRING),
        [Told("field-renamed-optional", "Thing.b", A, A, B)],
    ),
    # Two spellings, one member in Python.
    "field spelt otherwise": (
        thing(fooBar=INTEGER),
        thing(foo_bar=INTEGER),
        [Told("field-renamed-optional", "Thing.foo_bar", A, A, N)],
    ),
    # Old senders may leave it out; what new senders write was always allowed.
    "field required now": (
        thing(note=STRING),
        needing("note", note=STRING),
        [Told("field-now-required", "Thing.note", B, N, B)],
    ),
    # New senders may leave it out, old receivers insist; reading it may yield UNSET.
    "field optional now": (
        needing("note", note=STRING),
        thing(note=STRING),
        [Told("field-now-optional", "Thing.note", A, B, B)],
    ),
    # A list that is absent reads as empty, so no reader of the attribute has anything to mend.
    "list optional now": (
        needing("notes", notes=array(STRING)),
        thing(notes=array(STRING)),
        [Told("field-now-optional", "Thing.notes", A, B, A)],
    ),
    # Old receivers refuse null. `thing.note.upper()` may meet None.
    "field nullable now": (
        needing("note", note=STRING),
        needing("note", note=TEXT),
        [Told("field-nullable", "Thing.note", A, B, B)],
    ),
    # New receivers refuse the null of old senders; passing None does not type-check any more.
    "field never null now": (
        needing("note", note=TEXT),
        needing("note", note=STRING),
        [Told("field-not-null", "Thing.note", B, N, B)],
    ),
    # Tolerant on both sides: what cannot be read reads as absent (rule 5), so the message survives.
    "tolerant field nullable now": (
        thing(note={**STRING, **FORGIVING}),
        thing(note={**TEXT, **FORGIVING}),
        [Told("field-nullable", "Thing.note", A, A, B)],
    ),
    # Neither side can read what the other writes.
    "field of another type": (
        thing(note=STRING),
        thing(note=INTEGER),
        [Told("field-type", "Thing.note", B, B, B)],
    ),
    # The same, but both drop what they cannot read (rule 5): something is lost, nothing fails.
    "tolerant field of another type": (
        thing(note={**STRING, **FORGIVING}),
        thing(note={**INTEGER, **FORGIVING}),
        [Told("field-type", "Thing.note", A, A, B)],
    ),
    # Only new receivers forgive: old ones still refuse what new senders write. That it forgives is a change of its own.
    "field of another type, tolerant now": (
        thing(note=STRING),
        thing(note={**INTEGER, **FORGIVING}),
        [Told("field-type", "Thing.note", A, B, B), Told("field-tolerant", "Thing.note", N, A, N)],
    ),
    # Every integer is a number; not every number is an integer.
    "field wider now": (thing(n=INTEGER), thing(n={"type": "number"}), [Told("field-type", "Thing.n", A, B, B)]),
    # Fewer numbers are allowed: old senders may write one that is not. The Python type is `int` before and after.
    "bounds tightened": (
        thing(n=INTEGER),
        thing(n={"type": "integer", "minimum": 0, "maximum": 9}),
        [Told("field-bounds", "Thing.n", B, N, N)],
    ),
    # More are allowed: new senders may write one that old receivers refuse.
    "bounds loosened": (
        thing(n={"type": "integer", "minimum": 1}),
        thing(n={"type": "integer", "minimum": 0}),
        [Told("field-bounds", "Thing.n", A, B, N)],
    ),
    # Neither range is within the other.
    "bounds moved": (
        thing(n={"type": "integer", "minimum": 0, "maximum": 9}),
        thing(n={"type": "integer", "minimum": 5, "maximum": 20}),
        [Told("field-bounds", "Thing.n", B, B, N)],
    ),
    # Text that has no pattern to satisfy any more.
    "pattern dropped": (
        thing(n={"type": "string", "pattern": "^a"}),
        thing(n=STRING),
        [Told("field-bounds", "Thing.n", A, B, N)],
    ),
    # An empty list is refused now.
    "list not empty now": (
        thing(n=array(STRING)),
        thing(n=array(STRING, minItems=1)),
        [Told("field-bounds", "Thing.n", B, N, N)],
    ),
    # Absence means something else on either side, and nothing fails to tell.
    "default changed": (
        thing(n={"type": "integer", "default": 1}),
        thing(n={"type": "integer", "default": 2}),
        [Told("field-default-changed", "Thing.n", B, B, B)],
    ),
    # Absence gets a meaning; in Python it is that value, and not UNSET.
    "default added": (
        thing(n=INTEGER),
        thing(n={"type": "integer", "default": 2}),
        [Told("field-default-added", "Thing.n", A, A, A)],
    ),
    # Absence loses its meaning for those who know no better.
    "default removed": (
        thing(n={"type": "integer", "default": 2}),
        thing(n=INTEGER),
        [Told("field-default-removed", "Thing.n", B, B, B)],
    ),
    # What was valid still is; receivers forgive more. Python types do not know of it.
    "tolerance gained": (
        thing(n=INTEGER),
        thing(n={**INTEGER, **FORGIVING}),
        [Told("field-tolerant", "Thing.n", N, A, N)],
    ),
    # What was dropped fails now: values of the future among it, for which tolerance is there.
    "tolerance lost": (
        thing(n={**array(STRING), "x-deserialize-skip-invalid-items": True}),
        thing(n=array(STRING)),
        [Told("field-strict", "Thing.n", B, N, N)],
    ),
    # An open union keeps a tag that it does not know (rule 2); a type checker asks each `match` for the new class.
    "variant added to an open union": (
        union(SHORT, fallback("type")),
        union(SHORT, LONG, fallback("type")),
        [Told("variant-added", "Shape.long", A, A, A), Told("definition-added", "ShapeLong", N, N, A)],
    ),
    # A closed union refuses it (rule 4).
    "variant added to a closed union": (
        union(SHORT),
        union(SHORT, LONG),
        [Told("variant-added", "Shape.long", A, B, A), Told("definition-added", "ShapeLong", N, N, A)],
    ),
    # Open, but its unknown variants have to have an `id`, which the new one does not promise.
    "variant added that the envelope refuses": (
        union(SHORT, ENVELOPE),
        union(SHORT, LONG, ENVELOPE),
        [Told("variant-added", "Shape.long", A, B, A), Told("definition-added", "ShapeLong", N, N, A)],
    ),
    # Open, but old receivers were told that nothing has this tag.
    "variant added that was ruled out": (
        union(SHORT, fallback("type", "short", "long")),
        union(SHORT, LONG, fallback("type", "short", "long")),
        [Told("variant-added", "Shape.long", A, B, A), Told("definition-added", "ShapeLong", N, N, A)],
    ),
    # New receivers keep it as an unknown variant; the class is gone.
    "variant removed from an open union": (
        union(SHORT, LONG, fallback("type")),
        union(SHORT, fallback("type")),
        [Told("variant-removed", "Shape.long", N, N, B), Told("definition-removed", "ShapeLong", N, N, B)],
    ),
    # New receivers refuse the tag.
    "variant removed from a closed union": (
        union(SHORT, LONG),
        union(SHORT),
        [Told("variant-removed", "Shape.long", B, N, B), Told("definition-removed", "ShapeLong", N, N, B)],
    ),
    # Senders may invent tags; old receivers refuse them; a `match` has a new case.
    "union opened": (
        union(SHORT, LONG),
        union(SHORT, LONG, fallback("type")),
        [Told("union-opened", "Shape", A, B, A), Told("definition-added", "UnknownShape", N, N, A)],
    ),
    # The other way round; the class for the unknown goes.
    "union closed": (
        union(SHORT, LONG, fallback("type")),
        union(SHORT, LONG),
        [Told("union-closed", "Shape", B, N, B), Told("definition-removed", "UnknownShape", N, N, B)],
    ),
    # Nobody finds the tag of the other. Python never sees it.
    "union by another tag": (
        union(SHORT, LONG),
        union(
            obj({"kind": const("short"), "n": INTEGER}, "kind"),
            obj({"kind": const("long"), "n": INTEGER}, "kind"),
        ),
        [Told("union-tag", "Shape", B, B, N)],
    ),
    # Rare, but a promise taken back: such a tag is not even unknown.
    "tag ruled out": (
        union(SHORT, fallback("type", "short")),
        union(SHORT, fallback("type", "short", "long")),
        [Told("tag-excluded", "Shape.long", B, N, N)],
    ),
    # Open enums keep what they do not know (rule 4), and any text type-checks.
    "value added to an open enum": (
        colours(RED, STRING),
        colours(RED, BLUE, STRING),
        [Told("value-added-open", "Colour.blue", A, A, A)],
    ),
    # Closed ones refuse it; a `match` may have to handle it.
    "value added to a closed enum": (
        colours(RED),
        colours(RED, BLUE),
        [Told("value-added-closed", "Colour.blue", A, B, A)],
    ),
    # It still is text, and text is what the type takes.
    "value removed from an open enum": (
        colours(RED, BLUE, STRING),
        colours(RED, STRING),
        [Told("value-removed-open", "Colour.blue", N, N, N)],
    ),
    # Refused by new receivers and by type checkers.
    "value removed from a closed enum": (
        colours(RED, BLUE),
        colours(RED),
        [Told("value-removed-closed", "Colour.blue", B, N, B)],
    ),
    # Any number is allowed, but `Code.LOST` is gone from the namespace of constants.
    "constant removed": (
        {"Code": {"anyOf": [const(1, "Found"), const(2, "Lost"), INTEGER]}},
        {"Code": {"anyOf": [const(1, "Found"), INTEGER]}},
        [Told("value-removed-constant", "Code.2", N, N, B)],
    ),
    # The number is what is sent; `Code.LOST` is what is written in Python.
    "constant renamed": (
        {"Code": {"anyOf": [const(1, "Found"), const(2, "Lost"), INTEGER]}},
        {"Code": {"anyOf": [const(1, "Found"), const(2, "Gone"), INTEGER]}},
        [Told("value-renamed", "Code.2", N, N, B)],
    ),
    # Senders may invent values, which old receivers refuse.
    "enum opened": (colours(RED, BLUE), colours(RED, BLUE, STRING), [Told("enum-opened", "Colour", A, B, A)]),
    # New receivers refuse invented ones; text in general does not type-check any more.
    "enum closed": (colours(RED, BLUE, STRING), colours(RED, BLUE), [Told("enum-closed", "Colour", B, N, B)]),
    # A new way to say it, of a JSON kind that old receivers refuse.
    "alternative added": (
        {"Id": {"anyOf": [STRING, ref("Thing")]}, **thing()},
        {"Id": {"anyOf": [STRING, ref("Thing"), INTEGER]}, **thing()},
        [Told("option-added", "Id.integer", A, B, A)],
    ),
    # And the other way round: the union does not take an int any more.
    "alternative removed": (
        {"Id": {"anyOf": [STRING, ref("Thing"), INTEGER]}, **thing()},
        {"Id": {"anyOf": [STRING, ref("Thing")]}, **thing()},
        [Told("option-removed", "Id.integer", B, N, B)],
    ),
    # Any one of them sufficed; now it may be only one. Attributes stay as they are.
    "property groups exclusive now": (
        groups("anyOf", group("a"), group("b")),
        groups("oneOf", group("a"), group("b")),
        [Told("groups-tightened", "Scope", B, N, N)],
    ),
    # A third way to satisfy the rule, which old receivers do not accept.
    "property group added": (
        groups("oneOf", group("a"), group("b")),
        groups("oneOf", group("a"), group("b"), group("c")),
        [Told("groups-loosened", "Scope", A, B, N), Told("field-added-optional", "Scope.c", A, A, A)],
    ),
    # By itself a definition is nothing on the wire: what refers to it is.
    "definition added": (
        thing(),
        {**thing(), "Other": obj({"x": STRING})},
        [Told("definition-added", "Other", N, N, A)],
    ),
    "definition removed": (
        {**thing(), "Other": obj({"x": STRING})},
        thing(),
        [Told("definition-removed", "Other", N, N, B)],
    ),
    # Names of definitions are not on the wire; the import of the old one fails.
    "definition renamed": (
        {"Old": obj({"a": STRING, "b": INTEGER}, "a")},
        {"New": obj({"a": STRING, "b": INTEGER}, "a")},
        [Told("definition-renamed", "New", N, N, B)],
    ),
    # Text where an object was: neither reads the other, and nothing of the class remains.
    "definition of another kind": (thing(), {"Thing": STRING}, [Told("definition-shape", "Thing", B, B, B)]),
    # Bounds of an alias: as with those of a field.
    "alias with tighter bounds": (
        {"Name": STRING},
        {"Name": {"type": "string", "minLength": 1}},
        [Told("definition-bounds", "Name", B, N, N)],
    ),
    # An alias of something else.
    "alias of another type": ({"Name": STRING}, {"Name": INTEGER}, [Told("definition-type", "Name", B, B, B)]),
    # The same properties as before, by another way: `isinstance(first, Chunk)` is what changes.
    "base class gained": (
        {"Chunk": CHUNK, "Update": {"anyOf": [own("first"), own("second")]}},
        {"Chunk": CHUNK, "Update": {"anyOf": [derived("first"), derived("second")]}},
        [
            Told("base-gained", "UpdateFirst.Chunk", N, N, A),
            Told("base-gained", "UpdateSecond.Chunk", N, N, A),
        ],
    ),
    "base class lost": (
        {"Chunk": CHUNK, "Update": {"anyOf": [derived("first"), derived("second")]}},
        {"Update": {"anyOf": [own("first"), own("second")]}},
        [
            Told("base-lost", "UpdateFirst.Chunk", N, N, B),
            Told("base-lost", "UpdateSecond.Chunk", N, N, B),
            Told("definition-removed", "Chunk", N, N, B),
        ],
    ),
    # As with fields.
    "alias nullable now": ({"Name": STRING}, {"Name": TEXT}, [Told("definition-nullable", "Name", A, B, B)]),
    "alias never null now": ({"Name": TEXT}, {"Name": STRING}, [Told("definition-not-null", "Name", B, N, B)]),
    # Neither way to satisfy the rule includes the other. (One took the place of the other, so it is a rename.)
    "property groups replaced": (
        groups("oneOf", group("a"), group("b")),
        groups("oneOf", group("a"), group("c")),
        [
            Told("groups-changed", "Scope", B, B, N),
            Told("field-renamed-optional", "Scope.c", A, A, B),
        ],
    ),
    # A property that is spelt like the member takes its name; nothing else happens to the one that had it.
    "member has to make room": (
        thing(fooBar=INTEGER),
        thing(fooBar=INTEGER, foo_bar=INTEGER),
        [Told("field-member", "Thing.fooBar", N, N, B), Told("field-added-optional", "Thing.foo_bar", A, A, A)],
    ),
    # The same tag for something else: `n` is required there, and not allowed to be text.
    "variant of another class": (
        payloads("One"),
        payloads("Two"),
        [Told("variant-class", "Shape.short", B, B, B)],
    ),
    # Whoever relies on the tag being there refuses the object without it.
    "variant without a tag added": (
        union(SHORT, LONG),
        union(SHORT, LONG, UNTAGGED),
        [
            Told("variant-untagged-added", "Shape.ShapeNone", A, B, A),
            Told("definition-added", "ShapeNone", N, N, A),
        ],
    ),
    "variant without a tag removed": (
        union(SHORT, LONG, UNTAGGED),
        union(SHORT, LONG),
        [
            Told("variant-untagged-removed", "Shape.ShapeNone", B, N, B),
            Told("definition-removed", "ShapeNone", N, N, B),
        ],
    ),
    # Old receivers were told that nothing has this tag.
    "tag allowed": (
        union(SHORT, fallback("type", "short", "long")),
        union(SHORT, fallback("type", "short")),
        [Told("tag-allowed", "Shape.long", A, B, N)],
    ),
    # What no decoder looks at.
    "documentation": (
        {"Thing": obj({"id": STRING}, "id", description="One thing.")},
        {"Thing": obj({"id": STRING}, "id", description="One thing of many.")},
        [Told("definition-docs", "Thing", N, N, N)],
    ),
    "documentation of a field": (
        thing(note={**STRING, "description": "Any words."}),
        thing(note={**STRING, "description": "Kind words."}),
        [Told("definition-docs", "Thing", N, N, N)],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_classes(name: str) -> None:
    old, new, expected = PAIRS[name]
    assert told(report(old, new)) == expected


@pytest.mark.parametrize("name", PAIRS)
def test_the_reverse_adds_what_was_removed(name: str) -> None:
    """Read backwards, what came went and what went came; a rename and a change stay what they are."""
    old, new, _ = PAIRS[name]
    mirror = {"added": "removed", "removed": "added"}

    def seen(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, ...]]:
        changes = report(old, new).changes
        return sorted((one.action, one.subject, one.owner, one.member) for one in changes if one.action != "renamed")

    there = [(mirror.get(action, action), *rest) for action, *rest in seen(old, new)]
    assert seen(new, old) == sorted(there)


@pytest.mark.parametrize("name", PAIRS)
def test_nothing_changes_from_a_schema_to_itself(name: str) -> None:
    for defs in PAIRS[name][:2]:
        found = report(defs, defs)
        assert found.changes == () and found.tables == () and found.level == "neutral"
