"""datamodel-code-generator reads the plain objects of the schemas as we do: properties, requiredness, nullability."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codegen import ir
from codegen.pipeline import load
from codegen.sources import PROFILE_FILES

from .opinions import Property, ours, read_classes, theirs

SCHEMA_DIR = Path(__file__).resolve().parents[2] / "schema"
AT_ONCE = 2  # runs of the other generator, of several CPU seconds each
# How many plain objects each profile had when it was pinned. Fewer would mean that we compare less than we think.
FEWEST = {"v1/stable": 120, "v1/unstable": 170, "v2/stable": 120, "v2/unstable": 170}

Classes = dict[str, dict[str, Property]]


@pytest.fixture(scope="session")
def profiles() -> dict[str, ir.Profile]:
    return {profile.name: profile for profile in load(SCHEMA_DIR, list(PROFILE_FILES))}


@pytest.fixture(scope="session")
def other_opinions() -> dict[str, Classes]:
    """What the other generator makes of every profile; it runs once for each."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = pool.map(theirs, (SCHEMA_DIR / file for file in PROFILE_FILES.values()))
        return dict(zip(PROFILE_FILES, made, strict=True))


@pytest.mark.parametrize("name", PROFILE_FILES)
def test_every_plain_object_is_compared(name: str, profiles: dict[str, ir.Profile]) -> None:
    definitions: dict[str, Any] = json.loads((SCHEMA_DIR / PROFILE_FILES[name]).read_text())["$defs"]
    plain = {
        key for key, part in definitions.items() if part.get("properties") and not {"anyOf", "oneOf"} & part.keys()
    }
    assert set(ours(profiles[name])) == plain - set(profiles[name].envelopes)
    assert len(ours(profiles[name])) > FEWEST[name]


@pytest.mark.parametrize("name", PROFILE_FILES)
def test_the_other_generator_agrees(
    name: str, profiles: dict[str, ir.Profile], other_opinions: dict[str, Classes]
) -> None:
    mine, other = ours(profiles[name]), other_opinions[name]
    assert {key: other.get(key) for key in mine} == mine


def test_a_class_is_read_with_its_wire_names_and_what_it_inherits() -> None:
    found = read_classes(
        "Maybe: TypeAlias = str | None\n"
        "class Base(Struct):\n"
        "    plain: int\n"
        "    optional: int | UnsetType = UNSET\n"
        "class Child(Base):\n"
        "    field_meta: dict[str, Any] | None | UnsetType = field(name='_meta', default=UNSET)\n"
        "    class_: Maybe = field(name='class')\n"
        "    bounded: Annotated[int | None, Meta(ge=1)]\n"
        "    free: Any = UNSET\n"
    )
    assert found["Base"] == {"plain": Property(True, False), "optional": Property(False, False)}
    assert found["Child"] == found["Base"] | {
        "_meta": Property(False, True),
        "class": Property(True, True),
        "bounded": Property(True, True),
        "free": Property(False, True),
    }
