"""Who may come in: origins, tokens, authenticators."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Mapping
from typing import Any

import pytest
import websockets
from acp_bindings import http
from acp_bindings.runtime.web.gate import Gate, is_loopback, is_same, normal
from acp_bindings.runtime.web.refusals import Refused
from starlette.requests import HTTPConnection
from websockets.typing import Origin

from tests.package.web.agents import Counting
from tests.package.web.serving import CONNECTION, EVENTS, INITIALIZE, JSON, SESSION, Peer, served
from tests.support.aio import run


def asked(origin: str | None, host: str, server: tuple[str, int | None] | None) -> HTTPConnection:
    headers = [(b"host", host.encode())] + ([] if origin is None else [(b"origin", origin.encode())])
    return HTTPConnection({"type": "http", "headers": headers, "server": server})


@pytest.mark.parametrize(
    ("origin", "host", "server", "allowed", "may"),
    [
        (None, "evil.example", ("127.0.0.1", 80), None, True),
        ("http://localhost:3000", "127.0.0.1:80", ("127.0.0.1", 80), None, True),
        ("http://127.0.0.1", "127.0.0.1", ("127.0.0.1", 80), None, True),
        ("http://[::1]:8000", "[::1]:8000", ("::1", 8000), None, True),
        ("http://app.localhost", "127.0.0.1", ("127.0.0.1", 80), None, True),
        # A name of the page's own that points to this machine: the two agree, and that is no proof.
        ("http://evil.example:8000", "evil.example:8000", ("127.0.0.1", 8000), None, False),
        ("http://localhost.evil.example", "127.0.0.1", ("127.0.0.1", 80), None, False),
        ("http://127.0.0.1.evil.example", "127.0.0.1", ("127.0.0.1", 80), None, False),
        ("null", "127.0.0.1", ("127.0.0.1", 80), None, False),
        ("", "127.0.0.1", ("127.0.0.1", 80), None, False),
        ("http://[broken", "127.0.0.1", ("127.0.0.1", 80), None, False),
        ("file://", "127.0.0.1", ("127.0.0.1", 80), None, False),
        # Elsewhere a page of the same host.
        ("https://agents.example", "agents.example", ("192.0.2.1", 443), None, True),
        ("http://agents.example:8000", "agents.example:8000", ("192.0.2.1", 8000), None, True),
        ("https://evil.example", "agents.example", ("192.0.2.1", 443), None, False),
        ("http://localhost", "agents.example", ("192.0.2.1", 443), None, False),
        ("null", "agents.example", ("/run/agent.sock", None), None, False),
        ("https://agents.example", "agents.example", ("/run/agent.sock", None), None, True),
        ("https://agents.example", "agents.example", None, None, True),
        # What the operator says goes.
        ("https://chat.example", "127.0.0.1", ("127.0.0.1", 80), ["https://Chat.example:443/"], True),
        ("https://chat.example:444", "127.0.0.1", ("127.0.0.1", 80), ["https://chat.example"], False),
        ("http://chat.example", "127.0.0.1", ("127.0.0.1", 80), ["https://chat.example"], False),
        ("http://localhost", "127.0.0.1", ("127.0.0.1", 80), [], False),
        ("null", "127.0.0.1", ("127.0.0.1", 80), ["null"], True),
        ("http://anything", "127.0.0.1", ("127.0.0.1", 80), ["*"], True),
        (None, "127.0.0.1", ("127.0.0.1", 80), [], True),
    ],
)
def test_origins(origin: str | None, host: str, server: Any, allowed: list[str] | None, may: bool) -> None:
    async def test() -> None:
        await Gate(None, None, allowed).admit(asked(origin, host, server))

    if may:
        run(test)
        return
    with pytest.raises(Refused) as refused:
        run(test)
    assert refused.value.status == 403


def test_loopback_addresses() -> None:
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "a.localhost", "::ffff:127.0.0.1"):
        assert is_loopback(host)
    for host in ("", "0.0.0.0", "192.168.0.1", "::", "localhost.example", "/run/x", "127.0.0.1.example"):
        assert not is_loopback(host)
    assert (
        normal("HTTPS://A.example:443/") == "https://a.example" and normal("http://a:99999999") == "http://a:99999999"
    )
    assert is_same("é", "é") and is_same(None, None) and is_same({"id": 1}, {"id": 1})
    assert not is_same("a", "b") and not is_same("a", None) and not is_same(1, 2)


def test_a_foreign_page_is_refused_on_every_way_in(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as (app, peer):
            await peer.initialize()
            peer.headers["Origin"] = "http://evil.example"
            assert (await peer.request(1, "session/new", {"cwd": "/"})).status_code == 403
            assert (await peer.client.get(peer.url, headers=EVENTS | peer.headers)).status_code == 403
            assert (await peer.delete()).status_code == 403
            with pytest.raises(websockets.InvalidStatus, match="403"):
                await websockets.connect(
                    peer.url.replace("http", "ws"), origin=Origin("http://evil.example"), proxy=None
                )
            assert len(app.connections) == 1

    with caplog.at_level(logging.INFO, "acp_bindings.http"):
        run(test)
    assert caplog.text.count("'http://evil.example' is not among the allowed origins") == 4
    assert {one.levelname for one in caplog.records if hasattr(one, "acp_status")} == {"WARNING"}


def test_a_page_of_an_allowed_origin_may_read_what_it_needs() -> None:
    """Browsers ask first what another origin may send, and show scripts only the headers that are named."""

    async def test() -> None:
        async with served(allowed_origins=["https://chat.example"]) as (_, peer):
            preflight = {
                "Origin": "https://chat.example",
                "Access-Control-Request-Method": "DELETE",
                "Access-Control-Request-Headers": f"{CONNECTION}, {SESSION}, content-type, authorization",
            }
            assert (await peer.client.options(peer.url, headers=preflight)).status_code == 200
            answer = await peer.client.post(peer.url, json=INITIALIZE, headers={"Origin": "https://chat.example"})
            assert answer.headers["access-control-allow-origin"] == "https://chat.example"
            assert answer.headers["access-control-expose-headers"] == CONNECTION
            foreign = preflight | {"Origin": "https://evil.example"}
            assert (await peer.client.options(peer.url, headers=foreign)).status_code == 400

    run(test)


def test_an_allowed_origin_is_one_however_it_is_written() -> None:
    """A page that may come in may read what it gets, and send the header that an authenticator of one's own wants."""

    async def test() -> None:
        async with served(allowed_origins=["HTTPS://Chat.example:443/"]) as (_, peer):
            preflight = {
                "Origin": "https://chat.example",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "x-secret-key",
            }
            assert (await peer.client.options(peer.url, headers=preflight)).status_code == 200
            answer = await peer.client.post(peer.url, json=INITIALIZE, headers={"Origin": "https://chat.example"})
            assert answer.headers["access-control-allow-origin"] == "https://chat.example"

    run(test)


@pytest.mark.parametrize(
    ("given", "may"),
    [
        ("Bearer sésame", True),
        ("bearer  sésame", True),
        (None, False),
        ("", False),
        ("sésame", False),
        ("Bearer", False),
        ("Bearer sésamé", False),
        ("Bearer sésam", False),
        ("Basic sésame", False),
    ],
)
def test_a_bearer_token(given: str | None, may: bool) -> None:
    async def test() -> None:
        async with served(token="sésame") as (_, peer):
            headers: Any = JSON | ({} if given is None else {"Authorization": given.encode()})
            answer = await peer.client.post(peer.url, json=INITIALIZE, headers=headers)
            assert answer.status_code == (200 if may else 401)
            if not may:
                assert answer.headers["www-authenticate"] == "Bearer"
                twice = [("Authorization", b"Bearer s"), *headers.items()]
                assert (await peer.client.post(peer.url, json=INITIALIZE, headers=twice)).status_code == 401
                with pytest.raises(websockets.InvalidStatus, match="401"):
                    await websockets.connect(peer.url.replace("http", "ws"), proxy=None)

    run(test)


user: contextvars.ContextVar[str] = contextvars.ContextVar("user")


@pytest.mark.parametrize("kind", ["function", "coroutine function"])
def test_an_authenticator_of_ones_own(kind: str) -> None:
    """The factory, and all that the agent does later, sees what the authenticator found."""

    def plain(headers: Mapping[str, str]) -> str | None:
        name = headers.get("X-User")
        if name == "broken":
            raise KeyError("a secret")
        if name:
            user.set(name)
        return name

    async def slow(headers: Mapping[str, str]) -> str | None:
        return plain(headers)

    async def test() -> None:
        made: list[str] = []

        def factory() -> Counting:
            made.append(user.get())
            return Counting()

        async with served(factory, authenticate=plain if kind == "function" else slow) as (_, peer):
            for name, status in (("", 401), ("ann", 200), ("bob", 200), ("broken", 500)):
                answer = await Peer(peer.client, peer.url, {"X-User": name}).initialize()
                assert answer.status_code == status and "secret" not in answer.text
            assert made == ["ann", "bob"]

    run(test)


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="not both"):
        http.app(Counting, token="a", authenticate=lambda headers: "b")
    with pytest.raises(ValueError, match="an empty token"):
        http.app(Counting, token="")
