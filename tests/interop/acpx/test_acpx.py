"""What acpx shows of our agents, command by command. It speaks version 1."""

from __future__ import annotations

import json
import os
import pty
import re
import select
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conformance.schemas import schema
from tests.conformance.wire import ECHO, FULL, STREAMING
from tests.interop.acpx.acpx import TIMEOUT, Acpx

pytestmark = pytest.mark.interop
Driving = Callable[[Sequence[str]], Acpx]
DENIED = 5
"""acpx's exit code where a permission was denied."""
FAILED = 1


def lines(text: str) -> list[str]:
    """What is said in a text, without what says only that something is going on."""
    return [line for line in text.splitlines() if line and not line.startswith(("[client]", "[acpx]", "  "))]


def test_the_echo_agent_is_asked_once(driving: Driving) -> None:
    acpx = driving(ECHO)
    said = "two words, ü and \U0001f600"
    assert lines(acpx.run("exec", said)) == [said, "[done] end_turn"]
    assert acpx.owners() == []


@pytest.mark.parametrize(
    ("options", "code", "status", "end"),
    [
        (["--approve-all"], 0, "completed", "Done."),
        (["--permission-policy", '{"autoApprove":["edit"],"defaultAction":"deny"}'], 0, "completed", "Done."),
        (["--deny-all"], DENIED, "failed", "Then I leave it."),
        (["--non-interactive-permissions", "fail"], DENIED, "failed", "Then I leave it."),
    ],
    ids=["allowed", "allowed-by-kind", "denied", "dismissed"],
)
def test_a_permission(driving: Driving, options: list[str], code: int, status: str, end: str) -> None:
    """It is asked for by the call's kind and title; what comes of it shows on the call and in what the agent says."""
    said = lines(driving(STREAMING).run(*options, "exec", "hi", code=code))
    said = [line.rstrip() for line in said if not line.startswith("Permission prompt unavailable")]
    assert said == [
        "I will write that down.",
        "[tool] Write notes.txt (pending)",
        f"[tool] Write notes.txt ({status})",
        end,
        "[done] end_turn",
    ]


def test_whatever_acpx_was_sent_is_of_the_schema(driving: Driving) -> None:
    """Its JSON output has every message, of both sides."""
    text = driving(STREAMING).run("--approve-all", "--format", "json", "exec", "hi")
    frames = [json.loads(line) for line in text.splitlines()]
    asked = {frame["id"]: frame["method"] for frame in frames if frame.get("method") in ("initialize", "session/new")}
    asked |= {frame["id"]: frame["method"] for frame in frames if frame.get("method") == "session/prompt"}
    ours = [one for one in frames if str(one.get("method")).startswith(("session/update", "session/request"))]
    answers = [one for one in frames if "result" in one and "outcome" not in one["result"]]
    assert len(ours) > 5 and len(answers) == len(asked) == 3
    for frame in ours:
        schema(1).check(frame, None)
    for frame in answers:
        schema(1).check(frame, asked[frame["id"]])


def test_a_person_is_asked_at_a_terminal(driving: Driving) -> None:
    """With the title of our question."""
    acpx = driving(STREAMING)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(acpx.cwd)
        os.execve(acpx.command[0], [*acpx.command, "exec", "hi"], acpx.env)
    shown, answered = b"", False
    while select.select([terminal], [], [], TIMEOUT)[0]:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            # Nobody has the terminal open any more.
            break
        if b"(y/N)" in shown and not answered:
            answered = True
            os.write(terminal, b"y\n")
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    text = re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", shown).decode()
    assert "[permission] Allow Write to notes.txt? [edit]? (y/N)" in text
    assert "Write notes.txt (completed)" in text and status == 0


def test_a_named_session_lives_on(driving: Driving, tmp_path: Path) -> None:
    """Over several agent processes: acpx starts one to make a session, and takes it up in another."""
    acpx = driving([*FULL, str(tmp_path / "sessions")])
    session_id = acpx.run("sessions", "new", "--name", "one").splitlines()[-1]
    assert re.fullmatch("[0-9a-f]{32}", session_id)
    first = acpx.run("prompt", "-s", "one", "everything please")
    assert "[client] session/resume" in first and "session/new" not in first
    shown = {"[thinking] hm", "[tool] Look around (running)", "[tool] Look around (completed)", "[plan]"}
    assert shown <= set(lines(first))
    # The background process has the agent now, and asks it again.
    assert lines(acpx.run("prompt", "-s", "one", "hi")) == ["1 blocks", "[done] end_turn"]
    (listed,) = acpx.run("sessions", "list").splitlines()
    assert listed.split("\t")[:3] == [session_id, "Everything", str(acpx.cwd)]
    acpx.end()
    again = acpx.run("prompt", "-s", "one", "hi")
    assert "[client] session/resume" in again and "session/new" not in again
    history = [line.split("\t")[1:] for line in acpx.run("sessions", "read", "one").splitlines()[1:]]
    assert [who for who, _ in history] == ["user", "assistant"] * 3
    assert history[0][1] == "everything please" and "[tool:Look around]" in history[1][1]
    assert history[-2:] == [["user", "hi"], ["assistant", "1 blocks"]]
    (owner,) = acpx.owners()
    assert f"pid: {owner}" in acpx.run("status", "-s", "one")
    assert acpx.run("sessions", "close", "one").splitlines()[-1] == session_id
    assert acpx.owners() == []


def test_a_turn_is_cancelled_and_the_session_goes_on(driving: Driving) -> None:
    acpx = driving(FULL)
    acpx.run("sessions", "new", "--name", "one")
    with acpx.start("prompt", "-s", "one", "wait for ever") as waiting:
        acpx.shows(waiting, "waiting")
        assert acpx.run("cancel", "-s", "one").splitlines()[-1] == "cancel requested"
        rest, _ = waiting.communicate(timeout=TIMEOUT)
    assert lines(rest) == ["[done] cancelled"] and waiting.returncode == 0
    assert lines(acpx.run("prompt", "-s", "one", "hi")) == ["1 blocks", "[done] end_turn"]


def test_a_configuration_option_is_set(driving: Driving) -> None:
    acpx = driving(FULL)
    acpx.run("sessions", "new", "--name", "one")
    assert "pace" in acpx.run("set", "-s", "one", "pace", "fast")
    refused = acpx.run("set", "-s", "one", "pace", "idle", code=FAILED)
    assert "not a value of 'pace'" in refused


def test_a_turn_that_fails_says_nothing_of_why(driving: Driving) -> None:
    text = driving(FULL).run("exec", "fail", code=FAILED)
    assert "[error] RUNTIME: internal error" in text and "secret" not in text
