"""An agent whose turns take a while: it streams words, runs a tool that needs permission, and can be cancelled.

Try it: python examples/print_client.py python examples/streaming_agent.py
"""

import asyncio
from typing import Any
from uuid import uuid4

from acp_bindings import stdio, v2
from acp_bindings.runtime.connection import Context


class Turn:
    """One answer to one prompt, told to the client update by update."""

    def __init__(self, request: v2.PromptRequest, client: v2.RemoteClient) -> None:
        self.session_id = request.session_id
        self.prompt = request.prompt
        self.client = client
        self.message = uuid4().hex
        self.working: asyncio.Task[None] | None = None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        if self.working:
            self.working.cancel()

    async def run(self) -> None:
        """`running`, what there is to tell, and `idle` with the reason, whatever happens."""
        await self.tell(v2.UserMessage(message_id=self.message, content=self.prompt))
        await self.tell(v2.RunningStateUpdate())
        self.working = asyncio.create_task(self.work())
        if self.cancelled:
            self.working.cancel()
        try:
            await asyncio.wait([self.working])
        finally:
            self.working.cancel()
        if self.working.cancelled():
            await self.tell(v2.IdleStateUpdate(stop_reason="cancelled"))
        elif error := self.working.exception():
            shown = v2.Error(code=v2.ErrorCode.INTERNAL_ERROR, message=str(error))
            await self.tell(v2.IdleErrorStateUpdate(error=shown))
        else:
            await self.tell(v2.IdleStateUpdate(stop_reason="end_turn"))

    async def tell(self, update: v2.SessionUpdate) -> None:
        await self.client.session_update(v2.UpdateSessionNotification(session_id=self.session_id, update=update))

    async def work(self) -> None:
        await self.say("I will write that down.")
        call = uuid4().hex
        await self.tell(
            v2.SessionToolCallUpdate(tool_call_id=call, title="Write notes.txt", kind="edit", status="pending")
        )
        status = "cancelled"
        try:
            if await self.allowed(call):
                await self.tell(v2.SessionToolCallUpdate(tool_call_id=call, status="in_progress"))
                written = v2.Content(content=v2.TextContent(text="1 line written"))
                await self.tell(v2.ToolCallContentChunk(tool_call_id=call, content=written))
                status = "completed"
        finally:
            await self.tell(v2.SessionToolCallUpdate(tool_call_id=call, status=status))
        # What the protocol has no word for gets a tag of one's own; clients that do not know it lose nothing.
        await self.tell(v2.UnknownSessionUpdate({"sessionUpdate": "_example.dev/mood", "mood": "content"}))
        await self.say("Done." if status == "completed" else "Then I leave it.")

    async def say(self, text: str) -> None:
        message = uuid4().hex
        for word in text.split(" "):
            await self.tell(v2.AgentMessageChunk(message_id=message, content=v2.TextContent(text=f"{word} ")))

    async def allowed(self, call: str) -> bool:
        """Ask the user. The turn waits for an answer, and says so."""
        await self.tell(v2.RequiresActionStateUpdate())
        question = v2.RequestPermissionRequest(
            session_id=self.session_id,
            title="Write to notes.txt?",
            subject=v2.ToolCallPermissionSubject(tool_call=v2.ToolCallUpdate(tool_call_id=call)),
            options=[
                v2.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
                v2.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
            ],
        )
        answer = await self.client.session_request_permission(question)
        await self.tell(v2.RunningStateUpdate())
        return isinstance(answer.outcome, v2.SelectedPermissionOutcome) and answer.outcome.option_id == "yes"


class Session:
    """One conversation. A prompt that comes during a turn is held until that turn is over."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self.free = asyncio.Lock()
        self.held: set[asyncio.Task[Any] | None] = set()
        self.turn: Turn | None = None

    def cancel(self) -> None:
        for task in self.held:
            if task:
                task.cancel()
        if self.turn:
            self.turn.cancel()


class StreamingAgent(v2.Agent):
    info = v2.Implementation(name="streaming", version="1.0")
    capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, Session] = {}

    def session(self, session_id: str) -> Session:
        if session_id not in self.sessions:
            raise v2.RequestError(v2.ErrorCode.RESOURCE_NOT_FOUND, f"no session {session_id}")
        return self.sessions[session_id]

    async def session_new(self, request: v2.NewSessionRequest, context: Context) -> v2.NewSessionResponse:
        session_id = uuid4().hex
        self.sessions[session_id] = Session(request.cwd)
        return v2.NewSessionResponse(session_id=session_id)

    async def session_list(self, request: v2.ListSessionsRequest, context: Context) -> v2.ListSessionsResponse:
        found = [v2.SessionInfo(session_id=key, cwd=one.cwd) for key, one in self.sessions.items()]
        return v2.ListSessionsResponse(sessions=found)

    async def session_resume(self, request: v2.ResumeSessionRequest, context: Context) -> v2.ResumeSessionResponse:
        at_work = self.session(request.session_id).free.locked()
        state: v2.SessionUpdate = v2.RunningStateUpdate() if at_work else v2.IdleStateUpdate()
        await context.remote.session_update(v2.UpdateSessionNotification(session_id=request.session_id, update=state))
        return v2.ResumeSessionResponse()

    async def session_close(self, request: v2.CloseSessionRequest, context: Context) -> v2.CloseSessionResponse:
        if session := self.sessions.pop(request.session_id, None):
            session.cancel()
        return v2.CloseSessionResponse()

    async def session_cancel(self, notification: v2.CancelSessionNotification, context: Context) -> None:
        if session := self.sessions.get(notification.session_id):
            session.cancel()

    async def session_prompt(self, request: v2.PromptRequest, context: Context) -> v2.PromptResponse:
        """Starts the turn when its time has come; a held prompt that is cancelled is answered with -32800."""
        session = self.session(request.session_id)
        prompt = asyncio.current_task()
        session.held.add(prompt)
        try:
            await session.free.acquire()
        finally:
            session.held.discard(prompt)
        turn = session.turn = Turn(request, context.remote)

        async def run() -> None:
            try:
                await turn.run()
            finally:
                session.turn = None
                session.free.release()

        context.after_response(run)
        return v2.PromptResponse(message_id=turn.message)


if __name__ == "__main__":
    asyncio.run(stdio.serve(StreamingAgent()))
