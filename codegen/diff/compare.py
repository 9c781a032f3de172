"""Profiles in, a report out. Pure: equal inputs give equal reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from codegen import ir
from codegen.diff import notation
from codegen.diff.flows import EITHER
from codegen.diff.methods import compare_methods, compare_promises
from codegen.diff.pair import Pair
from codegen.diff.promotions import marked
from codegen.diff.report import Change, Flow, Origin, Pairing, Report, Table
from codegen.diff.shapes import compare_definition
from codegen.diff.tables import table


def compare(old: Sequence[ir.Profile], new: Sequence[ir.Profile], notes: Sequence[str] = ()) -> Report:
    """What changed from the old profiles to the new ones.

    Profiles of one name are compared. Where each side has just one, these two are, whatever they are called: that is
    how two protocol versions, or both channels of one, are compared. `notes` are kept for the renderers.
    """
    pairs = _pairs(old, new)
    changes: list[Change] = []
    tables: list[Table] = []
    for pair in pairs:
        _compare(pair)
        changes += pair.changes
        tables += _tables(pair)
    before, after = ({one.name: one for one in profiles} for profiles in (old, new))
    if len(pairs) == len(before) == 1 and len(after) == 1:
        before = after = {}
    changes += _whole(before, after)
    changes = marked(changes, before, after)
    names = tuple(dict.fromkeys(name for one in changes for name in one.profiles))
    compared = tuple(dict.fromkeys((*(pair.new.name for pair in pairs), *names)))
    return Report(
        tuple(map(_origin, old)),
        tuple(map(_origin, new)),
        compared,
        tuple(_merged_changes(changes)),
        tuple(_merged_tables(tables)),
        tuple(_pairings(compared, changes)),
        tuple(notes),
    )


def _pairs(old: Sequence[ir.Profile], new: Sequence[ir.Profile]) -> list[Pair]:
    if len(old) == len(new) == 1:
        return [Pair(old[0], new[0])]
    there = {profile.name: profile for profile in new}
    return [Pair(one, there[one.name]) for one in old if one.name in there]


def _origin(profile: ir.Profile) -> Origin:
    return Origin(profile.name, profile.source.source, profile.source.version)


def _whole(old: Mapping[str, ir.Profile], new: Mapping[str, ir.Profile]) -> Iterable[Change]:
    """Profiles that only one side has."""
    for name in dict.fromkeys((*old, *new)):
        if name in old and name in new:
            continue
        profile = new.get(name) or old[name]
        text = f"{len(profile.exported)} definitions, {len(profile.methods)} methods"
        pair = Pair(profile, profile)
        if name in new:
            pair.emit("profile-added", "added", "profile", ("", name), "", "", text, flows=EITHER)
        else:
            pair.emit("profile-removed", "removed", "profile", (name, ""), "", text, flows=EITHER)
        yield from pair.changes


def _compare(pair: Pair) -> None:
    old, new, matching = pair.old, pair.new, pair.matching
    if old.version != new.version:
        owner = (old.name, new.name)
        pair.emit("protocol-version", "changed", "protocol", owner, "", str(old.number), str(new.number), flows=EITHER)
    compare_methods(pair)
    compare_promises(pair)
    renames = {one.new: one for one in matching.renames}
    for name, definition in new.definitions.items():
        if name not in matching.back:
            pair.emit("definition-added", "added", "definition", ("", name), "", "", notation.kind_of(definition))
            continue
        owner = (matching.back[name], name)
        if name in renames:
            note = (str(renames[name]),)
            pair.emit("definition-renamed", "renamed", "definition", owner, "", owner[0], name, notes=note)
        compare_definition(pair, owner)
    for name, definition in old.definitions.items():
        if name not in matching.of:
            pair.emit("definition-removed", "removed", "definition", (name, ""), "", notation.kind_of(definition))


def _tables(pair: Pair) -> Iterable[Table]:
    changed = {change.owner for change in pair.changes if change.kind != "definition-docs"}
    for name in pair.new.definitions:
        if name in changed:
            yield table(pair.old, pair.new, pair.matching.back.get(name, ""), name)
    for name in pair.old.definitions:
        if name in changed and name not in pair.matching.of:
            yield table(pair.old, pair.new, name, "")


def _merged_changes(changes: Iterable[Change]) -> Iterable[Change]:
    """Changes that profiles share, once, with the names of all of these."""
    found: dict[Change, Change] = {}
    for change in changes:
        key = replace(change, profiles=(), flows=())
        known = found.get(key)
        if known is None:
            found[key] = change
        else:
            flows = tuple(sorted({*known.flows, *change.flows}))
            found[key] = replace(known, profiles=(*known.profiles, *change.profiles), flows=flows)
    return found.values()


def _merged_tables(tables: Iterable[Table]) -> Iterable[Table]:
    found: dict[Table, Table] = {}
    for one in tables:
        key = replace(one, profiles=())
        known = found.get(key)
        found[key] = replace(one, profiles=(*known.profiles, *one.profiles)) if known else one
    return found.values()


def _pairings(profiles: Iterable[str], changes: Sequence[Change]) -> Iterable[Pairing]:
    """An old peer and a new one on one connection, for each two roles, both ways round."""
    for profile in profiles:
        own = [change for change in changes if profile in change.profiles]
        roles = {tuple(sorted(flow)) for change in own for flow in change.flows} | {("agent", "client")}
        for one, other in sorted(roles):
            for old, new in ((other, one), (one, other)):
                broken = sum(_breaks(change, (old, new)) for change in own)
                yield Pairing((profile,), old, new, broken)


def _breaks(change: Change, roles: Flow) -> bool:
    """Whether a peer of the first role, as it was, and one of the second, as it is, cannot say this to each other."""
    flows = change.flows or EITHER
    old, new = roles
    return (change.senders.level == "breaking" and (old, new) in flows) or (
        change.receivers.level == "breaking" and (new, old) in flows
    )
