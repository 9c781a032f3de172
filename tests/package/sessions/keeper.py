"""Serves an agent that keeps its sessions in a SQLite file, on stdio: python keeper.py FILE"""

from __future__ import annotations

import asyncio
import sys

from acp_bindings import stdio, v2
from acp_bindings.runtime.sessions.stores import SqliteStore


class Keeper(v2.SessionAgent):
    info = v2.Implementation(name="keeper", version="1")

    async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> None:
        for block in prompt:
            await session.think("hm")
            await session.say(block)
        if not session.record.title:
            await session.set_title("Kept")


if __name__ == "__main__":
    asyncio.run(stdio.serve(Keeper(store=SqliteStore(sys.argv[1]))))
