"""Our own facts beside the schema: curated class names (names.toml) and docstrings (docs.toml), one set per version.

What methods need (capabilities.toml) is read by `capabilities`. All are optional. Without names the naming rule
decides; without docs the schema's own descriptions are used.

    names.toml          [UNION]  CLASS = ["tag", "tag/nested tag", "*"]    a branch without a tag by its title
    docs.toml           [DEFINITION] doc = "..."        [DEFINITION.fields] wireName = "..."
                        [UNION.variants] "tag/nested" = "..."
                        ["*".fields] wireName = "..."      for that property wherever nothing else is said
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.errors import CodegenError, Diagnostic, fail

EVERYWHERE = "*"
FALLBACK = "*"


def path_key(path: tuple[str, ...]) -> str:
    """Tags joined by slashes; a slash inside a tag is written `~1`, a tilde `~0`, as in JSON Pointers."""
    return "/".join(tag.replace("~", "~0").replace("/", "~1") for tag in path)


@dataclass
class Names:
    """Curated names of synthesised classes. Remembers what was asked for, so that stale entries can be reported.

    `uncurated` has the classes that the naming rule had to name, by union and path key.
    """

    place: str = ""
    entries: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)
    uncurated: dict[tuple[str, str], str] = field(default_factory=dict)

    def lookup(self, union: str, path: tuple[str, ...]) -> str | None:
        key = path_key(path)
        found = self.entries.get(union, {}).get(key)
        if found is not None:
            self.used.add((union, key))
        return found

    def ruled(self, union: str, path: tuple[str, ...], name: str) -> str:
        """`name`, noted as one that the naming rule made."""
        self.uncurated[union, path_key(path)] = name
        return name

    def unused(self) -> Iterator[Diagnostic]:
        """An entry for each variant that lowering never came across."""
        for union, by_path in self.entries.items():
            for key, name in by_path.items():
                if (union, key) not in self.used:
                    yield Diagnostic(
                        f"{self.place} [{union}] {name}",
                        f"the variant {key!r}, which no schema of this version has",
                        "a variant of that union; take the entry out or mend it",
                    )


@dataclass
class Docs:
    """Docstrings by definition, property and variant. Remembers what was asked for, as Names does."""

    place: str = ""
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    used: set[tuple[str, str, str]] = field(default_factory=set)

    def definition(self, name: str) -> str:
        return self._text(name, "doc", "", self.entries.get(name, {}).get("doc"))

    def property(self, name: str, wire: str) -> str:
        own = self._member(name, "fields", wire)
        return own or self._member(EVERYWHERE, "fields", wire)

    def variant(self, union: str, path: tuple[str, ...]) -> str:
        return self._member(union, "variants", path_key(path))

    def _member(self, name: str, table: str, key: str) -> str:
        return self._text(name, table, key, self.entries.get(name, {}).get(table, {}).get(key))

    def _text(self, name: str, table: str, key: str, text: object) -> str:
        if text is None:
            return ""
        self.used.add((name, table, key))
        return str(text)

    def unused(self) -> Iterator[Diagnostic]:
        """An entry for each text that lowering never asked for."""
        for name, entry in self.entries.items():
            listed = [("doc", "")] if "doc" in entry else []
            listed += [(table, key) for table in ("fields", "variants") for key in entry.get(table, ())]
            for table, key in listed:
                if (name, table, key) not in self.used:
                    yield Diagnostic(
                        f"{self.place} [{name}]", _unused(name, table, key), "what is there; take it out or mend it"
                    )


def _unused(name: str, table: str, key: str) -> str:
    if name == EVERYWHERE:
        return f"the property {key!r}, which every definition that has it documents itself, or none has"
    what = {"doc": "the definition", "fields": f"the property {key!r}", "variants": f"the variant {key!r}"}[table]
    return f"{what}, which no schema of this version has"


def load_names(folder: Path) -> Names:
    """names.toml of a version's folder; empty when there is none. Raises CodegenError for another shape."""
    path = folder / "names.toml"
    entries: dict[str, dict[str, str]] = {}
    for union, classes in read_toml(path).items():
        by_path = entries.setdefault(union, {})
        if not isinstance(classes, dict):
            raise fail(f"{path.name} {union}", "a value", "a table of class names")
        for name, tags in classes.items():
            if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
                raise fail(f"{path.name} [{union}] {name}", repr(tags), "a list of tags")
            for tag in tags:
                if tag in by_path:
                    raise fail(f"{path.name} [{union}]", f"the variant {tag!r} twice", "one name for a variant")
                by_path[tag] = name
    return Names(path.name, entries)


def load_docs(folder: Path) -> Docs:
    """docs.toml of a version's folder; empty when there is none. Raises CodegenError for another shape."""
    path = folder / "docs.toml"
    entries = read_toml(path)
    problems = []
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            problems.append(Diagnostic(f"{path.name} {name}", "a value", "a table of docs"))
            continue
        tables = [entry.get("fields", {}), entry.get("variants", {})]
        texts = [entry.get("doc", ""), *(text for one in tables if isinstance(one, dict) for text in one.values())]
        known = not set(entry) - {"doc", "fields", "variants"} and all(isinstance(one, dict) for one in tables)
        if not known or not all(isinstance(text, str) for text in texts):
            problems.append(
                Diagnostic(f"{path.name} [{name}]", repr(sorted(entry)), "doc, fields and variants as text")
            )
    if problems:
        raise CodegenError(problems)
    return Docs(path.name, entries)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file; empty when there is none. Raises CodegenError for anything that cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise fail(path.name, str(error), "a TOML file in UTF-8") from None
    except OSError as error:
        raise fail(str(path), error.strerror or str(error), "a readable file") from None
