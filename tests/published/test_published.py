"""A dozen published versions, each the first to have some shape; `make history` does the same with all of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from codegen.schema.importing import import_schemas
from tests.published.rounds import differ, go_round, profiles_in
from tests.published.versions import published

# By npm version: what it has that those before it have not, and how that reads in its stored schemas.
PUBLISHED = {
    "@zed-industries/agent-client-protocol@0.1.2": ("null results, tags by `enum`, no tolerance", '"enum": ['),
    "@zed-industries/agent-client-protocol@0.2.0-alpha.6": ("a prerelease; 64 bits without a sign", '"uint64"'),
    "@agentclientprotocol/sdk@0.5.1": ("outer envelopes, an object described in place, `true` as a schema", ": true"),
    "@agentclientprotocol/sdk@0.7.0": ("payloads by `allOf`, discriminators, open objects", '"discriminator"'),
    "@agentclientprotocol/sdk@0.15.0": ("maps with a type for their values, floats", '"additionalProperties": {'),
    "@agentclientprotocol/sdk@0.22.0": ("methods of both sides", '"x-side": "both"'),
    "@agentclientprotocol/sdk@0.24.0": ("the first tolerance", '"x-deserialize-skip-invalid-items"'),
    "@agentclientprotocol/sdk@1.2.0": ("the first fallbacks, by `not`", '"unevaluatedProperties": true'),
    "@agentclientprotocol/sdk@1.3.0": (
        "the first v2, unstable only; a pattern, lists that may not be empty",
        '"^[A-Z]',
    ),
    "@agentclientprotocol/sdk@1.9.0": ("v2 with open records, strings that may not be empty", '"minLength": 1'),
    "@agentclientprotocol/sdk@2.1.0": (
        "v2 stable; fallbacks with groups; null as empty",
        '"x-deserialize-default-on-null"',
    ),
    "@agentclientprotocol/sdk@2.3.0": ("proxies", '"x-side": "proxy"'),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published")


@pytest.mark.npm
@pytest.mark.parametrize("package", PUBLISHED, ids=lambda package: package.rpartition("@")[2])
def test_generates_imports_and_round_trips(package: str, home: Path) -> None:
    done = go_round(f"npm:{package}", home / package)
    assert done.values > 300 and done.profiles == tuple(profiles_in(home / package / "schema"))
    stored = "".join(path.read_text() for path in (home / package / "schema").rglob("*.json"))
    why, mark = PUBLISHED[package]
    assert mark in stored, why


@pytest.mark.npm
@pytest.mark.parametrize(
    ("old", "new"), list(itertools.pairwise(PUBLISHED)), ids=lambda package: str(package).rpartition("@")[2]
)
def test_diff(old: str, new: str, home: Path) -> None:
    for package in (old, new):
        # The tests above have imported both, where they ran in this process.
        if not (home / package / "schema").is_dir():
            import_schemas(f"npm:{package}", home / package / "schema", None)
    report = differ(home / old / "schema", home / new / "schema")
    assert report.changes


@pytest.mark.npm
def test_history_knows_every_version() -> None:
    versions = published()
    assert len(versions) == len(set(versions)) >= 64
    known = [f"npm:{package}" for package in PUBLISHED]
    assert [version for version in versions if version in known] == known
