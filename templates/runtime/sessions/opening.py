"""How a client opens a session: anew, or one that exists."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from ..codec import convert
from ..remote import Remote
from .inbox import Inbox
from .permissions import Policy
from .session import Session

ANYWHERE = "/"


@contextlib.asynccontextmanager
async def open_session(
    agent: Remote,
    made: type[Session[Any, Any, Any]],
    state: Any,
    cwd: str | os.PathLike[str],
    *,
    resume: str | None,
    load: str | None,
    fork: str | None,
    mcp_servers: Sequence[Any],
    additional_directories: Sequence[str | os.PathLike[str]],
    meta: dict[str, Any] | None,
    permissions: Policy | None,
    close: bool,
    fields: Mapping[str, Any],
) -> AsyncIterator[Any]:
    """What the generated `RemoteAgent.session` does; its docstring says what that is."""
    if sum(one is not None for one in (resume, load, fork)) > 1:
        raise ValueError("resume, load and fork exclude each other")
    paths = [_absolute(path) for path in (cwd, *additional_directories)]
    version: int = state.version
    method = _method(version, resume, load, fork)
    spec = agent._methods.get(("agent", "request", method))
    if spec is None:
        raise ValueError(f"{method} is not part of this version and channel of the protocol")
    params = _common(paths, mcp_servers, meta) | dict(fields)
    known = resume if resume is not None else load
    if known is not None or fork is not None:
        params["session_id"] = known if known is not None else fork
    if load is not None and version > 1:
        params["replay_from"] = _from_start(spec.params)
    inbox = Inbox.of(agent)
    session: Session[Any, Any, Any] | None = None
    try:
        async with inbox.opening():
            if known is not None:
                # What is replayed comes before the answer.
                session = made(agent, known, state, permissions)
                inbox.add(session)
            response = await agent._call(method, spec.params(**params), None)
            if session is None:
                session = made(agent, response.session_id, state, permissions)
                inbox.add(session)
        session.opened = response
        state.opened(response)
        try:
            yield session
        finally:
            await (session.close() if close else session.leave())
    finally:
        if session is not None:
            inbox.remove(session)


def _common(paths: Sequence[str], mcp_servers: Sequence[Any], meta: dict[str, Any] | None) -> dict[str, Any]:
    """What all of the requests have. `paths` are the working directory, and the additional ones."""
    # Version 1 requires the list of servers, version 2 leaves it out while it is empty.
    params: dict[str, Any] = {"cwd": paths[0], "mcp_servers": list(mcp_servers)}
    if len(paths) > 1:
        params["additional_directories"] = paths[1:]
    if meta is not None:
        params["meta"] = meta
    return params


def _method(version: int, resume: str | None, load: str | None, fork: str | None) -> str:
    if fork is not None:
        return "session/fork"
    if load is not None:
        return "session/load" if version == 1 else "session/resume"
    return "session/resume" if resume is not None else "session/new"


def _from_start(form: Any) -> Any:
    """The cursor that asks for the whole history, in the words of the profile."""
    wire = {"sessionId": "", "cwd": ANYWHERE, "replayFrom": {"type": "start"}}
    found: Any = convert(wire, form)
    return found.replay_from


def _absolute(path: str | os.PathLike[str]) -> str:
    """A path on the agent's machine, whatever system that runs. Raises ValueError for one that is relative."""
    text = os.fspath(path)
    if not (PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()):
        raise ValueError(f"{text!r} is not absolute: the agent's working directory may be any other")
    return text
