"""TOML to paste: entries for docs.toml and names.toml that want filling in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from codegen import ir, names
from codegen.annotations import path_key
from codegen.schema.lock import toml_text

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def docs_stubs(profiles: Sequence[ir.Profile], version: str, places: Iterable[str]) -> str:
    """Entries of docs.toml for what `undocumented` lists of a version: `Name` and `Name.wireName`.

    A class that is no definition goes by its union and the tags that lead to it, whatever it is called later.
    """
    variants = {name: way for one in profiles if one.version == version for name, way in _variants(one).items()}
    tables: dict[tuple[str, str], dict[str, None]] = {}
    for place in places:
        name, _, wire = place.partition(".")
        union, path = variants.get(name, (_original(name), ""))
        table, key = ("fields", wire) if wire else ("variants", path) if path else ("", "doc")
        tables.setdefault((union, table), {})[key] = None
    order = list(dict.fromkeys(owner for owner, _ in tables))
    texts: dict[str, str] = {}
    for owner, table in sorted(tables, key=lambda one: (order.index(one[0]), one[1])):
        header = f"[{_key(owner)}.{table}]" if table else f"[{_key(owner)}]"
        lines = [header, *(f'{_key(key)} = ""' for key in tables[owner, table])]
        texts[owner] = texts.get(owner, "") + "\n".join(lines) + "\n"
    return "\n".join(texts.values())


def names_stubs(uncurated: Mapping[tuple[str, str], str]) -> str:
    """Entries of names.toml for classes that the naming rule named, with that name to be bettered."""
    unions = dict.fromkeys(union for union, _ in uncurated)
    tables = [
        f"[{_key(union)}]\n"
        + "".join(f"{_key(rule)} = [{toml_text(key)}]\n" for (of, key), rule in uncurated.items() if of == union)
        for union in unions
    ]
    return "\n".join(tables)


def _variants(profile: ir.Profile) -> dict[str, tuple[str, str]]:
    """For each class that no definition is: the union that it is a variant of, and the key of its tags."""
    found: dict[str, tuple[str, str]] = {}

    def collect(outer: str, union: ir.TaggedUnion, path: tuple[str, ...]) -> None:
        for variant in union.variants:
            here = (*path, variant.value)
            if isinstance(variant.target, ir.TaggedUnion):
                collect(outer, variant.target, here)
            elif variant.target not in profile.exported:
                found.setdefault(variant.target, (outer, path_key(here)))

    for definition in profile.definitions.values():
        if isinstance(definition, ir.TaggedUnion):
            collect(_original(definition.name), definition, ())
    return found


def _original(name: str) -> str:
    """What the schema calls a definition: `names.class_name` the other way round."""
    return name[:-1] if name.endswith("_") and names.class_name(name[:-1]) == name else name


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else toml_text(text)
