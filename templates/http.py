"""Remote agents over HTTP, with streams of server-sent events. Needs `pip install acp-bindings[http]`.

async with http.connect("http://localhost:3284/acp", client=MyClient(info=...)) as agent:
    session = await agent.session_new(v2.NewSessionRequest(cwd="/home/me/project"))
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .runtime.connection import MAX_IN_FLIGHT, MAX_MESSAGE, MAX_OUTPUT, MAX_QUEUED, Observer
from .runtime.opening import dialled, with_older
from .runtime.routing import Handler

if TYPE_CHECKING:
    import httpx


@contextlib.asynccontextmanager
async def connect(
    url: str,
    *,
    client: Handler | Sequence[Handler],
    headers: Mapping[str, str] | None = None,
    httpx_client: httpx.AsyncClient | None = None,
    versions: Sequence[int] | None = None,
    on_stream_lost: Callable[[str | None, Exception], object] | None = None,
    max_reopens: int = 8,
    keep_alive: float | None = None,
    max_message: int = MAX_MESSAGE,
    strict: bool = False,
    timeout: float | None = None,
    observer: Observer | None = None,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
    max_output: int = MAX_OUTPUT,
) -> AsyncIterator[Any]:
    """Connect to an agent's server; gives the `RemoteAgent` of the version agreed on.

    `headers` go with every request, whatever a server wants to let us in. Cookies that the server sets are sent back,
    so that a balancer finds the same server. A client of your own (`httpx_client`: proxies, certificates, a cookie jar)
    is not closed; it needs a connection for each session beside some more, `httpx.Limits(max_connections=None)` at
    best. Else HTTP/2 is spoken where the server offers it, and proxies are taken from the environment. A redirect to
    another origin is not followed. The other options are those of `stdio.connect`.

    A stream that drops is opened again, at most `max_reopens` times in a row without it bringing anything; the log
    `acp_bindings.http` and `on_stream_lost(session id or None, error)` tell of each time. `keep_alive` is the seconds
    after which a silent stream counts as dropped, for servers that send comments more often than that. What the server
    sends meanwhile it keeps; what was on its way is lost. When the connection itself is lost, or the server has
    forgotten it (404), all calls fail with ConnectionClosed: connect again, and resume the session.

    Messages of one session reach the server in order, and so do those of no session; sessions do not wait for each
    other. A call whose request is answered with an HTTP status of failure raises HttpError, and the others go on.

    Raises HttpError when the server refuses (`status` 401 or 403: it wants other headers), ConnectionClosed when it
    cannot be reached or is lost, NegotiationError when no version is common, ImportError without the extra.
    """
    try:
        from .runtime.transports.http import HttpTransport
    except ModuleNotFoundError as error:
        raise ImportError("http.connect needs httpx: pip install acp-bindings[http]", name=error.name) from error

    async def dial() -> HttpTransport:
        return HttpTransport(
            url,
            headers=headers,
            client=httpx_client,
            limit=max_message,
            max_output=max_output,
            silence=keep_alive,
            max_reopens=max_reopens,
            on_stream_lost=on_stream_lost,
        )

    async with dialled(
        dial,
        with_older(client, versions),
        once=True,
        strict=strict,
        timeout=timeout,
        observer=observer,
        max_in_flight=max_in_flight,
        max_queued=max_queued,
    ) as remote:
        yield remote
