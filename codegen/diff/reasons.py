"""Reasons: a class and why. Where it depends on types, `by_fit` finds it; `softened` is what tolerance makes of it."""

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


def refused(text: str) -> Reason:
    return Reason("breaking", text, refusal=True)


def breaks(text: str) -> Reason:
    return Reason("breaking", text)


def adds(text: str) -> Reason:
    return Reason("additive", text)


def same(text: str) -> Reason:
    return Reason("neutral", text)


_SOFT: Final = "dropped, not refused: each place where it stands forgives what it cannot read"


def by_fit(forward: Fit, backward: Fit) -> tuple[Reason, Reason]:
    """What it means that new readers fare so with what old senders write (`forward`), and the other way round."""
    match forward.verdict:
        case "refuses":
            senders = refused(f"new receivers refuse what old senders may write: {forward.why}")
        case "drops":
            senders = adds(f"new receivers drop what they cannot read: {forward.why}")
        case "reads":
            wider = backward.verdict != "reads"
            senders = adds("more may be sent") if wider else same("new receivers read it as before")
    match backward.verdict:
        case "refuses":
            receivers = refused(f"old receivers refuse what new senders may write: {backward.why}")
        case "drops":
            receivers = adds(f"old receivers drop what they cannot read: {backward.why}")
        case "reads":
            receivers = same("old receivers read all that arrives")
    return senders, receivers


def variant_gone(forward: Fit) -> Reason:
    """What it means to senders that a union has lost an alternative; `forward`: how its new readers fare with it."""
    if forward.verdict == "refuses":
        return refused(f"new receivers refuse it: {forward.why}")
    return same("new receivers read it as an unknown variant, or as another one")


def variant_new(backward: Fit) -> Reason:
    """What it means to receivers that a union has got an alternative; `backward`: how its old readers fare with it."""
    if backward.verdict == "refuses":
        return refused(f"old receivers refuse it: {backward.why}")
    return adds("old receivers read it as an unknown variant, or as another one")


def softened(reason: Reason, is_shielded: bool) -> Effect:
    """A reason as an effect; `is_shielded`: the reading side forgives a fault in every place of the definition."""
    if reason.refusal and is_shielded:
        return Effect("additive", _SOFT)
    return reason.effect()
