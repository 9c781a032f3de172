"""A connection's transport over a WebSocket: one text message for each frame."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque

from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import ConnectionClosed
from ..transports import Congestion, Receiver, oversized
from . import log
from .settings import Settings
from .transport import FLUSH

GOING_AWAY = 1001
POLICY = 1008
TOO_BIG = 1009
MAX_REASON = 123
"""Bytes of the reason in a closing frame."""


class SocketTransport:
    """An accepted WebSocket."""

    noisy = False

    def __init__(self, websocket: WebSocket, settings: Settings) -> None:
        self.limit = settings.max_message
        self.closed = False
        self._websocket = websocket
        self._settings = settings
        self._receiver: Receiver | None = None
        self._farewell = (GOING_AWAY, "the server ends the connection")
        self._gone = False
        self._ended = False
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._room = Congestion()
        self._wake = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self._heard = False
        self._last = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        self._tasks = [loop.create_task(work) for work in (self._read(), self._write(), self._watch())]

    # in

    async def _read(self) -> None:
        is_binary_told = False
        while not self._ended:
            await self._reading.wait()
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                self._lose(message.get("code", 1005), message.get("reason") or "")
                return
            self._last = asyncio.get_running_loop().time()
            text = message.get("text")
            if text is None:
                level = logging.DEBUG if is_binary_told else logging.WARNING
                log.log(level, "ignored a binary message: frames are text")
                is_binary_told = True
                continue
            frame = text.encode()
            if len(frame) > self.limit:
                self._part(TOO_BIG, str(oversized(frame, self.limit)))
                return
            self._heard = True
            if self._receiver is not None and not self._ended:
                self._receiver.received((frame,))

    def _lose(self, code: int, reason: str) -> None:
        """The client has closed it, or the network has."""
        self._gone = True
        if code == TOO_BIG:
            log.warning("closed a WebSocket for a message over the server's own limit: %s", reason)
        self._end(f"the client is gone ({code}{': ' * bool(reason)}{reason})")

    def _part(self, code: int, reason: str) -> None:
        """Close it for a reason that the client is told."""
        log.warning("closing a WebSocket with %d: %s", code, reason)
        self._farewell = (code, reason)
        self._end(reason)

    def _end(self, reason: str) -> None:
        self._room.clear()
        self._wake.set()
        if self._receiver is not None and not self._ended:
            self._ended = True
            self._receiver.ended(ConnectionClosed(reason))

    async def _watch(self) -> None:
        """Close it when it is silent: soon if nothing has come at all, late if nothing more comes."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._settings.opening_timeout)
        if not self._heard:
            self._part(POLICY, f"no initialize within {self._settings.opening_timeout:g} s")
            return
        limit = self._settings.silence_timeout
        while limit is not None and (rest := self._last + limit - loop.time()) > 0:
            await asyncio.sleep(rest)
        if limit is not None:
            self._part(GOING_AWAY, f"no message for {limit:g} s")

    def pause(self) -> None:
        self._reading.clear()

    def resume(self) -> None:
        self._reading.set()

    # out

    def write(self, frame: bytes) -> bool:
        if self.closed or self._gone:
            raise ConnectionClosed("the client is gone" if self._gone else "the connection was closed here")
        if len(frame) > self.limit:
            raise oversized(frame, self.limit)
        self._frames.append(frame)
        self._size += len(frame)
        self._wake.set()
        return self._size > self._settings.max_output

    async def drain(self) -> None:
        while self._size > self._settings.max_output and not (self.closed or self._gone):
            await self._room.wait()
        if self.closed or self._gone:
            raise ConnectionClosed("the client is gone" if self._gone else "the connection was closed here")

    async def _write(self) -> None:
        while True:
            while self._frames and not self._gone:
                frame = self._frames[0]
                try:
                    await self._websocket.send_text(frame.decode())
                except WebSocketDisconnect:
                    # Reading learns of it too, and knows more; but it may have paused until there is room again.
                    self._gone = True
                    self._room.clear()
                    return
                self._frames.popleft()
                self._size -= len(frame)
                self._last = asyncio.get_running_loop().time()
                if self._size <= self._settings.max_output:
                    self._room.clear()
            if self.closed or self._gone:
                return
            self._wake.clear()
            await self._wake.wait()

    async def close(self) -> None:
        """Send what is waiting, then close the socket with the reason, if there is one to tell."""
        if self.closed:
            return
        self.closed = self._ended = True
        self._room.clear()
        self._wake.set()
        me = asyncio.current_task()
        reading, writing, watching = self._tasks or (None, None, None)
        for task in (reading, watching):
            if task is not None and task is not me:
                task.cancel()
        if writing is not None:
            await asyncio.wait([writing], timeout=FLUSH)
            writing.cancel()
        if not self._gone:
            code, reason = self._farewell
            # Some servers let what is sent wait for ever once they have given up the request.
            with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
                async with asyncio.timeout(FLUSH):
                    await self._websocket.close(code, reason.encode()[:MAX_REASON].decode(errors="ignore"))
        if self._tasks:
            await asyncio.wait([task for task in self._tasks if task is not me], timeout=FLUSH)
