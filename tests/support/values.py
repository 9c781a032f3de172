"""Random values that are valid for a JSON Schema, and a fast check that they are.

Reads the raw schema and nothing of ours, so that a test can hold our reading of a schema against this one. The
same seed gives the same value; it is plain JSON, and small.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
import rstr

from .oddities import Oddities, Schema

ATTEMPTS = 60  # draws of one value; a draw may contradict a `not`, a `oneOf` or itself
BUDGET = 60  # nodes of one value; whatever comes after is as small as the schema allows
DEPTH = 12  # nodes on top of each other, likewise

KINDS = {"null", "boolean", "integer", "number", "string", "array", "object"}
STRINGS = {
    "uri": ("file:///a/b.txt", "https://example.com/x?q=1#f", "urn:isbn:0451450523", "custom+scheme://h/%20"),
    "date-time": ("2025-01-31T12:00:00Z", "2024-02-29T23:59:59.123456+05:30", "1999-12-31T00:00:00-08:00"),
    "regex": ("^a+$", "", "[0-9]{2}", r"\d"),
    "base64": ("aGVsbG8=", "", "AA==", "/+8="),
}
RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
INTEGERS = (0, 1, 2, 7, -1, 42, 65536)
REALS = (0, 1, 0.5, 1.0, -2.25, 5.25e-05, 1e16, -1e300, 1e308)
NO_CONSTRAINT = {"title", "description", "default", "discriminator", "not"}


class _ContradictionError(Exception):
    """The branches drawn so far leave no value."""


@dataclass
class _Shape:
    """What is asked of one value once a branch is drawn from every union: a plain conjunction."""

    kinds: set[str] = field(default_factory=lambda: set(KINDS))
    choices: list[object] | None = None
    fields: dict[str, list[Schema]] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    strays: float = 1 / 5  # the chance of properties that the schema does not name
    rest: list[Schema] = field(default_factory=list)  # of a map: what its values are
    items: list[Schema] = field(default_factory=list)
    bounds: dict[str, int] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    checks: list[tuple[str, Any]] = field(default_factory=list)  # keywords to look at once the value is there
    unwanted: set[str] = field(default_factory=set)  # properties by which other branches of a `oneOf` are known
    foreign: list[tuple[str, object]] = field(default_factory=list)  # tags of the union whose untagged branch this is


class Values(Oddities):
    """Makes JSON values from `schema`, a document whose definitions are under `$defs`."""

    def __init__(self, schema: Schema, largest: int = 2**64 - 1) -> None:
        super().__init__(schema, largest)
        self.definitions: Schema = schema["$defs"]
        self._checks: dict[tuple[str, int], Callable[[object], bool]] = {}

    def valid(self, name: str, rng: random.Random) -> object:
        """A value that is valid for the definition `name`.

        Formats are kept too. Some values that are valid never come, because our wire rules read them differently:
        an integer that is written as 1.0, the untagged branch of a union with a tag of its neighbours, and one
        branch of an untagged `oneOf` with a malformed property by which another is known.
        """
        return _Draw(self, rng).value([self.definitions[name]])

    def holds(self, keyword: str, content: object, value: object) -> bool:
        """Whether `value` satisfies the keyword; `content` is a part of the schema document."""
        key = keyword, id(content)
        if key not in self._checks:
            self._checks[key] = _compiled({"$defs": self.definitions, keyword: content})
        return self._checks[key](value)


def validator(schema: Schema, name: str) -> Callable[[object], bool]:
    """The check whether a value is valid for the definition `name` of `schema`; formats are not asserted."""
    return _compiled({"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})


def _compiled(schema: Schema) -> Callable[[object], bool]:
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=False).is_valid


class _Draw:
    """The making of one valid value."""

    def __init__(self, values: Values, rng: random.Random) -> None:
        self.values = values
        self.rng = rng
        self.left = BUDGET
        self.depth = 0
        self.makers: dict[str, Callable[[_Shape], object]] = {  # the simplest first
            "null": lambda _: None,
            "boolean": lambda _: rng.choice((False, True)),
            "integer": self._integer,
            "number": self._real,
            "string": self._string,
            "array": self._array,
            "object": self._object,
        }

    def value(self, schemas: list[Schema]) -> object:
        """A value that every one of `schemas` accepts."""
        self.left -= 1
        self.depth += 1
        for attempt in range(ATTEMPTS):
            shape = _Shape()
            try:
                for schema in schemas:
                    self._add(shape, schema)
                # Unknown properties are the likeliest to be in the way, so late attempts do without.
                if attempt > ATTEMPTS // 2:
                    shape.strays = 0
                value = self._build(shape)
            except _ContradictionError:
                continue
            if self._fits(shape, value):
                self.depth -= 1
                return value
        raise ValueError(f"no value found for {schemas}")

    def _fits(self, shape: _Shape, value: object) -> bool:
        if isinstance(value, dict) and any(value.get(key) == tag for key, tag in shape.foreign):
            return False
        return all(self.values.holds(keyword, content, value) for keyword, content in shape.checks)

    def _add(self, shape: _Shape, schema: Schema | bool) -> None:
        """Put what `schema` asks on top of what `shape` asks already, drawing a branch of each union."""
        if isinstance(schema, bool):
            return
        for keyword, content in schema.items():
            if keyword == "$ref":
                self._add(shape, self._target(schema))
            elif keyword == "allOf":
                for part in content:
                    self._add(shape, part)
            elif keyword in ("anyOf", "oneOf"):
                branch = self._branch(shape, content)
                self._add(shape, branch)
                if keyword == "oneOf" and not _tags(content):
                    shape.unwanted |= set().union(*map(self._required, content)) - self._required(branch)
            elif keyword not in NO_CONSTRAINT and not keyword.startswith("x-"):
                _restrict(shape, keyword, content)
            # The other branches of a `oneOf` are ruled out by looking, as is what a `not` describes.
            if keyword in ("oneOf", "not"):
                shape.checks.append((keyword, content))

    def _target(self, schema: Schema) -> Schema:
        target: Schema = self.values.definitions[schema["$ref"].removeprefix("#/$defs/")]
        return target

    def _required(self, schema: Schema) -> set[str]:
        """The properties that an object needs for this branch."""
        names = set(schema.get("required", ()))
        for part in schema.get("allOf", ()):
            names |= self._required(part)
        return names | self._required(self._target(schema)) if "$ref" in schema else names

    def _branch(self, shape: _Shape, branches: list[Schema]) -> Schema:
        values = [branch for branch in branches if "const" in branch]
        if values and len(values) == len(branches) - 1:  # an open enum: unknown values deserve more than their share
            return branches[-1] if self.rng.random() > 2 / 3 else self.rng.choice(values)
        branch = self.rng.choice(branches)
        tags = _tags(branches)
        if not any(name in branch.get("properties", {}) for name, _ in tags):
            shape.foreign += tags
        return branch

    def _build(self, shape: _Shape) -> object:
        if shape.choices == [] or not shape.kinds:
            raise _ContradictionError
        if shape.choices:
            return self.rng.choice(shape.choices)
        if len(shape.kinds) == len(KINDS):
            return self.values.anything(self.rng, 2)
        kind = self.rng.choice([kind for kind in self.makers if kind in shape.kinds])
        return self.makers[kind](shape)

    def _integer(self, shape: _Shape) -> int:
        ranges = [RANGES[name] for name in shape.formats if name in RANGES] or [RANGES["int64"]]
        low = max(-self.values.largest, shape.bounds.get("minimum", -(2**64)), *(low for low, _ in ranges))
        high = min(self.values.largest, shape.bounds.get("maximum", 2**64), *(high for _, high in ranges))
        how = self.rng.randrange(4)
        if how == 2:
            return self.rng.choice((low, high))
        if how == 3:
            return self.rng.randint(low, high)
        return self.rng.choice([number for number in INTEGERS if low <= number <= high] or [low])

    def _real(self, shape: _Shape) -> int | float:
        low, high = shape.bounds.get("minimum", -1e308), shape.bounds.get("maximum", 1e308)
        return self.rng.choice([number for number in REALS if low <= number <= high] or [low])

    def _string(self, shape: _Shape) -> str:
        if shape.patterns:
            return str(rstr.Rstr(self.rng).xeger(shape.patterns[0]))
        pools = [STRINGS[name] for name in shape.formats if name in STRINGS]
        text = self.rng.choice(pools[0]) if pools else self.values.text(self.rng)
        return text.ljust(shape.bounds.get("minLength", 0), "x")

    def _spent(self) -> bool:
        return self.left < 0 or self.depth > DEPTH

    def _many(self) -> int:
        """How many of what the schema allows any number of."""
        return 0 if self._spent() else self.rng.choice((0, 1, 1, 2, 3))

    def _array(self, shape: _Shape) -> list[object]:
        count = max(shape.bounds.get("minItems", 0), self._many())
        return [self.value(shape.items) for _ in range(count)]

    def _object(self, shape: _Shape) -> dict[str, object]:
        if shape.rest and shape.fields:
            raise ValueError("properties beside a schema in additionalProperties are not supported")
        if shape.rest:
            return {self.rng.choice(self.values.keys): self.value(shape.rest) for _ in range(self._many())}
        made = {name: self.value(shape.fields.get(name, [])) for name in sorted(shape.required)}
        share = 0.0 if self._spent() else self.rng.choice((0.0, 0.3, 0.7, 1.0))
        for name, parts in shape.fields.items():
            if name not in made and self.rng.random() >= 1 - share:
                made[name] = self.value(parts)
        if self.rng.random() >= 1 - shape.strays:
            for key in self._strays(shape):
                made.setdefault(key, self.values.anything(self.rng, 2))
        if self.rng.random() > 4 / 5:
            names = list(made)
            self.rng.shuffle(names)
            made = {name: made[name] for name in names}
        return made

    def _strays(self, shape: _Shape) -> list[str]:
        """Names of properties that the shape does not have, now and then the tag that an untagged branch lacks."""
        keys = [key for key, _ in shape.foreign[:1]] if self.rng.random() > 0.5 else []
        keys += [self.rng.choice(self.values.keys) for _ in range(self.rng.randint(1, 2))]
        return [key for key in keys if key not in shape.fields and key not in shape.unwanted]


def _tags(branches: list[Schema]) -> list[tuple[str, object]]:
    """The properties and constants that tell the branches of a union apart."""
    fields = [item for branch in branches for item in branch.get("properties", {}).items()]
    return [(name, part["const"]) for name, part in fields if "const" in part]


def _restrict(shape: _Shape, keyword: str, content: Any) -> None:
    """Put one keyword that is no union on top of what `shape` asks already."""
    if keyword in ("const", "enum"):
        new = [content] if keyword == "const" else content
        shape.choices = [choice for choice in new if shape.choices is None or choice in shape.choices]
    elif keyword == "type":
        kinds = {content} if isinstance(content, str) else set(content)
        shape.kinds &= kinds | {"integer"} if "number" in kinds else kinds
    elif keyword in ("minimum", "minItems", "minLength"):
        shape.bounds[keyword] = max(content, shape.bounds.get(keyword, content))
    elif keyword == "maximum":
        shape.bounds[keyword] = min(content, shape.bounds.get(keyword, content))
    elif keyword in ("format", "contentEncoding"):
        shape.formats.append(content)
    elif keyword == "pattern":
        shape.patterns.append(content)
    else:
        _restrict_members(shape, keyword, content)


def _restrict_members(shape: _Shape, keyword: str, content: Any) -> None:
    if keyword == "properties":
        for name, part in content.items():
            shape.fields.setdefault(name, []).append(part)
    elif keyword == "required":
        shape.required |= set(content)
    elif keyword == "items":
        shape.items.append(content)
    elif keyword in ("additionalProperties", "unevaluatedProperties") and content is True:
        shape.strays = 1 / 2
    elif keyword == "additionalProperties" and content:
        shape.rest.append(content)
    else:
        raise ValueError(f"unsupported keyword {keyword}: {content!r}")
