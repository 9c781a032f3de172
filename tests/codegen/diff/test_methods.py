"""Methods and what capabilities promise: one pair of schemas for each kind of change."""

from __future__ import annotations

from typing import Any, Final

import pytest

from codegen.diff import compare
from tests.support.diffs import Told, profiles, report, told, with_methods
from tests.support.tiny import INTEGER, STRING, obj, ref

B: Final = "breaking"
A: Final = "additive"
N: Final = "neutral"

DEFS: Final = {
    "OpenRequest": obj({"path": STRING}, "path"),
    "OpenResponse": obj({"id": STRING}, "id"),
    "OtherRequest": obj({"path": STRING, "depth": INTEGER}, "path", "depth"),
    "OtherResponse": obj({"id": STRING, "size": INTEGER}, "id"),
    "Note": obj({"text": STRING}, "text"),
}
OPEN: Final = ("agent", "request", "file/open", "OpenRequest", "OpenResponse")
NOTE: Final = ("client", "notification", "note", "Note")

PAIRS: Final[dict[str, tuple[list[Any], list[Any], list[Told]]]] = {
    # Nobody has to call it; who does not know it answers "method not found".
    "request added": ([NOTE], [NOTE, OPEN], [Told("method-added", "file/open (request to the agent)", A, A, A)]),
    # Old callers are refused.
    "request removed": ([NOTE, OPEN], [NOTE], [Told("method-removed", "file/open (request to the agent)", B, N, B)]),
    "notification added": (
        [OPEN],
        [OPEN, NOTE],
        [Told("method-added", "note (notification to the client)", A, A, A)],
    ),
    # Ignored, so nothing fails; but a message that nobody handles does nothing any more.
    "notification removed": (
        [OPEN, NOTE],
        [OPEN],
        [Told("method-removed", "note (notification to the client)", B, N, B)],
    ),
    # Known by its params and result: nobody knows the name of the other.
    "renamed": (
        [OPEN],
        [("agent", "request", "file/read", "OpenRequest", "OpenResponse")],
        [Told("method-renamed", "file/read (request to the agent)", B, B, B)],
    ),
    # The caller waits for an answer, or does not read the one that comes.
    "of another kind": (
        [("agent", "request", "note", "Note", "OtherResponse"), OPEN],
        [("agent", "notification", "note", "Note"), OPEN],
        [Told("method-kind", "note (notification to the agent)", B, B, B)],
    ),
    # The side that handled it is not called any more, the other does not handle it yet.
    "for another side": (
        [NOTE, OPEN],
        [("agent", "notification", "note", "Note"), OPEN],
        [Told("method-side", "note (notification to the agent)", B, B, B)],
    ),
    # `depth` is required in the other params: what old senders write lacks it, what new ones write has what was asked.
    "other params": (
        [OPEN],
        [("agent", "request", "file/open", "OtherRequest", "OpenResponse")],
        [Told("method-params", "file/open (request to the agent)", B, N, B)],
    ),
    # One more optional property in the result: whoever reads by either schema finds what it needs.
    "other result": (
        [OPEN],
        [("agent", "request", "file/open", "OpenRequest", "OtherResponse")],
        [Told("method-result", "file/open (request to the agent)", N, N, B)],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_methods(name: str) -> None:
    old, new, expected = PAIRS[name]
    found = report(with_methods(DEFS, *old), with_methods(DEFS, *new))
    assert told(found) == expected


def test_flows_of_params_and_result() -> None:
    """Params go to the side that a method is for, its result comes back."""
    other = ("agent", "request", "file/open", "OtherRequest", "OtherResponse")
    params, result = report(with_methods(DEFS, OPEN, NOTE), with_methods(DEFS, other, NOTE)).changes
    assert (params.kind, params.flows) == ("method-params", (("client", "agent"),))
    assert (result.kind, result.flows) == ("method-result", (("agent", "client"),))


PROMISING: Final = with_methods(
    {
        "InitializeRequest": obj({"version": INTEGER}, "version"),
        "InitializeResponse": obj({"capabilities": ref("AgentCapabilities")}, "capabilities"),
        "AgentCapabilities": obj({"files": ref("FileCapabilities")}),
        "FileCapabilities": obj({"note": STRING}),
        **DEFS,
    },
    ("agent", "request", "initialize", "InitializeRequest", "InitializeResponse"),
    OPEN,
    ("agent", "notification", "note", "Note"),
)


def test_promises() -> None:
    """An old agent that advertises the capability does not handle what it did not promise; that is why it breaks."""
    less = profiles(PROMISING, capabilities='[baseline]\nfiles = ["file/open"]\n')
    more = profiles(PROMISING, capabilities='[baseline]\nfiles = ["file/open", "note"]\n')
    assert told(compare(less, more)) == [Told("promise-added", "files.note", A, B, A)]
    # The other way round callers lose what they could count on.
    assert told(compare(more, less)) == [Told("promise-removed", "files.note", B, N, N)]
    assert compare(less, more).changes[0].flows == (("client", "agent"),)


def test_error_of_a_method_that_nobody_handles() -> None:
    """Callers go by the code; nothing else that arrives is different."""
    plain = profiles(PROMISING)
    refused = profiles(PROMISING, capabilities='[unhandled]\n"file/open" = -32602\n')
    found = compare(plain, refused)
    assert told(found) == [Told("method-unhandled", "file/open (request to the agent)", B, N, N)]
    assert (found.changes[0].before, found.changes[0].after) == ("method not found", "-32602")


def test_capabilities_are_told_with_their_path() -> None:
    """As any optional field; a peer that does not know it takes it for not advertised."""
    extended = {**PROMISING, "FileCapabilities": obj({"note": STRING, "watch": obj({"deep": INTEGER})})}
    found = report(PROMISING, extended)
    change = next(one for one in found.changes if one.subject == "capability")
    assert told([change]) == [Told("field-added-optional", "FileCapabilities.watch", A, A, A)]
    assert change.notes == ("capability agent: capabilities.files.watch",)
    gone = next(one for one in report(extended, PROMISING).changes if one.subject == "capability")
    assert told([gone]) == [Told("field-removed-optional", "FileCapabilities.watch", N, N, B)]
