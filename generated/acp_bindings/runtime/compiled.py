"""Types compiled to walk nodes, once each: annotations and union descriptions in, nodes out."""

from __future__ import annotations

import types
from threading import Lock
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

from .models import DefaultOnError, DefaultOnNull, IntConstants, Model, Record, SkipInvalidItems, UnknownVariant
from .objects import GroupedNode, Member, RecordNode, StructNode, TaggedNode, UntaggedNode
from .unions import TaggedUnion, Walked
from .walk import (
    AnyNode,
    ChoiceNode,
    ConstNode,
    Invalid,
    ListNode,
    MapNode,
    Node,
    NullableNode,
    OpenEnumNode,
    ScalarNode,
    StringNode,
    pointer,
)

_SCALARS = {int: "integer", float: "number", bool: "boolean", type(None): "null"}
# By identity, because hashing a union alias costs more than decoding a small message. The form is kept alive beside it.
_nodes: dict[int, tuple[Any, Node]] = {}
_structs: dict[tuple[type[Model], bool, frozenset[str]], StructNode] = {}
# Forms by equality: of `list[X]`, written anew at each call, one is kept.
_forms: dict[Any, Any] = {}
_lock = Lock()


def node_of(form: Any) -> Node:
    """The node of a class, a union alias or any other annotation, as it stands on its own. Raises TypeError."""
    entry = _nodes.get(id(form)) or _nodes.get(id(form := kept(form)))
    if entry is not None:
        return entry[1]
    with _lock:
        return _Compiler().run(form)


def kept(form: Any) -> Any:
    """The form that stands for all that are equal to this one."""
    return _forms.setdefault(form, form)


def decode_walked(form: Any, value: Any) -> Any:
    """msgspec's `dec_hook`: strictly decode a value whose type C cannot decide. Raises ValueError."""
    entry = _nodes.get(id(form))
    if entry is not None:
        return entry[1].walk(value, None, None)
    if isinstance(form, Walked) or (isinstance(form, type) and issubclass(form, Record)):
        return node_of(form).walk(value, None, None)
    raise TypeError(f"{form!r} is not a type that messages are decoded to")


def read_record(record: Record) -> Any:
    """The declared properties of a record, decoded. Raises ValueError when one is missing or invalid."""
    try:
        return node_of(type(record).fields()).walk(dict(record), None, [])
    except Invalid as error:
        raise ValueError(f"{type(record).__name__}: {pointer(error.path)}: {error.reason}") from None


class _Compiler:
    """Compiles one type and all that it is made of, then publishes the nodes: no other thread sees half a node."""

    def __init__(self) -> None:
        self.nodes: dict[int, tuple[Any, Node]] = {}
        self.structs: dict[tuple[type[Model], bool, frozenset[str]], StructNode] = {}
        self.untagged: list[UntaggedNode] = []
        self.waiting: list[tuple[StructNode, frozenset[str]]] = []

    def run(self, form: Any) -> Node:
        node = self.node(form)
        # One after the other and not one inside the other: a class may contain itself, and chains may be long.
        while self.waiting:
            struct, foreign = self.waiting.pop()
            fields = msgspec.structs.fields(struct.cls)
            struct.members = tuple(self._member(field, field.name in foreign) for field in fields)
        for struct in self.structs.values():
            below = _below(struct)
            struct.recursive = struct in below
            if not any(one.walked for one in below):
                struct.hook = None
        # Only now, since a type may contain itself: all nodes are complete.
        for untagged in self.untagged:
            untagged.settle(_required, untagged in _below(untagged))
        for struct in self.structs.values():
            struct.settle()
        if any(isinstance(one, UntaggedNode) and one.recursive for one in (node, *_below(node))):
            for _, one in self.nodes.values():
                one.logs = True
        _structs.update(self.structs)
        _nodes.update(self.nodes)
        return node

    def node(self, form: Any) -> Node:
        entry = _nodes.get(id(form)) or self.nodes.get(id(form))
        if entry is None:
            entry = self.nodes[id(form)] = (form, self._compile(form))
        return entry[1]

    def _compile(self, form: Any) -> Node:
        if form is Any:
            return AnyNode()
        if isinstance(form, type):
            return self._class(form)
        if form is None:
            return ScalarNode("null")
        origin, arguments = get_origin(form), get_args(form)
        if origin is Annotated:
            description = next((mark for mark in form.__metadata__ if isinstance(mark, TaggedUnion)), None)
            return self._tagged(description) if description else self._bounded(form.__origin__, form.__metadata__)
        if origin in (Union, types.UnionType):
            return self._union([part for part in arguments if part is not UnsetType])
        if origin is Literal:
            return ConstNode(arguments)
        if origin is list:
            return ListNode(self.node(arguments[0]))
        if origin is dict:
            return MapNode(self.node(arguments[1]))
        raise TypeError(f"{form!r} is not a type that messages are decoded to")

    def _class(self, cls: Any) -> Node:
        if isinstance(cls, Walked):
            if isinstance(cls.description, TaggedUnion):
                node = self._tagged(cls.description)
                node.walked = True
                return node
            untagged = UntaggedNode(tuple(map(self.node, cls.description.options)))
            self.untagged.append(untagged)
            return untagged
        if issubclass(cls, Record):
            return self._record(cls, cls._tag if issubclass(cls, UnknownVariant) else None)
        if issubclass(cls, Model):
            description = cls.__dict__.get("_stands_for")
            return self._tagged(description) if description else self._struct(cls, alone=True)
        if issubclass(cls, IntConstants):
            return self.node(cls._type)
        if cls is str:
            return StringNode()
        if cls in _SCALARS:
            return ScalarNode(_SCALARS[cls])
        raise TypeError(f"{cls!r} is not a type that messages are decoded to")

    def _bounded(self, form: Any, marks: tuple[Any, ...]) -> Node:
        meta = next((mark for mark in marks if isinstance(mark, msgspec.Meta)), None)
        if meta is None:
            return self.node(form)
        if form is str or form in _SCALARS:
            return ScalarNode(_SCALARS.get(form, "string"), meta.ge, meta.le, meta.min_length, meta.pattern)
        inner = self.node(form)
        assert isinstance(inner, ListNode)
        return ListNode(inner.items, meta.min_length or 0)

    def _union(self, parts: list[Any]) -> Node:
        """The members of a union without UNSET: null apart, constants beside their bare scalar dropped."""
        rest = [part for part in parts if part is not type(None)]
        bare = {part for part in rest if isinstance(part, type)}
        nodes = [self.node(part) for part in rest if not _is_covered(part, bare)]
        known = frozenset(value for part in rest if _is_covered(part, bare) for value in get_args(part))
        if known:
            nodes = [OpenEnumNode(known) if type(node) is StringNode else node for node in nodes]
        if any(isinstance(node, ScalarNode) and node.name == "number" for node in nodes):
            # `int | float` is how annotations say number.
            nodes = [node for node in nodes if not (isinstance(node, ScalarNode) and node.name == "integer")]
        anything = [node for node in nodes if isinstance(node, AnyNode)]
        if anything:
            return anything[0]
        inner = nodes[0] if len(nodes) == 1 else ChoiceNode(tuple(nodes))
        return NullableNode(inner) if len(rest) < len(parts) else inner

    def _tagged(self, description: TaggedUnion) -> TaggedNode:
        node = TaggedNode(description.tag, description.excluded)
        for tag, target in description.variants.items():
            if isinstance(target, TaggedUnion):
                node.variants[tag] = self._tagged(target)
            else:
                node.variants[tag] = self._struct(target, False, description.foreign)
        node.fallback = self._record(description.fallback, None) if description.fallback else None
        node.default = self._struct(description.default, False, description.foreign) if description.default else None
        return node

    def _record(self, cls: type[Record], tag: str | None) -> RecordNode:
        fields = cls.fields()
        return RecordNode(cls, self._struct(fields, alone=True) if fields.__struct_fields__ else None, tag)

    def _struct(self, cls: type[Model], alone: bool, foreign: frozenset[str] = frozenset()) -> StructNode:
        """The node of a model class: `alone` as a definition of its own, else as a variant whose tags were read."""
        key = (cls, alone, foreign)
        node = _structs.get(key) or self.structs.get(key)
        if node is not None:
            return node
        groups = getattr(cls, "_groups", None)
        node = GroupedNode(cls, decode_walked, groups) if groups else StructNode(cls, decode_walked)
        self.structs[key] = node
        config = cls.__struct_config__
        if alone:
            foreign = foreign | frozenset(getattr(cls, "_variant_only", ()))
            if isinstance(config.tag, str) and config.tag_field and not getattr(cls, "_definition", True):
                node.tag = (config.tag_field, config.tag)
        self.waiting.append((node, foreign))
        return node

    def _member(self, field: msgspec.structs.FieldInfo, foreign: bool) -> Member:
        marks = field.type.__metadata__ if get_origin(field.type) is Annotated else ()
        node = self.node(field.type)
        if SkipInvalidItems in marks:
            node = _skipping(node)
        bare = node.inner if isinstance(node, NullableNode) else node
        empty = list if isinstance(bare, ListNode) else dict if isinstance(bare, MapNode) else None
        return Member(
            field.name,
            field.encode_name,
            node,
            required=field.required and not foreign,
            on_error=DefaultOnError in marks and (empty is not None or not field.required),
            on_null=DefaultOnNull in marks,
            empty=empty if field.required else None,
            foreign=foreign,
            unset=foreign and field.required,
        )


def _is_covered(part: Any, bare: set[type]) -> bool:
    return get_origin(part) is Literal and {type(value) for value in get_args(part)} <= bare


def _required(node: Node) -> frozenset[str]:
    """Wire names that must be in an object (of an array: in its first item) for this node to come into question."""
    if isinstance(node, ListNode):
        return _required(node.items)
    if isinstance(node, StructNode):
        return frozenset(member.wire for member in node.members if member.required)
    if isinstance(node, RecordNode) and node.fields is not None:
        return _required(node.fields)
    if isinstance(node, TaggedNode) and node.default is None:
        return frozenset((node.tag,))
    return frozenset()


def _skipping(node: Node) -> Node:
    """The same node, with the list in it dropping invalid items."""
    if isinstance(node, NullableNode):
        return NullableNode(_skipping(node.inner))
    assert isinstance(node, ListNode)
    return ListNode(node.items, node.least, skip=True)


def _below(start: Node) -> list[Node]:
    """All nodes that values of `start` are made of."""
    found: dict[Node, None] = {}
    open_nodes = list(start.inside())
    while open_nodes:
        node = open_nodes.pop()
        if node not in found:
            found[node] = None
            open_nodes.extend(node.inside())
    return list(found)
