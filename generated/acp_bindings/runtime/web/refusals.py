"""What is refused, and with which status."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response

from . import JSON, log

_SUSPECT = {401, 403}


class Refused(Exception):
    """A request that is not served: the answer's `status`, what it says, and what the log says beyond that.

    `frame` is a JSON-RPC error to answer with in place of the plain reason; `suspect` makes a warning of the log entry.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        frame: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        detail: str = "",
        suspect: bool = False,
    ) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason
        self.frame = frame
        self.headers = headers
        self.detail = detail
        self.suspect = suspect

    def response(self) -> Response:
        if self.frame is not None:
            return Response(self.frame, self.status, self.headers, JSON)
        return PlainTextResponse(self.reason + "\n", self.status, self.headers)

    def tell(self, connection: HTTPConnection) -> None:
        """Log it: what was refused, to whom and why. Neither ids nor credentials are told."""
        scope = connection.scope
        client = scope.get("client")
        is_warning = self.suspect or self.status in _SUSPECT or self.status >= 500
        log.log(
            logging.WARNING if is_warning else logging.INFO,
            "refused %s %s of %s with %d: %s",
            scope.get("method", "upgrade"),
            scope["path"][:100],
            client[0] if client else "a client",
            self.status,
            self.detail or self.reason,
            extra={"acp_status": self.status, "acp_reason": self.reason},
        )


def hanging_up(connection: HTTPConnection) -> dict[str, str]:
    """The header of an answer after which the rest of the request is not read; HTTP/2 has none for that."""
    return {"Connection": "close"} if connection.scope.get("http_version", "1.1").startswith("1") else {}
