"""Every failure that acp-codegen reports on purpose.

CodegenError            a problem with the input or the place to write: shown to the user, exit code 2
    its `diagnostics`   one Diagnostic per problem; all problems of a file are collected before it is raised
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: where it is, what is there, and what would be right.

    `place` is a file, a file and an RFC 6901 pointer joined by `#`, or the name of an option.
    """

    place: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.place}: found {self.found}; expected {self.expected}"


class CodegenError(Exception):
    """Input that cannot be used. Nothing was written."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        found = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = found
        super().__init__("\n".join(map(str, found)))


def fail(place: str, found: str, expected: str) -> CodegenError:
    """A CodegenError with one diagnostic, ready to be raised."""
    return CodegenError(Diagnostic(place, found, expected))
