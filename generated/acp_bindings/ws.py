"""Remote agents over a WebSocket. Needs `pip install acp-bindings[ws]`.

async with ws.connect("ws://localhost:3284/acp", client=MyClient(info=...)) as agent:
    session = await agent.session_new(v2.NewSessionRequest(cwd="/home/me/project"))
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from http.cookiejar import CookieJar
from typing import TypeVar

from .runtime.connection import MAX_IN_FLIGHT, MAX_MESSAGE, MAX_OUTPUT, MAX_QUEUED, Observer
from .runtime.opening import dialled, with_older
from .runtime.remote import Calls, Remote

R = TypeVar("R", bound=Remote)


@contextlib.asynccontextmanager
async def connect(
    url: str,
    *,
    client: Calls[R] | Sequence[Calls[R]],
    headers: Mapping[str, str] | None = None,
    subprotocols: Sequence[str] | None = None,
    cookies: CookieJar | None = None,
    versions: Sequence[int] | None = None,
    ping_interval: float | None = 20.0,
    ping_timeout: float = 20.0,
    max_message: int = MAX_MESSAGE,
    strict: bool = False,
    gates: bool = True,
    timeout: float | None = None,
    observer: Observer | None = None,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
    max_output: int = MAX_OUTPUT,
) -> AsyncIterator[R]:
    """Connect to an agent's server; gives the `RemoteAgent` of the version agreed on.

    `http` in the URL stands for `ws`. `headers` go with the upgrade, whatever a server wants to let us in; no
    subprotocol is asked for unless named. Cookies that the server sets are kept in `cookies`, where a later connection
    finds them, so that it reaches the same server behind a balancer. A ping goes out every `ping_interval` seconds
    (None: never); unanswered for `ping_timeout` seconds the connection counts as lost. Proxies are taken from the
    environment; a redirect to another origin is not followed. The other options are those of `stdio.connect`.

    A message over `max_message` bytes closes the connection (close code 1009), from either side, and the error of the
    calls that wait says so. A connection that is lost stays so: connect again, and resume the session.

    Raises HttpError when the server refuses (`status` 401 or 403: it wants other headers), ConnectionClosed when it
    cannot be reached or is lost, NegotiationError when no version is common, ImportError without the extra.
    """
    try:
        from .runtime.transports.ws import WebSocketTransport
    except ModuleNotFoundError as error:
        raise ImportError("ws.connect needs websockets: pip install acp-bindings[ws]", name=error.name) from error
    clients = with_older(client, versions)
    dial = partial(
        WebSocketTransport.open,
        url,
        headers=headers,
        subprotocols=subprotocols,
        cookies=CookieJar() if cookies is None else cookies,
        limit=max_message,
        max_output=max_output,
        ping_interval=ping_interval,
        ping_timeout=ping_timeout,
    )
    async with dialled(
        dial,
        clients,
        once=True,
        strict=strict,
        gates=gates,
        timeout=timeout,
        observer=observer,
        max_in_flight=max_in_flight,
        max_queued=max_queued,
    ) as remote:
        yield remote
