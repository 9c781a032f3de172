"""Every row of "what a call needs": what is not advertised does not leave, and is refused where it comes.

The capability is absent, null (or false), and there; each as the sender and as the receiver see it. Facts S, W.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from acp_bindings.runtime.errors import CapabilityError, RequestError
from acp_bindings.runtime.needs import Advertised

from codegen.lower import ungated
from codegen.pipeline import load
from tests.package.gates.peers import HANDLED, Pair, module, params, said, talking
from tests.package.gates.rows import HELD, OWN, PROFILES, Held, Own
from tests.support.aio import run
from tests.support.cli import ROOT

OWN_IDS = [f"{profile} {row.side} {row.kind} {row.method}" for profile, row in OWN]
HELD_IDS = [f"{profile} {row.method} {row.pointer} {str(row.path).split('.')[-1]} {number}"
            for number, (profile, row) in enumerate(HELD)]  # fmt: skip
# What an absent or null capability looks like: v1 has booleans too.
OFF: dict[type, tuple[Any, ...]] = {bool: (None, False), dict: (None,), list: ([],)}


def spec_of(profile: str, side: str, method: str, kind: str = "") -> Any:
    table = module(profile).METHODS
    kinds = [kind] if kind else [one for one in ("request", "notification") if (side, one, method) in table]
    return table[side, kinds[0], method]


async def call(pair: Pair, spec: Any, message: Any) -> RequestError | CapabilityError | None:
    """Call a method by the raw pieces of its caller; what was raised. A handler that was reached raises HANDLED."""
    remote = pair.remote(spec.side)
    try:
        if spec.kind == "request":
            await remote._call(spec.name, message, None)
        else:
            await remote._notify(spec.name, message)
    except (RequestError, CapabilityError) as error:
        return error
    return None


async def settled(pair: Pair) -> None:
    """Notifications are handled before the answer to a later request of the same side is delivered."""
    for remote in (pair.agent, pair.client):
        with pytest.raises(RequestError):
            await remote.extension_request("_test/nobody")


def each(who: str, *capabilities: tuple[str, Any]) -> dict[str, Any]:
    """What one side says, as an argument of `talking`."""
    return {who: said(*capabilities)}


@pytest.mark.parametrize(("profile", "row"), OWN, ids=OWN_IDS)
def test_a_method_that_was_not_advertised_does_not_leave(profile: str, row: Own) -> None:
    spec = spec_of(profile, row.side, row.method, row.kind)
    message = params(profile, spec)

    async def test() -> None:
        for nothing in ((), *[((row.path, off),) for off in OFF[type(row.value)]]):
            async with talking(profile, **each(row.who, *nothing)) as pair:
                error = await call(pair, spec, message)
                assert isinstance(error, CapabilityError)
                assert (error.method, error.missing, error.side) == (row.method, (row.path,), row.who)
                assert str(error) == f"{row.method} needs {row.path}, which the {row.who} did not advertise"
                assert pair.frames == []
        async with talking(profile, **each(row.who, (row.path, row.value))) as pair:
            await reached(pair, spec, message)

    run(test)


async def reached(pair: Pair, spec: Any, message: Any) -> None:
    error = await call(pair, spec, message)
    assert (spec.kind == "notification" and error is None) or getattr(error, "code", error) == HANDLED, error
    await settled(pair)
    assert pair.handled == [spec.name]


@pytest.mark.parametrize(("profile", "row"), OWN, ids=OWN_IDS)
def test_a_request_for_what_was_not_advertised_is_not_found(profile: str, row: Own) -> None:
    """Though there is a handler. A notification reaches it: nobody could be told that it was refused."""
    spec = spec_of(profile, row.side, row.method, row.kind)
    message = params(profile, spec)
    lax: Any = {"client_gates" if row.side == "agent" else "agent_gates": False}

    async def test() -> None:
        async with talking(profile, **lax) as pair:
            if row.kind == "notification":
                await reached(pair, spec, message)
                return
            error = await call(pair, spec, message)
            assert isinstance(error, RequestError) and error.code == -32601
            assert error.data == {"method": row.method, "missing": [row.path]} and row.path in error.message
            # What its params hold does not matter then.
            assert getattr(await call(pair, spec, b'{"cwd":7}'), "code", None) == -32601
            assert pair.handled == []
        async with talking(profile, **each(row.who, (row.path, row.value)), **lax) as pair:
            await reached(pair, spec, message)
        async with talking(profile, agent_gates=False, client_gates=False) as pair:
            await reached(pair, spec, message)

    run(test)


@pytest.mark.parametrize(("profile", "row"), HELD, ids=HELD_IDS)
def test_params_that_hold_what_was_not_advertised_do_not_leave(profile: str, row: Held) -> None:
    spec = spec_of(profile, row.side, row.method)
    message = params(profile, spec, row.more)

    async def test() -> None:
        offs = () if row.path is None else OFF[type(row.value)]
        for nothing in ((), *[((str(row.path), off),) for off in offs]):
            async with talking(profile, **each(row.who, *nothing, *row.given)) as pair:
                error = await call(pair, spec, message)
                assert isinstance(error, CapabilityError) and error.method == row.method and error.side == row.who
                if row.path is not None:
                    # A mode needs that there may be a system prompt at all; each is told.
                    assert row.path in error.missing
                assert f"{row.pointer}: " in str(error)
                assert pair.frames == []
        if row.path is not None:
            async with talking(profile, **each(row.who, (row.path, row.value), *row.given)) as pair:
                await reached(pair, spec, message)

    run(test)


@pytest.mark.parametrize(("profile", "row"), HELD, ids=HELD_IDS)
def test_params_that_hold_what_was_not_advertised_are_invalid(profile: str, row: Held) -> None:
    spec = spec_of(profile, row.side, row.method)
    message = params(profile, spec, row.more)
    lax: Any = {"client_gates" if row.side == "agent" else "agent_gates": False}

    async def test() -> None:
        async with talking(profile, **each(row.who, *row.given), **lax) as pair:
            if spec.kind == "notification":
                await reached(pair, spec, message)
                return
            error = await call(pair, spec, message)
            assert isinstance(error, RequestError) and error.code == -32602
            assert error.data["pointer"] == row.pointer and (row.path or "not supported") in error.data["reason"]
            assert error.data["reason"] in error.message
            assert pair.handled == []
        if row.path is not None:
            async with talking(profile, **each(row.who, (row.path, row.value), *row.given), **lax) as pair:
                await reached(pair, spec, message)
        async with talking(profile, agent_gates=False, client_gates=False) as pair:
            await reached(pair, spec, message)

    run(test)


@pytest.mark.parametrize("profile", PROFILES)
def test_all_other_methods_need_nothing(profile: str) -> None:
    """The rows above are complete: what they do not name has no needs but those of its params."""
    listed = {(row.side, row.kind, row.method) for name, row in OWN if name == profile}
    table = module(profile).METHODS
    needing = {key for key, spec in table.items() if any(isinstance(need, Advertised) for need in spec.needs)}
    assert needing == listed and listed

    async def test() -> None:
        async with talking(profile) as pair:
            for key, spec in table.items():
                side = spec.side in ("agent", "client")
                if key not in listed and side and spec.name not in ("initialize", "elicitation/create"):
                    pair.handled.clear()
                    await reached(pair, spec, params(profile, spec))

    run(test)


def test_every_method_of_every_profile_has_an_entry() -> None:
    assert ungated(load(Path(ROOT, "schema"), PROFILES)) == []
