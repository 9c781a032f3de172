"""`python -m acp_bindings` as a user runs it: output, word for word, exit codes, and bad input.

Once a difference is meant to be: UPDATE_GOLDEN=1 pytest tests/package/explain/test_cli.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import ROOT

from .support import DATA, TURN, answer, as_json, explain, notification, program, request, run

VALID = json.dumps({"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]})
WRONG = json.dumps({"sessionId": 1, "prompt": [{"type": "text"}], "more": 2})


def golden(name: str, found: str) -> None:
    path = DATA / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [100, 46])
def test_a_transcript_as_text(width: int) -> None:
    found = explain("explain", TURN, width=width, code=1)
    golden(f"turn.{width}.txt", found)
    # Nothing is coloured that goes to no terminal, and no line ends in blanks.
    assert "\x1b" not in found and not re.search(r"[ \t]$", found, re.MULTILINE)
    pointers = re.findall(r"^\S\s+(?:.*   )?(?:invalid|ignored|tolerated) (/\S+):", found, re.MULTILINE)
    assert pointers or width < 100


def test_a_transcript_as_json() -> None:
    golden("turn.jsonl", explain("explain", "--json", TURN, code=1))


def test_findings_alone() -> None:
    golden("turn.brief.txt", explain("explain", "--brief", TURN, code=1))


def test_colours() -> None:
    found = program("explain", TURN, FORCE_COLOR="1", TERM="xterm-256color").stdout
    plain = re.sub(r"\x1b\[[0-9;]*m", "", found)
    assert plain == program("explain", TURN).stdout == explain("explain", TURN, code=1)
    assert found.count("\x1b[") > 100
    assert "\x1b[3" not in program("explain", TURN, FORCE_COLOR="1", NO_COLOR="1").stdout


# What is read


def test_a_bare_value(tmp_path: Path) -> None:
    file = tmp_path / "prompt.json"
    file.write_text(json.dumps(json.loads(VALID), indent=2))
    messages, last = as_json("PromptRequest", file)
    assert [one["kind"] for one in messages] == ["value"] and messages[0]["type"] == "PromptRequest"
    assert messages[0]["valid"] and messages[0]["findings"] == [] and last["clean"] is True
    text = explain("explain", "PromptRequest", file)
    assert '  PromptRequest\n    session_id (sessionId): "s1"\n' in text and "1 message, all valid" in text


def test_stdin_and_several_values() -> None:
    messages, last = as_json("PromptRequest", "-", stdin=f"\ufeff{VALID}\r\n\r\n{WRONG}\n{VALID}", code=1)
    assert [(one["line"], one["valid"]) for one in messages] == [(1, True), (3, False), (4, True)]
    assert [(one["mark"], one["pointer"]) for one in messages[1]["findings"]] == [
        ("invalid", "/sessionId"),
        ("invalid", "/prompt/0/text"),
        ("ignored", "/more"),
    ]
    assert last["summary"]["marks"] == {"invalid": 2, "ignored": 1} and last["clean"] is False


@pytest.mark.parametrize(
    ("name", "value"),
    [("SessionUpdate", '{"sessionUpdate":"notice"}'), ("SessionId", "5"), ("ErrorCode", '"x"'), ("ToolKind", "null")],
)
def test_unions_and_aliases_are_types_too(name: str, value: str) -> None:
    messages, _ = as_json(name, "-", stdin=value, code=1)
    assert any(one["mark"] == "invalid" for one in messages[0]["findings"])


@pytest.mark.parametrize("text", ["{", '{"a": }', "words", "\ud800".encode("utf-8", "surrogatepass"), '"\\ud800"'])
def test_values_that_are_no_json(text: str | bytes) -> None:
    messages, _ = as_json("PromptRequest", "-", stdin=text, code=1)
    assert messages[0]["kind"] == "malformed" and "JSON" in messages[0]["findings"][0]["reason"]


def test_numbers_that_c_does_not_take() -> None:
    long = json.dumps({"sessionId": "s", "prompt": [], "n": 0}).replace("0", "9" * 5000)
    assert explain("explain", "PromptRequest", "-", stdin=long, code=1)


def test_deep_nesting() -> None:
    deep = "[" * 100_000
    assert "malformed" in explain("explain", "PromptRequest", "-", stdin=deep, code=1)
    value = '{"sessionId":"s","prompt":[{"type":"text","text":"x"}],"_meta":{"a":' + "[" * 900 + "]" * 900 + "}}"
    assert "all valid" in explain("explain", "PromptRequest", "-", stdin=value)
    messages, _ = as_json("PromptRequest", "-", stdin=value)
    assert messages[0]["valid"]


# Exit codes


@pytest.mark.parametrize(
    ("message", "code", "strict"),
    [
        (notification("session/cancel", {"sessionId": "s"}), 0, 0),
        (notification("_acme.dev/x", {}), 0, 0),
        (notification("session/cancel", {"sessionId": "s", "more": 1}), 0, 1),
        (notification("session/unheard", {}), 0, 1),
        (notification("session/cancel", {"sessionId": "s", "_meta": 5}), 0, 1),
        (answer(1, {}), 0, 1),
        (request(1, "session/close", {"sessionId": "s"}), 0, 0),
        (notification("session/cancel", {}), 1, 1),
    ],
    ids=["clean", "extension", "ignored", "unknown", "tolerated", "unmatched", "unanswered", "invalid"],
)
def test_exit_codes(message: object, code: int, strict: int) -> None:
    text = f"noise\n{json.dumps(message)}\n"
    assert run("explain", "-", stdin=text).exit_code == code
    assert run("explain", "--strict", "-", stdin=text).exit_code == strict
    assert run("explain", "--strict", "--json", "-", stdin=text).exit_code == strict


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (("explain",), "", "Missing argument"),
        (("explain", "a", "b", "c"), "", "expected [TYPE] FILE"),
        (("explain", "absent.ndjson"), "", "absent.ndjson: No such file"),
        (("explain", "."), "", "Is a directory"),
        (("explain", "-"), "", "no JSON-RPC message"),
        (("explain", "-"), "words\n" + VALID, "name its TYPE"),
        (("explain", "PromptRequest", "-"), "\n\n", "no JSON text"),
        (("explain", "PromptReqest", "-"), "", "did you mean PromptRequest"),
        (("explain", "promptrequest", "-"), "", "did you mean PromptRequest"),
        (("explain", "decode", "-"), "", "no type 'decode'"),
        (("explain", "KNOWN_TOOL_KIND", "-"), "", "no type 'KNOWN_TOOL_KIND'"),
        (("explain", "\x1b[31m", "-"), "", "no type '\\x1b[31m'"),
        (("explain", "--profile", "v9", "-"), "", "there are v2, v2.unstable, v1, v1.unstable"),
        (("types", "--profile", "v2.stabel"), "", "no profile 'v2.stabel'"),
        (("types", "nothing like it"), "", "no type of v2"),
        (("what",), "", "No such command"),
    ],
)
def test_what_cannot_be_worked_with(arguments: tuple[str, ...], stdin: str, words: str) -> None:
    said = explain(*arguments, stdin=stdin, code=2)
    assert words in said and "Traceback" not in said and "\x1b" not in said


def test_utf_16() -> None:
    assert "UTF-16" in explain("explain", "-", stdin=VALID.encode("utf-16"), code=2)


# Profiles and types


def test_profiles() -> None:
    for name in ("v1", "v2", "v2/stable", "v2.unstable", "v2/unstable"):
        assert "all valid" in explain("explain", "--profile", name, "SessionId", "-", stdin='"s"')
    update = '{"sessionUpdate":"session_info_update","title":"x"}'
    assert as_json("--profile", "v1", "SessionUpdate", "-", stdin=update)[1]["summary"]["profile"] == "v1"


def test_types() -> None:
    listed = explain("types")
    lines = {line.split()[0]: line for line in listed.splitlines()}
    assert {
        "PromptRequest",
        "SessionUpdate",
        "SessionId",
        "ToolKind",
        "ErrorCode",
        "UnknownContentBlock",
    } <= lines.keys()
    # None of what a profile exports besides.
    assert not lines.keys() & {"decode", "Agent", "RemoteAgent", "METHODS", "UnknownVariant", "DecodeError", "Session"}
    assert all(len(line) <= 100 for line in lines.values())
    assert all(len(line.split()) > 2 for line in lines.values()), "a type without docs"
    assert explain("types", "PROMPTREQ").startswith("PromptRequest  ")
    assert "ForkSessionRequest" in explain("types", "--profile", "v2.unstable", "fork")


# Output that does no harm


HOSTILE = "\x1b]0;title\x07\x1b[31m\u202eevil\u2066\r\n\u2028\x9b5m\x00"


def test_hostile_text_is_escaped() -> None:
    params = {HOSTILE: {HOSTILE: HOSTILE}, "sessionId": HOSTILE, "update": {"sessionUpdate": HOSTILE, HOSTILE: 1}}
    lines = [notification("session/update", params), notification(HOSTILE, params), request(HOSTILE, HOSTILE, params)]
    text = "\n".join(map(json.dumps, lines)) + f"\n{HOSTILE.encode().decode()}\n" + '{"jsonrpc' + HOSTILE
    for options in ((), ("--full",), ("--brief",)):
        for width in (30, 100):
            found = run("explain", *options, "-", stdin=text, width=width)
            assert [line for line in found.stdout.split("\n") if not line.isprintable()] == []
            assert "Traceback" not in found.stderr
    for line in explain("explain", "--json", "-", stdin=text, code=1).split("\n"):
        assert not line or json.loads(line)


def test_long_values_are_cut_and_shown_in_full() -> None:
    text = json.dumps({"sessionId": "s" * 5000, "prompt": [{"type": "text", "text": "x" * 300}]})
    cut = explain("explain", "PromptRequest", "-", stdin=text, width=80)
    assert max(map(len, cut.splitlines())) <= 80 and "… 5002 characters" in cut and "… 302 characters" in cut
    assert "s" * 5000 in explain("explain", "--full", "PromptRequest", "-", stdin=text, width=80)


def test_a_terminal_that_lacks_characters() -> None:
    text = json.dumps({"sessionId": "日本語" * 100, "prompt": []}, ensure_ascii=False)
    found = program("explain", "PromptRequest", "-", stdin=text, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert found.returncode == 1 and "\\u65e5" in found.stdout and not found.stderr


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    text = f"{json.dumps(notification('_x', {}))}\n" * 20_000
    file = tmp_path / "long.ndjson"
    file.write_text(text)
    command = [sys.executable, "-m", "acp_bindings", "explain", str(file)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "generated")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 1


# What it costs to have it


def test_importing_the_package_imports_no_extra() -> None:
    code = "import sys, acp_bindings.v2, acp_bindings.runtime.explain; print({'click', 'rich'} & sys.modules.keys())"
    env = os.environ | {"PYTHONPATH": str(ROOT / "generated")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "set()\n"


def test_help_loads_neither_rich_nor_a_profile() -> None:
    code = (
        "import sys, runpy, atexit; sys.argv = ['x', '--help'];"
        "atexit.register(lambda: print({'rich', 'msgspec', 'acp_bindings.v2'} & sys.modules.keys()));"
        "runpy.run_module('acp_bindings', run_name='__main__')"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "generated")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert "explain" in done.stdout and "types" in done.stdout and done.stdout.endswith("set()\n")


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra(missing: str, tmp_path: Path) -> None:
    (tmp_path / f"{missing}.py").write_text(f"raise ModuleNotFoundError('none', name={missing!r})")
    path = os.pathsep.join((str(tmp_path), str(ROOT / "generated")))
    done = program("explain", "SessionId", "-", stdin='"s"', PYTHONPATH=path)
    assert done.returncode == 2 and "pip install 'acp-bindings[cli]'" in done.stderr and "Traceback" not in done.stderr
