"""Stands between a client and an agent's command, and logs every message that passes. Messages pass byte for byte.

    python examples/logging_proxy.py --log frames.log some-agent --its-option

The log, on stderr where no file is given, has a line for each message: direction, size in bytes, what it is.
"""

import argparse
import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TextIO

from acp_bindings import proxy
from acp_bindings.v2 import ConnectionClosed


def describe(message: proxy.Passing) -> str:
    what = message.method
    if message.kind == "request":
        what += f" #{message.id}"
    elif message.kind == "response":
        what = f"{'answer' if message.error is None else f'error {message.error.code}'} #{message.id}"
    elif message.kind == "malformed":
        what = "(no message)"
    return f"{len(message.raw):>8}  {what}"


async def stand_between(command: list[str], log: TextIO) -> int:
    """Until the client or the agent ends; the agent's exit code."""

    def note(direction: proxy.Direction, message: proxy.Passing) -> proxy.Passing:
        print("-> agent " if direction == "to_agent" else "<- agent ", describe(message), file=log, flush=True)
        return message

    async with proxy.stdio(*command, intercept=note) as link:
        await link.wait_closed()
    return (link.endings["agent"].exit_code or 0) if "agent" in link.endings else 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Log what a client and an agent say to each other.")
    parser.add_argument("--log", type=Path, help="the file to append to")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the agent's command and its arguments")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("which agent? give a command")
    with arguments.log.open("a", encoding="utf-8") if arguments.log else contextlib.nullcontext(sys.stderr) as log:
        try:
            sys.exit(asyncio.run(stand_between(arguments.command, log)))
        except ConnectionClosed as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
