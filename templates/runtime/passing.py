"""Messages on their way through a proxy: what an interceptor sees of one, and what it may make of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from . import jsonrpc
from .errors import DecodeError, RequestError
from .foreign import decode_any
from .routing import Kind, MethodSpec, Side

Direction: TypeAlias = Literal["to_agent", "to_client"]
SIDES: Mapping[Direction, Side] = {"to_agent": "agent", "to_client": "client"}
"""Who receives what goes in a direction."""


class Passing(msgspec.Struct, frozen=True):
    """A message that passes: `kind` and `raw` say what came.

    `method` is that of a request or a notification; of a response the one that it answers, empty where that is not
    known. A malformed frame has nothing but its bytes.
    """

    message: jsonrpc.Message
    method: str = ""

    @property
    def kind(self) -> Literal["request", "notification", "response", "malformed"]:
        match self.message:
            case jsonrpc.Request():
                return "request"
            case jsonrpc.Notification():
                return "notification"
            case jsonrpc.Response():
                return "response"
        return "malformed"

    @property
    def raw(self) -> bytes:
        """The frame, byte for byte."""
        return self.message.raw

    @property
    def id(self) -> jsonrpc.Id:
        """The id of a request or of a response; None of anything else."""
        return self.message.id if isinstance(self.message, jsonrpc.Request | jsonrpc.Response) else None

    @property
    def error(self) -> jsonrpc.Error | None:
        """The error of a response."""
        return self.message.error if isinstance(self.message, jsonrpc.Response) else None

    @property
    def body(self) -> jsonrpc.RawJson:
        """The params of a request or a notification, the result of a response, as JSON; empty where there is none."""
        match self.message:
            case jsonrpc.Request() | jsonrpc.Notification():
                return self.message.params
            case jsonrpc.Response(result=result) if result is not None:
                return result
        return b""

    def decode(self, form: Any) -> Any:
        """Params or result as `form`. Raises DecodeError, also where there is neither."""
        if not self.body:
            raise DecodeError("", f"a {self.kind} without params or result")
        return decode_any(self.body, form)

    def changed(self, body: Any) -> Passing:
        """The same with other params, or with a result (in place of an error, too): a model, or JSON as bytes.

        Raises EncodeError, and TypeError for a malformed frame.
        """
        text = jsonrpc.body(body)
        match self.message:
            case jsonrpc.Request(id=identity, method=method):
                raw = jsonrpc.request(identity, method, text)
            case jsonrpc.Notification(method=method):
                raw = jsonrpc.notification(method, text)
            case jsonrpc.Response(id=identity):
                raw = jsonrpc.success(identity, text)
            case _:
                raise TypeError("a malformed frame has nothing to change")
        return Passing(jsonrpc.read(raw, null_ids=True), self.method)

    def answer(self, result: Any = None) -> Answer:
        """An answer to this request, in place of the other side's. Raises TypeError for anything else."""
        return Answer(jsonrpc.success(self._asked(), jsonrpc.body(result)))

    def refuse(self, error: RequestError) -> Answer:
        """The same, for an error."""
        return Answer(jsonrpc.failure(self._asked(), error.code, error.message, error.data))

    def _asked(self) -> jsonrpc.Id:
        if not isinstance(self.message, jsonrpc.Request):
            raise TypeError(f"a {self.kind} is not to be answered")
        return self.message.id


class Answer(msgspec.Struct, frozen=True):
    """What goes back to whoever sent a request; made by `Passing.answer` and `Passing.refuse`."""

    frame: bytes


Verdict: TypeAlias = Passing | Answer | None
Intercept: TypeAlias = Callable[[Direction, Passing], "Verdict | Awaitable[Verdict]"]
"""Decides on a message: the same goes on byte for byte, another in its place; an Answer goes back; None drops it."""
Look: TypeAlias = Callable[[Any, Passing], Any]


def by_method(
    methods: Mapping[tuple[Side, Kind, str], MethodSpec],
    asked: Mapping[str, Look] = {},
    answered: Mapping[str, Look] = {},
) -> Intercept:
    """An interceptor of single methods, which get and return models.

        proxy.by_method(v2.METHODS, {"session/prompt": add_context}, {"session/new": note})

    `methods` is a profile's table. The functions of `asked` get a method's params, those of `answered` its result, each
    with the message. What they return goes on, the message's own bytes where nothing is changed; None drops the
    message, an Answer goes back. What does not decode passes as it is, errors too.
    """

    def intercept(direction: Direction, message: Passing) -> Verdict:
        side, kind = SIDES[direction], message.kind
        if kind == "malformed":
            return message
        if kind == "response":
            look = answered.get(message.method)
            spec = methods.get(("client" if side == "agent" else "agent", "request", message.method))
        else:
            look, spec = asked.get(message.method), methods.get((side, kind, message.method))
        if look is None or spec is None:
            return message
        try:
            model = message.decode(spec.result if kind == "response" else spec.params)
        except DecodeError:
            return message
        before = jsonrpc.body(model)
        after = look(model, message)
        if after is None or isinstance(after, Answer | Passing):
            return after
        return message if jsonrpc.body(after) == before else message.changed(after)

    return intercept
