"""Union aliases as the decoder sees them.

`tagged_union` and `untagged_union` make the runtime value of a union alias. Where the C decoder can tell the members
apart, that is a plain `Union` with the union's description attached; else it is a class of its own that the decoder
hands to `walk`. Type checkers never see this: they read the alias from the TYPE_CHECKING branch beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec

from .models import Model, UnknownVariant


class TaggedUnion:
    """How to tell the variants of one union apart: by the string property `tag`.

    `fallback` takes unknown tags; without one the union is closed. `excluded` tags match nothing. `default` takes
    objects without a usable tag, and, in a closed union, with an unknown one. `foreign` names members that the classes
    carry for an outer union only.
    """

    __slots__ = ("default", "excluded", "fallback", "foreign", "name", "tag", "variants")

    def __init__(
        self,
        name: str,
        tag: str,
        variants: Mapping[str, type[Model] | TaggedUnion],
        fallback: type[UnknownVariant] | None = None,
        default: type[Model] | None = None,
        excluded: tuple[str, ...] = (),
        foreign: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.tag = tag
        self.variants = variants
        self.fallback = fallback
        self.default = default
        self.excluded = frozenset(excluded)
        self.foreign = frozenset(foreign)


class UntaggedUnion:
    """Alternatives told apart by JSON kind, then by required keys, then by trying them in order."""

    __slots__ = ("name", "options")

    def __init__(self, name: str, options: tuple[Any, ...]) -> None:
        self.name = name
        self.options = options


class Walked(type):
    """The class of types that the C decoder hands to us: any value that `walk` returns counts as an instance."""

    description: TaggedUnion | UntaggedUnion

    def __instancecheck__(cls, instance: object) -> bool:
        return True


def untagged_union(name: str, *options: Any) -> Any:
    """The runtime value of an untagged union alias."""
    return _walked(UntaggedUnion(name, options))


def tagged_union(description: TaggedUnion) -> Any:
    """The runtime value of a tagged union alias."""
    native: list[type[msgspec.Struct]] = [
        cls
        for tag, cls in description.variants.items()
        if isinstance(cls, type)
        and (cls.__struct_config__.tag_field, cls.__struct_config__.tag) == (description.tag, tag)
    ]
    nested = [one for one in description.variants.values() if isinstance(one, TaggedUnion)]
    if not native or description.default or len(native) + len(nested) < len(description.variants):
        return _walked(description)
    if len(native) == 1:
        native.append(_never(description.tag))
    return Annotated[reduce(or_, native), description]


def stands_for(cls: type[Model], description: TaggedUnion) -> None:
    """Say that `cls` bears the name of a union definition: decoded on its own, it is that union."""
    # Not declared on Model: msgspec would make it a field.
    cls._stands_for = description  # type: ignore[attr-defined]


def _walked(description: TaggedUnion | UntaggedUnion) -> Any:
    return Walked(description.name, (), {"description": description, "__module__": __name__})


class _Nothing(metaclass=Walked):
    """A type that no value has."""

    description = UntaggedUnion("nothing", ())


def _never(tag: str) -> type[msgspec.Struct]:
    """A variant that never decodes. msgspec accepts a lone tagged class without its tag, but not one of two."""
    return msgspec.defstruct("Never", [("nothing", _Nothing)], bases=(Model,), tag_field=tag, tag="\0never")
