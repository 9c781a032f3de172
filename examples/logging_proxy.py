"""Stands between a client and an agent's command, and logs every message that passes. The bytes pass untouched.

    python examples/logging_proxy.py --log frames.log some-agent --its-option

The log, on stderr where no file is given, has a line for each message: direction, size in bytes, what it is.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO, TextIO

from acp_bindings.runtime import jsonrpc
from acp_bindings.runtime.connection import MAX_MESSAGE
from acp_bindings.runtime.transports.lines import LineSplitter, Oversized

CHUNK = 64 * 1024


def describe(line: bytes | Oversized) -> str:
    if isinstance(line, Oversized):
        return f"{line.size:>8}  (too long to look into)"
    match jsonrpc.read(line, null_ids=True):
        case jsonrpc.Request(id=identity, method=method):
            what = f"{method} #{identity}"
        case jsonrpc.Notification(method=method):
            what = method
        case jsonrpc.Response(id=identity, error=error):
            what = f"{'answer' if error is None else f'error {error.code}'} #{identity}"
        case jsonrpc.Malformed(reason=reason):
            what = f"({reason})"
    return f"{len(line):>8}  {what}"


def forward(source: int, sink: BinaryIO, direction: str, log: TextIO) -> None:
    """Pass bytes on as they come, until there are no more; then tell the other side so."""
    splitter = LineSplitter(MAX_MESSAGE)
    while chunk := os.read(source, CHUNK):
        for line in splitter.feed(chunk):
            print(direction, describe(line), file=log, flush=True)
        try:
            sink.write(chunk)
            sink.flush()
        except OSError:
            break
    for line in splitter.end():
        print(direction, describe(line), file=log, flush=True)
    with contextlib.suppress(OSError):
        sink.close()


def proxy(command: list[str], log: TextIO) -> int:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        # A daemon: it may sit in a read of our stdin when the agent ends first.
        threading.Thread(target=forward, args=(0, agent.stdin, "-> agent ", log), daemon=True).start()
        forward(agent.stdout.fileno(), sys.stdout.buffer, "<- agent ", log)
    return agent.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description="Log what a client and an agent say to each other.")
    parser.add_argument("--log", type=Path, help="the file to append to")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the agent's command and its arguments")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("which agent? give a command")
    with arguments.log.open("a", encoding="utf-8") if arguments.log else contextlib.nullcontext(sys.stderr) as log:
        sys.exit(proxy(arguments.command, log))


if __name__ == "__main__":
    main()
