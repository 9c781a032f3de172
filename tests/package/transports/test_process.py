"""A child process as the other side: what else it prints, how it ends, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from acp_bindings import stdio, v2
from acp_bindings.runtime.transports import process

from tests.package.transports.programs import agent_program, bare_program, connected
from tests.support.aio import run

NEW = v2.NewSessionRequest(cwd="/w")
NOISE = [
    "plain words",
    "",
    "   ",
    "\\x1b[2K\\x1b[1Gdone",
    "42",
    "[]",
    "null",
    '"text"',
    "{",
    "{'single': 1}",
    '{"level":"info","id":1}',
    '{"level":"error","id":1,"error":"a log line"}',
    '{"msg":"no id"}',
    "\\xff\\xfe",
]


def test_noise_between_messages_is_ignored_and_not_answered() -> None:
    """All of it comes before the answer to the request that is pending, with which it shares its id."""
    noise = "\n".join(NOISE)
    before = f"out.write(b'''{noise}\\n''')"
    # What the client sends is told back, so that an answer to noise would show.
    echo = "lines = [sys.stdin.buffer.readline().decode()]; say({'jsonrpc':'2.0','id':2,'result':{'heard':lines}})"

    async def test() -> None:
        async with connected(bare_program(before=before, after=echo)) as agent:
            heard = (await agent.extension_request("_x"))["heard"]
            assert [json.loads(line)["method"] for line in heard] == ["_x"]

    run(test)


def test_what_an_agent_prints_reads_and_starts_cannot_corrupt_the_protocol() -> None:
    body = """
print("from Python")
sys.stdout.write("unfinished")
os.write(1, b"from the file descriptor\\n")
subprocess.run([sys.executable, "-c", "print('from a child:', repr(input.__name__))"], check=True)
child = subprocess.run([sys.executable, "-c", "import sys; print('read', repr(sys.stdin.read()))"], check=True)
assert sys.stdin.read() == ""
"""

    async def test() -> None:
        lines: list[str] = []
        async with connected(agent_program(body=body), on_stderr=lines.append) as agent:
            for _ in range(3):
                assert (await agent.session_new(NEW)).session_id == "s1"
        text = "\n".join(lines)
        assert text.count("from Python") == text.count("from the file descriptor") == text.count("read ''") == 3
        assert text.count("from a child") == text.count("unfinished") == 3

    run(test)


def test_stderr_is_drained_before_the_first_answer() -> None:
    """256 KiB, without which the process would not come to its answer; in lines of every size, one without an end."""
    before = "sys.stderr.write('x' * 100 + '\\n' + 'y' * 300_000 + '\\n' + 'é' * 9); sys.stderr.flush()"

    async def test() -> None:
        lines: list[str] = []
        async with connected(bare_program(before=before), on_stderr=lines.append):
            pass
        assert lines == ["x" * 100, "(a line of 300000 bytes)", "é" * 9]

    run(test)


def test_stderr_goes_to_the_log_and_a_callback_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    program = bare_program(before="print('one', file=sys.stderr); print('two', file=sys.stderr)")

    def fail(line: str) -> None:
        raise RuntimeError(f"callback's own: {line}")

    async def test() -> None:
        async with connected(program):
            pass
        async with connected(program, on_stderr=fail):
            pass

    run(test)
    assert "stderr: one" in caplog.text and "stderr: two" in caplog.text
    assert "callback's own: one" in caplog.text and "callback's own: two" in caplog.text


def test_there_is_no_such_command(tmp_path: Path) -> None:
    async def test() -> None:
        with pytest.raises(v2.ConnectionClosed, match="no-such-agent could not be started: No such file"):
            async with stdio.connect("no-such-agent", client=v2.Client()):
                pass
        with pytest.raises(v2.ConnectionClosed, match="could not be started"):
            async with connected("", cwd=tmp_path / "none"):
                pass

    run(test)


@pytest.mark.parametrize("when", ["before", "answer"])
def test_exit_code_and_the_end_of_stderr_are_told_at_once(when: str) -> None:
    end = "sys.stderr.write('x' * 100_000 + ' the reason\\n'); sys.stderr.flush(); os._exit(3)"
    program = bare_program(before=end) if when == "before" else bare_program(answer=end)

    async def test() -> None:
        with pytest.raises(
            v2.ConnectionClosed, match=r"process has ended \(exit code 3\); the end of its stderr"
        ) as caught:
            async with connected(program):
                pass
        assert caught.value.exit_code == 3 and caught.value.stderr.endswith(" the reason\n")
        assert str(caught.value).endswith(" the reason")
        assert len(caught.value.stderr) == process.STDERR_TAIL

    run(test)


def test_an_agent_that_was_killed() -> None:
    async def test() -> None:
        with pytest.raises(v2.ConnectionClosed, match=r"process has ended \(killed by SIGKILL\)$") as caught:
            async with connected(bare_program(before="import signal; os.kill(os.getpid(), signal.SIGKILL)")):
                pass
        assert caught.value.exit_code == -signal.SIGKILL

    run(test)


def test_the_end_is_told_though_a_grandchild_holds_the_output_open() -> None:
    """The wrapper has ended, its child has not: whoever waits is told, and the child is ended with the group."""
    started = "import subprocess; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    answer = (
        "say({'jsonrpc': '2.0', 'id': 1, 'result': RESULT}, {'jsonrpc': '2.0', 'method': '_pid', 'params': child.pid})"
    )
    program = bare_program(before=started, answer=answer, after="sys.stdin.buffer.readline(); os._exit(4)")

    async def test() -> None:
        client = Pids()
        async with connected(program, client=client) as agent:
            pid = await client.pids.get()
            os.kill(pid, 0)
            with pytest.raises(v2.ConnectionClosed) as caught:
                await agent.session_new(NEW)
            assert caught.value.exit_code == 4
        assert_gone(pid)

    run(test)


class Pids(v2.Client):
    """Learns of processes."""

    def __init__(self) -> None:
        super().__init__()
        self.pids: asyncio.Queue[int] = asyncio.Queue()

    @v2.extension("_pid", notification=True)
    async def pid(self, notification: int, context: object) -> None:
        self.pids.put_nowait(notification)


def assert_gone(pid: int) -> None:
    """Ended, be it that nobody has fetched its exit code: that is for its new parent to do."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return
    assert state in "ZX"


def test_grandchildren_end_with_a_process_that_ends_by_itself() -> None:
    started = "import subprocess; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    answer = (
        "say({'jsonrpc': '2.0', 'id': 1, 'result': RESULT}, {'jsonrpc': '2.0', 'method': '_pid', 'params': child.pid})"
    )

    async def test() -> None:
        client = Pids()
        async with connected(bare_program(before=started, answer=answer), client=client):
            pid = await client.pids.get()
        assert_gone(pid)

    run(test)


def test_a_process_that_does_not_end_is_terminated_then_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)
    stubborn = (
        "import signal; signal.signal(signal.SIGTERM, lambda *_: print('terminated', file=sys.stderr, flush=True))"
    )
    forever = "while True: time.sleep(600)"

    async def test() -> None:
        lines: list[str] = []
        async with connected(bare_program(after=forever)) as agent:
            child = agent.connection.transport.process
        assert child.returncode == -signal.SIGTERM
        async with connected(bare_program(before=stubborn, after=forever), on_stderr=lines.append) as agent:
            child = agent.connection.transport.process
        assert child.returncode == -signal.SIGKILL
        assert lines and set(lines) == {"terminated"}

    run(test)


def test_a_process_that_is_busy_writing_can_still_end() -> None:
    """It is in the middle of 10 MB that nobody reads any more, and ends by itself once it has written them."""
    after = "say({'jsonrpc': '2.0', 'method': '_x', 'params': 'x' * 10_000_000})"

    async def test() -> None:
        async with connected(bare_program(after=after), max_queued=1, max_message=20_000_000) as agent:
            child = agent.connection.transport.process
        assert child.returncode == 0

    run(test)


def test_large_lines_and_small_pieces() -> None:
    """3 MB in one line; a message one byte at a time, with multi-byte characters split."""
    after = """
sys.stdin.buffer.readline()
say({'jsonrpc': '2.0', 'id': 2, 'result': {'text': 'x' * 3_000_000}})
sys.stdin.buffer.readline()
text = '\\u00fc\\u2028\\U0001f980'
line = json.dumps({'jsonrpc': '2.0', 'id': 3, 'result': {'text': text}}, ensure_ascii=False).encode() + b'\\r\\n'
for number in range(len(line)):
    os.write(1, line[number:number + 1])
sys.stdin.buffer.readline()
os.write(1, b'{"jsonrpc":"2.0","id":4,"result":"no line end"}')
os._exit(0)
"""

    async def test() -> None:
        async with connected(bare_program(after=after)) as agent:
            assert len((await agent.extension_request("_x"))["text"]) == 3_000_000
            assert (await agent.extension_request("_x"))["text"] == "\u00fc\u2028\U0001f980"
            assert await agent.extension_request("_x") == "no line end"
            with pytest.raises(v2.ConnectionClosed) as caught:
                await agent.extension_request("_x")
            assert caught.value.exit_code == 0

    run(test)


def test_a_byte_order_mark_before_the_first_message() -> None:
    async def test() -> None:
        async with connected(bare_program(before="out.write(b'\\xef\\xbb\\xbf\\r\\n')")) as agent:
            assert agent.initialized.info.name == "bare"

    run(test)


def test_environment_and_folder(tmp_path: Path) -> None:
    answer = """
RESULT['info']['name'] = os.environ['OURS'] + os.getcwd() + str('PATH' in os.environ)
say({'jsonrpc': '2.0', 'id': 1, 'result': RESULT})
"""

    async def test() -> None:
        async with connected(bare_program(answer=answer), env={"OURS": "set "}, cwd=tmp_path) as agent:
            assert agent.initialized.info.name == f"set {tmp_path.resolve()}True"

    run(test)


def test_two_processes_at_once() -> None:
    async def test() -> None:
        async with connected(agent_program()) as first, connected(agent_program()) as second:
            pids = {await first.extension_request("_pid"), await second.extension_request("_pid")}
            assert len(pids) == 2 and os.getpid() not in pids

    run(test)


def test_a_process_that_is_cancelled_while_it_closes_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs out of patience leaves no process behind."""
    program = bare_program(before="print('up', file=sys.stderr, flush=True)", after="while True: time.sleep(600)")

    async def test() -> None:
        async with connected(program) as agent:
            child = agent.connection.transport.process
            closing = asyncio.ensure_future(agent.connection.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait([closing])
        assert child.returncode is not None

    monkeypatch.setattr(process, "GRACE", 0.2)
    run(test)
