"""Every error that this package raises on purpose.

AcpError
    PointedError      (ValueError) of the two below: something is wrong with one value
    DecodeError       (ValueError) a message that does not fit its type: `pointer` into it, and the `reason`
    EncodeError       (ValueError) a model that has no JSON form
    RequestError      an error that the peer sent, or that a handler sends
    ProtocolError     the peer broke the rules of JSON-RPC
    RequestTimeout    (TimeoutError) no answer in time
    NegotiationError  no common protocol version
    CapabilityError   a call that the other side did not make possible; nothing was sent
    ConnectionClosed  the transport is lost or closed
    HttpError         a server did not take one message, or let nobody in: its HTTP `status` and the `body`
"""

from __future__ import annotations

from typing import Any


class AcpError(Exception):
    """Base of all errors of this package."""


def shortened(text: str) -> str:
    """Text for a message: the middle of a very long one is left out. Pointers are as long as the keys in a message."""
    return text if len(text) <= 200 else f"{text[:100]}...{text[-97:]}"


class PointedError(AcpError, ValueError):
    """What is wrong with one value: `pointer` is the RFC 6901 JSON Pointer to it, empty for the whole, `reason` why."""

    whole = "value"

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(pointer, reason)
        self.pointer = pointer
        self.reason = reason

    def __str__(self) -> str:
        return f"{shortened(self.pointer) or self.whole}: {self.reason}"


class DecodeError(PointedError):
    """A message that does not fit its type.

    `pointer` leads to the value that is wrong, or to the place of one that is missing. `reason` says what was expected
    there and what was found.
    """

    whole = "message"


class EncodeError(PointedError):
    """A model that cannot be written as JSON."""

    whole = "model"


class RequestError(AcpError):
    """An error that travels: raised by a handler it becomes the answer, raised by a call it is what the peer answered.

    `code` is a JSON-RPC or ACP error code, `data` any JSON value.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})" + (f": {self.data}" if self.data is not None else "")


class ConnectionClosed(AcpError):
    """The other side is gone. For a process, `exit_code` and the tail of its `stderr` tell why."""

    def __init__(self, reason: str, exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(reason, exit_code, stderr)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr = stderr

    def again(self) -> ConnectionClosed:
        """The same, to be raised in another place: raising adds a traceback to an error."""
        return ConnectionClosed(self.reason, self.exit_code, self.stderr)

    def __str__(self) -> str:
        code = "" if self.exit_code is None else f" ({_ending(self.exit_code)})"
        tail = f"; the end of its stderr:\n{self.stderr.rstrip()}" if self.stderr.strip() else ""
        return self.reason + code + tail


def _ending(exit_code: int) -> str:
    """What an exit code says: on POSIX a negative one is the signal that ended the process."""
    import signal  # few programs ever get here

    try:
        return f"killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"exit code {exit_code}"


class HttpError(AcpError):
    """A server answered a message with an HTTP status of failure, or not at all; it did not let us in, if that was the
    first one.

    `status` is None where there was no answer: then nobody knows whether the message was taken. `body` is the beginning
    of what came with the status. The connection lives on.
    """

    def __init__(self, reason: str, status: int | None = None, body: str = "") -> None:
        super().__init__(reason, status, body)
        self.reason = reason
        self.status = status
        self.body = body

    def __str__(self) -> str:
        return self.reason + (f": {shortened(self.body.strip())}" if self.body.strip() else "")


class ProtocolError(AcpError):
    """The peer broke JSON-RPC: an answer with both or neither of result and error, or one that does not decode."""


class RequestTimeout(AcpError, TimeoutError):
    """A call was not answered in time. It was cancelled on the other side too."""


class NegotiationError(AcpError):
    """No protocol version that both sides speak."""


class CapabilityError(AcpError):
    """A call needs what a side did not advertise. Nothing was sent.

    `missing` are the capabilities, as dotted paths of wire names, of the side `side` ("agent", "client"). `gates=False`
    where the connection is opened turns the check off.
    """

    def __init__(self, method: str, missing: tuple[str, ...], side: str, details: str) -> None:
        super().__init__(method, missing, side, details)
        self.method = method
        self.missing = missing
        self.side = side
        self.details = details

    def __str__(self) -> str:
        return f"{self.method} {self.details}"
