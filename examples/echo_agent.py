"""An agent that says back what it is told, in either version of the protocol.

Try it: python examples/print_client.py python examples/echo_agent.py
"""

import asyncio

from acp_bindings import stdio, v1, v2


class EchoAgent(v2.SessionAgent):
    info = v2.Implementation(name="echo", version="1.0")

    async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> None:
        for block in prompt:
            await session.say(block)


class EchoAgentV1(v1.SessionAgent):
    """The same for clients that speak version 1."""

    info = v1.Implementation(name="echo", version="1.0")

    async def turn(self, session: v1.AgentSession, prompt: list[v1.ContentBlock]) -> None:
        for block in prompt:
            await session.say(block)


if __name__ == "__main__":
    asyncio.run(stdio.serve([EchoAgent(), EchoAgentV1()]))
