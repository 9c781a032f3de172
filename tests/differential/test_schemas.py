"""What the kinds go by is in the schemas, and the SDK that answers is the one that the schemas were published with."""

import pytest

from codegen.schema.lock import load_profile
from codegen.sources import PROFILE_FILES

from .node import pinned
from .schemas import SCHEMA_DIR, defaulted_tags, formatted, properties, users


@pytest.mark.parametrize("profile", PROFILE_FILES)
def test_the_sdk_is_the_one_that_the_schemas_come_from(profile: str) -> None:
    assert load_profile(SCHEMA_DIR, profile).source.endswith(f"@{pinned()}")


def test_formats_are_known_by_property() -> None:
    assert {"uri", "src", "url"} <= formatted("v2/stable", "uri")
    assert formatted("v2/stable", "date-time") == {"updatedAt"}
    assert formatted("v1/stable", "date-time") == frozenset()


def test_tags_are_listed_where_a_branch_does_without() -> None:
    assert ("type", "terminal") in defaulted_tags("v1/stable")
    assert ("type", "terminal") not in defaulted_tags("v2/stable")
    assert ("type", "string") in defaulted_tags("v2/stable")
    assert all(value is not None for _, value in defaulted_tags("v2/unstable"))


def test_a_definition_lists_the_properties_of_its_branches() -> None:
    assert "type" in properties("v2/stable", "ContentBlock")
    assert "type" not in properties("v2/stable", "TextContent")


def test_a_payload_is_used_by_its_union() -> None:
    assert users("v2/stable")["TextContent"] == ["ContentBlock"]
