"""Every error that this package raises on purpose.

AcpError
    DecodeError     (ValueError) a message that does not fit its type: `pointer` into it, and the `reason`
    EncodeError     (ValueError) a model that has no JSON form
"""

from __future__ import annotations


class AcpError(Exception):
    """Base of all errors of this package."""


class DecodeError(AcpError, ValueError):
    """A message that does not fit its type.

    `pointer` is an RFC 6901 JSON Pointer to the value that is wrong, or to the place of one that is missing; the whole
    message is the empty pointer. `reason` says what was expected there and what was found.
    """

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(pointer, reason)
        self.pointer = pointer
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.pointer or 'message'}: {self.reason}"


class EncodeError(AcpError, ValueError):
    """A model that cannot be written as JSON. `pointer` leads to the value, as in `DecodeError`."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(pointer, reason)
        self.pointer = pointer
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.pointer or 'model'}: {self.reason}"
