"""What a method needs before it may be called, as single facts that can be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

from codegen import ir
from codegen.diff.fits import members
from codegen.diff.flows import calls
from codegen.diff.pair import Pair

_NEVER: Final = "what nobody can advertise"
_STEP: Final = re.compile(r"[^.\[]+")
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _Fact:
    """`about` is what a need is told by, `needs` what it comes to (empty: nothing), `field` the param that it looks at.

    `by_value`: one value of a param, of which all that the schema knows are listed.
    """

    about: str
    needs: str
    field: str | None = ""
    by_value: bool = False


def gate(method: ir.Method) -> list[str] | None:
    """What a method needs, in words; None where nobody has said."""
    facts = _facts(method)
    return None if facts is None else [_told(fact) for fact in facts.values() if fact.needs]


def compare_needs(pair: Pair, owner: tuple[str, str], old: ir.Method, new: ir.Method) -> None:
    """The needs of one method, before and after. That somebody began, or ceased, to write them down is no change."""
    before, after = _facts(old), _facts(new)
    if before is None or after is None:
        return
    flows = calls(new)
    for about, fact in before.items():
        other = after.get(about)
        if other is None and fact.needs:
            kind = "gate-with-gone" if _is_new(fact, pair.new, new) else "gate-removed"
            pair.emit(kind, "removed", "need", owner, about, fact.needs, flows=flows)
        elif other is not None and other.needs != fact.needs:
            kind = "gate-added" if not fact.needs else "gate-removed" if not other.needs else "gate-changed"
            texts = (fact.needs or "nothing", other.needs or "nothing")
            pair.emit(kind, "changed", "need", owner, about, *texts, flows=flows)
    for about, fact in after.items():
        if about not in before and fact.needs:
            kind = "gate-with-new" if _is_new(fact, pair.old, old) else "gate-added"
            pair.emit(kind, "added", "need", owner, about, "", fact.needs, flows=flows)


def _is_new(fact: _Fact, other: ir.Profile, method: ir.Method) -> bool:
    """Whether a need is about something that the other side's schema does not have, so that nobody could send it."""
    if fact.by_value or fact.field is None:
        return True
    step = _STEP.match(fact.field)
    return step is not None and step[0] not in members(other.definitions[method.params], other.definitions)


def _facts(method: ir.Method) -> dict[str, _Fact] | None:
    # Read by what the IR's nodes say of themselves: there are several kinds of needs, and there may be more.
    needs = getattr(method, "needs", None)
    return None if needs is None else {fact.about: fact for need in needs for fact in _of(need)}


def _of(need: Any) -> Iterator[_Fact]:
    told = {part.name: getattr(need, part.name) for part in fields(need)}
    field = told.get("field", "")
    if {"free", "never"} <= told.keys():
        by_value = dict.fromkeys(told["free"], "") | dict.fromkeys(told["never"], _NEVER)
        by_value |= {value: _words(capability) for value, capability in told["needs"]}
        for value, text in by_value.items():
            yield _Fact(f"{field} {json.dumps(value)}", text, field, by_value=True)
    elif told.keys() == {"field", "needs"}:
        yield _Fact(field, _words(told["needs"]), field)
    else:
        yield _Fact(_words(need), "always" if "field" not in told else "by its state", field)


def _told(fact: _Fact) -> str:
    return fact.about if fact.needs in ("always", "by its state") else f"{fact.needs} for {fact.about}"


def _words(node: Any) -> str:
    """`agent.capabilities.session`; any other node by its kind and what it says."""
    if not is_dataclass(node):
        return " ".join(map(_words, node)) if isinstance(node, tuple) else str(node)
    told = {part.name: getattr(node, part.name) for part in fields(node)}
    if told.keys() == {"side", "path"}:
        return f"{told['side']}.{told['path']}"
    kind = _WORD.sub(" ", type(node).__name__).lower()
    return " ".join([kind, *(f"{name} {_words(value)}" for name, value in told.items() if value not in (None, ()))])
