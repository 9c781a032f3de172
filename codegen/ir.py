"""The intermediate representation: what a schema means, decided once.

Frozen, free of raw schema and of Python syntax. `lower` makes it, `python` and the templates print it, `inspect`
shows it. Class and member names are allocated already (`names`), because everything else refers to things by name.

    Profile -> definitions: Alias | Enum | Struct | Record | Fallback | TaggedUnion | UntaggedUnion
            -> methods: Method
    Type     = AnyType | Scalar | Const | Ref | Array | Map | Nullable | Choice      (what a field or an alias may hold)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, TypeAlias

ScalarKind = Literal["string", "integer", "number", "boolean", "null"]
Side = Literal["agent", "client", "proxy", "protocol"]
Kind = Literal["request", "notification"]


@dataclass(frozen=True, slots=True)
class AnyType:
    """Any JSON value."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One JSON scalar kind, with the bounds that are checked."""

    kind: ScalarKind
    minimum: int | float | None = None
    maximum: int | float | None = None
    min_length: int | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Const:
    """A closed set of constants, written in place."""

    values: tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class Ref:
    """Another definition of the profile, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Array:
    """A list of at least `min_items`."""

    items: Type
    min_items: int = 0


@dataclass(frozen=True, slots=True)
class Map:
    """An object whose values all have one type."""

    values: Type


@dataclass(frozen=True, slots=True)
class Nullable:
    """A type, or null."""

    of: Type


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives of different JSON kinds, told apart by kind alone."""

    options: tuple[Type, ...]


Type: TypeAlias = AnyType | Scalar | Const | Ref | Array | Map | Nullable | Choice


@dataclass(frozen=True, slots=True)
class Default:
    """A schema default: any JSON value, kept as canonical JSON text so that the IR stays hashable."""

    json: str


@dataclass(frozen=True, slots=True)
class Field:
    """One property. `constant` marks a nested tag: one value, filled in by default and always written."""

    wire: str
    name: str
    type: Type
    required: bool = False
    default: Default | None = None
    on_error: bool = False
    skip_items: bool = False
    on_null: bool = False
    constant: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag property and the value that picks this class."""

    wire: str
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """Members that belong together; the group is there when all of `required` are. Member names, not wire names."""

    title: str
    members: tuple[str, ...]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """Property groups beside the plain properties: exactly one must be there, or (`exclusive` false) at least one."""

    exclusive: bool
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """A class with known fields.

    `base` is a definition whose fields it inherits; `fields` lists only what it adds. `definition` is False for a
    class that exists as a union's variant alone. A definition that doubles as a variant names in `variant_only` the
    members that the definition itself does not have. `stands_for` is the union definition that carries its name.
    """

    name: str
    fields: tuple[Field, ...]
    tag: Tag | None = None
    base: str | None = None
    groups: Groups | None = None
    definition: bool = True
    variant_only: tuple[str, ...] = ()
    stands_for: TaggedUnion | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known fields that also keeps what it does not know."""

    name: str
    fields: tuple[Field, ...]
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Fallback:
    """The class for a union's unknown tags: the payload whole, `fields` of it validated and typed."""

    name: str
    union: str
    tag: str
    fields: tuple[Field, ...] = ()
    groups: Groups | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """What one tag value leads to: a class by name, or a union nested in the same object."""

    value: str
    target: str | TaggedUnion


@dataclass(frozen=True, slots=True)
class TaggedUnion:
    """Objects told apart by one string property.

    `fallback` takes unknown tags (None: the union is closed); `excluded` tags match nothing, though unlisted. `default`
    takes objects without a usable tag. `foreign` are members that its classes carry for an outer union only.
    """

    name: str
    tag: str
    variants: tuple[Variant, ...]
    fallback: str | None = None
    default: str | None = None
    excluded: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    doc: str = ""

    def classes(self) -> tuple[str, ...]:
        """Every class that decoding may yield, each once, fallbacks last."""
        known: dict[str, None] = {}
        unknown: dict[str, None] = {}
        for variant in self.variants:
            if isinstance(variant.target, str):
                known[variant.target] = None
            else:
                inner = variant.target
                fallbacks = {one.fallback for one in inner.nested() if one.fallback}
                for name in inner.classes():
                    (unknown if name in fallbacks else known)[name] = None
        if self.default:
            known[self.default] = None
        if self.fallback:
            unknown[self.fallback] = None
        return (*known, *unknown)

    def nested(self) -> Iterator[TaggedUnion]:
        """This union and those inside it."""
        yield self
        for variant in self.variants:
            if isinstance(variant.target, TaggedUnion):
                yield from variant.target.nested()


@dataclass(frozen=True, slots=True)
class UntaggedUnion:
    """Alternatives told apart by JSON kind, then by required keys, then by trying."""

    name: str
    options: tuple[Type, ...]
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name for a type."""

    name: str
    type: Type
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Enum:
    """Constants with names. An open one keeps values that it does not know."""

    name: str
    kind: Literal["string", "integer"]
    members: tuple[tuple[str, str | int], ...]
    open: bool
    minimum: int | None = None
    maximum: int | None = None
    doc: str = ""


Definition: TypeAlias = Alias | Enum | Struct | Record | Fallback | TaggedUnion | UntaggedUnion


@dataclass(frozen=True, slots=True)
class Advertised:
    """A capability that a side's `initialize` payload has to hold. Paths are of wire names, with dots between."""

    side: Side
    path: str


@dataclass(frozen=True, slots=True)
class IfHeld:
    """Params that hold `field` need a capability."""

    field: str
    needs: Advertised


@dataclass(frozen=True, slots=True)
class ByValue:
    """What the values of `field` need, each of them where the path has a `[]`: `free` ones nothing, `never` ones what
    nobody can advertise. No other value is known.
    """

    field: str
    free: tuple[str, ...]
    needs: tuple[tuple[str, Advertised], ...]
    never: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """The value of `field` has to be the `member` of an object in a list that a side advertised, and of none that is
    `barred` by another member's value.
    """

    field: str
    within: Advertised
    member: str
    barred: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class InState:
    """An object of the session's state has to be there and to advertise `needs`: the one whose `member` is the value of
    `field`. Without a `field` the session has one such object, or none, which needs nothing.
    """

    state: str
    field: str | None = None
    member: str | None = None
    needs: str | None = None


Need: TypeAlias = Advertised | IfHeld | ByValue | Listed | InState


@dataclass(frozen=True, slots=True)
class Method:
    """One wire method as its receiving side sees it. `result` is None for a notification, and where always null.

    `unhandled` is the error code where nobody handles it, if that is not "method not found". `needs` is what has to be
    there before it may be called, None where nobody has said.
    """

    side: Side
    kind: Kind
    name: str
    params: str
    result: str | None = None
    unhandled: int | None = None
    needs: tuple[Need, ...] | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """How this version spells `initialize`: member names, empty where it has no such member.

    `offered` says which auth methods, by their tags, are only for clients with a capability.
    """

    request: str
    response: str
    client_info: str
    client_capabilities: str
    agent_info: str
    agent_capabilities: str
    auth_methods: str
    offered: tuple[tuple[str, Advertised], ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a schema came from; goes into every generated header."""

    source: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One schema file, lowered. `definitions` has synthesised classes too; `exported` are the schema's own names.

    `baseline` says which methods a capability of the agent promises, by the path to it (capabilities.toml).
    """

    version: str
    channel: str
    source: Source
    definitions: Mapping[str, Definition]
    exported: tuple[str, ...]
    envelopes: tuple[str, ...]
    methods: tuple[Method, ...]
    opening: Opening | None = None
    baseline: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.version}/{self.channel}"

    @property
    def number(self) -> int:
        """The protocol version as `initialize` negotiates it."""
        return int(self.version.removeprefix("v"))


def parts(node: object) -> Iterator[object]:
    """An IR node and all the nodes inside it."""
    if isinstance(node, tuple):
        for item in node:
            yield from parts(item)
    elif is_dataclass(node):
        yield node
        for part in fields(node):
            yield from parts(getattr(node, part.name))


def references(node: object) -> Iterator[str]:
    """Names of the definitions that an IR node mentions, in order, repeats included."""
    match node:
        case Ref(name):
            yield name
        case Struct() if node.base:
            yield node.base
        case Variant(target=str() as target):
            yield target
        case TaggedUnion():
            yield from (name for name in (node.fallback, node.default) if name)
    if is_dataclass(node):
        for part in fields(node):
            value = getattr(node, part.name)
            for item in value if isinstance(value, tuple) else (value,):
                if is_dataclass(item):
                    yield from references(item)
