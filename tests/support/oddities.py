"""JSON that a peer might send by mistake or malice: hostile values, and damage to good ones.

Uses nothing of ours. Small draws lead to plain values, so that Hypothesis can shrink what its `randoms()` drew.
"""

import copy
import random
from collections.abc import Iterator
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
Slot: TypeAlias = tuple[Any, Any]  # a container, and the key or index of one value in it

DEEPEST = 50  # levels of the deepest hostile nest

TEXTS = (
    "a", "", "hello world", "two\nlines\tand a tab", 'quote " slash / backslash \\', "日本語", "😀 e\u0301", "\u0000",
    "\u2028\u2029", "\ufeff", "null", "0", "Text", " text",
)  # fmt: skip
INVENTED = ("_acme.dev/chart", "_acme_other", "_", "some_future_thing", "future/thing")
KEYS = ("extra", "_x", "", "__proto__", "constructor", "toString", "self", "class", "ünï", "a/b~c", "x.y", "\u0000")
NUMBERS = (
    0, 1, -1, 1.0, 1.5, -0.0, 5e-324, 1e308, -1e16, 2**16, 2**31, 2**32, 2**53 + 1, -(2**63), 2**63, 2**64, 10**25,
)  # fmt: skip


class Oddities:
    """Odd JSON values, some made of the words and property names that `schema` uses.

    `largest` bounds the size of every integer: 2**53 - 1 keeps to what JavaScript reads exactly.
    """

    def __init__(self, schema: Schema, largest: int) -> None:
        self.largest = largest
        self.words = tuple(sorted(set(_words(schema))))
        self.keys = (*KEYS, *sorted(set(_names(schema))))

    def text(self, rng: random.Random) -> str:
        """Some string: plain, odd, an extension's or a future version's, or a word of the schema."""
        return rng.choice(rng.choice((TEXTS, TEXTS, INVENTED, self.words or TEXTS)))

    def number(self, rng: random.Random) -> int | float:
        """Some number at the edge of what somebody's integers or floats hold."""
        return rng.choice([n for n in NUMBERS if isinstance(n, float) or abs(n) <= self.largest])

    def anything(self, rng: random.Random, depth: int) -> object:
        """Any JSON value of at most `depth` levels of containers."""
        kind = rng.randrange(8 if depth else 6)
        if kind < 2:
            return self.text(rng)
        if kind < 4:
            return self.number(rng)
        if kind < 6:
            return rng.choice((None, False, True))
        count = rng.randrange(4)
        if kind == 6:
            return [self.anything(rng, depth - 1) for _ in range(count)]
        return {rng.choice(self.keys): self.anything(rng, depth - 1) for _ in range(count)}

    def hostile(self, rng: random.Random) -> object:
        """Any JSON value: odd keys, odd numbers, odd text, sometimes a nest of up to 50 levels."""
        value = self.anything(rng, 3)
        if rng.random() > 4 / 5:
            for _ in range(rng.randint(1, DEEPEST - 3)):
                value = [value] if rng.random() < 0.5 else {rng.choice(self.keys): value}
        return value

    def mutated(self, value: object, rng: random.Random) -> object:
        """A copy of `value` with one to three damages. By luck it may still be valid."""
        root = [copy.deepcopy(value)]
        for _ in range(rng.randint(1, 3)):
            slots = list(_slots(root))
            # Tags are few among all values, and the most telling to damage.
            tags = [slot for slot in slots if slot[0][slot[1]] in self.words]
            holder, key = rng.choice(tags if tags and rng.random() > 2 / 3 else slots)
            self._damage(holder, key, rng)
        return root[0]

    def _damage(self, holder: Any, key: Any, rng: random.Random) -> None:
        """Spoil what `holder` has under `key`: drop it, replace it, or change it in the manner of its type."""
        how = rng.randrange(6)
        if how == 0 and isinstance(holder, dict):
            del holder[key]
        elif how == 1:
            holder[key] = None
        elif how == 2:
            holder[key] = self.anything(rng, 2)
        else:
            holder[key] = self._spoilt(holder[key], rng)

    def _spoilt(self, value: object, rng: random.Random) -> object:
        if isinstance(value, dict):
            if value and rng.random() < 0.5:
                value[rng.choice(self.keys)] = value.pop(rng.choice(sorted(value)))
            else:
                value[rng.choice(self.keys)] = self.anything(rng, 1)
            return value
        if isinstance(value, list):
            place = rng.randint(0, len(value))
            end = place + rng.randrange(2)
            return [*value[:place], *([self.anything(rng, 1)] * rng.randrange(2)), *value[end:]]
        if isinstance(value, str):
            return rng.choice((self.text(rng), "", "_" + value, value + "x", [value], self.number(rng)))
        if isinstance(value, bool) or value is None:
            return rng.choice((not value, 0, str(value), [value]))
        assert isinstance(value, int | float)
        # An integer that is written as a float is the same number in JSON Schema, and another one to us.
        return rng.choice((-value - 1, float(min(value, 2**53)), str(value), self.number(rng)))


def _slots(holder: Any) -> Iterator[Slot]:
    """Every place in `holder` that has a value, outermost first."""
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _slots(holder[key])


def _nodes(schema: object) -> Iterator[Schema]:
    if isinstance(schema, dict):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _nodes(part)


def _words(schema: Schema) -> Iterator[str]:
    """The strings that the schema fixes: tags and enum values."""
    for node in _nodes(schema):
        if isinstance(node.get("const"), str):
            yield node["const"]
        if isinstance(node.get("enum"), list):
            yield from (word for word in node["enum"] if isinstance(word, str))


def _names(schema: Schema) -> Iterator[str]:
    for node in _nodes(schema):
        if isinstance(node.get("properties"), dict):
            yield from node["properties"]
