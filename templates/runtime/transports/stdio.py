"""This process's own stdin and stdout, taken over for the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, BinaryIO

from ..errors import ConnectionClosed
from . import MAX_OUTPUT, Receiver
from .pipes import LineReader, LineWriter, ReadEnd, WriteEnd, log
from .process import ProcessTransport

__all__ = ["OwnStreams", "ProcessTransport"]

CHUNK = 256 * 1024
"""Bytes that one read of a thread may bring."""
FLUSH = 2.0
"""Seconds that closing waits for the other side to read what was written."""


class TakenStreams:
    """Stdin and stdout under our own numbers. Whoever else reads gets nothing, whoever else prints writes to stderr."""

    def __init__(self) -> None:
        if sys.stdout is not None:
            sys.stdout.flush()
        # Whatever else is open in the process, a child of ours inherits neither.
        self.stdin = os.dup(0)
        self.stdout = os.dup(1)
        self._blocking: dict[int, bool] = {}
        if os.name == "posix":
            self._blocking = {fd: os.get_blocking(fd) for fd in (self.stdin, self.stdout)}
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def give_back(self) -> None:
        """Put both back. What was printed before goes to stderr still."""
        if sys.stdout is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
        for fd, blocking in self._blocking.items():
            os.set_blocking(fd, blocking)
        os.dup2(self.stdin, 0)
        os.dup2(self.stdout, 1)
        os.close(self.stdin)
        os.close(self.stdout)


class ThreadReader:
    """A thread that reads where the event loop cannot wait for input. It ends with the input, or with the process."""

    def __init__(self, fd: int, owner: OwnStreams) -> None:
        self._fd = os.dup(fd)
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._go_on = threading.Event()
        self._paused = False
        threading.Thread(target=self._run, name="acp-stdin", daemon=True).start()

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._go_on.set()

    def close(self) -> None:
        self.resume_reading()

    def _run(self) -> None:
        with contextlib.suppress(OSError), os.fdopen(self._fd, "rb", buffering=0) as source:
            while (chunk := source.read(CHUNK)) and self._tell(self._take, chunk):
                self._go_on.wait()
                self._go_on.clear()
        self._tell(self._owner.input_ended)

    def _take(self, chunk: bytes) -> None:
        self._owner.reader.feed(chunk)
        if not self._paused:
            self._go_on.set()

    def _tell(self, call: Callable[..., None], *values: Any) -> bool:
        try:
            self._loop.call_soon_threadsafe(call, *values)
        except RuntimeError:
            # The loop is closed.
            return False
        return True


class ThreadWriter:
    """A thread that writes where the event loop cannot wait for room."""

    def __init__(self, fd: int, owner: OwnStreams, max_output: int) -> None:
        self._output: BinaryIO = os.fdopen(os.dup(fd), "wb", buffering=0)
        self._owner = owner
        self._max_output = max_output
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._closing = False
        self._blocked = False
        threading.Thread(target=self._run, name="acp-stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        with self._lock:
            self._waiting.append(data)
            self._size += len(data)
            self._blocked = self._size > self._max_output
            self._lock.notify()
        if self._blocked:
            self._owner.writer.block()

    def close(self) -> None:
        with self._lock:
            self._closing = True
            self._lock.notify()

    def _run(self) -> None:
        with contextlib.suppress(OSError), self._output:
            while (data := self._next()) is not None:
                view = memoryview(data)
                while view:
                    view = view[self._output.write(view) or 0 :]
                self._written(len(data))
        self._tell(self._end)

    def _next(self) -> bytes | None:
        with self._lock:
            while not self._waiting:
                if self._closing:
                    return None
                self._lock.wait()
            return self._waiting.popleft()

    def _written(self, size: int) -> None:
        with self._lock:
            self._size -= size
            freed = self._blocked and self._size <= self._max_output
            self._blocked = self._blocked and not freed
        if freed:
            self._tell(self._owner.writer.unblock)

    def _end(self) -> None:
        self._owner.writer.lose()
        self._owner.written.set()

    def _tell(self, call: Callable[[], None]) -> None:
        # The loop may be closed: then nobody wants to know.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)


class OwnStreams:
    """This process's stdin and stdout, taken over: what else prints goes to stderr, what else reads gets nothing.

    With `threads`, or where the event loop cannot watch the two (a file, a terminal, Windows), one thread reads and
    another writes.
    """

    noisy = False

    def __init__(self, limit: int, max_output: int) -> None:
        self.limit = limit
        self.reader = LineReader(limit, only_objects=False)
        self.writer = LineWriter(limit)
        self.write = self.writer.write
        self.written = asyncio.Event()
        self._max_output = max_output
        self._streams = TakenStreams()
        self._input: Any = None
        self._receiver: Receiver | None = None
        self._over = False
        self._closed = False

    @classmethod
    async def open(cls, limit: int, threads: bool | None = None, max_output: int = MAX_OUTPUT) -> OwnStreams:
        """Take the streams over. `threads=False` raises ValueError where the event loop cannot watch them."""
        self = cls(limit, max_output)
        try:
            if threads is None:
                threads = not (_is_pipe(self._streams.stdin) and _is_pipe(self._streams.stdout))
            await (self._start_threads() if threads else self._watch())
        except BaseException:
            self._streams.give_back()
            raise
        return self

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        source = os.fdopen(os.dup(self._streams.stdin), "rb", buffering=0)
        target = os.fdopen(os.dup(self._streams.stdout), "wb", buffering=0)
        try:
            output, _ = await loop.connect_write_pipe(lambda: WriteEnd(self.writer, self.written.set), target)
            output.set_write_buffer_limits(self._max_output)
            self.writer.open(output)
            self._input, _ = await loop.connect_read_pipe(lambda: ReadEnd(self.reader.feed, self.input_ended), source)
        except BaseException:
            self.writer.close()
            source.close()
            target.close()
            raise

    async def _start_threads(self) -> None:
        self._input = ThreadReader(self._streams.stdin, self)
        self.writer.open(ThreadWriter(self._streams.stdout, self, self._max_output))

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.reader.start(receiver)
        if self._over:
            receiver.ended(ConnectionClosed("the client closed its end"))

    def input_ended(self) -> None:
        """There is no more input. Told once."""
        if self._over:
            return
        self.reader.end()
        self._over = True
        if self._receiver is not None and not self._closed:
            self._receiver.ended(ConnectionClosed("the client closed its end"))

    async def drain(self) -> None:
        await self.writer.drain()

    def pause(self) -> None:
        self._input.pause_reading()

    def resume(self) -> None:
        self._input.resume_reading()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.reader.stop()
        self._input.close()
        self.writer.close()
        try:
            async with asyncio.timeout(FLUSH):
                await self.written.wait()
        except TimeoutError:
            log.warning("closed, though the client has not read all that was written")
        finally:
            # The loop lets go of the pipes one turn later.
            await asyncio.sleep(0)
            self._streams.give_back()


def _is_pipe(fd: int) -> bool:
    """Whether the event loop can watch it: not a file, nor a terminal, whose settings all of its users share."""
    mode = os.fstat(fd).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
