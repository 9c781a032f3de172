"""A child process that speaks on its stdin and stdout, and its whole process group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, cast

from ..errors import ConnectionClosed
from . import MAX_OUTPUT, Receiver
from .lines import LineSplitter, Oversized
from .pipes import LineReader, LineWriter, ReadEnd, WriteEnd, log

STDERR_TAIL = 16 * 1024
"""Bytes of a process's stderr that are kept for ConnectionClosed."""
STDERR_LINE = 256 * 1024
"""Bytes of a line of stderr; of a longer one only the size is told."""
GRACE = 2.0
"""Seconds that a process has to end after its stdin was closed, and again after it was asked to terminate."""
LAST_WORDS = 1.0
"""Seconds that are waited for the exit code and the rest of the output, once the process or its output has ended."""
HEIRS = 0.5
"""Seconds that the rest of a process group has to end once its leader has."""
POLL = 0.02
"""Seconds between looks at whether a process group is empty."""


class Stderr:
    """Drains a process's stderr: keeps the tail, passes on lines."""

    def __init__(self, on_line: Callable[[str], object] | None) -> None:
        self._on_line = on_line
        self._splitter = LineSplitter(STDERR_LINE)
        self._tail: deque[bytes] = deque()
        self._size = 0

    def feed(self, data: bytes) -> None:
        self._tail.append(data)
        self._size += len(data)
        while self._size - len(self._tail[0]) >= STDERR_TAIL:
            self._size -= len(self._tail.popleft())
        self._tell(self._splitter.feed(data))

    def end(self) -> None:
        self._tell(self._splitter.end())

    def text(self) -> str:
        return b"".join(self._tail)[-STDERR_TAIL:].decode("utf-8", "replace")

    def _tell(self, lines: list[bytes | Oversized]) -> None:
        for line in lines:
            text = f"(a line of {line.size} bytes)" if isinstance(line, Oversized) else line.decode("utf-8", "replace")
            if self._on_line is None:
                log.info("stderr: %s", text)
                continue
            try:
                self._on_line(text)
            except Exception:
                log.exception("the callback for stderr failed")


class Child(asyncio.SubprocessProtocol):
    """What the event loop tells of the process. `returncode` is None while it runs."""

    def __init__(self, reader: LineReader, writer: LineWriter, stderr: Stderr) -> None:
        self._reader = reader
        self._writer = writer
        self._stderr = stderr
        self.transport: asyncio.SubprocessTransport | None = None
        self.exited = asyncio.Event()
        self.open = {1, 2}
        # The process or its output has ended; both its output and its stderr have.
        self.first = asyncio.Event()
        self.silent = asyncio.Event()

    @property
    def pid(self) -> int:
        assert self.transport is not None
        return self.transport.get_pid()

    @property
    def returncode(self) -> int | None:
        return self.transport.get_returncode() if self.transport is not None else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self._reader if fd == 1 else self._stderr).feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._writer.lose()
            return
        (self._reader if fd == 1 else self._stderr).end()
        self.open.discard(fd)
        if fd == 1:
            self.first.set()
        if not self.open:
            self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.first.set()

    def pause_writing(self) -> None:
        self._writer.block()

    def resume_writing(self) -> None:
        self._writer.unblock()


async def start_process(
    child: Child, reader: LineReader, writer: LineWriter, *command: str, **options: Any
) -> tuple[Any, Any]:
    """Start a process; gives the transports of its stdin and its stdout.

    The pipes are our own where that can be: those of asyncio's subprocesses take a turn of the loop more for each read.
    """
    loop = asyncio.get_running_loop()
    if os.name != "posix":
        transport, _ = await loop.subprocess_exec(lambda: child, *command, creationflags=0x200, **options)
        return transport.get_pipe_transport(0), transport.get_pipe_transport(1)
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        input_end, output_end = os.pipe(), os.pipe()
        stdin = theirs.enter_context(os.fdopen(input_end[0], "rb", buffering=0))
        stdout = theirs.enter_context(os.fdopen(output_end[1], "wb", buffering=0))
        sink = ours.enter_context(os.fdopen(input_end[1], "wb", buffering=0))
        source = ours.enter_context(os.fdopen(output_end[0], "rb", buffering=0))
        # A session of its own makes it the leader of a process group.
        await loop.subprocess_exec(
            lambda: child, *command, stdin=stdin, stdout=stdout, start_new_session=True, **options
        )
        theirs.close()
        end = ReadEnd(reader.feed, lambda: child.pipe_connection_lost(1, None))
        output, _ = await loop.connect_read_pipe(lambda: end, source)
        input_, _ = await loop.connect_write_pipe(lambda: WriteEnd(writer, lambda: None), sink)
        ours.pop_all()
        return input_, output


class ProcessTransport:
    """A child process that speaks on its stdin and stdout. It leads a process group of its own, reaped as a whole."""

    noisy = True

    def __init__(self, limit: int, on_stderr: Callable[[str], object] | None) -> None:
        self.limit = limit
        self._reader = LineReader(limit, only_objects=True)
        self._writer = LineWriter(limit)
        self.write = self._writer.write
        self._stderr = Stderr(on_stderr)
        self.process = Child(self._reader, self._writer, self._stderr)
        self._output: Any = None
        self._watching: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def spawn(
        cls,
        command: str,
        *args: str,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        limit: int,
        on_stderr: Callable[[str], object] | None = None,
        max_output: int = MAX_OUTPUT,
    ) -> ProcessTransport:
        """Start the process. Raises ConnectionClosed when there is no such command."""
        self = cls(limit, on_stderr)
        environment = None if env is None else {**os.environ, **env}
        try:
            stdin, self._output = await start_process(
                self.process, self._reader, self._writer, command, *args, env=environment, cwd=cwd
            )
        except OSError as error:
            raise ConnectionClosed(f"{command} could not be started: {error.strerror or error}") from error
        except BaseException:
            if self.process.transport is not None:
                self.process.transport.close()
            raise
        stdin.set_write_buffer_limits(max_output)
        self._writer.open(stdin)
        return self

    def start(self, receiver: Receiver) -> None:
        self._watching = asyncio.get_running_loop().create_task(self._watch(receiver))
        self._reader.start(receiver)

    def finish(self) -> None:
        """Close its stdin: the process has to end by itself."""
        self._writer.close()

    async def drain(self) -> None:
        await self._writer.drain()

    def pause(self) -> None:
        if not self._output.is_closing():
            self._output.pause_reading()

    def resume(self) -> None:
        if not self._output.is_closing():
            self._output.resume_reading()

    async def _watch(self, receiver: Receiver) -> None:
        """Tell the end: when the output has ended or the process has, whose heirs may hold the output open."""
        await self.process.first.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self.process.exited.wait()
                await self.process.silent.wait()
        if self.process.exited.is_set() and 1 in self.process.open:
            self._reader.end()
        self._reader.stop()
        receiver.ended(self._lost())

    def _lost(self) -> ConnectionClosed:
        code = self.process.returncode
        reason = "the agent closed its output" if code is None else "the agent's process has ended"
        return ConnectionClosed(reason, code, self._stderr.text())

    async def close(self) -> None:
        """Close stdin, then terminate, then kill: the whole process group, each after a time of grace."""
        if self._closed:
            return
        self._closed = True
        self._reader.stop()
        if self._watching is not None:
            self._watching.cancel()
        # A process that is stuck in writing cannot end.
        self.resume()
        self._writer.close()
        try:
            if not await self._within_grace(self.process.exited.wait()):
                self._signal(signal.SIGTERM)
                await self._within_grace(self.process.exited.wait())
            await self._end_group()
        finally:
            self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            if not self.process.exited.is_set():
                await self._within_grace(self.process.exited.wait())
            await self._within_grace(self.process.silent.wait(), LAST_WORDS)
            assert self.process.transport is not None
            self.process.transport.close()
            self._output.close()
            # The loop closes pipes one turn later.
            await asyncio.sleep(0)

    async def _within_grace(self, end: Any, seconds: float | None = None) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE if seconds is None else seconds):
                await end
                return True
        return False

    async def _end_group(self) -> None:
        """The leader is gone; what it started may not be."""
        if os.name != "posix" or not self._signal(signal.SIGTERM):
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEIRS):
                while self._signal(0):
                    await asyncio.sleep(POLL)

    def _signal(self, number: int) -> bool:
        """Whether there was anybody to get it."""
        try:
            if os.name == "posix":
                os.killpg(self.process.pid, number)
            elif self.process.transport is not None and self.process.returncode is None:
                self.process.transport.terminate()
        except (ProcessLookupError, PermissionError):
            return False
        return True
