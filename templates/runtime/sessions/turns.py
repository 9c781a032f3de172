"""A prompt and what comes of it, as something to iterate over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import UNSET

from .. import jsonrpc
from ..calls import read_result
from ..errors import AcpError, ConnectionClosed, ProtocolError, RequestError, RequestTimeout
from .ending import Ending, stop_reason_of

if TYPE_CHECKING:
    from .session import Session

log = logging.getLogger("acp_bindings")
Update = TypeVar("Update")


class Turn(Generic[Update]):
    """What one prompt sets off: `async for update in turn` sends it and yields updates until its work is over.

    After that `stop_reason` says why it ended, `usage` what it took, `error` what failed (for stop reason `error`);
    all are None where the agent did not say. `await turn` does it all without looking at the updates, and gives the
    turn. Every update is given out by one turn: the first that is not over.

    Leaving the loop, or cancelling the task that is in it, sends `session/cancel`; a task that is cancelled waits for
    the end of the turn first, the session's `grace` at most, and so does the session's next prompt. Of a turn that was
    left, further updates go to the session's state and to the client's handler only.

    Raises RequestError when the prompt is refused, ConnectionClosed, and RequestTimeout when `timeout` seconds have
    passed (the turn is cancelled then, and waited for as above). RuntimeError inside a handler of `session/update`,
    where no further update could come.
    """

    def __init__(self, session: Session[Update, Any, Any], request: Any, timeout: float | None) -> None:
        self.stop_reason: str | None = None
        self.usage: Any = None
        self.error: Any = None
        self.message_id: str | None = None
        self.response: Any = None
        self._session = session
        self._request = request
        self._timeout = timeout
        self._ending: Ending | None = None
        self._updates: deque[Update] = deque()
        self._wake = asyncio.Event()
        self._over = asyncio.Event()
        self._failure: Exception | None = None
        self._begun = False
        self._sent = False
        # Its loop was left; it is to be cancelled; the agent was told so.
        self._left = False
        self._cancelled = False
        self._told = False
        self._answering: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "under way" if self._begun else "not begun"
        if self.is_over:
            state = f"failed: {type(self._failure).__name__}" if self._failure else f"over: {self.stop_reason}"
        return f"<Turn of session {self._session.id}, {state}>"

    @property
    def is_over(self) -> bool:
        """Whether the agent's work on it has ended, or can no longer be waited for."""
        return self._over.is_set()

    def __await__(self) -> Generator[Any, None, Turn[Update]]:
        return self._finish().__await__()

    async def _finish(self) -> Turn[Update]:
        async for _ in self:
            pass
        return self

    def __aiter__(self) -> AsyncIterator[Update]:
        # An object of its own, which goes when its loop is left: that is how a turn learns of it.
        return _Loop(self)

    async def cancel(self) -> None:
        """Send `session/cancel`, which stops all of the session's work in the foreground. Idempotent."""
        if self._sent and not self.is_over and not self._told:
            await self._session.cancel()

    async def _start(self) -> None:
        self._begun = True
        try:
            await self._session._admit(self)
        except ConnectionClosed as error:
            self._end(error)
            return
        self._sent = True
        self._answering = asyncio.get_running_loop().create_task(self._ask(), name="session/prompt")

    async def _next(self) -> Update | None:
        if not self.is_over:
            self._session._must_not_block()
            if not self._begun:
                await self._start()
        while not self._updates:
            if self.is_over:
                return None
            self._wake.clear()
            await self._wake.wait()
        return self._updates.popleft()

    async def _leave(self) -> None:
        """Nobody listens any more: make the agent stop, and wait for it to."""
        self._left = True
        self._updates.clear()
        if not self._sent:
            self._end()
        if self.is_over:
            return
        session = self._session
        try:
            async with asyncio.timeout(session.grace):
                with contextlib.suppress(AcpError):
                    await self.cancel()
                await self._over.wait()
        except TimeoutError:
            log.warning("session %s: a turn did not end within %s s of its cancellation", session.id, session.grace)
        finally:
            self._end()

    # what the session tells it

    def _begin(self, ending: Ending | None) -> None:
        self._ending = ending

    def _take(self, update: Update, *, is_first: bool) -> bool:
        """An update came; whether it is this turn's, as every update is of the first turn that is not over."""
        if is_first and not self._left:
            self._updates.append(update)
            self._wake.set()
        if self._ending is not None:
            self._ending.saw(update)
            self._check()
        return is_first

    def _check(self) -> None:
        if self._ending is not None and self._ending.is_over and not self.is_over:
            idle = self._ending.idle
            self.stop_reason = stop_reason_of(idle)
            self.usage = _known(idle, "usage")
            self.error = _known(idle, "error")
            self._end()

    def _end(self, failure: Exception | None = None) -> None:
        if not self.is_over:
            self._failure = failure
            self._over.set()
            self._wake.set()
            self._session._release(self)
            if self._answering is not None and self._answering is not asyncio.current_task():
                self._answering.cancel()

    def _lost(self, error: ConnectionClosed) -> None:
        self._end(error.again())

    async def _ask(self) -> None:
        """Send the prompt, and wait for its answer."""
        try:
            if self._cancelled:
                # The word to stop was sent already, and would not stop what comes after it.
                raise RequestError(jsonrpc.REQUEST_CANCELLED, "cancelled before it was sent")
            await self._session._send(self._request, self._answered)
        except Exception as error:
            self._failed(error)

    def _answered(self, answer: jsonrpc.Response) -> None:
        """The answer, in its turn in the order of the wire, so that what comes after it finds the turn as it is then.

        In version 1 it ends the turn, in version 2 it says that the message is in the conversation.
        """
        try:
            response = read_result(answer, "session/prompt", self._session._spec("session/prompt").result)
        except (RequestError, ProtocolError) as error:
            self._failed(error)
            return
        self.response = response
        self.message_id = _known(response, "message_id")
        if self._ending is None:
            self.stop_reason = response.stop_reason
            self.usage = _known(response, "usage")
            self._end()
        else:
            self._ending.answered(response.message_id)
            self._check()

    def _failed(self, error: Exception) -> None:
        if self._cancelled and isinstance(error, RequestError) and error.code == jsonrpc.REQUEST_CANCELLED:
            self.stop_reason = "cancelled"
            self._end()
        else:
            self._end(error)


class _Loop(Generic[Update]):
    """One loop over a turn's updates."""

    def __init__(self, turn: Turn[Update]) -> None:
        self._turn = turn
        self._loop = asyncio.get_running_loop()
        # The limit is the agent's, not that of whoever looks at its updates: it only counts while waiting.
        self._until = None if turn._timeout is None else self._loop.time() + turn._timeout

    def __aiter__(self) -> AsyncIterator[Update]:
        return self

    async def __anext__(self) -> Update:
        turn = self._turn
        if turn._updates:
            return turn._updates.popleft()
        try:
            if self._until is None:
                update = await turn._next()
            else:
                async with asyncio.timeout_at(self._until):
                    update = await turn._next()
        except TimeoutError:
            await turn._leave()
            raise RequestTimeout(f"session/prompt: the turn was not over within {turn._timeout} s") from None
        except asyncio.CancelledError:
            await turn._leave()
            raise
        if update is not None:
            return update
        if turn._failure is not None:
            raise turn._failure
        raise StopAsyncIteration

    def __del__(self) -> None:
        if self._turn.is_over or self._loop.is_closed():
            return
        self._turn._cancelled = True
        # The garbage collector may run in any thread.
        self._loop.call_soon_threadsafe(self._turn._session._leave_soon, self._turn)


def _known(model: Any, name: str) -> Any:
    value = model.get(name) if isinstance(model, dict) else getattr(model, name, None)
    return None if value is UNSET else value
