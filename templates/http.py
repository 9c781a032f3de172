"""Agents over HTTP: POSTs and server-sent events, or a WebSocket, on one path. Both ends.

Needs `pip install acp-bindings[http]`, and for serving WebSockets too `acp-bindings[http,ws]`.

    async with http.connect("http://localhost:8000/acp", client=MyClient(info=...)) as agent:
        session = await agent.session_new(v2.NewSessionRequest(cwd="/home/me/project"))

    app = http.app(MyAgent)                 # ASGI: `uvicorn mymodule:app`, or mount it in an app of your own
    asyncio.run(http.serve(MyAgent))        # the same under uvicorn, on http://127.0.0.1:8000/acp
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .runtime.connection import MAX_IN_FLIGHT, MAX_MESSAGE, MAX_OUTPUT, MAX_QUEUED, Observer
from .runtime.opening import dialled, with_older
from .runtime.remote import Calls, Remote
from .runtime.web import settings as defaults
from .runtime.web.settings import AgentFactory, Authenticator

if TYPE_CHECKING:
    import httpx

    from .runtime.web.app import AcpApp


R = TypeVar("R", bound=Remote)


@contextlib.asynccontextmanager
async def connect(
    url: str,
    *,
    client: Calls[R] | Sequence[Calls[R]],
    headers: Mapping[str, str] | None = None,
    httpx_client: httpx.AsyncClient | None = None,
    versions: Sequence[int] | None = None,
    on_stream_lost: Callable[[str | None, Exception], object] | None = None,
    max_reopens: int = 8,
    keep_alive: float | None = None,
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

    `headers` go with every request, whatever a server wants to let us in. Cookies that the server sets are sent back,
    so that a balancer finds the same server. A client of your own (`httpx_client`: proxies, certificates, a cookie jar)
    is not closed; it needs a connection for each session and some more, `httpx.Limits(max_connections=None)` at best,
    and `http2` left off: httpx lets the requests of one connection wait for each other. Without one, HTTP/2 is spoken
    where the server offers it, and proxies are taken from the environment. A redirect to another origin is not
    followed. The other options are those of `stdio.connect`.

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
    except ImportError as error:
        raise _missing(error) from error

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
        gates=gates,
        timeout=timeout,
        observer=observer,
        max_in_flight=max_in_flight,
        max_queued=max_queued,
    ) as remote:
        yield remote


def app(
    agent_factory: AgentFactory,
    *,
    path: str = defaults.PATH,
    token: str | None = None,
    authenticate: Authenticator | None = None,
    allowed_origins: Sequence[str] | None = None,
    affinity: str | None = None,
    affinity_cookie: str = defaults.AFFINITY_COOKIE,
    subprotocols: Sequence[str] = (),
    max_message: int = MAX_MESSAGE,
    max_connections: int = defaults.MAX_CONNECTIONS,
    max_sessions: int = defaults.MAX_SESSIONS,
    max_output: int = MAX_OUTPUT,
    max_kept: int = defaults.MAX_KEPT,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
    body_timeout: float = defaults.BODY_TIMEOUT,
    opening_timeout: float = defaults.OPENING_TIMEOUT,
    idle_timeout: float = defaults.IDLE_TIMEOUT,
    silence_timeout: float | None = defaults.SILENCE_TIMEOUT,
    keep_alive: float = defaults.KEEP_ALIVE,
    strict: bool = False,
    gates: bool = True,
    observer: Observer | None = None,
) -> AcpApp:
    """An ASGI app (starlette) that serves agents over HTTP and WebSocket on `path`.

    `agent_factory()` makes the agent of each connection, or a list of them, one for each protocol version; it may be a
    coroutine function, and runs in the context of the request that opens the connection, so that it reads the context
    variables that the authenticator has set.

    Who may come in: with `token`, callers that send `Authorization: Bearer <token>`; with `authenticate(headers)`,
    those for whom it returns a principal (a user's name, say), not None. A connection belongs to the principal that
    opened it: to anybody else, its id is as unknown as any other. Pages in a browser name their origin:
    `allowed_origins` (`"https://chat.example.com"`, or `"*"`) are those that may come in, by default on a loopback
    address those of this machine, elsewhere those of the host that was asked. Callers without `Origin` are no pages.

    `affinity` is the value of a cookie that tells a proxy which process a client's connection lives in. WebSockets get
    a subprotocol only if they ask for one of `subprotocols`.

    Limits: bytes of a message; connections; sessions of one connection; bytes that wait on one stream, and on all of
    one connection, before those who write wait; requests that are unanswered at once; bytes of notifications that wait
    for their handlers. Times, in seconds: for a body, beside what large ones need; for a WebSocket to bring
    `initialize`; until a connection that nobody uses ends; until a silent WebSocket is closed (None: never); between
    comments on a silent stream. The rest is the server's: uvicorn pings WebSockets and closes dead ones, and closes
    them for messages over 16 MiB too (`--ws-max-size`; `serve` sets it).

    SIGINT and SIGTERM end all connections, before the server waits for what is open. Mounted in another app, enter
    `async with app.running()` in the lifespan of that. Raises ImportError without starlette, ValueError for both a
    token and an authenticator, TypeError for an agent in place of what makes one. Log: `acp_bindings.http`.
    """
    given: Any = agent_factory
    if not callable(given):
        name = type(given).__name__
        raise TypeError(f"expected what makes the agent of a connection, such as a class; got {name}")
    try:
        from .runtime.web.app import AcpApp
    except ImportError as error:
        raise _missing(error) from error
    settings = defaults.Settings(
        max_message=max_message,
        max_connections=max_connections,
        max_sessions=max_sessions,
        max_output=max_output,
        max_kept=max_kept,
        max_in_flight=max_in_flight,
        max_queued=max_queued,
        body_timeout=body_timeout,
        opening_timeout=opening_timeout,
        idle_timeout=idle_timeout,
        silence_timeout=silence_timeout,
        keep_alive=keep_alive,
        strict=strict,
        gates=gates,
        observer=observer,
        subprotocols=tuple(subprotocols),
    )
    return AcpApp(
        agent_factory,
        settings,
        path=path,
        token=token,
        authenticate=authenticate,
        allowed_origins=allowed_origins,
        affinity=None if affinity is None else (affinity_cookie, affinity),
    )


async def serve(
    agent_factory: AgentFactory,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    on_start: Callable[[str], object] | None = None,
    uvicorn_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Serve agents with uvicorn until SIGINT or SIGTERM. `options` are those of `app`, `uvicorn_options` uvicorn's.

    `on_start(url)` is told where; port 0 takes a free one. Connections live in this process: for more than one, run
    each on a port of its own behind a proxy that goes by the affinity cookie. What a signal ended raises it again, as
    uvicorn does. Raises ValueError for more than one worker, ImportError without uvicorn; exits where the port is
    taken.
    """
    try:
        from .runtime.web.running import run
    except ImportError as error:
        raise _missing(error) from error
    await run(app(agent_factory, **options), host, port, workers, on_start, uvicorn_options)


def _missing(error: ImportError) -> ImportError:
    return ImportError(f"{error.name} is needed for this: pip install acp-bindings[http]", name=error.name)
