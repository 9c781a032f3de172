"""The headers that say which connection and session a request is about, and what a client takes."""

from __future__ import annotations

from starlette.datastructures import Headers

from . import CONNECTION_HEADER, EVENT_STREAM, JSON, SESSION_HEADER
from .refusals import Refused

MAX_ID = 1024
"""Bytes of the longest id that a header may carry."""


def connection_id(headers: Headers) -> str | None:
    return _one(headers, CONNECTION_HEADER)


def session_id(headers: Headers) -> str | None:
    """The session that a header names. Ids are text of any kind: beyond ASCII as UTF-8, or as Latin-1."""
    value = _one(headers, SESSION_HEADER)
    if value is None or value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def names(headers: Headers, session: str) -> bool:
    """Whether the header names this session, in either of the two ways."""
    return session in (session_id(headers), _one(headers, SESSION_HEADER))


def _one(headers: Headers, name: str) -> str | None:
    """The value of a header that may be given once. Raises Refused."""
    values = set(headers.getlist(name))
    if len(values) > 1:
        raise Refused(400, f"{name} contradicts itself")
    for value in values:
        if not value:
            raise Refused(400, f"{name} is empty")
        if len(value) > MAX_ID:
            raise Refused(400, f"{name} is longer than {MAX_ID} bytes")
        return value
    return None


def is_json(headers: Headers) -> bool:
    """Whether a body is JSON in UTF-8, which is what JSON is sent in, and not compressed."""
    essence, *parameters = [part.strip().lower() for part in headers.get("content-type", "").split(";")]
    charsets = {part.partition("=")[2].strip('" ') for part in parameters if part.startswith("charset")}
    is_plain = headers.get("content-encoding", "identity").lower() == "identity"
    return is_plain and essence == JSON and charsets <= {"utf-8", "utf8", "us-ascii"}


def takes_events(headers: Headers) -> bool:
    """Whether `Accept` has room for an event stream; the most specific range decides, and q=0 rules out."""
    found: dict[str, float] = {}
    for item in ",".join(headers.getlist("accept")).lower().split(","):
        essence, *parameters = [part.strip() for part in item.split(";")]
        quality = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        try:
            found[essence] = float(quality)
        except ValueError:
            found[essence] = 1.0
    for essence in (EVENT_STREAM, "text/*", "*/*"):
        if essence in found:
            return found[essence] > 0
    return False
