"""Two profiles side by side: what was matched, who reads what, who sends what, and the changes found so far."""

from __future__ import annotations

from typing import TypeAlias

from codegen import ir
from codegen.diff.fits import Fit, Fitting
from codegen.diff.flows import Flows, capability_paths
from codegen.diff.kinds import TABLE
from codegen.diff.matching import Matching
from codegen.diff.reasons import Reason, softened
from codegen.diff.report import Action, Change, Flow, Subject

Wire: TypeAlias = tuple[Reason | None, Reason | None]
"""What a change means to senders and to receivers, where the table leaves it to the types."""


class Pair:
    """One profile as it was and as it is."""

    def __init__(self, old: ir.Profile, new: ir.Profile) -> None:
        self.old = old
        self.new = new
        self.matching = Matching(old, new)
        self.forward = Fitting(old.definitions, new.definitions, self.matching.pairs)
        back = frozenset((there, here) for here, there in self.matching.pairs)
        self.backward = Fitting(new.definitions, old.definitions, back)
        self.old_flows = Flows(old)
        self.new_flows = Flows(new)
        self.capabilities = capability_paths(old) | capability_paths(new)
        self.changes: list[Change] = []

    def types(self, old: ir.Type, new: ir.Type) -> tuple[Fit, Fit]:
        """How new readers fare with what old senders write, and old readers with what new senders write."""
        return self.forward.type(old, new), self.backward.type(new, old)

    def emit(
        self,
        kind: str,
        action: Action,
        subject: Subject,
        owner: tuple[str, str],
        member: str = "",
        before: str = "",
        after: str = "",
        *,
        wire: Wire | None = None,
        python: Reason | None = None,
        flows: tuple[Flow, ...] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Record a change of `owner`, given by its old and its new name (empty where it has none).

        `flows` default to the ways of the definition that the owner is.
        """
        entry = TABLE[kind]
        senders, receivers = (entry.senders, entry.receivers) if wire is None else wire
        senders, receivers = entry.senders or senders, entry.receivers or receivers
        assert senders is not None and receivers is not None, f"{kind} depends on types"
        old, new = owner
        self.changes.append(
            Change(
                (self.new.name,),
                kind,
                action,
                subject,
                new or old,
                member,
                before,
                after,
                # Old senders meet new readers, new senders meet old readers.
                softened(senders, self.new_flows.is_shielded(new)),
                softened(receivers, self.old_flows.is_shielded(old)),
                (python or entry.python).effect(),
                self._ways(old, new) if flows is None else flows,
                notes,
            )
        )

    def _ways(self, old: str, new: str) -> tuple[Flow, ...]:
        """Where it is sent before and after: what is sent one way at one time only changed with whatever sends it."""
        before, after = set(self.old_flows.of(old)), set(self.new_flows.of(new))
        return tuple(sorted(before & after or before | after))
