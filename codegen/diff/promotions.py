"""What became of experiments: promoted from unstable to stable, or withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegen import ir
from codegen.diff.fits import members, tagged
from codegen.diff.methods import describe
from codegen.diff.report import Change

PROMOTED = "promoted from unstable"
WITHDRAWN = "an experiment withdrawn"


def marked(changes: Sequence[Change], old: Mapping[str, ir.Profile], new: Mapping[str, ir.Profile]) -> list[Change]:
    """The changes, with a note on each that ends an experiment. `old` and `new` are profiles by name."""
    return [_marked(change, old, new) for change in changes]


def _marked(change: Change, old: Mapping[str, ir.Profile], new: Mapping[str, ir.Profile]) -> Change:
    version, _, channel = change.profiles[0].partition("/")
    stable, unstable = f"{version}/stable", f"{version}/unstable"
    if change.action == "added" and channel == "stable" and unstable in old and _has(old[unstable], change):
        return replace(change, notes=(*change.notes, PROMOTED))
    # Of what stable never had, whoever used it knew that it might go.
    if change.action == "removed" and channel == "unstable" and stable in old and not _has(old[stable], change):
        return replace(change, notes=(*change.notes, WITHDRAWN))
    return change


def _has(profile: ir.Profile, change: Change) -> bool:
    """Whether a profile has what was added or removed, by its name."""
    match change.subject:
        case "method":
            return any(describe(one) == change.owner for one in profile.methods)
        case "promise":
            return change.member in profile.baseline.get(change.owner, ())
        case "profile" | "protocol" | "need":
            return False
    definition = profile.definitions.get(change.owner)
    if definition is None or not change.member:
        return definition is not None
    if isinstance(definition, ir.Enum):
        return change.member in {str(value) for _, value in definition.members}
    union = tagged(definition)
    if union is not None and change.subject == "variant":
        return _has_variant(union, change.member.split("/"))
    return change.member in members(definition, profile.definitions)


def _has_variant(union: ir.TaggedUnion, path: Sequence[str]) -> bool:
    target = next((one.target for one in union.variants if one.value == path[0]), None)
    if isinstance(target, ir.TaggedUnion):
        return len(path) > 1 and _has_variant(target, path[1:])
    return target is not None
