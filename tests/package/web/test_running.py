"""What an operator meets: extras that are missing, several workers, uvicorn started and stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acp_bindings import http, v2, ws
from acp_bindings.runtime.web.workers import refuse_workers, workers

from tests.package.web.agents import Counting, Family
from tests.package.web.serving import Peer, client, running
from tests.package.web.test_turns import prompt
from tests.support.aio import run
from tests.support.cli import ROOT


def in_process(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", f"import sys; sys.path.insert(0, 'generated')\n{code}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_importing_it_brings_no_extra() -> None:
    code = """
from acp_bindings import http, v2, ws
extras = ("starlette", "uvicorn", "httpx", "anyio", "websockets", "h11")
print([name for name in extras if name in sys.modules])
"""
    assert in_process(code) == "[]\n"


@pytest.mark.parametrize(("missing", "call"), [("starlette", "app(list)"), ("uvicorn", "serve(list).send(None)")])
def test_a_missing_extra_is_named(missing: str, call: str) -> None:
    code = f"""
from acp_bindings import http, v2, ws
sys.modules["{missing}"] = None
try:
    http.{call}
except ImportError as error:
    print(error)
"""
    assert in_process(code).strip().endswith("pip install acp-bindings[http]")


# Workers


@pytest.mark.parametrize(
    ("argv", "environ", "count"),
    [
        (["/bin/uvicorn", "m:app"], {}, 1),
        (["/bin/uvicorn", "m:app", "--workers", "4"], {}, 4),
        (["/bin/uvicorn", "--workers=2", "m:app"], {"WEB_CONCURRENCY": "3"}, 2),
        (["/bin/uvicorn", "m:app", "--workers", "1"], {"WEB_CONCURRENCY": "3"}, 1),
        (["/lib/uvicorn/__main__.py", "m:app"], {"WEB_CONCURRENCY": "3"}, 3),
        (["/bin/gunicorn", "-w", "2", "m:app"], {}, 2),
        (["/bin/uvicorn", "m:app", "--workers"], {"WEB_CONCURRENCY": "many"}, 1),
        (["/bin/pytest", "-w", "2", "--workers", "2"], {"WEB_CONCURRENCY": "3"}, 1),
        ([""], {}, 1),
        ([], {}, 1),
    ],
)
def test_workers(argv: list[str], environ: dict[str, str], count: int) -> None:
    assert workers(argv, environ) == count
    if count == 1:
        refuse_workers(argv, environ)
    else:
        with pytest.raises(RuntimeError, match=f"{count} workers behind one socket"):
            refuse_workers(argv, environ)


def test_uvicorn_with_several_workers_does_not_start(tmp_path: Path) -> None:
    """Each worker refuses: the message is on the terminal, and nobody is served by the wrong process."""
    (tmp_path / "served.py").write_text("from acp_bindings import http, v2\napp = http.app(v2.Agent)\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "served:app", "--port", str(port), "--workers", "2"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "generated")},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        told = next((line for line in process.stderr if "2 workers behind one socket" in line), None)
        assert told is not None and "run one worker a port" in told
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_serve_refuses_workers() -> None:
    with pytest.raises(ValueError, match="4 workers: connections live in the process"):
        asyncio.run(http.serve(Counting, workers=4))


# Starting and stopping

PROGRAM = """
import asyncio, contextlib, socket, sys
import uvicorn
from acp_bindings import http, v2, ws
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.package.web.agents import Counting

class Told(Counting):
    async def connection_closed(self):
        print("closed", self.turns, self.cancelled, flush=True)

@contextlib.asynccontextmanager
async def life(_):
    async with acp.running():
        yield

acp = http.app(Told)
outer = Starlette(routes=[Mount("/", acp)], lifespan=life)
if sys.argv[1] == "serve":
    asyncio.run(http.serve(Told, port=0, on_start=lambda url: print(url, flush=True)))
else:
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/acp", flush=True)
    uvicorn.Server(uvicorn.Config(acp if sys.argv[1] == "plain" else outer)).run([listening])
"""


@pytest.mark.parametrize("how", ["serve", "plain", "mounted"])
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_turns_and_streams(which: signal.Signals, how: str) -> None:
    """A client that reads a stream does not hold up the end, whoever runs the app."""

    async def test() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            PROGRAM,
            how,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "generated")))},
        )
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        assert url.startswith("http://127.0.0.1:") and url.endswith("/acp")
        async with client() as made:
            peer = Peer(made, url)
            await peer.initialize()
            await peer.request(1, "session/prompt", prompt(-1, "s1"), "s1")
            async with peer.stream("s1") as stream, peer.stream() as of_connection:
                await stream.take(10)
                process.send_signal(which)
                assert await of_connection.rest() == []
                await stream.rest()
        output, errors = await process.communicate()
        assert "closed 0 ['s1']" in output.decode().splitlines()
        # uvicorn raises the signal again once it has ended in good order.
        assert process.returncode == -which
        assert b"running task(s)" not in errors and b"Exception in ASGI" not in errors

    run(test)


def test_servers_of_their_own_limits(caplog: pytest.LogCaptureFixture) -> None:
    """Without a lifespan the app works as well; it is told to end by its owner then."""

    async def test() -> None:
        family = Family()
        app = http.app(family)
        async with running(app, lifespan="off") as root, client() as made:
            peer = Peer(made, root + "/acp")
            assert (await peer.initialize()).status_code == 200
            await app.shutdown()
            assert family.agents[0].ended.is_set()

    with caplog.at_level(logging.INFO, "acp_bindings.http"):
        run(test)
    assert "ends: the server is shutting down" in caplog.text


def test_a_port_that_is_taken() -> None:
    async def test() -> Any:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            await http.serve(Counting, port=taken.getsockname()[1], uvicorn_options={"log_level": "critical"})

    with pytest.raises(SystemExit):
        run(test)


def test_a_server_whose_task_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    """It ends as it does for a signal: turns are cancelled, streams end, and nothing is logged as gone wrong."""
    family = Family()

    async def test() -> None:
        started = asyncio.get_running_loop().create_future()
        quiet = {"log_config": None}
        serving = asyncio.create_task(http.serve(family, port=0, on_start=started.set_result, uvicorn_options=quiet))
        client = v2.Client(info=v2.Implementation(name="c", version="1"))
        async with ws.connect(await started, client=client) as agent, agent.session("/") as session:
            turn = session.prompt("-1")
            updates = aiter(turn)
            await anext(updates)
            serving.cancel()
            with pytest.raises(v2.ConnectionClosed, match="the other side closed the connection"):
                await turn
        with pytest.raises(asyncio.CancelledError):
            await serving
        await family.agents[0].ended.wait()

    with caplog.at_level(logging.WARNING):
        run(test)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
