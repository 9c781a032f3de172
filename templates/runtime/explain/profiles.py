"""The profiles of this package, and the types that messages are read as."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

from ..models import IntConstants, Model, Record
from ..routing import Kind, MethodSpec
from ..unions import Walked

PACKAGE = __name__.rpartition(".runtime.")[0]
KNOWN = "KNOWN_"


class UnknownNameError(Exception):
    """A profile or a type that is not there; the message says which are."""


class Profile:
    """One generated profile."""

    def __init__(self, name: str, module: ModuleType) -> None:
        self.name = name
        self.module = module
        self.version: int = module.PROTOCOL_VERSION
        self.methods: Mapping[Any, MethodSpec] = module.METHODS

    def types(self) -> dict[str, Any]:
        """Everything that a message can be read as, by name."""
        names = (name for name in self.module.__all__ if not name.startswith(KNOWN))
        return {name: form for name in names if is_form(form := getattr(self.module, name))}

    def type(self, name: str) -> Any:
        """A class or union alias. Raises UnknownNameError."""
        types = self.types()
        if name in types:
            return types[name]
        raise UnknownNameError(f"{self.name} has no type {name!r}{_close(name, types)}")

    def specs(self, kind: Kind, name: str) -> list[MethodSpec]:
        """The methods of that kind and name: as a rule one, of one side."""
        return [spec for (_, its_kind, its_name), spec in self.methods.items() if (its_kind, its_name) == (kind, name)]

    def close_method(self, name: str) -> str:
        """What may have been meant by a method that is not there, as the end of a sentence."""
        kinds = {spec.kind for spec in self.methods.values() if spec.name == name}
        if kinds:
            return f", only a {' and a '.join(sorted(kinds))} of that name"
        return _close(name, dict.fromkeys(spec.name for spec in self.methods.values()))

    def docs(self) -> dict[str, str]:
        """The first line of what there is to say about each type. Aliases have docs in the source alone."""
        found: dict[str, str] = {}
        packages = [self.module.__name__.rpartition(".unstable")[0], self.module.__name__]
        for package in filter(None, packages):
            models = importlib.import_module(f"{package}.models")
            source = Path(str(models.__file__)).read_text(encoding="utf-8")
            found |= dict(_documented(ast.parse(source).body))
        return found


def profile_names() -> list[str]:
    """The profiles of this package, the newest version first, stable before unstable."""
    found = []
    for version in importlib.import_module(PACKAGE).__all__:
        if hasattr(importlib.import_module(f"{PACKAGE}.{version}"), "METHODS"):
            found.append(version)
        if importlib.util.find_spec(f"{PACKAGE}.{version}.unstable"):
            found.append(f"{version}.unstable")
    return found


def profile(name: str | None) -> Profile:
    """A profile by name, `v2` or `v2.unstable`; by default the first. Raises UnknownNameError."""
    names = profile_names()
    wanted = names[0] if name is None else name.replace("/", ".").removesuffix(".stable")
    if wanted not in names:
        raise UnknownNameError(f"no profile {name!r}; there are {', '.join(names)}")
    return Profile(wanted, importlib.import_module(f"{PACKAGE}.{wanted}"))


def is_form(value: Any) -> bool:
    """Whether something that a profile exports is a type that messages are read as."""
    if not isinstance(value, type):
        return get_origin(value) is not None or value is Any
    if isinstance(value, Walked) or value in (str, int, float, bool):
        return True
    return issubclass(value, Model | Record | IntConstants) and ".runtime." not in value.__module__


def _close(name: str, known: Mapping[str, Any]) -> str:
    """Names that are like this one, as the end of a sentence."""
    folded: dict[str, str] = {one.casefold(): one for one in known}
    found = [folded[one] for one in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for index, node in enumerate(body):
        if isinstance(node, ast.If):
            yield from _documented(node.body)
        elif isinstance(node, ast.ClassDef):
            yield node.name, _first_line(ast.get_docstring(node))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = body[index + 1] if index + 1 < len(body) else None
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            yield node.target.id, _first_line(str(text))


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
