"""Questions for permission, on both sides."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import Any

import pytest
from acp_bindings import memory, permissions, v1, v2
from acp_bindings.runtime.sessions.permissions import choose

from tests.package.sessions.peers import OPTIONS, VERSIONS, Peer, talking
from tests.support.aio import run

over_versions = pytest.mark.parametrize("version", VERSIONS)
KINDS = ("allow_once", "allow_always", "reject_once", "reject_always", "_acme.dev/later")


def question(
    *kinds: str, title: str = "May I?", name: str | None = None, session: str = "s"
) -> v2.RequestPermissionRequest:
    call = v2.ToolCallUpdate(tool_call_id="t", name=name)
    return v2.RequestPermissionRequest(
        session_id=session,
        title=title,
        subject=None if name is None else v2.ToolCallPermissionSubject(tool_call=call),
        options=[v2.PermissionOption(option_id=f"o-{kind}", name=kind, kind=kind) for kind in kinds or KINDS],
    )


def chosen(policy: permissions.Policy, request: Any) -> str | None:
    """The id of the option that a policy chooses."""

    async def main() -> str | None:
        option = await choose(policy, request)
        return None if option is None else str(option.option_id)

    return run(main)


@pytest.mark.parametrize(
    ("policy", "all_of_them", "without_once", "of_other_kinds"),
    [
        (permissions.allow_once, "o-allow_once", None, None),
        (permissions.allow_always, "o-allow_always", "o-allow_always", None),
        (permissions.reject, "o-reject_once", "o-reject_always", None),
    ],
)
def test_ready_policies(
    policy: permissions.Policy, all_of_them: str, without_once: str | None, of_other_kinds: str | None
) -> None:
    assert chosen(policy, question()) == all_of_them
    assert chosen(policy, question("allow_always", "reject_always")) == without_once
    assert chosen(policy, question("_acme.dev/later", "newer")) == of_other_kinds
    assert chosen(permissions.allow_always, question("allow_once")) == "o-allow_once"


def returned(value: Any, request: Any) -> Any:
    return value


def test_what_a_policy_may_return(caplog: pytest.LogCaptureFixture) -> None:
    async def later(request: Any) -> Any:
        return request.options[2]

    request = question()
    returns: list[tuple[Any, str | None]] = [
        (later, "o-reject_once"),
        (functools.partial(later), "o-reject_once"),
        (lambda request: "o-allow_once", "o-allow_once"),
        (lambda request: request.options[4], "o-_acme.dev/later"),
        (lambda request: None, None),
    ]
    assert [chosen(policy, request) for policy, _ in returns] == [expected for _, expected in returns]
    assert caplog.records == []
    other = v2.PermissionOption(option_id="mine", name="", kind="allow_once")
    for wrong in ("nonsense", other, True, 7, object()):
        caplog.clear()
        assert chosen(functools.partial(returned, wrong), request) is None
        assert "not on offer" in caplog.text


def test_choices_that_are_remembered() -> None:
    asked: list[str] = []
    choices = iter(["o-allow_once", "o-allow_always", "o-reject_always", "o-allow_once", "o-allow_once"])

    def ask(request: Any) -> str:
        asked.append(request.title)
        return next(choices)

    policy = permissions.remember(ask)

    async def main() -> list[str]:
        requests = [
            question(title="once", name="write"),
            question(title="always", name="write"),
            question(title="never asked", name="write"),
            question("allow_once", title="in other words", name="write"),
            question(title="no"),
            question(title="no"),
            # Where what was chosen is not on offer, and in another session, it is asked again.
            question("reject_once", "allow_once", title="no"),
            question(title="elsewhere", name="write", session="other"),
        ]
        requests[6].options = [one for one in requests[6].options if one.kind == "allow_once"]
        found = []
        for request in requests:
            option = await choose(policy, request)
            found.append(option.option_id)
        return found

    assert run(main) == [
        "o-allow_once", "o-allow_always", "o-allow_always", "o-allow_once", "o-reject_always", "o-reject_always",
        "o-allow_once", "o-allow_once",
    ]  # fmt: skip
    assert asked == ["once", "always", "no", "no", "elsewhere"]


def test_what_is_remembered_in_version_1() -> None:
    """There the call is in the request itself, and its title is what is asked."""
    asked: list[str] = []

    def ask(request: v1.RequestPermissionRequest) -> str:
        asked.append(str(request.tool_call.title))
        return "a"

    policy = permissions.remember(ask)
    option = v1.PermissionOption(option_id="a", name="", kind="allow_always")

    async def main() -> None:
        for title, name in (
            ("List", None),
            ("List", None),
            ("Write", None),
            ("Write a", "write"),
            ("Write b", "write"),
        ):
            call = v1.ToolCallUpdate(tool_call_id=title, title=title, name=name)
            request = v1.RequestPermissionRequest(session_id="s", tool_call=call, options=[option])
            assert await choose(policy, request) == option

    run(main)
    assert asked == ["List", "Write", "Write a"]


@over_versions
def test_a_session_answers_with_its_policy(version: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        assert await peer.outcome(await peer.ask()) == {"outcome": "selected", "optionId": "yes"}
        assert await peer.outcome(await peer.ask(options=OPTIONS[1:])) == {"outcome": "cancelled"}
        # Of another session, nobody decides: this client has no handler of its own.
        assert (await peer.outcome(await peer.ask(sessionId="other")))["code"] == -32601
        await peer.finish(prompt)

    async def main() -> None:
        async with (
            talking(script, version) as agent,
            agent.session("/x", permissions=permissions.allow_once) as session,
        ):
            assert (await session.prompt("hi")).stop_reason == "end_turn"

    run(main)


@over_versions
@pytest.mark.parametrize("slow", [False, True])
def test_a_question_right_behind_the_answer_that_opens_a_session(version: str, slow: bool) -> None:
    """The session is the policy's from the answer on, also where updates before it have to be handled first."""
    module = VERSIONS[version][1]
    settled = asyncio.Event()

    class Client(module.Client):  # type: ignore[misc,name-defined]  # of which profile is open
        async def session_update(self, notification: Any, context: Any) -> None:
            for _ in range(10 if slow else 0):
                await asyncio.sleep(0)

    async def script(peer: Peer) -> None:
        request = await peer.expect("session/new")
        # All of it is there before the client reads any.
        await peer.say("first")
        await peer.answer(request, sessionId=peer.session)
        assert await peer.outcome(await peer.ask()) == {"outcome": "selected", "optionId": "yes"}
        settled.set()
        # One that is not the session's waits for nobody, not even while another session is being opened.
        request = await peer.expect("session/new")
        assert (await peer.outcome(await peer.ask(sessionId="t")))["code"] == -32601
        await peer.answer(request, sessionId="t")

    async def main() -> None:
        async with (
            talking(script, version, client=Client()) as agent,
            agent.session("/x", permissions=permissions.allow_once),
        ):
            await settled.wait()
            async with agent.session("/x", permissions=permissions.allow_once):
                pass

    run(main)


@over_versions
def test_without_a_policy_the_clients_handler_answers(version: str) -> None:
    module = VERSIONS[version][1]

    class Client(module.Client):  # type: ignore[misc,name-defined]  # of which profile is open
        async def session_request_permission(self, request: Any, context: Any) -> Any:
            chosen = module.SelectedPermissionOutcome(option_id=request.options[-1].option_id)
            return module.RequestPermissionResponse(outcome=chosen)

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        for session in ("s", "other"):
            outcome = await peer.outcome(await peer.ask(sessionId=session))
            assert outcome == {"outcome": "selected", "optionId": "no"}
        await peer.finish(prompt)

    async def main() -> None:
        async with talking(script, version, client=Client()) as agent, agent.session("/x") as session:
            await session.prompt("hi")

    run(main)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_policy_that_fails(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The agent is told that there was an error, and nothing of it; what is raised to be told, is."""
    errors = iter([ValueError("secret"), v2.RequestError(-32000, "told", {"x": 1})])

    def fail(request: Any) -> Any:
        raise next(errors)

    async def fail_later(request: Any) -> Any:
        raise next(errors)

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        error = await peer.outcome(await peer.ask())
        assert (error["code"], "secret" in str(error)) == (-32603, False)
        assert await peer.outcome(await peer.ask()) == {"code": -32000, "message": "told", "data": {"x": 1}}
        await peer.finish(prompt)

    async def main() -> None:
        policy = fail_later if is_async else fail
        async with talking(script) as agent, agent.session("/x", permissions=policy) as session:
            assert (await session.prompt("hi")).stop_reason == "end_turn"

    with caplog.at_level(logging.ERROR, "acp_bindings"):
        run(main)
    assert "secret" in caplog.text


# the agent's side

ANSWERS: list[tuple[Any, tuple[bool, bool, bool], str | None]] = [
    ({"outcome": "selected", "optionId": "allow_once"}, (True, False, False), "allow_once"),
    ({"outcome": "selected", "optionId": "allow_always"}, (True, False, False), "allow_always"),
    ({"outcome": "selected", "optionId": "reject_once"}, (False, True, False), "reject_once"),
    # Whatever is not understood is no approval.
    ({"outcome": "selected", "optionId": "nonsense"}, (False, True, False), None),
    ({"outcome": "cancelled"}, (False, False, True), None),
]
NEWER: list[tuple[Any, tuple[bool, bool, bool], str | None]] = [
    ({"outcome": "_acme.dev/later", "optionId": "allow_once"}, (False, True, False), None),
    ({"outcome": "approved"}, (False, True, False), None),
]


def asking(module: Any, answers: list[Any], ask: Callable[[Any], Any]) -> list[Any]:
    """What `ask` of one of our agents gives for each answer of the client."""
    left = iter(answers)
    found: list[Any] = []

    class Agent(module.SessionAgent):  # type: ignore[misc]  # of which profile is open
        async def turn(self, session: Any, prompt: Any) -> None:
            found.extend([await ask(session) for _ in answers])

    class Client(module.Client):  # type: ignore[misc]  # likewise
        async def session_request_permission(self, request: Any, context: Any) -> Any:
            return module.convert({"outcome": next(left)}, module.RequestPermissionResponse)

    async def main() -> None:
        client: Any = Client()
        async with memory.connect(Agent(), client=client, strict=False) as agent, agent.session("/x") as session:
            turn = await session.prompt("hi")
            assert turn.stop_reason == "end_turn"

    run(main)
    return found


@over_versions
def test_what_an_answer_means(version: str) -> None:
    number, module = VERSIONS[version]
    cases = ANSWERS + (NEWER if number == 2 else [])
    found = asking(module, [wire for wire, _, _ in cases], lambda session: session.ask("May I?", tool_call="t"))
    for answer, (wire, meaning, option) in zip(found, cases, strict=True):
        assert (answer.allowed, answer.denied, answer.cancelled) == meaning, wire
        assert (answer.option and answer.option.option_id) == option
        assert module.to_builtins(answer.outcome) == wire


def test_options_of_ones_own() -> None:
    options = [v2.PermissionOption(option_id="a", name="A", kind="_acme.dev/maybe")]
    (answer,) = asking(v2, [{"outcome": "selected", "optionId": "a"}], lambda one: one.ask("May I?", options=options))
    # An option of a kind that nobody knows is chosen, but is no permission.
    assert (answer.option, answer.allowed, answer.denied) == (options[0], False, True)
