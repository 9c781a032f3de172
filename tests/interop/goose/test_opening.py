"""How a conversation with Goose begins: it claims whatever version it is asked for, and answers as v1 does."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from acp_bindings import http, stdio, ws
from acp_bindings.runtime.errors import HttpError, NegotiationError, RequestError
from acp_bindings.v1 import unstable as v1
from acp_bindings.v2 import unstable as v2

from tests.interop.goose.binary import pinned
from tests.interop.goose.harness import LIMIT, Client, Goose, conversation, serving, settings
from tests.interop.goose.model import Model

pytestmark = pytest.mark.interop
LIST_EXTENSIONS = "_goose/unstable/config/extensions/list"


def test_asked_for_v2_it_is_recognised_as_v1(peer: Goose, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with Model({}) as model, conversation(peer, home, model, Client()) as agent:
            assert agent.initialized.protocol_version == 1
            info = agent.initialized.agent_info
            assert isinstance(info, v1.Implementation)
            assert (info.name, info.version) == ("goose", pinned())
            assert agent.initialized.agent_capabilities.load_session is True

    with caplog.at_level(logging.WARNING, "acp_bindings"):
        asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        "the agent claims protocol version 2 but answers as version 1 does; going on as 1"
    ]


def test_a_client_of_v2_alone_goes_on_as_v1_too(goose: Path, home: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(LIMIT), Model({}) as model:
            # To type checkers a client's agent speaks its version; one that may be older has two clients.
            client: Any = v2.Client(info=v2.Implementation(name="only-v2", version="1"))
            async with stdio.connect(str(goose), "acp", client=client, env=settings(home, model)) as agent:
                assert isinstance(agent, v1.RemoteAgent)
                answer = await agent.session_new(v1.NewSessionRequest(cwd=str(home), mcp_servers=[]))
                assert answer.session_id

    asyncio.run(run())


def test_where_v1_is_not_allowed_the_refusal_names_both(goose: Path, home: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(LIMIT), Model({}) as model:
            client = v2.Client()
            async with stdio.connect(str(goose), "acp", client=client, versions=[2], env=settings(home, model)):
                pass

    with pytest.raises(NegotiationError, match=r"claims protocol version 2.*version 1.*we speak version 2"):
        asyncio.run(run())


def test_asked_for_v1_there_is_nothing_to_warn_of(goose: Path, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(LIMIT),
            Model({}) as model,
            stdio.connect(str(goose), "acp", client=Client(), env=settings(home, model)) as agent,
        ):
            assert isinstance(agent, v1.RemoteAgent)

    with caplog.at_level(logging.WARNING, "acp_bindings"):
        asyncio.run(run())
    assert caplog.records == []


def test_an_extension_method_lists_extensions(peer: Goose, home: Path) -> None:
    async def run() -> Any:
        async with Model({}) as model, conversation(peer, home, model, Client()) as agent:
            return await agent.extension_request(LIST_EXTENSIONS)

    answer = asyncio.run(run())
    developer = next(one for one in answer["extensions"] if one["configKey"] == "developer")
    assert developer["enabled"] is True
    assert developer["extension"]["name"] == "developer"


def test_an_unknown_extension_method_is_not_found(peer: Goose, home: Path) -> None:
    async def run() -> None:
        async with Model({}) as model, conversation(peer, home, model, Client()) as agent:
            with pytest.raises(RequestError) as refused:
                await agent.extension_request("_acme.dev/nothing", {"deep": {"down": [1, None]}})
            assert refused.value.code == -32601
            # The connection has not suffered.
            assert await agent.extension_request(LIST_EXTENSIONS)

    asyncio.run(run())


@pytest.mark.parametrize("over", ["http", "ws"])
@pytest.mark.parametrize("headers", [{}, {"X-Secret-Key": "wrong"}, {"Authorization": "Bearer sesame"}])
def test_without_its_key_it_lets_nobody_in(goose: Path, home: Path, over: str, headers: dict[str, str]) -> None:
    """Its key has a header of its own: a bearer token is none."""

    async def run() -> None:
        connect = http.connect if over == "http" else ws.connect
        async with (
            asyncio.timeout(LIMIT),
            Model({}) as model,
            serving(Goose(goose, over, "sesame"), settings(home, model)) as url,
        ):
            with pytest.raises(HttpError) as refused:
                async with connect(url, client=Client(), headers=headers):
                    pass
            assert refused.value.status == 401

    asyncio.run(run())
