"""The classification: what each kind of change means to senders, to receivers and to Python source, and why.

One table, so that "why is this breaking?" has one answer in one place. Where it depends on types, `by_fit` gives it; a
refusal is softened where every place of the definition forgives what it cannot read (`softened`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from codegen.diff.fits import Fit
from codegen.diff.report import Effect, Level


@dataclass(frozen=True, slots=True)
class Reason:
    """An effect in the table. `refusal`: the message fails to decode, unless something around it is tolerant."""

    level: Level
    text: str
    refusal: bool = False

    def effect(self) -> Effect:
        return Effect(self.level, self.text)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table. `title` says what happened, after the name of what it happened to.

    None for senders or receivers: it depends on the types (`by_fit`).
    """

    title: str
    senders: Reason | None
    receivers: Reason | None
    python: Reason


def _refused(text: str) -> Reason:
    return Reason("breaking", text, refusal=True)


def _breaks(text: str) -> Reason:
    return Reason("breaking", text)


def _adds(text: str) -> Reason:
    return Reason("additive", text)


def _same(text: str) -> Reason:
    return Reason("neutral", text)


_BY_FIT: Final = None
_ELSEWHERE = _same("nothing by itself; the places where it stands are listed on their own")
_NOT_SENT = _same("nothing that is sent changes")
_NOT_TYPED = _same("types stay as they are; what is checked changes")
_IGNORED = _same("new receivers ignore what old senders still write")
_TYPE_CHANGED = _breaks("the type of the attribute changes, for who writes it and who reads it")
_SIGNATURE = _breaks("handlers and callers have another signature")
_GONE = _same("it does not arrive any more")
_MATCH = _adds("nothing stops working, but a type checker asks each `match` over it for the new case")
_UNTYPED = _same("Python does not see it")

TABLE: Final[dict[str, Entry]] = {
    # protocol and profiles
    "protocol-version": Entry(
        "speaks another protocol version",
        _breaks("both sides negotiate one version; old peers do not speak the new one"),
        _breaks("both sides negotiate one version; old peers do not speak the new one"),
        _breaks("the classes live in another module"),
    ),
    "profile-added": Entry(
        "is new",
        _adds("there is something new to speak"),
        _adds("there is something new to speak"),
        _adds("a new module"),
    ),
    "profile-removed": Entry(
        "is gone",
        _breaks("new peers do not speak it"),
        _breaks("new peers do not speak it"),
        _breaks("its module is gone"),
    ),
    # definitions
    "definition-added": Entry("is new", _ELSEWHERE, _ELSEWHERE, _adds("a new name to import")),
    "definition-removed": Entry("is gone", _ELSEWHERE, _ELSEWHERE, _breaks("the name cannot be imported any more")),
    "definition-renamed": Entry(
        "has another name",
        _same("names of definitions are not on the wire"),
        _same("names of definitions are not on the wire"),
        _breaks("the old name cannot be imported any more"),
    ),
    "definition-shape": Entry(
        "is another kind of thing", _BY_FIT, _BY_FIT, _breaks("it is built and read in another way")
    ),
    "definition-type": Entry("stands for another type", _BY_FIT, _BY_FIT, _TYPE_CHANGED),
    "definition-bounds": Entry("allows another range of values", _BY_FIT, _BY_FIT, _NOT_TYPED),
    "definition-nullable": Entry("may be null", _BY_FIT, _BY_FIT, _breaks("reading it may yield None")),
    "definition-not-null": Entry("is never null any more", _BY_FIT, _BY_FIT, _breaks("None does not fit it any more")),
    "definition-docs": Entry(
        "is documented otherwise", _NOT_SENT, _same("nothing that arrives changes"), _same("docstrings only")
    ),
    "base-gained": Entry("is new", _NOT_SENT, _NOT_SENT, _adds("it passes for its base class too")),
    "base-lost": Entry("is gone", _NOT_SENT, _NOT_SENT, _breaks("it does not pass for its base class any more")),
    "groups-tightened": Entry(
        "asks for property groups",
        _refused("new receivers refuse objects that have none of the groups asked for, or too many"),
        _same("what arrives satisfies the old rule"),
        _NOT_TYPED,
    ),
    "groups-loosened": Entry(
        "asks for less of its property groups",
        _adds("more combinations may be sent"),
        _refused("old receivers refuse objects that have none of the groups asked for, or too many"),
        _NOT_TYPED,
    ),
    "groups-changed": Entry(
        "asks for other property groups",
        _refused("new receivers refuse objects that satisfy the old groups only"),
        _refused("old receivers refuse objects that satisfy the new groups only"),
        _NOT_TYPED,
    ),
    # fields
    "field-added-optional": Entry(
        "is new",
        _adds("there is something new to send"),
        _adds("old receivers ignore it"),
        _adds("an attribute that may be left out"),
    ),
    "field-added-required": Entry(
        "is new and required",
        _refused("new receivers refuse messages without it"),
        _adds("old receivers ignore it"),
        _breaks("the constructor asks for it"),
    ),
    "field-removed-optional": Entry(
        "is gone", _IGNORED, _same("old receivers do without it"), _breaks("the attribute is gone")
    ),
    "field-removed-required": Entry(
        "is gone",
        _IGNORED,
        _refused("old receivers refuse messages without it"),
        _breaks("the attribute is gone"),
    ),
    "field-renamed-optional": Entry(
        "has another name",
        _adds("new receivers ignore the old name, and read the value as absent"),
        _adds("old receivers ignore the new name, and read the value as absent"),
        _breaks("the attribute has another name"),
    ),
    "field-renamed-required": Entry(
        "has another name",
        _refused("new receivers refuse messages without the new name"),
        _refused("old receivers refuse messages without the old name"),
        _breaks("the attribute has another name"),
    ),
    "field-now-required": Entry(
        "is required now",
        _refused("new receivers refuse messages without it"),
        _same("old receivers read it as before"),
        _breaks("the constructor asks for it"),
    ),
    "field-now-optional": Entry(
        "may be absent now",
        _adds("it may be left out"),
        _refused("old receivers refuse messages without it"),
        _breaks("reading it may yield UNSET"),
    ),
    "field-type": Entry("has another type", _BY_FIT, _BY_FIT, _TYPE_CHANGED),
    "field-bounds": Entry("allows another range of values", _BY_FIT, _BY_FIT, _NOT_TYPED),
    "field-nullable": Entry("may be null", _BY_FIT, _BY_FIT, _breaks("reading it may yield None")),
    "field-not-null": Entry("is never null any more", _BY_FIT, _BY_FIT, _breaks("None does not fit it any more")),
    "field-default-added": Entry(
        "has a default now",
        _adds("absence has a meaning now"),
        _adds("absence has a meaning that old receivers do not know"),
        _adds("absence reads as the default, not as UNSET"),
    ),
    "field-default-removed": Entry(
        "has no default any more",
        _breaks("where old senders leave it out, new receivers do not read the default that was meant"),
        _breaks("where new senders leave it out, old receivers read a default that was not meant"),
        _breaks("absence reads as UNSET, not as the default"),
    ),
    "field-default-changed": Entry(
        "has another default",
        _breaks("where old senders leave it out, new receivers read another value"),
        _breaks("where new senders leave it out, old receivers read another value"),
        _breaks("what is left out is another value, with no error to tell"),
    ),
    "field-tolerant": Entry(
        "is tolerant now",
        _same("whatever was valid still is"),
        _adds("new receivers drop what they cannot read, where old ones fail"),
        _UNTYPED,
    ),
    "field-strict": Entry(
        "is less tolerant",
        _refused("what new receivers cannot read there fails the message, and is not dropped any more"),
        _same("old receivers forgive as before"),
        _UNTYPED,
    ),
    "field-member": Entry(
        "is called otherwise in Python", _NOT_SENT, _NOT_SENT, _breaks("the attribute has another name")
    ),
    # unions
    "union-opened": Entry(
        "is open now",
        _adds("tags of one's own may be sent"),
        _refused("old receivers refuse tags that they do not know"),
        _MATCH,
    ),
    "union-closed": Entry(
        "is closed now",
        _refused("new receivers refuse tags that they do not know"),
        _same("fewer tags arrive, and all are known"),
        _breaks("the class for unknown variants is gone"),
    ),
    "union-tag": Entry(
        "is told apart by another property",
        _refused("new receivers look for the new tag"),
        _refused("old receivers look for the old tag"),
        _UNTYPED,
    ),
    "variant-added": Entry("is new", _adds("there is something new to send"), _BY_FIT, _MATCH),
    "variant-removed": Entry("is gone", _BY_FIT, _GONE, _breaks("the union does not take it")),
    "variant-class": Entry("has another class", _BY_FIT, _BY_FIT, _breaks("a `match` for the old class fails")),
    "variant-untagged-added": Entry(
        "may come without a tag",
        _adds("the tag may be left out"),
        _refused("old receivers refuse objects without a tag"),
        _MATCH,
    ),
    "variant-untagged-removed": Entry(
        "may not come without a tag any more",
        _refused("new receivers refuse objects without a tag"),
        _same("every object that arrives has a tag"),
        _breaks("the union does not take the class"),
    ),
    "tag-excluded": Entry(
        "is ruled out as a tag",
        _refused("new receivers refuse it"),
        _GONE,
        _UNTYPED,
    ),
    "tag-allowed": Entry(
        "is allowed as a tag",
        _adds("it may be sent as an unknown variant"),
        _refused("old receivers refuse it"),
        _UNTYPED,
    ),
    "option-added": Entry("is new", _adds("there is something new to send"), _BY_FIT, _MATCH),
    "option-removed": Entry(
        "is gone",
        _BY_FIT,
        _GONE,
        _breaks("the union does not take it"),
    ),
    # enums
    "enum-opened": Entry(
        "is open now",
        _adds("values of one's own may be sent"),
        _refused("old receivers refuse values that they do not know"),
        _MATCH,
    ),
    "enum-closed": Entry(
        "is closed now",
        _refused("new receivers refuse values that they do not know"),
        _same("fewer values arrive, and all are known"),
        _breaks("text in general does not fit it any more"),
    ),
    "value-added-open": Entry(
        "is new",
        _adds("there is something new to send"),
        _adds("old receivers keep it as an unknown value"),
        _adds("a new known value"),
    ),
    "value-added-closed": Entry(
        "is new", _adds("there is something new to send"), _refused("old receivers refuse it"), _MATCH
    ),
    "value-removed-open": Entry(
        "is gone",
        _same("new receivers keep it as an unknown value"),
        _GONE,
        _same("any text still fits; it is not among the known values"),
    ),
    "value-removed-constant": Entry(
        "is gone",
        _same("new receivers keep it as an unknown value"),
        _GONE,
        _breaks("the constant is gone"),
    ),
    "value-removed-closed": Entry(
        "is gone",
        _refused("new receivers refuse it"),
        _GONE,
        _breaks("it does not fit the type any more"),
    ),
    "value-renamed": Entry(
        "has another constant",
        _same("names of constants are not on the wire"),
        _same("names of constants are not on the wire"),
        _breaks("the constant has another name"),
    ),
    # methods
    "method-added": Entry(
        "is new",
        _adds("there is something new to call"),
        _adds("old receivers do not know it: they refuse the request, or ignore the notification"),
        _adds("handlers inherit a stub, callers get a new method"),
    ),
    "method-removed": Entry(
        "is gone",
        _breaks("new receivers do not know it: they refuse the request, or ignore the notification"),
        _same("nobody calls it any more"),
        _breaks("callers lose the method, and handlers of it are never called"),
    ),
    "method-renamed": Entry(
        "has another name",
        _breaks("new receivers do not know the old name"),
        _breaks("old receivers do not know the new name"),
        _breaks("handlers and callers have another name"),
    ),
    "method-kind": Entry(
        "is another kind of message",
        _breaks("an answer is expected where none is given, or the reverse"),
        _breaks("an answer is expected where none is given, or the reverse"),
        _SIGNATURE,
    ),
    "method-side": Entry(
        "is for another side",
        _breaks("who was called does not handle it any more"),
        _breaks("who is called now does not handle it yet"),
        _breaks("it belongs to other handlers and callers"),
    ),
    "method-params": Entry("takes other params", _BY_FIT, _BY_FIT, _SIGNATURE),
    "method-result": Entry("gives another result", _BY_FIT, _BY_FIT, _SIGNATURE),
    "method-unhandled": Entry(
        "draws another error where nobody handles it",
        _breaks("callers who go by the error code see another one"),
        _same("nothing arrives otherwise"),
        _UNTYPED,
    ),
    "method-fact": Entry(
        "is described otherwise",
        _breaks("who relied on what was said of it may not any more"),
        _breaks("who relied on what was said of it may not any more"),
        _UNTYPED,
    ),
    "gate-added": Entry(
        "is new",
        _breaks("callers have to see first whether the other side allows it"),
        _same("calls arrive only where they are allowed"),
        _breaks("calls that are not made possible are refused before they are sent"),
    ),
    "gate-removed": Entry(
        "is gone",
        _adds("it may be called where it was not allowed before"),
        _breaks("calls arrive that old receivers never made possible"),
        _adds("fewer calls are refused"),
    ),
    "promise-added": Entry(
        "is new",
        _adds("whoever sees the capability may call it"),
        _breaks("old receivers advertise the capability and may not handle the method"),
        _adds("a handler that advertises the capability is expected to have it"),
    ),
    "promise-removed": Entry(
        "is gone",
        _breaks("new receivers may advertise the capability without handling the method"),
        _same("nothing more is asked of receivers"),
        _same("less is expected of a handler"),
    ),
}
"""Every kind of change, by its key."""

_SOFT: Final = "dropped, not refused: each place where it stands forgives what it cannot read"


def by_fit(forward: Fit, backward: Fit) -> tuple[Reason, Reason]:
    """What it means that new readers fare so with what old senders write (`forward`), and the other way round."""
    match forward.verdict:
        case "refuses":
            senders = _refused(f"new receivers refuse what old senders may write: {forward.why}")
        case "drops":
            senders = _adds(f"new receivers drop what they cannot read: {forward.why}")
        case "reads":
            wider = backward.verdict != "reads"
            senders = _adds("more may be sent") if wider else _same("new receivers read it as before")
    match backward.verdict:
        case "refuses":
            receivers = _refused(f"old receivers refuse what new senders may write: {backward.why}")
        case "drops":
            receivers = _adds(f"old receivers drop what they cannot read: {backward.why}")
        case "reads":
            receivers = _same("old receivers read all that arrives")
    return senders, receivers


def variant_gone(forward: Fit) -> Reason:
    """What it means to senders that a union has lost an alternative; `forward`: how its new readers fare with it."""
    if forward.verdict == "refuses":
        return _refused(f"new receivers refuse it: {forward.why}")
    return _same("new receivers read it as an unknown variant, or as another one")


def variant_new(backward: Fit) -> Reason:
    """What it means to receivers that a union has got an alternative; `backward`: how its old readers fare with it."""
    if backward.verdict == "refuses":
        return _refused(f"old receivers refuse it: {backward.why}")
    return _adds("old receivers read it as an unknown variant, or as another one")


def softened(reason: Reason, is_shielded: bool) -> Effect:
    """A reason as an effect; `is_shielded`: the reading side forgives a fault in every place of the definition."""
    if reason.refusal and is_shielded:
        return Effect("additive", _SOFT)
    return reason.effect()
