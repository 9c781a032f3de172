"""What any agent has to do at least: read a line, decode it, encode an answer, write it.

Each request has a task of its own, since a slow one must not hold up the next; no dispatch, no checks, no errors.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from acp_bindings import v1


class Request(msgspec.Struct):
    id: int
    method: str
    params: msgspec.Raw


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sys.stdout
    )
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    decoder = msgspec.json.Decoder(Request)
    encoder = msgspec.json.Encoder()
    tasks = set()

    async def answer(line: bytes) -> None:
        request = decoder.decode(line)
        v1.decode(request.params, v1.PromptRequest)
        result = msgspec.Raw(v1.encode(v1.PromptResponse(stop_reason="end_turn")))
        writer.write(encoder.encode({"jsonrpc": "2.0", "id": request.id, "result": result}) + b"\n")
        await writer.drain()

    while line := await reader.readline():
        task = asyncio.create_task(answer(line))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    asyncio.run(main())
