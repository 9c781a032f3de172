"""Line-delimited JSON over pipes: a child process from the client's side, our own stdin and stdout from the agent's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from ..errors import ConnectionClosed
from .lines import LineSplitter, Oversized

CHUNK = 256 * 1024
"""Bytes that one read may bring."""
STDERR_TAIL = 16 * 1024
"""Bytes of a process's stderr that are kept for ConnectionClosed."""
GRACE = 2.0
"""Seconds that a process has to end after its stdin was closed, and again after it was asked to terminate."""
log = logging.getLogger("acp_bindings.stdio")


class _Lines:
    """Frames out of chunks; shared by both ends. Only objects are frames: other lines are noise and are logged."""

    def __init__(self, limit: int, only_objects: bool) -> None:
        self._splitter = LineSplitter(limit)
        self._only_objects = only_objects
        self._ready: deque[bytes] = deque()

    def take(self, chunk: bytes) -> None:
        for line in self._splitter.feed(chunk) if chunk else self._splitter.end():
            if isinstance(line, Oversized):
                log.error("dropped a message of %d bytes, over the limit of %d", line.size, self._splitter.limit)
            elif self._only_objects and not line.startswith(b"{"):
                log.warning("ignored a line that is no message: %.200r", line[:200])
            else:
                self._ready.append(line)

    def next(self) -> bytes | None:
        return self._ready.popleft() if self._ready else None


class ProcessTransport:
    """A child process that speaks on its stdin and stdout. It leads a process group of its own, reaped as a whole."""

    def __init__(
        self, process: asyncio.subprocess.Process, limit: int, on_stderr: Callable[[str], object] | None
    ) -> None:
        self.process = process
        self.limit = limit
        self._lines = _Lines(limit, only_objects=True)
        self._on_stderr = on_stderr
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._drain = asyncio.create_task(self._drain_stderr())
        self._eof = False

    @classmethod
    async def spawn(
        cls,
        command: str,
        *args: str,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        limit: int,
        on_stderr: Callable[[str], object] | None,
    ) -> ProcessTransport:
        """Start the process. Raises ConnectionClosed when there is no such command."""
        options: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {"creationflags": 0x200}
        try:
            process = await asyncio.create_subprocess_exec(
                command,
                *args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=None if env is None else {**os.environ, **env},
                cwd=cwd,
                limit=CHUNK,
                **options,
            )
        except OSError as error:
            raise ConnectionClosed(f"{command} could not be started: {error.strerror or error}") from error
        return cls(process, limit, on_stderr)

    async def send(self, frame: bytes) -> None:
        if len(frame) > self.limit:
            raise ValueError(f"a message of {len(frame)} bytes is over the limit of {self.limit}")
        stdin = self.process.stdin
        assert stdin is not None
        try:
            stdin.write(frame + b"\n")
            await stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise await self._ended() from error

    async def receive(self) -> bytes | None:
        stdout = self.process.stdout
        assert stdout is not None
        while True:
            frame = self._lines.next()
            if frame is not None:
                return frame
            if self._eof:
                await self._ended()
                return None
            chunk = await stdout.read(CHUNK)
            self._eof = not chunk
            self._lines.take(chunk)

    async def _ended(self) -> ConnectionClosed:
        """Wait a moment for the exit code and the rest of stderr, which tell more than a closed pipe."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self.process.wait()
                await asyncio.shield(self._drain)
        return self.lost()

    def lost(self) -> ConnectionClosed:
        stderr = b"".join(self._tail)[-STDERR_TAIL:].decode("utf-8", "replace")
        code = self.process.returncode
        reason = "the agent closed its output" if code is None else "the agent's process has ended"
        return ConnectionClosed(reason, code, stderr)

    async def close(self) -> None:
        """Close stdin, then terminate, then kill: the whole process group, each after a time of grace."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        for step in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if step is not None:
                self._signal(step)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE):
                    await self.process.wait()
                    break
        # The leader is gone; what it started may not be.
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._drain.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._drain
        transport = getattr(self.process, "_transport", None)
        if transport is not None:
            transport.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self.process.pid, number)
            else:
                self.process.terminate()

    async def _drain_stderr(self) -> None:
        stderr = self.process.stderr
        assert stderr is not None
        splitter = LineSplitter(CHUNK)
        while chunk := await stderr.read(CHUNK):
            self._tail.append(chunk)
            self._tail_size += len(chunk)
            while self._tail_size - len(self._tail[0]) > STDERR_TAIL:
                self._tail_size -= len(self._tail.popleft())
            for line in splitter.feed(chunk):
                self._tell(line)
        for line in splitter.end():
            self._tell(line)

    def _tell(self, line: bytes | Oversized) -> None:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else f"(a line of {line.size} bytes)"
        if self._on_stderr is None:
            log.info("stderr: %s", text)
        else:
            self._on_stderr(text)


class OwnStreams:
    """This process's stdin and stdout, taken over: what else prints goes to stderr.

    With `threads`, or where the event loop cannot watch the two (a file, a Windows console), a thread of its own reads and
    another writes.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lines = _Lines(limit, only_objects=False)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(8)
        self._output: BinaryIO | None = None
        self._restore: Callable[[], None] | None = None
        self._eof = False
        self._writing = asyncio.Lock()

    @classmethod
    async def open(cls, limit: int, threads: bool | None = None) -> OwnStreams:
        self = cls(limit)
        self._take_over()
        if threads or not await self._watch(required=threads is False):
            self._start_thread()
        return self

    def _take_over(self) -> None:
        """Keep the real stdout for the protocol, and point file descriptor 1 at stderr for everybody else."""
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(2, 1)
        self._output = os.fdopen(kept, "wb", buffering=0)

        def restore() -> None:
            sys.stdout.flush()
            assert self._output is not None
            os.dup2(self._output.fileno(), 1)

        self._restore = restore

    async def _watch(self, required: bool) -> bool:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(CHUNK)
        try:
            await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", buffering=0)
            )
            transport, protocol = await loop.connect_write_pipe(
                lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), self._output
            )
        except (ValueError, NotImplementedError, OSError):
            if required:
                raise
            return False
        self._reader = reader
        self._writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return True

    def _start_thread(self) -> None:
        loop = asyncio.get_running_loop()

        def read() -> None:
            source = os.dup(0)
            while True:
                try:
                    chunk = os.read(source, CHUNK)
                except OSError:
                    chunk = b""
                try:
                    asyncio.run_coroutine_threadsafe(self._chunks.put(chunk), loop).result()
                except (RuntimeError, asyncio.CancelledError):
                    return
                if not chunk:
                    return

        threading.Thread(target=read, name="acp-stdin", daemon=True).start()

    async def send(self, frame: bytes) -> None:
        if len(frame) > self.limit:
            raise ValueError(f"a message of {len(frame)} bytes is over the limit of {self.limit}")
        try:
            if self._writer is not None:
                self._writer.write(frame + b"\n")
                await self._writer.drain()
            else:
                async with self._writing:
                    await asyncio.to_thread(self._write_all, frame + b"\n")
        except (ConnectionError, OSError, RuntimeError) as error:
            raise self.lost() from error

    def _write_all(self, data: bytes) -> None:
        assert self._output is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._output.fileno(), view) :]

    async def receive(self) -> bytes | None:
        while True:
            frame = self._lines.next()
            if frame is not None:
                return frame
            if self._eof:
                return None
            chunk = await (self._reader.read(CHUNK) if self._reader is not None else self._chunks.get())
            self._eof = not chunk
            self._lines.take(chunk)

    async def close(self) -> None:
        self._eof = True
        if self._restore is not None:
            with contextlib.suppress(OSError):
                self._restore()
            self._restore = None
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(ConnectionError, OSError):
                await self._writer.wait_closed()

    def lost(self) -> ConnectionClosed:
        return ConnectionClosed("the client closed its end")
