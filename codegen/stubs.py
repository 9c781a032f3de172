"""TOML to paste: entries for docs.toml and names.toml that want filling in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from codegen import ir, names
from codegen.schema.lock import toml_text

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def docs_stubs(profiles: Sequence[ir.Profile], version: str, places: Iterable[str]) -> str:
    """Entries of docs.toml for what `undocumented` lists of a version: `Name` and `Name.wireName`."""
    owners = {name: owner for one in profiles if one.version == version for name, owner in _owners(one).items()}
    own: dict[str, None] = {}
    fields: dict[str, dict[str, None]] = {}
    for place in places:
        name, _, wire = place.partition(".")
        if wire:
            fields.setdefault(owners.get(name) or _original(name), {})[wire] = None
        else:
            own[_original(name)] = None
    tables = []
    for name in dict.fromkeys([*own, *fields]):
        lines = [f"[{_key(name)}]", 'doc = ""'] if name in own else []
        if name in fields:
            lines += [f"[{_key(name)}.fields]", *(f'{_key(wire)} = ""' for wire in fields[name])]
        tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def names_stubs(uncurated: Mapping[tuple[str, str], str]) -> str:
    """Entries of names.toml for classes that the naming rule named, with that name to be bettered."""
    unions = dict.fromkeys(union for union, _ in uncurated)
    tables = [
        f"[{_key(union)}]\n"
        + "".join(f"{_key(rule)} = [{toml_text(key)}]\n" for (of, key), rule in uncurated.items() if of == union)
        for union in unions
    ]
    return "\n".join(tables)


def _owners(profile: ir.Profile) -> dict[str, str]:
    """For each class that no definition is: the union whose entry documents its properties."""
    owners: dict[str, str] = {}

    def collect(union: ir.TaggedUnion) -> None:
        targets = [union.default, union.fallback]
        for variant in union.variants:
            if isinstance(variant.target, str):
                targets.append(variant.target)
            else:
                collect(variant.target)
        for target in targets:
            if target and target not in profile.exported:
                owners.setdefault(target, _original(union.name))

    for definition in profile.definitions.values():
        if isinstance(definition, ir.TaggedUnion):
            collect(definition)
    return owners


def _original(name: str) -> str:
    """What the schema calls a definition: `names.class_name` the other way round."""
    return name[:-1] if name.endswith("_") and names.class_name(name[:-1]) == name else name


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else toml_text(text)
