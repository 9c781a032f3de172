"""An agent that says back what it is told. Try it: python examples/print_client.py python examples/echo_agent.py"""

import asyncio
from uuid import uuid4

from acp_bindings import stdio, v2
from acp_bindings.runtime.connection import Context


class EchoAgent(v2.Agent):
    info = v2.Implementation(name="echo", version="1.0")
    capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())

    async def session_prompt(self, request: v2.PromptRequest, context: Context) -> v2.PromptResponse:
        message, answer = uuid4().hex, uuid4().hex

        async def turn() -> None:
            updates: list[v2.SessionUpdate] = [v2.UserMessage(message_id=message, content=request.prompt)]
            updates += [v2.RunningStateUpdate()]
            updates += [v2.AgentMessageChunk(message_id=answer, content=block) for block in request.prompt]
            updates += [v2.IdleStateUpdate(stop_reason="end_turn")]
            for update in updates:
                await context.remote.session_update(
                    v2.UpdateSessionNotification(session_id=request.session_id, update=update)
                )

        # The answer only says that the message was taken; the turn shows in the updates after it.
        context.after_response(turn)
        return v2.PromptResponse(message_id=message)

    # What an agent promises beside prompts when it offers sessions. This one remembers nothing.

    async def session_new(self, request: v2.NewSessionRequest, context: Context) -> v2.NewSessionResponse:
        return v2.NewSessionResponse(session_id=uuid4().hex)

    async def session_list(self, request: v2.ListSessionsRequest, context: Context) -> v2.ListSessionsResponse:
        return v2.ListSessionsResponse(sessions=[])

    async def session_resume(self, request: v2.ResumeSessionRequest, context: Context) -> v2.ResumeSessionResponse:
        raise v2.RequestError(v2.ErrorCode.RESOURCE_NOT_FOUND, f"no session {request.session_id}")

    async def session_close(self, request: v2.CloseSessionRequest, context: Context) -> v2.CloseSessionResponse:
        return v2.CloseSessionResponse()

    async def session_cancel(self, notification: v2.CancelSessionNotification, context: Context) -> None:
        """Nothing to stop: a turn is over at once."""


if __name__ == "__main__":
    asyncio.run(stdio.serve(EchoAgent()))
