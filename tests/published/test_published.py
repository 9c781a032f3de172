"""Published schemas of other shapes than today's: each generates without any TOML, imports, and round-trips values."""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from codegen.lower.methods import envelopes
from codegen.pipeline import generate
from codegen.schema.importing import import_schemas
from tests.support.values import Values, validator

# By npm version: what it has that its neighbours have not.
PUBLISHED = {
    "@zed-industries/agent-client-protocol@0.1.2": "null results, tags by enum, no x- tolerance",
    "@agentclientprotocol/sdk@0.5.1": "outer envelopes, an object described in place, `true` as a schema",
    "@agentclientprotocol/sdk@0.18.0": "sessions with modes and models, no v2",
    "@agentclientprotocol/sdk@1.3.0": "the first v2, unstable only; methods of both sides; a pattern",
    "@agentclientprotocol/sdk@1.9.0": "v2 with open records",
    "@agentclientprotocol/sdk@2.0.0": "v2 stable, fallbacks that exclude tags they do not list",
}
VALUES = 6


@pytest.mark.npm
@pytest.mark.parametrize("package", PUBLISHED, ids=lambda package: package.rpartition("@")[2])
def test_generates_imports_and_round_trips(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = import_schemas(f"npm:{package}", tmp_path / "schema")
    name = "published_" + "".join(char if char.isalnum() else "_" for char in package)
    for path, text in generate(tmp_path / "schema", [one.profile for one in imported], name, project=False).items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    count = 0
    for one in imported:
        version, _, channel = one.profile.partition("/")
        module = importlib.import_module(f"{name}.{version}" + (".unstable" if channel == "unstable" else ""))
        count += round_trips(module, json.loads(one.path.read_bytes()))
    assert count > 300
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == name]:
        del sys.modules[loaded]


def round_trips(module: ModuleType, schema: dict[str, object]) -> int:
    """Decode and encode valid values of every definition; the number of values."""
    values = Values(schema)
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    names = [name for name in definitions if name not in envelopes(schema)]
    for name in names:
        is_valid = validator(schema, name)
        target = getattr(module, name)
        for seed in range(VALUES):
            value = values.valid(name, random.Random(f"{name}{seed}"))
            model = module.decode(json.dumps(value), target)
            written = module.encode(model)
            assert is_valid(json.loads(written)), (name, value)
            assert module.decode(written, target) == model, (name, value)
    return len(names) * VALUES
