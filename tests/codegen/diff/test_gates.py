"""What a call needs: told fact by fact, and harmless where it comes with something new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from codegen import ir
from codegen.diff import compare
from tests.support.diffs import profiles, with_methods
from tests.support.tiny import STRING, obj

B: Final = "breaking"
A: Final = "additive"
N: Final = "neutral"


@dataclass(frozen=True, slots=True)
class Advertised:
    """A capability of one side."""

    side: str
    path: str


@dataclass(frozen=True, slots=True)
class IfHeld:
    """Params with that field need it."""

    field: str
    needs: Advertised


@dataclass(frozen=True, slots=True)
class ByValue:
    """What each value of a field needs."""

    field: str
    free: tuple[str, ...] = ()
    needs: tuple[tuple[str, Advertised], ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InState:
    """An object of the session's state, which need not be there without a field."""

    state: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Gated(ir.Method):
    """A method of which somebody has said what it needs (None for nobody, an empty tuple for nothing), and more."""

    needs: Any = None
    hint: str = ""


FILES: Final = Advertised("agent", "capabilities.files")
WATCH: Final = Advertised("client", "capabilities.watch")
PATH_FILES: Final = IfHeld("path", FILES)
DEPTH_FILES: Final = IfHeld("depth", FILES)


def gated(needs: Any, **properties: Any) -> ir.Profile:
    """One method that takes a path, and what it needs."""
    defs = {"OpenRequest": obj({"path": STRING, **properties}), "OpenResponse": obj({"id": STRING})}
    (profile,) = profiles(with_methods(defs, ("agent", "request", "open", "OpenRequest", "OpenResponse")))
    (method,) = profile.methods
    other = Gated(method.side, method.kind, method.name, method.params, method.result, needs=needs)
    return replace(profile, methods=(other,))


def told(old: ir.Profile, new: ir.Profile) -> list[tuple[str, ...]]:
    found = (one for one in compare([old], [new]).changes if one.subject == "need")
    return [(one.kind, one.member, one.senders.level, one.receivers.level, one.python.level) for one in found]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # Callers have to look first, or are refused; a receiver is called less often.
        ((), (FILES,), [("gate-added", "agent.capabilities.files", B, N, B)]),
        # Callers need not look any more, and call old receivers that never made it possible.
        ((FILES,), (), [("gate-removed", "agent.capabilities.files", A, B, A)]),
        ((FILES,), (FILES, WATCH), [("gate-added", "client.capabilities.watch", B, N, B)]),
        # One instead of another is both.
        (
            (FILES,),
            (WATCH,),
            [
                ("gate-removed", "agent.capabilities.files", A, B, A),
                ("gate-added", "client.capabilities.watch", B, N, B),
            ],
        ),
        # A param that was free needs something now; or something else.
        ((), (PATH_FILES,), [("gate-added", "path", B, N, B)]),
        ((PATH_FILES,), (IfHeld("path", WATCH),), [("gate-changed", "path", B, B, B)]),
        # A value that was free; one that was not; one that needs something else.
        (
            (ByValue("path", ("a",)),),
            (ByValue("path", (), (("a", FILES),)),),
            [("gate-added", 'path "a"', B, N, B)],
        ),
        ((ByValue("path", never=("a",)),), (ByValue("path", ("a",)),), [("gate-removed", 'path "a"', A, B, A)]),
        # A value that nobody knew, and so nobody sent: its need comes with it. And goes with it.
        (
            (ByValue("path", ("a",)),),
            (ByValue("path", ("a",), (("b", FILES),)),),
            [("gate-with-new", 'path "b"', A, N, A)],
        ),
        (
            (ByValue("path", ("a",), (("b", FILES),)),),
            (ByValue("path", ("a",)),),
            [("gate-with-gone", 'path "b"', N, N, N)],
        ),
        # A free value that is new needs nothing.
        ((ByValue("path", ("a",)),), (ByValue("path", ("a", "b")),), []),
        # There need not be such an object, and where there is none nothing is needed.
        ((), (InState("child"),), [("gate-with-new", "in state state child", A, N, A)]),
        # That somebody wrote down what was true before changes nothing.
        (None, (FILES,), []),
        ((FILES,), None, []),
        (None, (), []),
    ],
)
def test_needs(old: Any, new: Any, expected: list[tuple[str, ...]]) -> None:
    assert told(gated(old), gated(new)) == expected


def test_whatever_else_is_said_of_a_method() -> None:
    """What the diff does not know cannot be judged, so it is not passed over either."""
    old = gated(())
    new = replace(old, methods=tuple(replace(one, hint="slow") for one in old.methods if isinstance(one, Gated)))
    (change,) = compare([old], [new]).changes
    assert (change.kind, change.before, change.after, change.level) == ("method-fact", "hint: ", "hint: slow", B)


def test_need_of_a_new_param() -> None:
    """Who does not know the param does not send it, so old callers lose nothing."""
    plain, deeper = gated(()), gated((DEPTH_FILES,), depth=STRING)
    assert told(plain, deeper) == [("gate-with-new", "depth", A, N, A)]
    assert told(deeper, plain) == [("gate-with-gone", "depth", N, N, N)]


def test_need_of_a_new_method_is_told_with_it() -> None:
    (old,) = profiles({"OpenRequest": obj({"path": STRING}), "OpenResponse": obj({"id": STRING})})
    (change,) = compare([old], [gated((FILES, PATH_FILES, ByValue("path", ("a",), (("b", WATCH),))))]).changes
    assert change.notes == (
        "needs agent.capabilities.files",
        "needs agent.capabilities.files for path",
        'needs client.capabilities.watch for path "b"',
    )
