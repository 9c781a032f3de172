"""The classification: what each kind of change means to senders, to receivers and to Python source, and why.

One table, so that "why is this breaking?" has one answer in one place. Where it depends on types, `reasons.by_fit`
gives it; a refusal is softened where every place of the definition forgives what it cannot read (`reasons.softened`).
"""

from __future__ import annotations

from typing import Final

from codegen.diff.reasons import Entry, adds, breaks, refused, same

_BY_FIT: Final = None
_ELSEWHERE = same("nothing by itself; the places where it stands are listed on their own")
_NOT_SENT = same("nothing that is sent changes")
_NOT_TYPED = same("types stay as they are; what is checked changes")
_IGNORED = same("new receivers ignore what old senders still write")
_TYPE_CHANGED = breaks("the type of the attribute changes, for who writes it and who reads it")
_SIGNATURE = breaks("handlers and callers have another signature")
_GONE = same("it does not arrive any more")
_MATCH = adds("nothing stops working, but a type checker asks each `match` over it for the new case")
_UNTYPED = same("Python does not see it")

TABLE: Final[dict[str, Entry]] = {
    # protocol and profiles
    "protocol-version": Entry(
        "speaks another protocol version",
        breaks("both sides negotiate one version; old peers do not speak the new one"),
        breaks("both sides negotiate one version; old peers do not speak the new one"),
        breaks("the classes live in another module"),
    ),
    "profile-added": Entry(
        "is new",
        adds("there is something new to speak"),
        adds("there is something new to speak"),
        adds("a new module"),
    ),
    "profile-removed": Entry(
        "is gone",
        breaks("new peers do not speak it"),
        breaks("new peers do not speak it"),
        breaks("its module is gone"),
    ),
    # definitions
    "definition-added": Entry("is new", _ELSEWHERE, _ELSEWHERE, adds("a new name to import")),
    "definition-removed": Entry("is gone", _ELSEWHERE, _ELSEWHERE, breaks("the name cannot be imported any more")),
    "definition-renamed": Entry(
        "has another name",
        same("names of definitions are not on the wire"),
        same("names of definitions are not on the wire"),
        breaks("the old name cannot be imported any more"),
    ),
    "definition-shape": Entry(
        "is another kind of thing", _BY_FIT, _BY_FIT, breaks("it is built and read in another way")
    ),
    "definition-type": Entry("stands for another type", _BY_FIT, _BY_FIT, _TYPE_CHANGED),
    "definition-bounds": Entry("allows another range of values", _BY_FIT, _BY_FIT, _NOT_TYPED),
    "definition-nullable": Entry("may be null", _BY_FIT, _BY_FIT, breaks("reading it may yield None")),
    "definition-not-null": Entry("is never null any more", _BY_FIT, _BY_FIT, breaks("None does not fit it any more")),
    "definition-docs": Entry(
        "is documented otherwise", _NOT_SENT, same("nothing that arrives changes"), same("docstrings only")
    ),
    "base-gained": Entry("is new", _NOT_SENT, _NOT_SENT, adds("it passes for its base class too")),
    "base-lost": Entry("is gone", _NOT_SENT, _NOT_SENT, breaks("it does not pass for its base class any more")),
    "groups-tightened": Entry(
        "asks for property groups",
        refused("new receivers refuse objects that have none of the groups asked for, or too many"),
        same("what arrives satisfies the old rule"),
        _NOT_TYPED,
    ),
    "groups-loosened": Entry(
        "asks for less of its property groups",
        adds("more combinations may be sent"),
        refused("old receivers refuse objects that have none of the groups asked for, or too many"),
        _NOT_TYPED,
    ),
    "groups-changed": Entry(
        "asks for other property groups",
        refused("new receivers refuse objects that satisfy the old groups only"),
        refused("old receivers refuse objects that satisfy the new groups only"),
        _NOT_TYPED,
    ),
    # fields
    "field-added-optional": Entry(
        "is new",
        adds("there is something new to send"),
        adds("old receivers ignore it"),
        adds("an attribute that may be left out"),
    ),
    "field-added-required": Entry(
        "is new and required",
        refused("new receivers refuse messages without it"),
        adds("old receivers ignore it"),
        breaks("the constructor asks for it"),
    ),
    "field-removed-optional": Entry(
        "is gone", _IGNORED, same("old receivers do without it"), breaks("the attribute is gone")
    ),
    "field-removed-required": Entry(
        "is gone",
        _IGNORED,
        refused("old receivers refuse messages without it"),
        breaks("the attribute is gone"),
    ),
    "field-renamed-optional": Entry(
        "has another name",
        adds("new receivers ignore the old name, and read the value as absent"),
        adds("old receivers ignore the new name, and read the value as absent"),
        breaks("the attribute has another name"),
    ),
    "field-renamed-required": Entry(
        "has another name",
        refused("new receivers refuse messages without the new name"),
        refused("old receivers refuse messages without the old name"),
        breaks("the attribute has another name"),
    ),
    "field-now-required": Entry(
        "is required now",
        refused("new receivers refuse messages without it"),
        same("old receivers read it as before"),
        breaks("the constructor asks for it"),
    ),
    "field-now-optional": Entry(
        "may be absent now",
        adds("it may be left out"),
        refused("old receivers refuse messages without it"),
        breaks("reading it may yield UNSET"),
    ),
    "field-type": Entry("has another type", _BY_FIT, _BY_FIT, _TYPE_CHANGED),
    "field-bounds": Entry("allows another range of values", _BY_FIT, _BY_FIT, _NOT_TYPED),
    "field-nullable": Entry("may be null", _BY_FIT, _BY_FIT, breaks("reading it may yield None")),
    "field-not-null": Entry("is never null any more", _BY_FIT, _BY_FIT, breaks("None does not fit it any more")),
    "field-default-added": Entry(
        "has a default now",
        adds("absence has a meaning now"),
        adds("absence has a meaning that old receivers do not know"),
        adds("absence reads as the default, not as UNSET"),
    ),
    "field-default-removed": Entry(
        "has no default any more",
        breaks("where old senders leave it out, new receivers do not read the default that was meant"),
        breaks("where new senders leave it out, old receivers read a default that was not meant"),
        breaks("absence reads as UNSET, not as the default"),
    ),
    "field-default-changed": Entry(
        "has another default",
        breaks("where old senders leave it out, new receivers read another value"),
        breaks("where new senders leave it out, old receivers read another value"),
        breaks("what is left out is another value, with no error to tell"),
    ),
    "field-tolerant": Entry(
        "is tolerant now",
        same("whatever was valid still is"),
        adds("new receivers drop what they cannot read, where old ones fail"),
        _UNTYPED,
    ),
    "field-strict": Entry(
        "is less tolerant",
        refused("what new receivers cannot read there fails the message, and is not dropped any more"),
        same("old receivers forgive as before"),
        _UNTYPED,
    ),
    "field-member": Entry(
        "is called otherwise in Python", _NOT_SENT, _NOT_SENT, breaks("the attribute has another name")
    ),
    # unions
    "union-opened": Entry(
        "is open now",
        adds("tags of one's own may be sent"),
        refused("old receivers refuse tags that they do not know"),
        _MATCH,
    ),
    "union-closed": Entry(
        "is closed now",
        refused("new receivers refuse tags that they do not know"),
        same("fewer tags arrive, and all are known"),
        breaks("the class for unknown variants is gone"),
    ),
    "union-tag": Entry(
        "is told apart by another property",
        refused("new receivers look for the new tag"),
        refused("old receivers look for the old tag"),
        _UNTYPED,
    ),
    "variant-added": Entry("is new", adds("there is something new to send"), _BY_FIT, _MATCH),
    "variant-removed": Entry("is gone", _BY_FIT, _GONE, breaks("the union does not take it")),
    "variant-class": Entry("has another class", _BY_FIT, _BY_FIT, breaks("a `match` for the old class fails")),
    "variant-untagged-added": Entry(
        "may come without a tag",
        adds("the tag may be left out"),
        refused("old receivers refuse objects without a tag"),
        _MATCH,
    ),
    "variant-untagged-removed": Entry(
        "may not come without a tag any more",
        refused("new receivers refuse objects without a tag"),
        same("every object that arrives has a tag"),
        breaks("the union does not take the class"),
    ),
    "tag-excluded": Entry(
        "is ruled out as a tag",
        refused("new receivers refuse it"),
        _GONE,
        _UNTYPED,
    ),
    "tag-allowed": Entry(
        "is allowed as a tag",
        adds("it may be sent as an unknown variant"),
        refused("old receivers refuse it"),
        _UNTYPED,
    ),
    "option-added": Entry("is new", adds("there is something new to send"), _BY_FIT, _MATCH),
    "option-removed": Entry(
        "is gone",
        _BY_FIT,
        _GONE,
        breaks("the union does not take it"),
    ),
    # enums
    "enum-opened": Entry(
        "is open now",
        adds("values of one's own may be sent"),
        refused("old receivers refuse values that they do not know"),
        _MATCH,
    ),
    "enum-closed": Entry(
        "is closed now",
        refused("new receivers refuse values that they do not know"),
        same("fewer values arrive, and all are known"),
        breaks("text in general does not fit it any more"),
    ),
    "value-added-open": Entry(
        "is new",
        adds("there is something new to send"),
        adds("old receivers keep it as an unknown value"),
        adds("a new known value"),
    ),
    "value-added-closed": Entry(
        "is new", adds("there is something new to send"), refused("old receivers refuse it"), _MATCH
    ),
    "value-removed-open": Entry(
        "is gone",
        same("new receivers keep it as an unknown value"),
        _GONE,
        same("any text still fits; it is not among the known values"),
    ),
    "value-removed-constant": Entry(
        "is gone",
        same("new receivers keep it as an unknown value"),
        _GONE,
        breaks("the constant is gone"),
    ),
    "value-removed-closed": Entry(
        "is gone",
        refused("new receivers refuse it"),
        _GONE,
        breaks("it does not fit the type any more"),
    ),
    "value-renamed": Entry(
        "has another constant",
        same("names of constants are not on the wire"),
        same("names of constants are not on the wire"),
        breaks("the constant has another name"),
    ),
    # methods
    "method-added": Entry(
        "is new",
        adds("there is something new to call"),
        adds("old receivers do not know it: they refuse the request, or ignore the notification"),
        adds("handlers inherit a stub, callers get a new method"),
    ),
    "method-removed": Entry(
        "is gone",
        breaks("new receivers do not know it: they refuse the request, or ignore the notification"),
        same("nobody calls it any more"),
        breaks("callers lose the method, and handlers of it are never called"),
    ),
    "method-renamed": Entry(
        "has another name",
        breaks("new receivers do not know the old name"),
        breaks("old receivers do not know the new name"),
        breaks("handlers and callers have another name"),
    ),
    "method-kind": Entry(
        "is another kind of message",
        breaks("an answer is expected where none is given, or the reverse"),
        breaks("an answer is expected where none is given, or the reverse"),
        _SIGNATURE,
    ),
    "method-side": Entry(
        "is for another side",
        breaks("who was called does not handle it any more"),
        breaks("who is called now does not handle it yet"),
        breaks("it belongs to other handlers and callers"),
    ),
    "method-params": Entry("takes other params", _BY_FIT, _BY_FIT, _SIGNATURE),
    "method-result": Entry("gives another result", _BY_FIT, _BY_FIT, _SIGNATURE),
    "method-unhandled": Entry(
        "draws another error where nobody handles it",
        breaks("callers who go by the error code see another one"),
        same("nothing arrives otherwise"),
        _UNTYPED,
    ),
    "method-fact": Entry(
        "is described otherwise",
        breaks("who relied on what was said of it may not any more"),
        breaks("who relied on what was said of it may not any more"),
        _UNTYPED,
    ),
    "gate-added": Entry(
        "is new",
        breaks("callers have to see first whether the other side allows it"),
        same("calls arrive only where they are allowed"),
        breaks("calls that are not made possible are refused before they are sent"),
    ),
    "gate-removed": Entry(
        "is gone",
        adds("it may be called where it was not allowed before"),
        breaks("calls arrive that old receivers never made possible"),
        adds("fewer calls are refused"),
    ),
    "gate-changed": Entry(
        "is another",
        breaks("callers have to look at something else before they call"),
        breaks("calls arrive that old receivers never made possible"),
        breaks("calls that are not made possible are refused before they are sent"),
    ),
    "gate-with-new": Entry(
        "is new",
        adds("it comes with something new, which may be sent where the other side allows it"),
        same("it comes with something new, which is listed on its own"),
        adds("it comes with something new, which may be sent where the other side allows it"),
    ),
    "gate-with-gone": Entry(
        "is gone",
        same("what needed it is gone too, and listed on its own"),
        same("what needed it is gone too, and listed on its own"),
        same("what needed it is gone too, and listed on its own"),
    ),
    "promise-added": Entry(
        "is new",
        adds("whoever sees the capability may call it"),
        breaks("old receivers advertise the capability and may not handle the method"),
        adds("a handler that advertises the capability is expected to have it"),
    ),
    "promise-removed": Entry(
        "is gone",
        breaks("new receivers may advertise the capability without handling the method"),
        same("nothing more is asked of receivers"),
        same("less is expected of a handler"),
    ),
}
"""Every kind of change, by its key."""
