"""The lock, and loading a profile under it."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.errors import CodegenError
from codegen.schema.lock import LockEntry, load_profile, lock_text, read_lock, sha256, verify

SCHEMA = b'{"$defs": {"A": {"type": "string"}}}'
ENTRY = LockEntry("v2/schema.json", "npm:pkg@1.0.0", "1.0.0", "0" * 64, sha256(SCHEMA))


def folder(tmp_path: Path, lock: str | None = None, name: str = "v2/schema.json", data: bytes = SCHEMA) -> Path:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(data)
    if lock is not None:
        (tmp_path / "lock.toml").write_text(lock, encoding="utf-8")
    return tmp_path


def lock_problem(tmp_path: Path, lock: bytes) -> str:
    (tmp_path / "lock.toml").write_bytes(lock)
    with pytest.raises(CodegenError) as raised:
        read_lock(tmp_path)
    assert all("lock.toml" in diagnostic.place for diagnostic in raised.value.diagnostics)
    return str(raised.value)


def load_problem(schema_dir: Path, profile: str = "v2/stable") -> str:
    with pytest.raises(CodegenError) as raised:
        load_profile(schema_dir, profile)
    return str(raised.value)


# Text


def test_lock_round_trip(tmp_path: Path) -> None:
    unstable = replace(ENTRY, path="v2/schema.unstable.json", source='folder:"é\\\x7f\x1b\n😀')
    entries = {"v2/unstable": unstable, "v2/stable": ENTRY}
    text = lock_text(entries)
    assert text == lock_text(dict(reversed(entries.items())))
    assert read_lock(folder(tmp_path, text)) == entries
    header, table = text.split("\n\n")[:2]
    assert len(header.splitlines()) == 2 and all(line.startswith("# ") for line in header.splitlines())
    assert table.splitlines() == [
        '["v2/stable"]',
        'path = "v2/schema.json"',
        'source = "npm:pkg@1.0.0"',
        'version = "1.0.0"',
        f'original_sha256 = "{"0" * 64}"',
        f'stored_sha256 = "{sha256(SCHEMA)}"',
    ]


def test_empty_lock() -> None:
    assert tomllib.loads(lock_text({})) == {}


def test_no_lock(tmp_path: Path) -> None:
    assert read_lock(tmp_path) is None
    assert read_lock(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("lock", "found"),
    [
        (b"[", "no valid TOML"),
        (b"a = '\xff'", "no valid TOML"),
        (b"a = " + b"[" * 50_000, "no valid TOML"),
        (b'["v3/stable"]', "the unknown profile 'v3/stable'"),
        (b'"\\u001b" = 1', r"the unknown profile '\x1b'"),
        (b'"v2/stable" = 3', "strings path, source, version, original_sha256, stored_sha256"),
        (b'["v2/stable"]\npath = "v2/schema.json"', "acp-codegen import"),
        (lock_text({"v2/stable": ENTRY}).replace('"1.0.0"', "1").encode(), "another set of values"),
        (lock_text({"v2/stable": ENTRY}).encode() + b'extra = "x"', "another set of values"),
        (lock_text({"v2/stable": replace(ENTRY, path="../../etc/passwd")}).encode(), "'v2/schema.json'"),
        (lock_text({"v2/stable": replace(ENTRY, original_sha256="F" * 64)}).encode(), "64 lowercase hex digits"),
    ],
)
def test_malformed_lock(tmp_path: Path, lock: bytes, found: str) -> None:
    assert found in lock_problem(tmp_path, lock)


def test_all_problems_of_a_lock_at_once(tmp_path: Path) -> None:
    entry = replace(ENTRY, path="x", original_sha256="", stored_sha256="")
    text = lock_problem(tmp_path, lock_text({"v2/stable": entry, "v1/stable": entry}).encode())
    assert len(text.splitlines()) == 6


def test_lock_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "lock.toml").mkdir()
    with pytest.raises(CodegenError, match="cannot be read"):
        read_lock(tmp_path)


# verify


def test_verify() -> None:
    verify(ENTRY, SCHEMA, "f.json")
    with pytest.raises(CodegenError) as raised:
        verify(ENTRY, SCHEMA + b"\n", "f.json")
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.place == "f.json"
    assert sha256(SCHEMA + b"\n") in diagnostic.found
    assert ENTRY.stored_sha256 in diagnostic.expected and "acp-codegen import" in diagnostic.expected


# load_profile


def test_load_locked(tmp_path: Path) -> None:
    loaded = load_profile(folder(tmp_path, lock_text({"v2/stable": ENTRY})), "v2/stable")
    assert loaded.schema == {"$defs": {"A": {"type": "string"}}}
    assert (loaded.profile, loaded.source, loaded.version) == ("v2/stable", "npm:pkg@1.0.0", "1.0.0")
    assert loaded.sha256 == sha256(SCHEMA)
    assert loaded.place == str(tmp_path / "v2/schema.json")


@pytest.mark.parametrize(
    ("profile", "name"), [("v2/unstable", "v2/schema.unstable.json"), ("v1/stable", "v1/schema.json")]
)
def test_load_without_lock(tmp_path: Path, profile: str, name: str) -> None:
    loaded = load_profile(folder(tmp_path, name=name), profile)
    assert (loaded.source, loaded.version, loaded.sha256) == ("unlocked", "unlocked", sha256(SCHEMA))


def test_load_unknown_profile(tmp_path: Path) -> None:
    assert "one of v1/stable, v1/unstable, v2/stable, v2/unstable" in load_problem(folder(tmp_path), "../../etc/passwd")


def test_load_missing_profile_lists_what_is_there(tmp_path: Path) -> None:
    assert "has: v2/stable;" in load_problem(folder(tmp_path), "v1/stable")
    assert "has: none;" in load_problem(tmp_path / "absent")
    assert "has: none;" in load_problem(folder(tmp_path) / "v2/schema.json")  # a file where the folder should be


def test_load_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "v2/schema.json").mkdir(parents=True)
    assert "cannot be read" in load_problem(tmp_path)


def test_load_what_the_lock_does_not_list(tmp_path: Path) -> None:
    assert "does not list" in load_problem(folder(tmp_path, lock_text({})))


def test_load_what_was_changed(tmp_path: Path) -> None:
    schema_dir = folder(tmp_path, lock_text({"v2/stable": ENTRY}), data=SCHEMA.replace(b"string", b"number"))
    assert "a changed file" in load_problem(schema_dir)


@pytest.mark.parametrize(
    ("data", "found"), [(b"{", "valid JSON"), (b'{"type": 1}', "schema.json#/type"), (b'{"$ref": "#/x"}', "to nothing")]
)
def test_load_a_schema_that_is_none(tmp_path: Path, data: bytes, found: str) -> None:
    assert found in load_problem(folder(tmp_path, data=data))
