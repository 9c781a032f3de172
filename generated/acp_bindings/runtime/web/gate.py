"""Who may come in: pages of which origins, and callers with which credentials."""

from __future__ import annotations

import hmac
import inspect
import ipaddress
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from . import log
from .refusals import Refused
from .settings import Authenticator

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class Gate:
    """Checks each request and each upgrade.

    Browsers name the page that asks in `Origin`; callers that name none are no browsers. Without `allowed_origins`, a
    server that is reached by a loopback address serves pages of this machine alone, whatever name they reached it by:
    that is what keeps out a page whose own name was made to point here. Elsewhere a page of the same host and port may.
    """

    def __init__(
        self, token: str | None, authenticate: Authenticator | None, allowed_origins: Sequence[str] | None
    ) -> None:
        if token is not None and authenticate is not None:
            raise ValueError("either a token or an authenticator of your own, not both")
        if token is not None and not token:
            raise ValueError("an empty token would let everybody in")
        self._token = None if token is None else token.encode()
        self._authenticate = authenticate
        self._allowed = None if allowed_origins is None else {normal(one) for one in allowed_origins}

    async def admit(self, connection: HTTPConnection) -> Any:
        """The principal that asks; None where nobody has to tell. Raises Refused."""
        for origin in connection.headers.getlist("origin"):
            if not self._is_allowed(origin, connection):
                hint = f"the origin {origin[:100]!r} is not among the allowed origins"
                raise Refused(403, "this origin is not allowed", detail=hint)
        if self._token is not None:
            return self._bearer(connection, self._token)
        if self._authenticate is not None:
            return await self._principal(connection, self._authenticate)
        return None

    def _is_allowed(self, origin: str, connection: HTTPConnection) -> bool:
        if self._allowed is not None:
            return "*" in self._allowed or normal(origin) in self._allowed
        host, server = _host(origin), connection.scope.get("server")
        if not host:
            return False
        if server is not None and is_loopback(server[0]):
            return is_loopback(host)
        return normal(origin) == normal(f"{urlsplit(origin).scheme}://{connection.headers.get('host', '')}")

    def _bearer(self, connection: HTTPConnection, token: bytes) -> str:
        given = connection.headers.getlist("authorization")
        scheme, _, value = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        is_right = hmac.compare_digest(value.strip().encode("latin-1"), token)
        if scheme.lower() != "bearer" or not is_right:
            raise _unauthorized("no bearer token" if not value else "the bearer token is wrong")
        return "bearer"

    async def _principal(self, connection: HTTPConnection, authenticate: Authenticator) -> Any:
        try:
            principal = authenticate(connection.headers)
            if inspect.isawaitable(principal):
                principal = await principal
        except Exception:
            log.exception("the authenticator failed")
            raise Refused(500, "internal error") from None
        if principal is None or principal is False or principal == "":
            raise _unauthorized("the authenticator knows nobody like that")
        return principal


def _unauthorized(detail: str) -> Refused:
    return Refused(401, "not authenticated", headers={"WWW-Authenticate": "Bearer"}, detail=detail)


def is_same(one: Any, other: Any) -> bool:
    """Whether two principals are one; names are compared in constant time."""
    if isinstance(one, str) and isinstance(other, str):
        return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
    return bool(one == other)


def normal(origin: str) -> str:
    """An origin as browsers write it: small letters, no port that goes without saying."""
    text = origin.strip().rstrip("/").lower()
    try:
        parts = urlsplit(text)
        if parts.port is not None and parts.port == _PORTS.get(parts.scheme):
            return text[: text.rindex(":")]
    except ValueError:
        pass
    return text


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
