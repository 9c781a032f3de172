"""A session as its agent has it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from msgspec import UNSET

from ..codec import encode, to_builtins
from ..errors import ConnectionClosed
from .options import knows_switches
from .questions import Answer, Option, question
from .replay import Replay
from .rules import kind_of
from .stores import SessionRecord, SessionStore
from .words import Words, new_id

GRACE = 10.0
"""Seconds that the code of a cancelled turn has to end before its session goes on without it."""
KEPT_BACK = 64
"""Updates that are written to the store at once."""
PASSING = frozenset({"state_update", "notice", "available_commands_update", "config_option_update"})
"""Updates that are no part of a session's history: events, and what the answer that opens a session has anew."""
Update = TypeVar("Update")
Block = TypeVar("Block")
log = logging.getLogger("acp_bindings")


class AgentSession(Generic[Update, Block, Option]):
    """One conversation with a client; `SessionAgent` makes it and hands it to `turn`.

    `record` has its id, its directories and its title; `mcp_servers` are the client's. Set `commands` and
    `config_options` in `SessionAgent.opened`. `remote` calls the client. `grace` is how long the code of a turn has to
    end once it was cancelled, in seconds. Once the session was closed, telling the client something raises
    ConnectionClosed.
    """

    grace: float = GRACE

    def __init__(self, record: SessionRecord, words: Words, store: SessionStore, remote: Any) -> None:
        self.record = record
        self.remote = remote
        self.mcp_servers: list[Any] = []
        self.commands: list[Any] = []
        self.config_options: list[Any] = []
        self.is_cancelled = False
        self.is_closed = False
        self._words = words
        self._store = store
        self._unsaved: list[bytes] = []
        self._message: tuple[str, str] | None = None
        self._saving = asyncio.Lock()
        self._replaying = asyncio.Lock()
        self._free = asyncio.Lock()
        self._held: set[asyncio.Task[Any]] = set()
        self._working: asyncio.Task[Any] | None = None
        self._told_to_stop = asyncio.Event()
        self._questions = 0

    @property
    def id(self) -> str:
        return self.record.session_id

    @property
    def cwd(self) -> str:
        """The working directory that the client gave, absolute."""
        return self.record.cwd

    @property
    def is_lost(self) -> bool:
        """Whether nobody can be told anything any more: the session was closed, or the client has gone."""
        return self.is_closed or self.remote.connection.is_lost

    async def update(self, update: Update) -> None:
        """Tell the client, and keep what is history. With `strict`, an update that is not valid raises ValueError."""
        kind = kind_of(update)
        self._message = None
        await self._tell(update, kind not in PASSING)
        title = getattr(update, "title", UNSET) if kind == "session_info_update" else UNSET
        if title is not UNSET:
            self.record.title = title
            await self._store.save(self.record)

    async def say(self, content: str | Block) -> None:
        """Stream a piece of the agent's message: a text or a content block. Pieces that follow each other are one
        message."""
        await self._stream("agent_message_chunk", content)

    async def think(self, content: str | Block) -> None:
        """Stream a piece of the agent's thoughts."""
        await self._stream("agent_thought_chunk", content)

    async def ask(
        self,
        title: str,
        *,
        tool_call: Any = None,
        description: str | None = None,
        options: Sequence[Option] | None = None,
        blocks: bool = True,
    ) -> Answer[Option]:
        """Ask the user for permission. `tool_call` is the id of the call that it is for, or what is known of it.

        `options` are what can be chosen; by default to allow once or always, or to reject. While a turn waits, its
        session `requires_action`, unless with `blocks=False` other work goes on. Version 1 has no room for a
        `description`. Raises RequestError where the client cannot be asked.
        """
        request = question(self._words, self.id, title, tool_call, description, options)
        await self.save()
        async with self._blocked() if blocks else contextlib.nullcontext():
            response = await self.remote.session_request_permission(request)
        chosen = getattr(response.outcome, "option_id", None)
        return Answer(response.outcome, next((one for one in request.options if one.option_id == chosen), None))

    async def set_title(self, title: str) -> None:
        """Give the session a title, which clients show in lists."""
        await self.update(self._words.update("session_info_update", title=title, updatedAt=self.record.updated_at))

    async def save(self) -> None:
        """Write to the store what was kept back."""
        # One after the other: whoever is in it may be in the middle of what came before.
        async with self._saving:
            updates, self._unsaved = self._unsaved, []
            if not updates:
                return
            # A turn that is cancelled here waits for it: what the client was told is history.
            writing = asyncio.ensure_future(self._store.append(self.id, updates))
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await asyncio.wait([writing])
                raise
            finally:
                if writing.done() and (writing.cancelled() or writing.exception() is not None):
                    # What could not be written goes into the next attempt.
                    self._unsaved[:0] = updates

    # inside

    async def _stream(self, kind: str, content: Any) -> None:
        if self._message is None or self._message[0] != kind:
            self._message = kind, new_id()
        block = self._words.text(content) if isinstance(content, str) else content
        await self._tell(self._words.chunk(kind, self._message[1], block), True)

    async def _tell(self, update: Any, keeps: bool) -> None:
        if self._replaying.locked():
            # In the middle of a replay, which tells each message from its beginning, it would be undone.
            async with self._replaying:
                pass
        await self._send(update, keeps)

    async def _send(self, update: Any, keeps: bool) -> None:
        if self.is_closed:
            raise ConnectionClosed(f"session {self.id} is closed")
        body = encode(update) if keeps else b""
        # What is not valid is refused here, and is no history.
        notice = self.remote._notify("session/update", self._words.update_form(session_id=self.id, update=update))
        if keeps:
            self._unsaved.append(body)
        await notice
        if len(self._unsaved) >= KEPT_BACK:
            await self.save()

    async def _state(self, state: str, **members: Any) -> None:
        await self._tell(self._words.update("state_update", state=state, **members), False)

    @contextlib.asynccontextmanager
    async def _blocked(self) -> AsyncIterator[None]:
        """While the user is asked, the turn waits and says so; after the last question it goes on, unless cancelled."""
        if self._working is None or self._words.version == 1:
            yield
            return
        self._questions += 1
        goes_on = True
        try:
            if self._questions == 1:
                await self._state("requires_action")
            yield
        except (asyncio.CancelledError, ConnectionClosed):
            goes_on = False
            raise
        finally:
            self._questions -= 1
            if goes_on and not self._questions and self._working is not None:
                await self._state("running")

    async def _replay(self) -> None:
        """Send the history again."""
        async with self._replaying:
            await self.save()
            replay = Replay(self._words)
            for body in await self._store.history(self.id):
                for update in replay.told(body):
                    await self._send(update, False)

    def _told_options(self) -> list[Any]:
        """The configuration, for this client: version 1 has switches only for those who say that they know them."""
        if self._words.version > 1 or knows_switches(self.remote.initialized):
            return list(self.config_options)
        return [one for one in self.config_options if not isinstance(one.current_value, bool)]

    async def _tell_commands(self) -> None:
        commands = [to_builtins(one) for one in self.commands]
        await self._tell(self._words.update("available_commands_update", availableCommands=commands), False)

    async def _tell_state(self) -> None:
        if self._working is None:
            await self._state("idle")
        else:
            await self._state("requires_action" if self._questions else "running")

    async def _hold(self) -> None:
        """Wait until a turn may begin; a prompt that is cancelled before that never does."""
        task = asyncio.current_task()
        assert task is not None
        self._held.add(task)
        try:
            await self._free.acquire()
        finally:
            self._held.discard(task)
        self.is_cancelled = False
        self._told_to_stop.clear()
        self._message = None
        self.record.updated_at = now()

    async def _work(self, turn: Any) -> str:
        """Run a turn's code up to its end; gives the stop reason. Raises what it raises."""
        working = self._working = asyncio.ensure_future(turn)
        if self.is_cancelled:
            working.cancel()
        try:
            await self._worked(working)
        except asyncio.CancelledError:
            # The connection has gone, or the prompt itself was given up.
            working.cancel()
            await asyncio.wait([working], timeout=self.grace)
            raise
        finally:
            self._working = None
        if not self.is_cancelled and not working.cancelled():
            return working.result() or "end_turn"
        if not working.done():
            log.error("session %s: a turn did not end within %s s of being cancelled", self.id, self.grace)
        elif not working.cancelled() and working.exception() is not None:
            log.warning("session %s: a cancelled turn failed", self.id, exc_info=working.exception())
        return "cancelled"

    async def _worked(self, working: asyncio.Task[Any]) -> None:
        """Wait for the code of a turn, but not for ever once it was cancelled."""
        told = asyncio.ensure_future(self._told_to_stop.wait())
        try:
            await asyncio.wait([working, told], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await asyncio.wait([working], timeout=self.grace)
        finally:
            told.cancel()

    def _cancel(self) -> None:
        """Stop the turn, and call off the prompts that wait for it to end."""
        self.is_cancelled = True
        self._told_to_stop.set()
        for task in self._held:
            task.cancel()
        if self._working is not None:
            self._working.cancel()

    async def _stop(self) -> None:
        """Cancel, wait until the client knows of it, and say nothing any more."""
        self._cancel()
        try:
            # A turn that does not end is left behind after its time, a moment earlier.
            async with asyncio.timeout(2 * self.grace), self._free:
                pass
        except TimeoutError:
            log.error("session %s did not come to its end", self.id)
        self.is_closed = True
        await self.save()


def now() -> str:
    """The time as RFC 3339, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
