"""What may be called: the needs of methods, held against what both sides said in `initialize`.

Of what comes, only requests are refused: nobody could be told that a notification was, and what nobody handles is
ignored anyway.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from .errors import CapabilityError, DecodeError, RequestError
from .jsonrpc import METHOD_NOT_FOUND
from .needs import Advertised, StateOf, Unmet, find, is_there

if TYPE_CHECKING:
    from .routing import MethodSpec

log = logging.getLogger("acp_bindings")


class Gates:
    """What both sides said in `initialize`; what was not said yet is None."""

    def __init__(self, agent: Any, client: Any) -> None:
        self._payloads = {"agent": agent, "client": client}
        self._known: dict[Advertised, bool] = {}

    def said(self, capability: Advertised) -> Any:
        """What a side said at this path; None where it said nothing."""
        return next((value for _, value in find(self._payloads[capability.side], capability.path)), None)

    def has(self, capability: Advertised) -> bool:
        known = self._known.get(capability)
        if known is None:
            known = self._known[capability] = is_there(self.said(capability))
        return known

    def check(self, spec: MethodSpec, params: Any, state_of: StateOf | None) -> None:
        """Raise CapabilityError for a message that must not be sent. Raw JSON is not looked into."""
        missing = self._missing(spec)
        if not missing and params.__class__ is not msgspec.Raw and params.__class__ is not bytes:
            missing = list(self._unmet(spec, params, False, state_of))
        if missing:
            mine = [one for one in missing if one.side == missing[0].side]
            side = missing[0].side or spec.side
            details = "; ".join(f"{one.pointer}: {one.reason}" if one.pointer else one.reason for one in mine)
            raise CapabilityError(spec.name, tuple(dict.fromkeys(one.missing for one in mine)), side, details)

    def refuse(self, spec: MethodSpec) -> None:
        """Raise RequestError for a request that came though nothing said that it may."""
        missing = self._missing(spec)
        if missing:
            log.warning("refused %s: it %s", spec.name, missing[0].reason)
            data = {"method": spec.name, "missing": [one.missing for one in missing]}
            raise RequestError(METHOD_NOT_FOUND, f"{spec.name} {missing[0].reason}", data)

    def refuse_params(self, spec: MethodSpec, params: Any, state_of: StateOf | None) -> None:
        """Raise DecodeError for params that hold what was not advertised, or what nobody here knows."""
        for one in self._unmet(spec, params, True, state_of):
            raise DecodeError(one.pointer, one.reason)

    def _missing(self, spec: MethodSpec) -> list[Unmet]:
        """What the method itself lacks, whatever its params."""
        return [
            Unmet(need.side, need.path, "", need.reason)
            for need in spec.needs
            if isinstance(need, Advertised) and not self.has(need)
        ]

    def _unmet(self, spec: MethodSpec, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        for need in spec.needs:
            if not isinstance(need, Advertised):
                yield from need.unmet(self, params, received, state_of)
