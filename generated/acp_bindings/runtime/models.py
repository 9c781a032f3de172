"""What generated classes are made of: the base of all models, the dict-based kinds, and the marks on their fields.

A field's annotation says all that decoding needs: its type, its bounds (`msgspec.Meta`), and its tolerance, as one of
the marks below in an `Annotated`. The C decoder ignores the marks; `walk` goes by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

T = TypeVar("T")


class DefaultOnError:
    """A present but invalid value reads as the field's default (x-deserialize-default-on-error)."""


class SkipInvalidItems:
    """Invalid items of this list are dropped, their neighbours stay (x-deserialize-skip-invalid-items)."""


class DefaultOnNull:
    """null reads as the field's default (x-deserialize-default-on-null)."""


MetaField: TypeAlias = Annotated[dict[str, Any] | UnsetType | None, DefaultOnError]
"""`_meta`: custom data by namespaced key. Absent, null and present are three states."""


# Messages are trees, so the garbage collector need not look for cycles through them: a tenth of the time of decoding.
class Model(msgspec.Struct, kw_only=True, omit_defaults=True, repr_omit_defaults=True, rename="camel", gc=False):
    """Base of all generated models: keyword-only, snake_case members, camelCase on the wire.

    Absent optional members are `UNSET`; optional lists and maps read as empty and are not written while empty.
    """


def is_extension(value: str) -> bool:
    """Whether a tag or enum value is an implementation's own (leading underscore), not one of a future ACP version."""
    return value.startswith("_")


def constant(value: T, *, name: str | None = None) -> T:
    """The default of a field that can only hold this value. It is always written."""
    return _written(value, name)


def schema_default(value: T, *, name: str | None = None) -> T:
    """A default that the schema gives: read when the property is absent, and written."""
    return _written(value, name)


def _written(value: T, name: str | None) -> T:
    # msgspec leaves out a field that holds its default; one made by a factory it writes. To type checkers the field's
    # default is the value itself.
    made: Any = msgspec.field(default_factory=lambda: value, name=name)
    default: T = made
    return default


class Groups:
    """Members that come in groups: exactly one group must be there (`exclusive`), or at least one.

    A group is there when all its `required` members are. Members of a group that is not there are unknown properties
    and are dropped.
    """

    __slots__ = ("exclusive", "groups")

    def __init__(self, exclusive: bool, *groups: tuple[str, tuple[str, ...], tuple[str, ...]]) -> None:
        """Each group is its title, its members and those of them that are required."""
        self.exclusive = exclusive
        self.groups = groups

    def settle(self, model: Any) -> None:
        """Check a model and drop strays. Raises ValueError when the wrong number of groups is there."""
        present = [members for _, members, required in self.groups if all(_is_set(model, name) for name in required)]
        if not present or (self.exclusive and len(present) > 1):
            raise ValueError(self.rule())
        kept = {name for members in present for name in members}
        for _, members, _ in self.groups:
            for name in members:
                if name not in kept and _is_set(model, name):
                    setattr(model, name, UNSET)

    def rule(self, wire: Mapping[str, str] = {}) -> str:
        """What is expected, for people; `wire` has names to show for the members' own."""
        titles = " or ".join(
            f"{title} ({', '.join(wire.get(name, name) for name in required)})" for title, _, required in self.groups
        )
        return f"expected {'exactly' if self.exclusive else 'at least'} one of {titles}"


def _is_set(model: Any, name: str) -> bool:
    return getattr(model, name) is not UNSET


if TYPE_CHECKING:
    _Int = int
else:
    _Int = object


class IntConstants(_Int):
    """A namespace of integer constants for values that are plain ints, known or not; `_type` is what decodes them."""

    _type: ClassVar[Any] = int


class Record(dict[str, Any]):
    """A JSON object kept whole, with some of its properties declared: those are validated and readable as attributes.

    A subclass declares them as a `Model` does. They are read from the object itself at each access, so that there is
    one copy of every value; a malformed property that the schema tolerates reads as its default, and stays as it is
    in the object.
    """

    __slots__ = ()
    _declared: ClassVar[dict[str, tuple[Any, ...]]] = {}
    _fields: ClassVar[type[Model] | None] = None

    def __init_subclass__(cls) -> None:
        annotations = cls.__annotations__
        names = [name for name in annotations if not name.startswith("_")]
        # A name and a type, and a default where there is one.
        cls._declared = {
            name: (annotations[name], cls.__dict__[name]) if name in cls.__dict__ else (annotations[name],)
            for name in names
        }
        for name in names:
            if name in cls.__dict__:
                delattr(cls, name)
        cls._fields = None

    def __init__(self, properties: Mapping[str, Any] = {}, /, **more: Any) -> None:
        """Properties by their wire names. Raises ValueError when a declared one is missing or invalid."""
        super().__init__(properties, **more)
        from .compiled import read_record

        read_record(self)

    @classmethod
    def fields(cls) -> type[Model]:
        """The declared properties as a model class of its own."""
        if cls._fields is not None:
            return cls._fields
        groups = cls.__dict__.get("_groups")
        namespace = {"_groups": groups, "__post_init__": lambda model: groups.settle(model)} if groups else {}
        declared: list[Any] = [(name, *described) for name, described in cls._declared.items()]
        made: Any = msgspec.defstruct(
            cls.__name__, declared, bases=(Model,), module=cls.__module__, namespace=namespace, kw_only=True
        )
        fields: type[Model] = made
        cls._fields = fields
        return fields

    if not TYPE_CHECKING:  # the declared properties have types of their own, and there are no others

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name not in type(self)._declared:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            from .compiled import read_record

            return getattr(read_record(self), name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"


class OpenRecord(Record):
    """A known object that keeps properties which the schema does not list."""

    __slots__ = ()


class UnknownVariant(Record):
    """A variant that this version of the schema does not know: the payload, whole and unchanged, with its tag.

    It is a dict, and encodes to the JSON value that it was decoded from. Building one needs a tag with a leading
    underscore, which marks an implementation's own variants; other names belong to future versions of ACP.
    """

    __slots__ = ()
    _tag: ClassVar[str]

    def __init__(self, properties: Mapping[str, Any] = {}, /, **more: Any) -> None:
        """Properties by their wire names. Raises ValueError for a tag without a leading underscore."""
        super().__init__(properties, **more)
        tag = self.get(self._tag)
        if not isinstance(tag, str) or not is_extension(tag):
            raise ValueError(
                f"{type(self).__name__}: {self._tag} is {tag!r}, but only a leading underscore makes a tag of one's own"
            )

    @property
    def tag(self) -> str:
        """The value of the property that tells variants apart."""
        return str(self[self._tag])

    @property
    def raw(self) -> dict[str, Any]:
        """The whole payload as it came."""
        return self

    @property
    def is_extension(self) -> bool:
        """True for an implementation's own variant, False for one of a newer ACP version."""
        return is_extension(self.tag)
