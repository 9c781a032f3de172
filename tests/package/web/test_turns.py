"""What goes well over POST, GET and DELETE."""

from __future__ import annotations

from typing import Any

from tests.package.connection.agents import SESSION
from tests.package.web.serving import CONNECTION, served
from tests.support.aio import run


def prompt(count: int) -> dict[str, Any]:
    return {"sessionId": SESSION, "prompt": [{"type": "text", "text": str(count)}]}


def test_a_turn_from_initialize_to_delete() -> None:
    """P, T, G: the two headers, the two kinds of stream, 202 with an empty body for what is answered on a stream."""

    async def test() -> None:
        async with served() as (app, peer):
            answer = await peer.initialize()
            assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
            assert answer.json()["id"] == 0 and answer.json()["result"]["protocolVersion"] == 2
            assert answer.headers[CONNECTION] and "set-cookie" not in answer.headers
            async with peer.stream() as of_connection:
                accepted = await peer.request(1, "session/new", {"cwd": "/"})
                assert (accepted.status_code, accepted.content) == (202, b"")
                assert (await of_connection.next())["result"] == {"sessionId": SESSION}
                async with peer.stream(SESSION) as of_session:
                    assert (await peer.request(2, "session/prompt", prompt(50), SESSION)).status_code == 202
                    came = await of_session.take(51)
                    texts = [one["params"]["update"]["content"]["text"] for one in came[:50]]
                    assert texts == [str(number) for number in range(50)]
                    assert came[50] == {"jsonrpc": "2.0", "id": 2, "result": {"messageId": "m"}}
                    ended = await peer.delete()
                    assert (ended.status_code, ended.content) == (202, b"")
                    assert await of_session.rest() == [] and await of_connection.rest() == []
            assert (await peer.delete()).status_code == 404 and len(app.connections) == 0

    run(test)
