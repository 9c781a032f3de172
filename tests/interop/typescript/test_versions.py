"""Which version two sides settle on, when the other side is the SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import v1, v2

from tests.interop.typescript.node import OVER, converse
from tests.interop.typescript.our_client import ClientV1, Seen, StableClient, UnstableClient, driving

pytestmark = pytest.mark.interop
PROFILES: dict[type, Any] = {profile.RemoteAgent: profile for profile in (v2, v2.unstable, v1, v1.unstable)}


def opened(client: Any, *agents: str, **options: Any) -> tuple[Any, Any, Seen]:
    """What a client of ours and SDK agents come to: the caller's class, the session that it made, and what was seen."""

    async def run() -> tuple[Any, Any, Seen]:
        async with driving(client, *agents, **options) as (agent, seen):
            seen.answers["initialized"] = agent.initialized
            request = PROFILES[type(agent)].NewSessionRequest(cwd="/project", mcp_servers=[])
            seen.answers["session"] = await agent.session_new(request)
            seen.log = await agent.extension_request("_acme.dev/log")
            return type(agent), seen.answers["session"], seen

    return asyncio.run(run())


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("agent", [["v1"], ["router", "v1"]], ids=" ".join)
@pytest.mark.parametrize("client", [StableClient, UnstableClient])
def test_v1_only_agent(client: Any, agent: list[str], over: str) -> None:
    """Asked for version 2, the agent offers 1: we say hello again in its words, and go on."""
    remote, session, seen = opened(client(), *agent, over=over)
    expected: Any = v1 if client is StableClient else v1.unstable
    assert remote is expected.RemoteAgent
    assert session == expected.NewSessionResponse(session_id="session-1")
    assert isinstance(seen.answers["initialized"], expected.InitializeResponse)
    hellos = [params for name, params in seen.log if name == "initialize"]
    # The router translates the first one. The SDK's server takes one initialize for each connection, so that the second
    # one goes to an agent that knows nothing of the first.
    first = [1 if agent[0] == "router" else 2] if over == "stdio" else []
    assert [params["protocolVersion"] for params in hellos] == [*first, 1]
    assert hellos[-1]["clientInfo"] == {"name": "python", "version": "1"}
    assert seen.warnings == []
    assert seen.exit_code == 0


@pytest.mark.parametrize("over", OVER)
def test_v1_only_agent_and_capabilities(over: str) -> None:
    """A client of each version: what the agent learns at last are the capabilities of the one that goes on."""
    remote, _, seen = opened([StableClient(), ClientV1()], "v1", over=over)
    assert remote is v1.RemoteAgent
    hello = [params for name, params in seen.log if name == "initialize"][-1]
    assert hello["clientCapabilities"]["fs"] == {"readTextFile": True, "writeTextFile": True}


@pytest.mark.parametrize("over", OVER)
def test_agent_of_both_versions(over: str) -> None:
    """Of an agent that speaks both we get the newest that the client speaks."""
    both = ("router", "v1", "v2")
    assert opened(StableClient(), *both, over=over)[0] is v2.RemoteAgent
    assert opened(ClientV1(), *both, over=over)[0] is v1.RemoteAgent
    assert opened(StableClient(), *both, versions=[1], over=over)[0] is v1.RemoteAgent


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("agent", [["v2"], ["router", "v2"]], ids=" ".join)
def test_agent_newer_than_our_client(agent: list[str], over: str) -> None:
    """The error names the versions of both sides."""
    with pytest.raises(v2.NegotiationError, match=r"we speak version 1, the agent \[2\]"):
        opened(ClientV1(), *agent, over=over)


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("agent", [["v1"], ["router", "v1"]], ids=" ".join)
def test_agent_older_than_our_client(agent: list[str], over: str) -> None:
    """The error names the versions of both sides."""
    with pytest.raises(v2.NegotiationError, match="we speak version 2, the agent answered with version 1"):
        opened(StableClient(), *agent, versions=[2], over=over)


@pytest.mark.parametrize("over", OVER)
def test_newer_client_than_ours(over: str) -> None:
    """A request for a version that nobody knows yet, without what version 2 requires, gets our newest."""
    report, _ = converse("client_v1.mjs", "99", "v2", "v1", over=over)
    assert report["initialized"]["protocolVersion"] == 2
    assert report["exitCode"] == 0


@pytest.mark.parametrize("over", OVER)
def test_older_client_than_ours(over: str) -> None:
    """The error tells which versions there are, and the agent ends when the client leaves."""
    report, _ = converse("client_v1.mjs", "1", "v2", over=over)
    assert report["failure"]["code"] == -32022
    assert report["failure"]["data"] == {"requested": 1, "supported": [2]}
    assert report["exitCode"] == 0


@pytest.mark.parametrize("over", OVER)
def test_client_that_insists_on_v2(over: str) -> None:
    """The SDK's client of version 2 cannot go on with our agent of version 1, and leaves; the agent ends."""
    report, _ = converse("client_v2.mjs", "v2", "v1", over=over)
    assert "failure" in report and "session" not in report
    assert report["exitCode"] == 0
