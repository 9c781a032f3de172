"""An agent that keeps sessions, of which authors write one function: the turn."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import UNSET

from .. import jsonrpc
from ..codec import convert, encode
from ..errors import ConnectionClosed, RequestError
from ..models import UnknownVariant
from ..routing import Handler
from .hosted import AgentSession, Block, now
from .listing import cursor_of, listed, read_cursor
from .options import config_id_of, fits
from .stores import PAGE, MemoryStore, SessionRecord, SessionStore
from .words import Words, new_id

if TYPE_CHECKING:
    from ..context import Context

S = TypeVar("S", bound=AgentSession[Any, Any, Any])
NOT_FOUND = -32002
ABLE = {
    1: {
        "loadSession": True,
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
    },
    2: {"session": {"delete": {}, "fork": {}}},
}
"""What it can do, as `initialize` says it, by version; a schema that lacks a word of it lacks the method too."""


class SessionAgent(Handler, Generic[S, Block]):
    """An agent whose sessions are kept for it. Write `turn`:

        class Echo(v2.SessionAgent):
            async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> str | None:
                for block in prompt:
                    await session.say(block)

    What it returns is the stop reason, None for `end_turn`; a RequestError that it raises is told to the client, of any
    other exception only that there was one (in version 1 both are the answer to the prompt). A stop reason that is
    neither the protocol's nor has a leading underscore is such an exception. `session/cancel` cancels the task of
    `turn`, and the stop reason is `cancelled` whatever it does then; code that does not end is left behind after the
    session's `grace`. Prompts that come during a turn are held until it is over. `opened` is called when a session was
    made or resumed, before the client is told.

    `store` keeps records and histories for `session/list`, resuming and forking: in memory, unless a `SqliteStore` or
    one of your own is given. Without `capabilities`, what is handled here is advertised.
    """

    _session: ClassVar[Any]

    def __init__(
        self, *, info: Any = None, capabilities: Any = None, auth_methods: Any = None, store: SessionStore | None = None
    ) -> None:
        super().__init__(info=info, capabilities=capabilities, auth_methods=auth_methods)
        self.store: SessionStore = store if store is not None else MemoryStore()
        self.sessions: dict[str, S] = {}
        self._words = Words(self)
        if self.capabilities is None:
            self.capabilities = _able(self._opening)

    async def turn(self, session: S, prompt: list[Block]) -> str | None:
        """Answer a prompt. Returns the stop reason, None for `end_turn`."""
        raise NotImplementedError(f"{type(self).__name__} has no turn")

    async def opened(self, session: S) -> None:
        """A session was made, resumed or forked: set its `commands` and `config_options` here."""

    async def config_changed(self, session: S, option: Any) -> None:
        """The client has set one of the session's `config_options`, which has its new value already."""

    async def connection_closed(self) -> None:
        sessions, self.sessions = self.sessions, {}
        await asyncio.gather(*(session._stop() for session in sessions.values()))

    # the methods of the protocol

    async def session_new(self, request: Any, context: Context) -> Any:
        record = SessionRecord(session_id=new_id(), cwd=request.cwd)
        return await self._make(record, [], "session/new", request, context)

    async def session_fork(self, request: Any, context: Context) -> Any:
        origin = self.sessions.get(request.session_id)
        if origin is not None:
            await origin.save()
        record = await self._record(request.session_id)
        history = await self.store.history(record.session_id)
        record = SessionRecord(session_id=new_id(), cwd=request.cwd, title=record.title)
        return await self._make(record, history, "session/fork", request, context)

    async def session_load(self, request: Any, context: Context) -> Any:
        return await self._reopen(request, context, "session/load", replays=True)

    async def session_resume(self, request: Any, context: Context) -> Any:
        start = getattr(request, "replay_from", None)
        if isinstance(start, UnknownVariant):
            raise RequestError(jsonrpc.INVALID_PARAMS, f"history cannot be replayed from {start.tag!r:.80}")
        return await self._reopen(request, context, "session/resume", replays=start not in (None, UNSET))

    async def session_list(self, request: Any, context: Context) -> Any:
        cwd = None if request.cwd is UNSET else request.cwd
        after = None if request.cursor in (None, UNSET) else read_cursor(request.cursor)
        found = await self.store.page(cwd, after, PAGE + 1)
        wire: dict[str, Any] = {"sessions": [listed(one) for one in found[:PAGE]]}
        if len(found) > PAGE:
            wire["nextCursor"] = cursor_of(found[PAGE - 1])
        return convert(wire, self._words.result("session/list"))

    async def session_close(self, request: Any, context: Context) -> Any:
        session = self.sessions.pop(request.session_id, None)
        if session is not None:
            await session._stop()
            await self.store.save(session.record)
        return self._words.result("session/close")()

    async def session_delete(self, request: Any, context: Context) -> Any:
        session = self.sessions.pop(request.session_id, None)
        if session is not None:
            await session._stop()
        await self.store.delete(request.session_id)
        return self._words.result("session/delete")()

    async def session_cancel(self, notification: Any, context: Context) -> None:
        session = self.sessions.get(notification.session_id)
        if session is not None:
            session._cancel()

    async def session_set_config_option(self, request: Any, context: Context) -> Any:
        session = self._live(request.session_id)
        option = next((one for one in session.config_options if config_id_of(one) == request.config_id), None)
        if option is None:
            raise RequestError(jsonrpc.INVALID_PARAMS, f"no configuration option {request.config_id!r}")
        value = request.value
        if not fits(option, value):
            raise RequestError(jsonrpc.INVALID_PARAMS, f"not a value of {request.config_id!r}: {value!r:.80}")
        before, option.current_value = option.current_value, value
        try:
            await self.config_changed(session, option)
        except BaseException:
            option.current_value = before
            raise
        return self._words.result("session/set_config_option")(config_options=session._told_options())

    async def session_prompt(self, request: Any, context: Context) -> Any:
        if not request.prompt:
            raise RequestError(jsonrpc.INVALID_PARAMS, "the prompt is empty")
        session = self._live(request.session_id)
        await session._hold()
        goes_on = False
        try:
            message_id = new_id()
            await self._begin(session, message_id, request.prompt)
            if self._words.version > 1:
                context.after_response(lambda: self._run(session, request.prompt))
                goes_on = True
                return self._words.result("session/prompt")(message_id=message_id)
            reason = await session._work(self.turn(session, request.prompt))
            return convert({"stopReason": reason}, self._words.result("session/prompt"))
        finally:
            if not goes_on:
                await self._end(session)

    # inside

    async def _begin(self, session: S, message_id: str, prompt: list[Any]) -> None:
        """The prompt is part of the conversation from here on; only version 2 tells the client so."""
        words = self._words
        if words.version == 1:
            session._unsaved += [encode(words.chunk("user_message_chunk", message_id, block)) for block in prompt]
        else:
            content = [msgspec.to_builtins(block) for block in prompt]
            await session._tell(words.update("user_message", messageId=message_id, content=content), True)

    async def _run(self, session: S, prompt: list[Any]) -> None:
        """A turn of version 2, after its prompt was answered: `running`, the turn, `idle` with the reason."""
        try:
            await session._state("running")
            try:
                reason = await session._work(self.turn(session, prompt))
                idle = self._words.idle(reason)
            except Exception as error:
                if isinstance(error, ConnectionClosed) and session.is_lost:
                    raise
                # Another connection's end is a failure like any other: the client waits for the turn's.
                idle = self._words.failed(error, session.id)
            await session._tell(idle, False)
        finally:
            await self._end(session)

    async def _end(self, session: S) -> None:
        try:
            await session.save()
            if not session.is_closed:
                await self.store.save(session.record)
        finally:
            session._free.release()

    def _live(self, session_id: str) -> S:
        session = self.sessions.get(session_id)
        if session is None:
            raise RequestError(NOT_FOUND, f"no open session {session_id!r:.80}")
        return session

    async def _record(self, session_id: str) -> SessionRecord:
        """What is known of a session that is open, or that the store has."""
        session = self.sessions.get(session_id)
        record = session.record if session is not None else await self.store.find(session_id)
        if record is None:
            raise RequestError(NOT_FOUND, f"no session {session_id!r:.80}")
        return record

    def _keep(self, record: SessionRecord, request: Any, context: Context) -> S:
        session: S = self._session(record, self._words, self.store, context.remote)
        self.sessions[record.session_id] = session
        self._equip(session, request)
        return session

    def _equip(self, session: S, request: Any) -> None:
        """The client gives what its session is to have whole, each time."""
        session.mcp_servers = list(request.mcp_servers)
        session.record.additional_directories = list(getattr(request, "additional_directories", ()))

    async def _make(
        self, record: SessionRecord, history: list[bytes], method: str, request: Any, context: Context
    ) -> Any:
        """Open a session that was not there before."""
        record.updated_at = now()
        session = self._keep(record, request, context)
        try:
            await self.store.save(record)
            await self.store.append(record.session_id, history)
            return await self._open(session, method, context, session_id=record.session_id)
        except BaseException:
            # Nobody will ever know its id.
            self.sessions.pop(record.session_id, None)
            await self.store.delete(record.session_id)
            raise

    async def _reopen(self, request: Any, context: Context, method: str, *, replays: bool) -> Any:
        """Open a session that the store has, or one that is open already."""
        record = await self._record(request.session_id)
        if os.path.normpath(record.cwd) != os.path.normpath(request.cwd):
            raise RequestError(jsonrpc.INVALID_PARAMS, "the session has another working directory", {"cwd": record.cwd})
        session = self.sessions.get(record.session_id)
        made = session is None
        if session is None:
            session = self._keep(record, request, context)
        else:
            self._equip(session, request)
        try:
            if replays:
                await session._replay()
            answer = await self._open(session, method, context)
        except BaseException:
            if made:
                self.sessions.pop(record.session_id, None)
            raise
        if self._words.version > 1:
            # After the history and before the answer.
            await session._tell_state()
        return answer

    async def _open(self, session: S, method: str, context: Context, **members: Any) -> Any:
        """The answer that opens a session, with what it offers: in it where it has room, else beside it."""
        await self.opened(session)
        form = self._words.result(method)
        offers = {"config_options": session._told_options(), "available_commands": session.commands}
        members |= {name: list(value) for name, value in offers.items() if value and name in form.__struct_fields__}
        if session.commands and "available_commands" not in members:
            if "session_id" in members:
                # The client does not know the session before it has the answer.
                context.after_response(session._tell_commands)
            else:
                await session._tell_commands()
        return form(**members)


def _able(opening: Any) -> Any:
    fields = {field.name: field.encode_name for field in msgspec.structs.fields(opening.response)}
    wire = {"protocolVersion": opening.version, fields[opening.agent_capabilities]: ABLE[opening.version]}
    if opening.version > 1:
        wire["info"] = {"name": "", "version": ""}
    return getattr(convert(wire, opening.response), opening.agent_capabilities)
