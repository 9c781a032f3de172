"""An agent that says back what it is told. Try it: python examples/print_client.py python examples/echo_agent.py"""

import asyncio
from typing import Any

from acp_bindings import stdio, v1, v2


class Echo:
    async def turn(self, session: Any, prompt: list[Any]) -> None:
        for block in prompt:
            await session.say(block)


class EchoAgent(Echo, v2.SessionAgent):
    info = v2.Implementation(name="echo", version="1.0")


class OlderEchoAgent(Echo, v1.SessionAgent):
    """The same for clients that speak version 1 only."""

    info = v1.Implementation(name="echo", version="1.0")


if __name__ == "__main__":
    asyncio.run(stdio.serve([EchoAgent(), OlderEchoAgent()]))
