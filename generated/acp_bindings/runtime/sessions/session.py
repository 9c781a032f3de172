"""A session as a client has it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import jsonrpc
from ..codec import convert
from ..errors import AcpError, ConnectionClosed
from .ending import Ending
from .permissions import cancelled
from .rules import activity_of
from .state import SessionState
from .turns import Turn, Update

if TYPE_CHECKING:
    from ..remote import Remote
    from ..routing import MethodSpec
    from .permissions import Policy

UPDATES_KEPT = 1024
"""Updates outside turns that are kept for `updates`, beside a replayed history; of more, the oldest go."""
GRACE = 10.0
"""Seconds that an agent has to end what it was told to end before nobody waits for it any more."""
log = logging.getLogger("acp_bindings")
Block = TypeVar("Block")
State = TypeVar("State", bound=SessionState[Any, Any, Any, Any, Any, Any, Any, Any])


class Session(Generic[Update, Block, State]):
    """A conversation with an agent; make one with `agent.session(...)`.

    `id` names it, `state` has what its updates add up to, `opened` is the agent's answer that opened it. `grace` is how
    long the agent may take to end a cancelled turn, and to answer `session/close`, in seconds.
    """

    grace: float = GRACE

    def __init__(self, agent: Remote, identity: str, state: State, permissions: Policy | None) -> None:
        self.agent = agent
        self.id = identity
        self.state = state
        self.opened: Any = None
        self.permissions = permissions
        self.is_closed = False
        # Why no turn may begin any more.
        self._gone: ConnectionClosed | None = None
        self._turns: list[Turn[Update]] = []
        self._outside: deque[Update] = deque()
        self._wake = asyncio.Event()
        self._asked: set[asyncio.Future[None]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        # Whether the agent is at work, as far as it has told, and whether it has ever told.
        self._works = False
        self._tells = False

    def prompt(
        self, prompt: str | Block | Sequence[Block], *, meta: dict[str, Any] | None = None, timeout: float | None = None
    ) -> Turn[Update]:
        """Prompt the agent with a text, a content block or several; iterate over what comes, or await the end.

            async for update in session.prompt("What is in this folder?"):
                ...

        Nothing is sent before the iteration begins. Several may be under way at once: the agent takes them up in order
        (in version 1 the next one is sent when the one before is over). `timeout` is for the whole turn, in seconds.
        Raises ValueError for an empty list.
        """
        form = self._spec("session/prompt").params
        request: Any
        if isinstance(prompt, str):
            request = convert({"sessionId": self.id, "prompt": [{"type": "text", "text": prompt}]}, form)
        else:
            blocks = list(prompt) if isinstance(prompt, Sequence) else [prompt]
            if not blocks:
                raise ValueError("a prompt of no blocks")
            request = form(session_id=self.id, prompt=blocks)
        if meta is not None:
            request.meta = meta
        return Turn(self, request, timeout)

    async def cancel(self) -> None:
        """Stop what the agent does in this session (`session/cancel`).

        Open questions for permission are called off, and so are those that come before the turns have ended.
        """
        for turn in self._turns:
            turn._cancelled = turn._told = True
        for question in self._asked:
            question.cancel()
        method = "session/cancel"
        spec = self.agent._methods["agent", "notification", method]
        await self.agent._notify(method, spec.params(session_id=self.id))

    async def updates(self) -> AsyncIterator[Update]:
        """The updates that belong to no turn, from the session's opening to its end, a replayed history included.

        Every update is given out once: by a turn, or here. Those that nobody has asked for are kept: what came before
        the session was open, and of what came later the newest `UPDATES_KEPT`. RuntimeError inside a handler of
        `session/update`, where no further update could come.
        """
        while True:
            while self._outside:
                yield self._outside.popleft()
            if self.is_closed:
                return
            self._must_not_block()
            self._wake.clear()
            await self._wake.wait()

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Set one of the session's configuration options; `state.config_options` has them all afterwards.

        Raises CapabilityError for an option that the agent does not offer, RequestError (-32602) for a value that it
        does not know.
        """
        method = "session/set_config_option"
        body: dict[str, Any] = {"sessionId": self.id, "configId": config_id, "value": value}
        kind = "boolean" if isinstance(value, bool) else None
        if kind or self._version > 1:
            body["type"] = kind or "id"
        known: list[Any] = []
        request = convert(body, self._spec(method).params)
        response = await self.agent._call(method, request, None, lambda _: known.append(self.state.config_options))
        # An update after the answer may have been here first, and is the newer one.
        if self.state.config_options is known[0]:
            self.state.config_options = list(response.config_options)

    async def close(self) -> None:
        """End the session: its turns are cancelled and waited for, then it is closed at the agent, if that can be.

        Idempotent. What comes for it afterwards goes to the client's handler only.
        """
        if self.is_closed:
            return
        await self.leave()
        method = "session/close"
        if ("agent", "request", method) not in self.agent._methods:
            return
        try:
            await self.agent._call(method, self._spec(method).params(session_id=self.id), self.grace)
        except AcpError as error:
            # An agent that does not know it any more, or that cannot close sessions, leaves nothing to do.
            log.debug("session %s was not closed at the agent: %s", self.id, error)

    async def leave(self) -> None:
        """Stop following the session, which stays open at the agent: its turns are cancelled and waited for."""
        self._gone = self._gone or ConnectionClosed(f"session {self.id} is closed")
        try:
            await asyncio.gather(*(turn._leave() for turn in self._turns))
        finally:
            self._end()

    # what the connection tells it

    def _take(self, update: Update) -> None:
        self.state.apply(update)
        activity = activity_of(update)
        if activity is not None:
            self._works = activity != "idle"
            self._tells |= self._works
        taken = False
        for turn in list(self._turns):
            taken = turn._take(update, is_first=not taken) or taken
        if not taken:
            if self.opened is not None and len(self._outside) >= UPDATES_KEPT:
                log.debug("session %s: nobody asks for the updates outside its turns: the oldest goes", self.id)
                self._outside.popleft()
            self._outside.append(update)
            self._wake.set()

    def _lost(self, error: ConnectionClosed) -> None:
        self._gone = self._gone or error
        for turn in list(self._turns):
            turn._lost(error)
        self._end()

    def _end(self) -> None:
        self.is_closed = True
        self._wake.set()

    async def _answer(self, ask: Callable[[], Awaitable[Any]], form: Any) -> Any:
        """The client's answer to a question for permission; `cancelled` is the answer once that was cancelled.

        Whether the turn was cancelled here, or the agent gave up the question.
        """
        if not any(turn._cancelled for turn in self._turns):
            task = asyncio.ensure_future(ask())
            called_off = asyncio.get_running_loop().create_future()
            self._asked.add(called_off)
            try:
                # Not for the task alone: it may not want to end.
                await asyncio.wait([task, called_off], return_when=asyncio.FIRST_COMPLETED)
                if not called_off.done() and not task.cancelled():
                    return task.result()
            except asyncio.CancelledError:
                # The agent gave the question up.
                pass
            finally:
                self._asked.discard(called_off)
            task.cancel()
            task.add_done_callback(_log_late)
        return cancelled(form)

    # what its turns need

    @property
    def _version(self) -> int:
        return self.state.version

    def _spec(self, method: str) -> MethodSpec:
        return self.agent._methods["agent", "request", method]

    async def _admit(self, turn: Turn[Update]) -> None:
        """Wait until a turn may begin: in version 1 after the others, always after those that were cancelled."""
        alone = self._version == 1
        while (other := next((one for one in self._turns if alone or one._cancelled), None)) is not None:
            await other._over.wait()
        if self._gone is not None:
            raise self._gone.again()
        turn._begin(None if alone else Ending(self._works or bool(self._turns), self._tells))
        self._turns.append(turn)

    def _must_not_block(self) -> None:
        if self.agent.connection.is_in_handler():
            raise RuntimeError("inside a handler of updates this would wait for itself: start a task for it")

    def _leave_soon(self, turn: Turn[Update]) -> None:
        task = asyncio.get_running_loop().create_task(turn._leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def _release(self, turn: Turn[Update]) -> None:
        with contextlib.suppress(ValueError):
            self._turns.remove(turn)

    async def _send(self, request: Any, then: Callable[[jsonrpc.Response], None]) -> Any:
        # A turn takes as long as it takes: the limit for calls is not for it.
        return await self.agent._call("session/prompt", request, math.inf, then)


def _log_late(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.warning("a question for permission that was called off failed", exc_info=task.exception())
