"""Published schemas against each other: what is known of them is what the diff says, and none is too odd for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.diff import FORMATS, Report, compare, render
from codegen.diff.loading import load_both
from tests.support.cli import ROOT

SDK = "npm:@agentclientprotocol/sdk@"
OLDER = "npm:@zed-industries/agent-client-protocol@"
# Neighbours in time, chosen for what they are made of; tests/published says what that is.
NEIGHBOURS = [
    (f"{OLDER}0.1.2", f"{OLDER}0.4.5"),
    (f"{OLDER}0.4.5", f"{SDK}0.5.1"),
    (f"{SDK}0.5.1", f"{SDK}0.18.0"),
    (f"{SDK}0.18.0", f"{SDK}1.3.0"),
    (f"{SDK}1.3.0", f"{SDK}1.9.0"),
    (f"{SDK}1.9.0", f"{SDK}2.0.0"),
]


def compared(old: str, new: str, *only: str) -> Report:
    loaded = load_both(old, new, Path(ROOT, "schema"), only)
    return compare(loaded.old, loaded.new, loaded.notes)


@pytest.mark.npm
@pytest.mark.parametrize(("old", "new"), NEIGHBOURS, ids=lambda source: str(source).rpartition("@")[2])
def test_neighbours(old: str, new: str) -> None:
    there, back = compared(old, new), compared(new, old)
    for found in (there, back):
        assert found.changes
        for form in FORMATS:
            assert render(found, form)
    # Backwards, what came went. Renames aside, for likeness is judged with what was matched before.
    came = {(one.subject, one.owner, one.member) for one in there.changes if one.action == "added"}
    went = {(one.subject, one.owner, one.member) for one in back.changes if one.action == "removed"}
    renames = [one for one in (*there.changes, *back.changes) if one.action == "renamed"]
    renamed = {name for one in renames for name in (one.before, one.after)}
    assert {one for one in came ^ went if not renamed & {one[1], one[2]}} == set()


@pytest.mark.npm
def test_from_2_2_0_to_2_4_0() -> None:
    """Read off the two schemas by hand, definition by definition."""
    found = compared(f"{SDK}2.2.0", f"{SDK}2.4.0", "v2/stable", "v2/unstable")
    changes = [one for one in found.changes if one.kind != "definition-docs"]
    assert {one.action for one in changes} == {"added"} and found.level == "additive"
    assert all(one.breaking == 0 for one in found.pairings)

    def of(subject: str, *profiles: str) -> set[str]:
        chosen = [one for one in changes if (one.subject, one.profiles) == (subject, profiles)]
        return {f"{one.owner}.{one.member}" if one.member else one.owner.partition(" (")[0] for one in chosen}

    both = ("v2/stable", "v2/unstable")
    # Background work, and the cancelling of single tool calls and terminals, in both channels.
    assert of("method", *both) == {"tool_call/cancel", "terminal/cancel"}
    assert of("value", *both) == {"ToolCallStatus.paused"}
    assert {one for one in of("field", *both) if not one.endswith(".background")} == {
        "ToolCallUpdate.capabilities",
        "TerminalUpdate.capabilities",
    }
    assert {"RunningStateUpdate.background", "IdleStateUpdate.background"} <= of("field", *both)
    # Auth status, archive, session status and titles, proxies, in the unstable one.
    assert of("method", "v2/stable") == set()
    assert of("method", "v2/unstable") == {
        "auth/status",
        "auth/status_update",
        "session/archive",
        "session/unarchive",
        "session/status",
        "session/set_title",
        "proxy/initialize",
        "proxy/successor",
    }
    assert of("capability", "v2/unstable") == {
        "SessionCapabilities.archive",
        "SessionCapabilities.status",
        "SessionCapabilities.title",
        "AgentAuthCapabilities.status",
    }
