"""The same agent on the official Python SDK."""

from __future__ import annotations

import asyncio
from typing import Any

from acp import run_agent, text_block, update_agent_message
from acp.schema import Implementation, InitializeResponse, NewSessionResponse, PromptResponse


class Agent:
    client: Any = None

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        return InitializeResponse(protocol_version=protocol_version, agent_info=Implementation(name="sdk", version="0"))

    async def new_session(self, **_: Any) -> Any:
        return NewSessionResponse(session_id="s")

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> Any:
        for number in range(int(prompt[0].text)):
            chunk = update_agent_message(text_block(f"chunk {number} of an answer of some length"))
            await self.client.session_update(session_id=session_id, update=chunk)
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(run_agent(Agent()))
