"""Rows of the lowering table: fallbacks with an envelope, and what their `not` excludes; names and docs of unions."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, const, fallback, obj, ref, source_of, variant

ROWS = Tinies()

ENVELOPE = ROWS.add(
    {
        "AuthMethod": {
            "anyOf": [
                variant("type", "agent", "AuthMethodAgent"),
                fallback(
                    "type",
                    "agent",
                    required=("methodId",),
                    methodId=STRING,
                    description={"type": ["string", "null"], "x-deserialize-default-on-error": True},
                    items=INTEGER,
                ),
            ]
        },
        "AuthMethodAgent": obj({"methodId": STRING}, "methodId"),
    },
    use="""
from msgspec import UnsetType
unknown = UnknownAuthMethod({"type": "_sso", "methodId": "m"})
assert_type(unknown.method_id, str)
assert_type(unknown.description, str | None | UnsetType)
""",
)


def test_envelope_of_the_fallback_is_validated_and_typed() -> None:
    wire = {"type": "_sso", "methodId": "m", "description": None, "realm": "r", "items": 3}
    unknown = ENVELOPE.decode("AuthMethod", wire)
    assert (unknown.method_id, unknown.description, unknown.raw) == ("m", None, wire)
    # `items` is a method of dicts, so the property is found beside it.
    assert unknown.items_ == 3 and callable(unknown.items)
    assert ENVELOPE.encoded("AuthMethod", wire) == wire
    assert ENVELOPE.pointer("AuthMethod", {"type": "_sso"}) == "/methodId"
    assert ENVELOPE.pointer("AuthMethod", {"type": "_sso", "methodId": 1}) == "/methodId"
    assert ENVELOPE.pointer("AuthMethod", {"type": "_sso", "methodId": "m", "items": "x"}) == "/items"


def test_malformed_tolerant_property_of_an_envelope() -> None:
    """It reads as UNSET, and the payload keeps it."""
    wire = {"type": "_sso", "methodId": "m", "description": 5}
    unknown = ENVELOPE.decode("AuthMethod", wire)
    assert unknown.description is msgspec.UNSET
    assert ENVELOPE.encoded("AuthMethod", wire) == wire


FALLBACK_PAYLOAD = ROWS.add(
    {
        "Command": {
            "anyOf": [
                variant("type", "run", "Base"),
                {**fallback("type", "run"), "allOf": [ref("Base")]},
            ]
        },
        "Base": obj({"name": STRING}, "name"),
    },
    use='assert_type(UnknownCommand({"type": "_x", "name": "n"}).name, str)',
)


def test_envelope_of_the_fallback_by_all_of() -> None:
    assert FALLBACK_PAYLOAD.decode("Command", {"type": "_x", "name": "n"}).name == "n"
    assert FALLBACK_PAYLOAD.pointer("Command", {"type": "_x"}) == "/name"


EXCLUDED = ROWS.add(
    {
        "Content": {
            "anyOf": [variant("type", "items"), fallback("type", "items", "file", "markdown")],
        }
    }
)


def test_tags_that_only_the_not_of_the_fallback_names_match_nothing() -> None:
    assert EXCLUDED.encoded("Content", {"type": "timeline", "a": 1}) == {"type": "timeline", "a": 1}
    for tag in ("file", "markdown"):
        assert EXCLUDED.pointer("Content", {"type": tag}) == "/type"


@pytest.mark.parametrize("ruled_out", [const("a"), {"enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}])
def test_ways_to_write_the_not(ruled_out: dict[str, object]) -> None:
    branch = obj({"type": STRING}, "type", additionalProperties=True)
    branch["not"] = {"properties": {"type": ruled_out}, "required": ["type"]}
    row = ROWS.add({"Content": {"anyOf": [variant("type", "known"), branch]}})
    assert row.pointer("Content", {"type": "a"}) == "/type"
    assert row.encoded("Content", {"type": "c"}) == {"type": "c"}


# `Model` and `Any` are taken, so their classes are `Model_` and `Any_`. The TOML files go by the schema's names.
RESERVED = ROWS.add(
    {
        "Model": {
            "properties": {"note": STRING},
            "anyOf": [variant("t", "a", "Any"), variant("t", "b", "Any"), fallback("t", "a", "b")],
        },
        "Any": obj({"x": STRING}),
    },
    names="""
[Model]
First = ["a"]
Other = ["*"]
""",
    docs="""
[Model]
doc = "The union."
[Model.fields]
note = "A note."
[Model.variants]
b = "The second."
"*" = "Any other."
[Any]
doc = "The payload."
[Any.fields]
x = "An x."
""",
    use="""
model: Model_ = First(x="x", note="n")
model = Model_B()
model = Other({"t": "_c"})
""",
)


def test_names_and_docs_go_by_the_names_of_the_schema() -> None:
    module = RESERVED.module
    assert type(RESERVED.decode("Model_", {"t": "a"})) is module.First
    assert type(RESERVED.decode("Model_", {"t": "_c"})) is module.Other
    docs = {name: getattr(module, name).__doc__ for name in ("First", "Model_B", "Other", "Any_")}
    assert docs == {"First": "The payload.", "Model_B": "The second.", "Other": "Any other.", "Any_": "The payload."}
    for text in ("The union.", "A note.", "An x."):
        assert f'"""{text}"""' in source_of(module)


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []
