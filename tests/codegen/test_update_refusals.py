"""What an update refuses: one clear error, exit code 2, and the working folder as it was, to the time of each file."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from codegen.sources import limits
from tests.support.cli import problem
from tests.support.packages import MANIFEST, FakeNpm, fake_npm, link, package, tarball
from tests.support.pinned import newer, pinned_folder, state
from tests.support.web import Answer, Send, plain, redirect, serving

GOOD = json.dumps({"$defs": newer()}).encode()


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return pinned_folder(tmp_path, monkeypatch)


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    return fake_npm(tmp_path / "bin", monkeypatch)


def refused(work: Path, *arguments: str | Path) -> str:
    """What is said against an update, which changes nothing, whether it is a dry run or not."""
    before = state(work)
    said = problem("update", *arguments, steps=True)
    assert state(work) == before
    assert problem("update", "--dry-run", *arguments, steps=True) == said
    assert state(work) == before
    return said


# npm


def test_no_npm(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(work))
    assert "no npm on the PATH" in refused(work, "npm:pkg")


@pytest.mark.parametrize(
    ("stderr", "found"),
    [
        ("npm error code ENOTFOUND\nnpm error network request failed", "ENOTFOUND"),
        ("npm error code ETIMEDOUT\nnpm error network", "ETIMEDOUT"),
        ("npm error code E404\nnpm error 404", "no such package"),
        ("npm error code ETARGET", "no such version"),
    ],
)
def test_npm_that_fails(work: Path, npm: FakeNpm, stderr: str, found: str) -> None:
    npm(status=1, stderr=stderr)
    assert found in refused(work, "npm:pkg@9.9.9")


def test_npm_that_hangs(work: Path, npm: FakeNpm, monkeypatch: pytest.MonkeyPatch) -> None:
    npm().with_name("npm").write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(limits, "NPM_TIMEOUT", 0.3)
    assert "no answer from npm within 0.3 seconds" in refused(work, "npm:pkg")


ARCHIVES: dict[str, tuple[bytes, str]] = {
    "no schemas": (package({"index.js": b""}), "no schema file"),
    "cut short": (package({"schema/v2/schema.json": GOOD})[:-40], "cannot be unpacked"),
    "no archive": (b"<html>", "cannot be unpacked"),
    "bomb": (gzip.compress(bytes(limits.MAX_PACKAGE_SIZE + 1), 1), f"at most {limits.MAX_PACKAGE_SIZE} bytes unpacked"),
    "no version": (package({"schema/v2/schema.json": GOOD}, b"{}"), "usable version"),
} | {
    name: (tarball({"package/package.json": MANIFEST, name: GOOD}), "no schema file")
    for name in (
        "/package/schema/v2/schema.json",
        "../package/schema/v2/schema.json",
        "package/schema/../../../v2/schema.json",
        "package/schema/v2/../v2/schema.json",
    )
}
for _kind in ("SYMTYPE", "LNKTYPE", "CHRTYPE", "BLKTYPE", "FIFOTYPE", "DIRTYPE"):
    _member = link("package/schema/v2/schema.json", getattr(tarfile, _kind), "/etc/passwd")
    ARCHIVES[_kind] = (tarball({"package/package.json": MANIFEST}, _member), "no schema file")


@pytest.mark.parametrize(("archive", "found"), ARCHIVES.values(), ids=ARCHIVES.keys())
def test_archive(work: Path, npm: FakeNpm, archive: bytes, found: str) -> None:
    npm(archive)
    assert found in refused(work, "npm:pkg")


def test_oversized_archive(work: Path, npm: FakeNpm, monkeypatch: pytest.MonkeyPatch) -> None:
    npm(package({"schema/v2/schema.json": os.urandom(2000)}))
    monkeypatch.setattr(limits, "MAX_ARCHIVE_SIZE", 1000)
    assert "at most 1000 bytes" in refused(work, "npm:pkg")


# Schemas


def changed(**defs: Any) -> bytes:
    return json.dumps({"$defs": newer() | defs}).encode()


SCHEMAS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "valid JSON"),
    "a list": (b"[]", "JSON that is no object"),
    "null": (b"null", "JSON that is no object"),
    "a string": (b'"{}"', "JSON that is no object"),
    "half": (GOOD[:-1], "valid JSON"),
    "two": (GOOD + GOOD, "valid JSON"),
    "a key twice": (b'{"$defs": {}, "$defs": {}}', "the key '$defs' twice"),
    "NaN": (b'{"$defs": {"A": {"minimum": NaN}}}', "the number NaN"),
    "infinity": (b'{"$defs": {"A": {"minimum": 1e999}}}', "beyond a double"),
    "deep": (b'{"$defs": ' * 100_000 + b"{}" + b"}" * 100_000, "nested too deep"),
    "Latin-1": ('{"title": "é"}'.encode("latin-1"), "UTF-8 text"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "UTF-8 text"),
    "another dialect": (b'{"$schema": "http://json-schema.org/draft-07/schema#"}', "2020-12"),
    "no schema": (changed(Bad={"type": "strin"}), "'strin'"),
    "an unknown shape": (changed(Bad={"if": True}), "'if'"),
    "a reference to nothing": (changed(Bad={"$ref": "#/$defs/Gone"}), "a reference to nothing"),
    "a reference to itself": (changed(Bad={"$ref": "#/$defs/Bad"}), "Bad"),
    "a circle of references": (changed(A={"$ref": "#/$defs/B"}, B={"$ref": "#/$defs/A"}), "A"),
    "a circle of unions": (
        changed(A={"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}, B={"$ref": "#/$defs/A"}),
        "A",
    ),
    "a circle of allOf": (changed(A={"allOf": [{"$ref": "#/$defs/B"}]}, B={"allOf": [{"$ref": "#/$defs/A"}]}), "A"),
    "a file beside it": (changed(Bad={"$ref": "other.json#/$defs/X"}), "a reference out of the file"),
    "a file of the system": (changed(Bad={"$ref": "file:///etc/passwd"}), "a reference out of the file"),
}


@pytest.mark.parametrize(("data", "found"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_schema(work: Path, data: bytes, found: str) -> None:
    (work.parent / "new/schema/v2/schema.unstable.json").write_bytes(data)
    assert found in refused(work, "../new")


def test_remote_reference_is_never_fetched(work: Path) -> None:
    with serving() as server:
        server.answers["/x.json"] = plain(body=b"{}")
        bad = changed(Bad={"$ref": server.url("/x.json")}, Worse={"$dynamicRef": server.url("/x.json")})
        (work.parent / "new/schema/v2/schema.json").write_bytes(bad)
        assert "a reference out of the file" in refused(work, "../new")
        assert server.asked == []


def test_200_megabytes(work: Path) -> None:
    """A sparse file; it is not read further than the limit goes."""
    with (work.parent / "new/schema/v2/schema.json").open("wb") as stream:
        stream.truncate(200 * 2**20)
    assert f"at most {limits.MAX_SCHEMA_SIZE} bytes" in refused(work, "../new")
    assert f"at most {limits.MAX_SCHEMA_SIZE} bytes" in refused(work, "../new/schema/v2/schema.json")


def test_no_source_of_that_name(work: Path) -> None:
    os.mkfifo(work.parent / "pipe")
    for name in ("../absent", "../pipe", "/dev/zero", "", "\0", "-"):
        assert "no such file or folder" in refused(work, "--", name)
    assert "no schema file" in refused(work, "generated")


# The web


def stopped(send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + GOOD[:100])


ANSWERS: dict[str, tuple[Answer, str]] = {
    "404": (plain(404), "HTTP status 404"),
    "500": (plain(500), "HTTP status 500"),
    "a page": (plain(body=b"<html>", headers={"Content-Type": "text/html"}), "a page (text/html)"),
    "a page that says it is none": (plain(body=b"<html>"), "valid JSON"),
    "empty": (plain(), "valid JSON"),
    "too large": (plain(body=GOOD, headers={"Content-Length": str(200 * 2**20)}), "oversized"),
    "cut short": (stopped, "of 5000 bytes"),
    "to http": (redirect("http://example.com/v2/schema.json"), "a redirect to http://example.com"),
    "to a file": (redirect("file:///etc/passwd"), "a redirect to file://"),
    "in a circle": (redirect("/v2/schema.json"), "more than 5 redirects"),
}


@pytest.mark.parametrize(("answer", "found"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answer(work: Path, answer: Answer, found: str) -> None:
    with serving() as server:
        server.answers["/v2/schema.json"] = answer
        assert found in refused(work, server.url("/v2/schema.json"))


def test_slow_server(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECT_TIMEOUT", 0.2)
    with serving() as server:

        def silent(_: Send) -> None:
            server.left.wait(30)

        server.answers["/v2/schema.json"] = silent
        assert "within 0.2 seconds" in refused(work, server.url("/v2/schema.json"))


def test_nobody_there(work: Path) -> None:
    with serving() as server:
        url = server.url("/v2/schema.json")
    assert "no way to fetch it" in refused(work, url)


# What is pinned


def test_no_lock_to_say_where_from(work: Path) -> None:
    assert "folder:old, which does not say where that is" in refused(work)
    (work / "schema/lock.toml").unlink()
    assert "no entry that says where its schema is from" in refused(work)


def test_several_sources(work: Path) -> None:
    lock = work / "schema/lock.toml"
    first, second = lock.read_text().split('["v2/unstable"]')
    lock.write_text(first + '["v2/unstable"]' + second.replace("folder:old", "npm:pkg@1.0.0"))
    assert "several sources: folder:old, npm:pkg" in refused(work)


@pytest.mark.parametrize("text", ["[", "x = 1", '["v2/stable"]\npath = "../../x"'])
def test_broken_lock(work: Path, text: str) -> None:
    (work / "schema/lock.toml").write_text(text)
    assert "lock.toml" in refused(work, "../new")


def test_pinned_schema_that_was_changed(work: Path) -> None:
    """Somebody's edit is not thrown away in silence."""
    path = work / "schema/v2/schema.json"
    path.write_text(path.read_text() + "\n")
    assert "a changed file" in refused(work, "../new")


def test_schema_beside_that_no_lock_would_cover(work: Path) -> None:
    (work / "schema/lock.toml").unlink()
    assert "no entry for v2/unstable" in refused(work, "../new/schema/v2/schema.json")


def test_broken_annotations(work: Path) -> None:
    for name in ("names.toml", "docs.toml", "capabilities.toml"):
        path = work / "schema/v2" / name
        before = path.read_text() if path.exists() else ""
        path.write_text("[")
        assert name in refused(work, "../new")
        path.write_text(before)


# Options


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--profile", "v3/stable"], "the unknown profile 'v3/stable'"),
        (["--profile", "v1/stable"], "v1/stable"),
        (["--as", "v1/stable"], "--as"),
        (["--as", "x"], "the unknown profile 'x'"),
        (["--package", "a-b"], "a Python identifier"),
    ],
)
def test_option(work: Path, options: list[str], found: str) -> None:
    assert found in refused(work, "../new", *options)


def test_file_that_does_not_tell_its_profile(work: Path) -> None:
    (work.parent / "mine.json").write_bytes(GOOD)
    assert "--as" in refused(work, "../mine.json")


# The output


def test_output_of_somebody_else(work: Path) -> None:
    (work / "mine/acp_bindings").mkdir(parents=True)
    (work / "mine/acp_bindings/x.py").write_text("mine")
    assert "did not write" in refused(work, "../new", "--out", "mine")


def test_report_that_cannot_be_written(work: Path) -> None:
    (work / "file").write_text("mine")
    before = state(work)
    assert "error file\n" in problem("update", "../new", "--report", "file/below/report.md", steps=True)
    assert state(work) == before


@pytest.mark.parametrize("option", ["--out", "--schema-dir"])
def test_file_where_a_folder_should_be(work: Path, option: str) -> None:
    (work / "file").write_text("mine")
    before = state(work)
    problem("update", "../new", option, "file/below", steps=True)
    assert state(work) == before


@pytest.mark.parametrize("folder", ["schema", "generated"])
def test_folder_that_cannot_be_written(work: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may be root, to whom no folder is closed, so the system's answer is put in its mouth."""
    made = os.mkdir

    def refuse(path: str | Path, *args: Any, **options: Any) -> None:
        if Path(path).parent.resolve() == (work / folder).resolve():
            raise PermissionError(13, "Permission denied", str(path))
        made(path, *args, **options)

    monkeypatch.setattr(os, "mkdir", refuse)
    before = state(work)
    assert "Permission denied" in problem("update", "../new", steps=True)
    assert state(work) == before
