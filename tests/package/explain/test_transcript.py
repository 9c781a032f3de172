"""What each message of a transcript is, and which call an answer belongs to."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from acp_bindings.runtime.explain.findings import Message, Summary
from acp_bindings.runtime.explain.profiles import profile
from acp_bindings.runtime.explain.reading import frames
from acp_bindings.runtime.explain.transcript import Transcript

from .support import answer, error, notification, request

NEW = {"cwd": "/tmp"}
PROMPT = {"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]}
PERMISSION = {
    "sessionId": "s1",
    "title": "May I?",
    "subject": {"type": "tool_call", "toolCall": {"toolCallId": "t1"}},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}


def read(*messages: Any, name: str = "v2") -> tuple[list[Message], Summary]:
    """Messages as they are read; each is a frame, or a direction and a frame."""
    lines = []
    for one in messages:
        direction, frame = one if isinstance(one, tuple) else ("", one)
        lines.append(f"{direction} {frame if isinstance(frame, str) else json.dumps(frame)}".strip())
    transcript = Transcript(profile(name))
    found = [transcript.read(frame) for frame in frames(io.BytesIO("\n".join(lines).encode()))]
    return found, transcript.finish()


def said(message: Message) -> list[tuple[str, str]]:
    return [(one.mark, one.pointer) for one in message.findings]


def matches(*messages: Any) -> list[int | None]:
    return [one.answers for one in read(*messages)[0]]


# Methods


def test_types_come_from_methods() -> None:
    found, summary = read(
        ("<", request(1, "session/new", NEW)),
        ("<", notification("session/cancel", {"sessionId": "s1"})),
        (">", answer(1, {"sessionId": "s1"})),
        ("<", notification("$/cancel_request", {"requestId": 1})),
    )
    shown = [(one.kind, one.method, one.side, one.type) for one in found]
    assert shown == [
        ("request", "session/new", "agent", "NewSessionRequest"),
        ("notification", "session/cancel", "agent", "CancelSessionNotification"),
        ("response", "session/new", "agent", "NewSessionResponse"),
        ("notification", "$/cancel_request", "protocol", "CancelRequestNotification"),
    ]
    assert summary.clean(strict=True) and summary.messages == 4 and summary.unanswered == []


def test_params_and_result_that_are_absent_or_null() -> None:
    absent = {"jsonrpc": "2.0", "id": 1, "method": "auth/logout"}
    found, summary = read(absent, answer(1, None), absent | {"params": None}, answer(1, {}))
    assert [one.type for one in found] == ["LogoutAuthRequest", "LogoutAuthResponse"] * 2 and summary.clean(True)
    found, _ = read(absent | {"method": "session/new"})
    assert said(found[0]) == [("invalid", "/params/cwd")]


def test_a_method_of_both_sides_goes_by_its_kind() -> None:
    params = {"serverId": "s", "requestId": "r", "method": "x"}
    found, _ = read(request(1, "mcp/message", params), notification("mcp/message", params), name="v2.unstable")
    assert [one.side for one in found] == ["client", "agent"] and not any(one.findings for one in found)


def test_methods_that_are_not_there() -> None:
    found, summary = read(
        request(1, "session/promt"),
        notification("session/prompt", PROMPT),
        request(2, "session/update"),
        notification("nothing/like_it"),
        request(3, "_acme.dev/index", {"deep": {"er": 1}}),
        notification("_acme.dev/ping"),
    )
    assert [said(one) for one in found] == [[("unknown", "/method")]] * 4 + [[("extension", "/method")]] * 2
    reasons = [one.findings[0].reason for one in found[:4]]
    assert "did you mean session/prompt" in reasons[0] and "only a request of that name" in reasons[1]
    assert "only a notification of that name" in reasons[2] and reasons[3].endswith("in v2")
    assert summary.clean(strict=False) and not summary.clean(strict=True)
    # What nobody knows is shown as it is.
    tree = found[4].tree
    assert tree is not None and [(one.wire, one.value) for one in tree.children] == [("deep", {"er": 1})]


def test_extensions_are_no_matter_for_strictness() -> None:
    content = {"type": "_acme/map"}
    _, summary = read(
        notification("_acme.dev/ping"),
        request(1, "session/prompt", PROMPT | {"prompt": [content]}),
        answer(1, {"messageId": "m"}),
    )
    assert summary.marks == {"extension": 2} and summary.clean(strict=True)


# Answers


def test_answers_are_matched_by_the_type_of_the_id_too() -> None:
    first, second = request(1, "session/new", NEW), request("1", "session/prompt", PROMPT)
    assert matches(first, second, answer("1", {"messageId": "m"}), answer(1, {"sessionId": "s"})) == [None, None, 2, 1]
    zero, empty = request(0, "session/new", NEW), request("", "session/new", NEW)
    assert matches(zero, empty, answer("", {"sessionId": "s"}), answer(0, {"sessionId": "s"})) == [None, None, 2, 1]
    assert matches(request(1, "session/new", NEW), answer(1.0, {"sessionId": "s"})) == [None, 1]


def test_both_sides_use_the_same_ids() -> None:
    found, summary = read(
        (">", request(1, "session/prompt", PROMPT)),
        ("<", request(1, "session/request_permission", PERMISSION)),
        (">", answer(1, {"outcome": {"outcome": "cancelled"}})),
        ("<", answer(1, {"messageId": "m"})),
    )
    assert [one.answers for one in found] == [None, None, 2, 1]
    assert [one.type for one in found[2:]] == ["RequestPermissionResponse", "PromptResponse"]
    assert summary.clean(strict=True)


def test_without_directions_an_answer_goes_to_the_call_that_it_fits() -> None:
    prompt, permission = request(1, "session/prompt", PROMPT), request(1, "session/request_permission", PERMISSION)
    outcome, done = answer(1, {"outcome": {"outcome": "cancelled"}}), answer(1, {"messageId": "m"})
    assert matches(prompt, permission, outcome, done) == [None, None, 2, 1]
    assert matches(prompt, permission, done, outcome) == [None, None, 1, 2]
    # An error fits both: it is the earlier one's.
    assert matches(prompt, permission, error(1), outcome) == [None, None, 1, 2]
    # What fits none is the earlier one's too, and what is wrong with it is said.
    found, _ = read(prompt, permission, answer(1, {"messageId": 5}))
    assert found[2].answers == 1 and said(found[2]) == [("invalid", "/result/messageId")]


@pytest.mark.parametrize(("there", "back"), [("in", "out"), ("client", "agent"), ("->", "<-"), (">>", "<<")])
def test_an_answer_goes_the_other_way(there: str, back: str) -> None:
    call = request(1, "session/new", NEW)
    assert matches((there, call), (back, answer(1, {"sessionId": "s"}))) == [None, 1]
    assert matches((there, call), (there, answer(1, {"sessionId": "s"}))) == [None, None]


def test_directions_that_nobody_knows() -> None:
    def wrapped(direction: str, message: Any) -> Any:
        return {"direction": direction, "message": message}

    call, done = request(1, "session/new", NEW), answer(1, {"sessionId": "s"})
    assert matches(wrapped("upstream", call), wrapped("downstream", done)) == [None, 1]
    assert matches(wrapped("upstream", call), wrapped("upstream", done)) == [None, None]


def test_an_answer_to_nobody() -> None:
    found, summary = read(answer(5, {"sessionId": 1}), error(None))
    assert [said(one) for one in found] == [[("unmatched", "/id")]] * 2
    assert found[0].tree is not None and found[0].tree.type == "object" and found[0].type is None
    assert summary.clean(strict=False) and not summary.clean(strict=True)


def test_a_call_is_answered_once() -> None:
    done = answer(1, {"sessionId": "s"})
    found, _ = read(request(1, "session/new", NEW), done, done)
    assert [one.answers for one in found] == [None, 1, None] and said(found[2]) == [("unmatched", "/id")]


def test_calls_without_an_answer_are_listed() -> None:
    _, summary = read(request("b", "session/new", NEW), request(1, "_x", {}), answer(1, 5), request(2, "_y", {}))
    assert [(one.line, one.id, one.method) for one in summary.unanswered] == [(1, "b", "session/new"), (4, 2, "_y")]
    assert summary.clean(strict=True)


def test_an_id_that_is_in_use() -> None:
    call = request(1, "session/new", NEW)
    found, _ = read((">", call), (">", call), ("<", answer(1, {"sessionId": "s"})))
    assert said(found[1]) == [("invalid", "/id")] and not found[1].valid and found[2].answers == 2
    assert said(read(call, call)[0][1]) == [("invalid", "/id")]
    # Of the other side, or answered: nothing to say.
    assert not read((">", call), ("<", call))[0][1].findings
    assert not read(call, error(1), call)[0][2].findings


def test_errors() -> None:
    found, _ = read(
        request(1, "session/new", NEW),
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no", "data": {"x": 1}, "more": 1}},
        request(2, "session/new", NEW),
        {"jsonrpc": "2.0", "id": 2, "error": {"code": "x"}},
    )
    assert found[1].kind == "error" and said(found[1]) == [("ignored", "/error/more")] and found[1].valid
    assert found[1].method == "session/new" and found[1].tree is not None and found[1].tree.type == "Error"
    assert found[3].answers == 3 and {("invalid", "/error/code"), ("invalid", "/error/message")} <= set(said(found[3]))


@pytest.mark.parametrize(
    ("message", "marks"),
    [
        (
            {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}, "error": {"code": 1, "message": ""}},
            [("invalid", "")],
        ),
        ({"jsonrpc": "2.0", "id": 1}, [("invalid", "")]),
        ({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}, "error": None}, [("ignored", "/error")]),
        ({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}, "more": 1}, [("ignored", "/more")]),
    ],
)
def test_answers_with_other_members(message: Any, marks: list[tuple[str, str]]) -> None:
    found, _ = read(request(1, "session/new", NEW), {"jsonrpc": "2.0", "id": 1} | message)
    assert found[1].answers == 1 and set(marks) <= set(said(found[1]))
    assert found[1].valid == (marks[0][0] != "invalid")


def test_an_answer_that_breaks_off_answers_still() -> None:
    found, summary = read(request(1, "session/new", NEW), '{"jsonrpc":"2.0","id":1,"result":{"sess')
    assert found[1].kind == "malformed" and found[1].answers == 1 and not summary.unanswered
    assert found[1].tree is not None and found[1].tree.value.endswith('{"sess')


# What is no message


@pytest.mark.parametrize(
    "line", ["words", "\x1b[31mred", "42", "[]", "null", '"text"', '{"level": "info", "id": 1}', "[1,"]
)
def test_noise(line: str) -> None:
    found, summary = read(line, notification("_x"))
    assert [one.kind for one in found] == ["noise", "notification"]
    assert (summary.messages, summary.noise, summary.clean(strict=True)) == (1, 1, True)


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": 1, "meth',
        '{"jsonrpc": "1.0", "method": "x"}',
        '{"method": "session/new"}',
        '{"jsonrpc": "2.0", "id": true, "method": "session/new"}',
        '{"jsonrpc": "2.0", "id": null, "method": "session/new"}',
        '[{"jsonrpc": "2.0", "method": "x"}]',
        '{"jsonrpc": "2.0"}',
        '{"broken": ',
        '{"jsonrpc": "2.0", "method": "\\ud800"}',
    ],
)
def test_malformed(line: str) -> None:
    found, summary = read(line)
    assert (found[0].kind, said(found[0]), found[0].valid) == ("malformed", [("invalid", "")], False)
    assert not summary.clean(strict=False)


def test_null_is_an_id_in_v1() -> None:
    found, _ = read(
        {"jsonrpc": "2.0", "id": None, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}}, name="v1"
    )
    assert found[0].kind == "request" and found[0].valid


def test_bytes_that_are_no_text() -> None:
    transcript = Transcript(profile("v2"))
    data = b'{"jsonrpc":"2.0","method":"_x","params":{"a":"\xff"}}'
    (frame,) = frames(io.BytesIO(data))
    assert transcript.read(frame).kind == "malformed"


def test_another_version() -> None:
    asked = request(1, "initialize", {"protocolVersion": 1})
    _, summary = read(asked, answer(1, {"protocolVersion": 1, "agentCapabilities": {}}))
    assert summary.hint is not None and "--profile v1" in summary.hint
    # G: asked for 2, an agent may answer with a version of its own.
    asked["params"] = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}}
    assert read(asked, answer(1, {"protocolVersion": 1}))[1].hint is not None
    assert read(asked)[1].hint is None


def test_keys_that_are_there_twice() -> None:
    found, _ = read(
        '{"jsonrpc":"2.0","method":"_a","method":"_x","params":{"a":[{"b":1,"b":{"c":1,"c":2}}],"n":{"a":0,"a":1}}}'
    )
    marks = [one for one in said(found[0]) if one[0] == "repeated"]
    assert sorted(marks) == [
        ("repeated", "/method"),
        ("repeated", "/params/a/0/b"),
        ("repeated", "/params/a/0/b/c"),
        ("repeated", "/params/n/a"),
    ]
