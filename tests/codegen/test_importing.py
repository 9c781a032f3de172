"""Import: what is stored and recorded, and that a failure leaves everything as it was."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from codegen.errors import CodegenError
from codegen.schema.importing import import_schemas
from codegen.schema.lock import load_profile, read_lock, sha256
from codegen.sources import PROFILE_FILES

PUBLISHED = {
    "$defs": {"A": {"type": "string", "description": "prose"}, "B": {"$ref": "#/$defs/A"}},
    "properties": {"description": {"description": "prose", "type": "string"}},
}
STORED = {
    "$defs": {"A": {"type": "string"}, "B": {"$ref": "#/$defs/A"}},
    "properties": {"description": {"type": "string"}},
}


def published(root: Path, *profiles: str, schema: object = PUBLISHED) -> Path:
    for profile in profiles or PROFILE_FILES:
        path = root / PROFILE_FILES[profile]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(schema))
    return root


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Everything below `root`, hidden files too; None for folders."""
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


def problem(source: Path, schema_dir: Path, **options: Any) -> str:
    with pytest.raises(CodegenError) as raised:
        import_schemas(str(source), schema_dir, **options)
    return str(raised.value)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return published(tmp_path / "upstream")


def test_import_stores_facts_and_locks_them(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "a/schema"
    imported = import_schemas(str(source), target)
    assert [(file.profile, file.definitions, file.changed) for file in imported] == [
        (profile, 2, True) for profile in PROFILE_FILES
    ]
    assert [file.path for file in imported] == [target / name for name in PROFILE_FILES.values()]
    assert sorted(snapshot(target)) == [
        "lock.toml",
        "v1",
        *list(PROFILE_FILES.values())[:2],
        "v2",
        *list(PROFILE_FILES.values())[2:],
    ]
    entries = read_lock(target)
    assert entries is not None
    for profile, entry in entries.items():
        assert entry.original_sha256 == sha256((source / entry.path).read_bytes())
        assert (entry.source, entry.version) == ("folder:upstream", "unknown")
        assert load_profile(target, profile).schema == STORED


def test_stored_files_can_be_read_by_others(tmp_path: Path, source: Path) -> None:
    import_schemas(str(source), tmp_path / "schema")
    plain = tmp_path / "plain"
    plain.touch()
    assert (tmp_path / "schema/v2/schema.json").stat().st_mode == plain.stat().st_mode


def test_import_again_changes_nothing(tmp_path: Path, source: Path) -> None:
    import_schemas(str(source), tmp_path / "schema")
    before = snapshot(tmp_path / "schema")
    assert not any(file.changed for file in import_schemas(str(source), tmp_path / "schema"))
    assert snapshot(tmp_path / "schema") == before


def test_import_keeps_other_profiles_and_files(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "schema"
    import_schemas(str(source), target)
    (target / "v2/docs.toml").write_text("ours")
    newer = published(tmp_path / "newer", "v2/stable", schema={"$defs": {}})
    (file,) = import_schemas(str(newer), target)
    assert (file.profile, file.definitions, file.changed) == ("v2/stable", 0, True)
    entries = read_lock(target) or {}
    assert {profile: entry.source for profile, entry in entries.items()} == {
        "v1/stable": "folder:upstream",
        "v1/unstable": "folder:upstream",
        "v2/stable": "folder:newer",
        "v2/unstable": "folder:upstream",
    }
    assert (target / "v2/docs.toml").read_text() == "ours"


def test_only(tmp_path: Path, source: Path) -> None:
    imported = import_schemas(str(source), tmp_path / "schema", only=["v2/unstable", "v2/stable"])
    assert [file.profile for file in imported] == ["v2/stable", "v2/unstable"]
    assert sorted(read_lock(tmp_path / "schema") or ()) == ["v2/stable", "v2/unstable"]


def test_single_file_with_profile(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    (file,) = import_schemas(str(tmp_path / "mine.json"), tmp_path / "schema", profile="v1/unstable")
    assert (file.source, file.path) == ("file:mine.json", tmp_path / "schema/v1/schema.unstable.json")


def test_hostile_names_and_text_survive(tmp_path: Path) -> None:
    name = "\"\x1b[31m\n'😀"
    hostile = {"$defs": {"\ud800\x1b\n": {"const": "\udfff \u202e", "default": {"description": "'''\"\"\""}}}}
    source = published(tmp_path / name, schema=hostile)
    import_schemas(str(source), tmp_path / "schema")
    assert (read_lock(tmp_path / "schema") or {})["v1/stable"].source == f"folder:{name}"
    assert load_profile(tmp_path / "schema", "v2/stable").schema == hostile


def test_folder_name_that_is_no_text(tmp_path: Path) -> None:
    source = published(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))
    (file, *_) = import_schemas(str(source), tmp_path / "schema")
    assert file.source == "folder:?"
    assert read_lock(tmp_path / "schema")


# Failures


def test_one_bad_file_spoils_all_and_every_problem_is_told(tmp_path: Path, source: Path) -> None:
    (source / "v1/schema.json").write_text("{")
    published(source, "v2/stable", schema={"type": "strin", "$ref": "#/$defs/Gone"})
    text = problem(source, tmp_path / "schema")
    assert "folder:upstream v1/schema.json: found" in text
    assert "folder:upstream v2/schema.json#/type: found" in text
    assert "folder:upstream v2/schema.json#/$ref: found" in text
    assert not (tmp_path / "schema").exists()


def test_bad_file_that_is_not_asked_for_does_not_matter(tmp_path: Path, source: Path) -> None:
    (source / "v1/schema.json").write_text("{")
    assert import_schemas(str(source), tmp_path / "schema", only=["v2/stable"])


def test_unknown_or_missing_profile(tmp_path: Path) -> None:
    source = published(tmp_path / "upstream", "v1/stable")
    assert "--profile" in problem(source, tmp_path / "schema", only=["v9/stable"])
    assert "only v1/stable" in problem(source, tmp_path / "schema", only=["v1/stable", "v2/stable"])
    assert "only v1/stable" in problem(source, tmp_path / "schema", profile="v2/stable")


def test_missing_source(tmp_path: Path) -> None:
    assert "no such file or folder" in problem(tmp_path / "absent", tmp_path / "schema")


def test_malformed_lock_is_not_overwritten(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "schema"
    target.mkdir()
    (target / "lock.toml").write_text("[")
    before = snapshot(target)
    assert "no valid TOML" in problem(source, target)
    assert snapshot(target) == before


@pytest.mark.parametrize("place", ["schema", "schema/below", "schema/below/further"])
def test_file_where_the_folder_should_be(tmp_path: Path, source: Path, place: str) -> None:
    (tmp_path / "schema").write_text("a file")
    assert "no way to write there" in problem(source, tmp_path / place)
    assert (tmp_path / "schema").read_text() == "a file"


@pytest.mark.parametrize("name", ["v2", "v2/schema.json/x", "v2/schema.unstable.json/x"])
def test_what_stands_in_the_way_of_a_later_file(tmp_path: Path, source: Path, name: str) -> None:
    target = tmp_path / "schema"
    import_schemas(str(source), target, only=["v1/stable", "v1/unstable"])
    (target / name).parent.mkdir(exist_ok=True, parents=True)
    (target / name).write_text("in the way")
    before = snapshot(target)
    published(source, schema={"$defs": {}})
    assert "no way to write there" in problem(source, target)
    assert snapshot(target) == before


@pytest.mark.parametrize("good", range(5))
def test_failure_between_files_puts_all_back(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, good: int
) -> None:
    target = tmp_path / "schema"
    import_schemas(str(source), target, only=["v1/stable", "v2/unstable"])
    before = snapshot(target)
    published(source, schema={"$defs": {}})
    calls = count()
    replace = os.replace

    def failing(old: Path, new: Path) -> None:
        if next(calls) == good:
            raise OSError(28, "No space left on device", str(old), None, str(new))
        replace(old, new)

    monkeypatch.setattr(os, "replace", failing)
    text = problem(source, target)
    assert "No space left on device" in text
    assert text.startswith(str(target / [*PROFILE_FILES.values(), "lock.toml"][good]))
    assert snapshot(target) == before


def test_interruption_puts_all_back(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(old: Path, new: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_schemas(str(source), tmp_path / "deep/schema")
    assert not (tmp_path / "deep").exists()
