"""Values that no row names: extensions, values of a newer schema, raw JSON, methods of one's own. Facts S, W."""

from __future__ import annotations

from typing import Any

import pytest
from acp_bindings import v2
from acp_bindings.runtime.errors import CapabilityError, RequestError
from acp_bindings.v2 import unstable

from tests.package.gates.peers import HANDLED, params, said, talking
from tests.package.gates.rows import IMAGE, TEXT, YES, system_prompt
from tests.package.gates.test_rows import call, reached, settled, spec_of
from tests.support.aio import run

SESSION = ("capabilities.session", YES)
PROMPTS = ("capabilities.session.systemPrompt", YES)
# Where a value of a newer schema, or one's own, may stand: side, method, what its params hold, pointer, what is given.
VALUES: dict[str, tuple[str, str, Any, str, tuple[Any, ...]]] = {
    "a content block": ("agent", "session/prompt", {"prompt": [TEXT, {"type": "%s"}]}, "/prompt/1/type", (SESSION,)),
    "a server": ("agent", "session/new", {"mcpServers": [{"type": "%s"}]}, "/mcpServers/0/type", (SESSION,)),
    "a config value": ("agent", "session/set_config_option", {"type": "%s"}, "/type", (SESSION,)),
    "a cursor": ("agent", "session/resume", {"replayFrom": {"type": "%s"}}, "/replayFrom/type", (SESSION,)),
    "a system prompt's mode": ("agent", "session/new", system_prompt("%s"), "/systemPrompt/mode", (SESSION, PROMPTS)),
    "a system prompt's block": (
        "agent", "session/new", system_prompt("append", {"type": "%s"}), "/systemPrompt/content/0/type",
        (SESSION, PROMPTS)),
    "a filter": (
        "agent", "session/list", {"archived": "%s"}, "/archived", (SESSION, ("capabilities.session.archive", YES))),
    "an elicitation's mode": (
        "client", "elicitation/create", {"mode": "%s"}, "/mode", (("capabilities.elicitation", {"form": {}}),)),
}  # fmt: skip


def filled(value: Any, tag: str) -> Any:
    """The same with the tag put in."""
    if isinstance(value, dict):
        return {key: filled(one, tag) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, tag) for one in value]
    return tag if value == "%s" else value


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_a_newer_schema_leaves_and_is_invalid_where_nobody_knows_it(name: str) -> None:
    side, method, more, pointer, given = VALUES[name]
    spec = spec_of("v2/unstable", side, method)
    message = params("v2/unstable", spec, filled(more, "hologram"))
    if name in ("a system prompt's mode", "a filter"):
        # Nobody may make up a value of an open enum; as JSON it may come from elsewhere.
        message = unstable.encode(message)
    who: dict[str, Any] = {side: said(*given)}

    async def test() -> None:
        async with talking("v2/unstable", **who) as pair:
            error = await call(pair, spec, message)
            assert isinstance(error, RequestError) and error.code == -32602
            assert error.data == {"pointer": pointer, "reason": "'hologram' is not supported here"}

    run(test)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_ones_own_is_for_the_handler(name: str) -> None:
    side, method, more, _, given = VALUES[name]
    spec = spec_of("v2/unstable", side, method)
    message = params("v2/unstable", spec, filled(more, "_acme.dev/x"))
    who: dict[str, Any] = {side: said(*given)}

    async def test() -> None:
        async with talking("v2/unstable", **who) as pair:
            await reached(pair, spec, message)

    run(test)


def test_a_server_of_the_other_channel_is_the_peers_to_judge() -> None:
    """The stable channel knows no `acp` servers: it passes one on, and takes none. Never the profile in use decides."""
    spec = spec_of("v2/stable", "agent", "session/new")
    message = params("v2/stable", spec, {"mcpServers": [{"type": "acp", "name": "n", "serverId": "x"}]})

    async def test() -> None:
        async with talking(
            "v2/stable", said(SESSION, ("capabilities.session.mcp.acp", YES)), agent_gates=False
        ) as pair:
            await reached(pair, spec, message)

    run(test)


def test_what_is_held_by_nobody_is_not_needed() -> None:
    """Empty lists and nulls hold nothing; text, links and stdio servers of v1 are for everybody."""

    async def test() -> None:
        empty: dict[str, Any] = {"additionalDirectories": [], "mcpServers": [], "systemPrompt": None}
        async with talking("v2/unstable", said(SESSION)) as pair:
            spec = spec_of("v2/unstable", "agent", "session/new")
            await reached(pair, spec, params("v2/unstable", spec, empty))
        async with talking("v1/stable") as pair:
            spec = spec_of("v1/stable", "agent", "session/new")
            server = {"name": "n", "command": "/c", "args": [], "env": []}
            await reached(pair, spec, params("v1/stable", spec, {"mcpServers": [server]}))

    run(test)


def test_raw_json_is_not_looked_into_before_it_is_sent() -> None:
    spec = spec_of("v2/stable", "agent", "session/prompt")
    raw = b'{"sessionId":"s","prompt":[{"type":"image","data":"","mimeType":"image/png"}]}'

    async def test() -> None:
        async with talking("v2/stable", said(SESSION)) as pair:
            error = await call(pair, spec, raw)
            assert isinstance(error, RequestError) and error.data["pointer"] == "/prompt/0/type"
        async with talking("v2/stable") as pair:
            assert isinstance(await call(pair, spec, raw), CapabilityError)

    run(test)


def test_extensions_are_free() -> None:
    async def test() -> None:
        async with talking("v2/stable") as pair:
            with pytest.raises(RequestError) as caught:
                await pair.agent.extension_request("_acme.dev/x")
            assert caught.value.code == -32601
            await pair.agent.extension_notification("_acme.dev/y")
            await settled(pair)

    run(test)


def test_all_that_is_missing_is_told() -> None:
    spec = spec_of("v2/unstable", "agent", "session/new")
    more = {"additionalDirectories": ["/x"], **system_prompt("override")}

    async def test() -> None:
        async with talking("v2/unstable", said(SESSION)) as pair:
            error = await call(pair, spec, params("v2/unstable", spec, more))
            session = "capabilities.session"
            assert isinstance(error, CapabilityError) and error.missing == (
                f"{session}.additionalDirectories", f"{session}.systemPrompt", f"{session}.systemPrompt.mode.override",
            )  # fmt: skip
            assert str(error) == (
                f"session/new /additionalDirectories: needs {session}.additionalDirectories, which the agent did not "
                f"advertise; /systemPrompt: needs {session}.systemPrompt, which the agent did not advertise; "
                f"/systemPrompt/mode: 'override' needs {session}.systemPrompt.mode.override, which the agent did not "
                "advertise"
            )

    run(test)


def test_a_typed_caller_raises_it_too() -> None:
    async def test() -> None:
        async with talking("v2/stable", said(SESSION)) as pair:
            with pytest.raises(
                v2.CapabilityError, match=r"prompt/0/type: 'image' needs capabilities\.session\.prompt\.image"
            ):
                await pair.agent.session_prompt(
                    v2.PromptRequest(session_id="s", prompt=[v2.convert(IMAGE, v2.ImageContent)])
                )
            with pytest.raises(v2.CapabilityError) as caught:
                await pair.client.elicitation_complete(v2.CompleteElicitationNotification(elicitation_id="e"))
            assert (caught.value.method, caught.value.side) == ("elicitation/complete", "client")
            assert not isinstance(caught.value, v2.RequestError) and unstable.CapabilityError is v2.CapabilityError
            # What is wrong by itself is told first.
            with pytest.raises(TypeError):
                await pair.agent.session_delete(v2.NewSessionRequest(cwd="/w"))

    run(test)


# auth/login (S): one of the methods that the agent listed, and none that runs in a terminal.


def test_login_takes_a_method_that_was_listed_and_is_not_for_a_terminal() -> None:
    listed = [
        {"type": "agent", "methodId": "m", "name": "M"},
        {"type": "terminal", "methodId": "tty", "name": "T"},
        {"type": "_acme", "methodId": "own", "name": "O"},
    ]
    terminal = said(("capabilities.auth.terminal", YES))
    spec = spec_of("v2/stable", "agent", "auth/login")
    wrong = {
        "tty": "'tty' has the type 'terminal', which is not for this call",
        "nobody": "'nobody' is none of the authMethods that the agent advertised",
    }

    async def test() -> None:
        async with talking("v2/stable", said(("authMethods", listed)), terminal) as pair:
            for name, reason in wrong.items():
                error = await call(pair, spec, v2.LoginAuthRequest(method_id=name))
                assert isinstance(error, CapabilityError) and error.missing == ("authMethods",)
                assert str(error) == f"auth/login /methodId: {reason}" and pair.frames == []
            for name in ("m", "own"):
                error = await call(pair, spec, v2.LoginAuthRequest(method_id=name))
                assert getattr(error, "code", error) == HANDLED
        async with talking("v2/stable", said(("authMethods", listed)), terminal, client_gates=False) as pair:
            for name, reason in wrong.items():
                error = await call(pair, spec, v2.LoginAuthRequest(method_id=name))
                assert isinstance(error, RequestError) and error.code == -32602
                assert error.data == {"pointer": "/methodId", "reason": reason}

    run(test)
