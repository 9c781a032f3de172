"""How a client answers questions for permission.

A policy is any function, async or not, that is given the request and returns one of its options, the option's id, or
None, which answers `cancelled`: nothing was chosen, and the agent must not go on. So does whatever was not on offer. A
policy that raises answers with an error: with a RequestError as it is, else with an internal one. When the turn is
cancelled, nobody waits for a policy any more, and its task is cancelled.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET

from ..codec import convert

log = logging.getLogger("acp_bindings")
Policy = Callable[[Any], Any | Awaitable[Any]]


def allow_once(request: Any) -> Any:
    """Allows this one operation, where that is on offer."""
    return of_kind(request.options, "allow_once")


def allow_always(request: Any) -> Any:
    """Allows for good where that is on offer, else this once: for a sandbox that one can lose."""
    return of_kind(request.options, "allow_always", "allow_once")


def reject(request: Any) -> Any:
    """Rejects this one operation; for good only where nothing else is on offer."""
    return of_kind(request.options, "reject_once", "reject_always")


def of_kind(options: Any, *kinds: str) -> Any:
    """The first option of the first kind that is on offer, else None."""
    return next((option for kind in kinds for option in options if option.kind == kind), None)


def remember(policy: Policy) -> Policy:
    """The same policy, but one that is not asked twice: `always` choices hold for the rest of the session.

    A choice holds for the tool that it was made for, as far as the agent names it; else for what is asked in the same
    words. Questions that come while the first of them is open are asked too.
    """
    chosen: dict[tuple[str, str], str] = {}

    async def remembering(request: Any) -> Any:
        key = request.session_id, _subject(request)
        known = chosen.get(key)
        if known is not None:
            option = of_kind(request.options, f"{known}_always", f"{known}_once")
            if option is not None:
                return option
        option = await choose(policy, request)
        if option is not None and option.kind in ("allow_always", "reject_always"):
            chosen[key] = option.kind.removesuffix("_always")
        return option

    return remembering


def _subject(request: Any) -> str:
    """What is asked about: the tool's name, else the question. Version 1 has the call in the request itself."""
    call = getattr(request, "tool_call", None) or getattr(getattr(request, "subject", None), "tool_call", None)
    for text in (getattr(call, "name", None), getattr(request, "title", None), getattr(call, "title", None)):
        if text not in (None, UNSET):
            return str(text)
    return str(getattr(call, "tool_call_id", ""))


async def choose(policy: Policy, request: Any) -> Any:
    """The option that a policy chooses, None for none. One that was not on offer is none, and is logged."""
    choice = policy(request)
    if inspect.isawaitable(choice):
        choice = await choice
    if choice is None:
        return None
    identity = getattr(choice, "option_id", choice)
    found = next((option for option in request.options if option.option_id == identity), None)
    if found is None:
        log.error("a permission policy chose %r, which is not on offer: answered as cancelled", identity)
    return found


async def answered(policy: Policy, request: Any, form: Any) -> Any:
    """A policy's answer to a request, as the response type `form`."""
    option = await choose(policy, request)
    if option is None:
        return cancelled(form)
    return convert({"outcome": {"outcome": "selected", "optionId": option.option_id}}, form)


def cancelled(form: Any) -> Any:
    """The answer that nothing was chosen, as the response type `form`."""
    return convert({"outcome": {"outcome": "cancelled"}}, form)
