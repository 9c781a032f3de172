"""Words to identifiers: the only place that decides what a thing is called in Python.

Members are the snake_case form of the wire name, classes keep their schema name, synthesised classes are named by
`variant_name`. Reserved words are data at the top. Text that is no identifier never gets past this module.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from hashlib import blake2b

# What the generated modules themselves use by name, or export beside the models: a definition of that name gets a
# trailing underscore.
RESERVED_CLASSES = frozenset(
    """
    Any Annotated ClassVar Final Literal TypeAlias Union TYPE_CHECKING UNSET UnsetType
    Model Record OpenRecord UnknownVariant IntConstants MetaField Groups Meta
    DefaultOnError DefaultOnNull SkipInvalidItems
    TaggedUnion UntaggedUnion tagged_union untagged_union stands_for constant schema_default
    METHODS MethodSpec MethodNotFound PROTOCOL_VERSION SCHEMA SchemaInfo Context Handler Opening Remote
    Advertised ByValue IfHeld InState Listed
    Agent Client Proxy RemoteAgent RemoteClient RemoteProxy
    AgentSession Session SessionAgent SessionState Turn Policy os sessions describe
    AcpError AttributeError CapabilityError ConnectionClosed DecodeError EncodeError HttpError NegotiationError
    ProtocolError RequestError RequestTimeout advertise annotations builtins check convert decode encode extension
    importlib is_extension method_table models methods stable stub to_builtins unstable
    """.split()
) | frozenset(name for name in dir(builtins) if name[:1].islower() or name in ("None", "True", "False"))

# Builtins that annotations use: in a class with a member of that name they are written `builtins.list`.
ANNOTATION_BUILTINS = frozenset({"str", "int", "float", "bool", "list", "dict"})

# What class bodies call by name: a member of that name would hide it from those after it.
RESERVED_MEMBERS = frozenset({"builtins", "constant", "schema_default"})

# Attributes of `dict` and of the runtime's own base, which a member of a dict-based class must not hide.
RESERVED_RECORD_MEMBERS = frozenset(name for name in dir(dict) if not name.startswith("_")) | {
    "tag",
    "raw",
    "is_extension",
}

# What handlers and remotes have beside the methods of the protocol.
RESERVED_METHODS = frozenset(
    [
        "auth_methods",
        "capabilities",
        "connection",
        "connection_closed",
        "connection_opened",
        "extension_notification",
        "extension_request",
        "handles",
        "inbox",
        "info",
        "initialized",
        "routes",
        "session",
        "strict",
    ]
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CANONICAL_TAG = re.compile(r"[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def words(text: str) -> list[str]:
    """`toolCallId` and `tool_call-id` alike: ['tool', 'call', 'id']. Digits stay with the word before them."""
    found: list[str] = []
    end = -1
    for match in _WORD.finditer(text):
        if found and match.group().isdigit() and match.start() == end:
            found[-1] += match.group()
        else:
            found.append(match.group().lower())
        end = match.end()
    return found


def digest(text: str, length: int = 4) -> str:
    """A short stable mark for text that has no readable identifier of its own."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()[:length]


def is_identifier(text: str) -> bool:
    """ASCII only: what Python would normalise (NFKC) could make two names one."""
    return bool(_IDENTIFIER.fullmatch(text)) and not keyword.iskeyword(text)


def snake(text: str) -> str:
    """`sessionUpdate` -> `session_update`; text without letters or digits -> `field_<digest>`."""
    name = "_".join(words(text))
    if not name:
        return f"field_{digest(text)}"
    return f"field_{name}" if name[0].isdigit() else name


def pascal(text: str, is_title: bool = False) -> str:
    """`agent_message_chunk` -> `AgentMessageChunk`; marked with a digest where another text would give the same.

    What is plain snake_case goes unmarked; of titles PascalCase does too.
    """
    name = "".join(word[:1].upper() + word[1:] for word in words(text))
    if _CANONICAL_TAG.fullmatch(text) and text == "_".join(words(text)):
        return name
    if is_title and name == text and name[:1].isalpha():
        return name
    return f"{name}_{digest(text)}"


def constant_name(text: str) -> str:
    """`Parse error` -> `PARSE_ERROR`."""
    return snake(text).upper()


def class_name(definition: str) -> str | None:
    """The Python name of a definition: its own, with a trailing underscore where that is taken; None if unusable."""
    if definition in RESERVED_CLASSES or keyword.iskeyword(definition):
        return f"{definition}_"
    if not is_identifier(definition) or definition.startswith("_"):
        return None
    return definition


def member_names(wires: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    """Unique member names for the properties of one class; an exact match keeps its name, others get underscores."""
    taken: set[str] = set()
    avoid = frozenset(reserved)
    ordered = list(wires)
    names = {}
    for wire in sorted(ordered, key=lambda wire: (snake(wire) != wire, ordered.index(wire))):
        name = snake(wire)
        while name in taken or name in avoid or keyword.iskeyword(name):
            name += "_"
        taken.add(name)
        names[wire] = name
    return {wire: names[wire] for wire in ordered}


def variant_name(union: str, path: Iterable[str], taken: Iterable[str], is_titled: bool = False) -> str:
    """The rule for synthesised classes: the union's name, then each tag in PascalCase (`ContentBlockText`).

    Tags in plain snake_case give different names; any other tag adds a digest of itself. A name that is taken already
    gets a digest of its origin, so a branch that comes or goes renames no other. `is_titled`: the last step is a title.
    """
    steps = list(path)
    titles = [False] * (len(steps) - 1) + [is_titled]
    name = union + "".join(map(pascal, steps, titles))
    if name in frozenset(taken) or not is_identifier(name):
        name = re.sub(r"[^A-Za-z0-9_]", "", name) + "_" + digest("/".join([union, *steps]), 6)
    return name


def fallback_name(union: str, taken: Iterable[str]) -> str:
    """`UnknownX`; `UnrecognizedX` where `UnknownX` is a definition."""
    used = frozenset(taken)
    for name in (f"Unknown{union}", f"Unrecognized{union}"):
        if name not in used:
            return name
    return f"Unknown{union}_{digest(union, 6)}"


def camel(member: str) -> str:
    """What msgspec's `rename="camel"` makes of a member name; other wire names are spelt out."""
    first, *rest = member.split("_")
    return first + "".join(part.title() for part in rest)


def method_name(wire: str) -> str:
    """`session/request_permission` -> `session_request_permission`; what is taken gets a trailing underscore."""
    name = snake(wire)
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED_METHODS else name
