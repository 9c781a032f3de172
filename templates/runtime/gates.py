"""What may be called: the needs of methods, held against what both sides said in `initialize`.

Of what comes, only requests are refused: nobody could be told that a notification was, and what nobody handles is
ignored anyway.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from .errors import CapabilityError, DecodeError, RequestError
from .jsonrpc import METHOD_NOT_FOUND
from .needs import Advertised, ByValue, StateOf, Unmet, is_there, values

if TYPE_CHECKING:
    from .routing import MethodSpec

log = logging.getLogger("acp_bindings")


class Plan:
    """What is known of a method as both sides are: what it lacks, and a look that may tell that its params are fine."""

    __slots__ = ("missing", "quick", "spec")

    def __init__(self, spec: MethodSpec, gates: Gates, received: bool) -> None:
        # Plans are kept by the identity of the method's row.
        self.spec = spec
        own = [need for need in spec.needs if isinstance(need, Advertised)]
        rules = [need for need in spec.needs if not isinstance(need, Advertised)]
        self.missing = [Unmet(need.side, need.path, "", need.reason) for need in own if not gates.has(need)]
        self.quick: Callable[[Any], bool] | None = None
        if not rules:
            self.quick = _nothing_missing
        elif len(rules) == 1 and isinstance(rules[0], ByValue):
            self.quick = rules[0].quick(spec.params, gates, received)


class Gates:
    """What both sides said in `initialize`; what was not said yet is None."""

    def __init__(self, agent: Any, client: Any) -> None:
        self._payloads = {"agent": agent, "client": client}
        self._known: dict[Advertised, bool] = {}
        self._sent: dict[int, Plan] = {}
        self._received: dict[int, Plan] = {}

    def said(self, capability: Advertised) -> Any:
        """What a side said at this path; None where it said nothing."""
        found = values(self._payloads[capability.side], capability.path)
        return found[0] if found else None

    def has(self, capability: Advertised) -> bool:
        known = self._known.get(capability)
        if known is None:
            known = self._known[capability] = is_there(self.said(capability))
        return known

    def check(self, spec: MethodSpec, params: Any, state_of: StateOf | None) -> None:
        """Raise CapabilityError for a message that must not be sent. Raw JSON is not looked into."""
        plan = self._sent.get(id(spec))
        if plan is None:
            plan = self._sent[id(spec)] = Plan(spec, self, received=False)
        missing = plan.missing
        if not missing:
            if params.__class__ is msgspec.Raw or params.__class__ is bytes:
                return
            if plan.quick is not None and plan.quick(params):
                return
            missing = self._unmet(spec, params, False, state_of)
        if missing:
            mine = [one for one in missing if one.side == missing[0].side]
            side = missing[0].side or spec.side
            details = "; ".join(f"{one.pointer}: {one.reason}" if one.pointer else one.reason for one in mine)
            raise CapabilityError(spec.name, tuple(dict.fromkeys(one.missing for one in mine)), side, details)

    def refuse(self, spec: MethodSpec) -> None:
        """Raise RequestError for a request that came though nothing said that it may."""
        missing = self._plan(spec).missing
        if missing:
            log.warning("refused %s: it %s", spec.name, missing[0].reason)
            data = {"method": spec.name, "missing": [one.missing for one in missing]}
            raise RequestError(METHOD_NOT_FOUND, f"{spec.name} {missing[0].reason}", data)

    def refuse_params(self, spec: MethodSpec, params: Any, state_of: StateOf | None) -> None:
        """Raise DecodeError for params that hold what was not advertised, or what nobody here knows."""
        quick = self._plan(spec).quick
        if quick is not None and quick(params):
            return
        for one in self._unmet(spec, params, True, state_of):
            raise DecodeError(one.pointer, one.reason)

    def _plan(self, spec: MethodSpec) -> Plan:
        plan = self._received.get(id(spec))
        if plan is None:
            plan = self._received[id(spec)] = Plan(spec, self, received=True)
        return plan

    def _unmet(self, spec: MethodSpec, params: Any, received: bool, state_of: StateOf | None) -> list[Unmet]:
        """What a method's params need."""
        found: list[Unmet] = []
        for need in spec.needs:
            if not isinstance(need, Advertised):
                found += need.unmet(self, params, received, state_of)
        return found


def _nothing_missing(params: Any) -> bool:
    return True
