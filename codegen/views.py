"""What the templates print: one flat view for each definition, every string ready, in the order of printing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from codegen import ir
from codegen.names import constant_name
from codegen.python import Printer, docstring, hidden_builtins, literal, strings

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
Needs: TypeAlias = Callable[[str], Iterable[str]]


@dataclass(frozen=True)
class FieldView:
    """One member of a class: annotation, default (empty for none) and docstring as source text."""

    name: str
    annotation: str
    default: str
    doc: str


@dataclass(frozen=True)
class View:
    """One definition, printed by the macro named after its `kind`. What does not apply to that kind is empty.

    `value` is what an alias stands for to type checkers, `runtime` what it is at runtime; `known` and `values` are the
    name and the constants of an open enum's set. Of a class, `heading` is what stands in the parentheses and `lines`
    what comes before the fields. `exports` are the names that it adds to the module.
    """

    kind: Literal["alias", "constants", "class", "union"]
    name: str
    doc: str = ""
    value: str = ""
    known: str = ""
    values: tuple[str, ...] = ()
    heading: str = ""
    lines: tuple[str, ...] = ()
    fields: tuple[FieldView, ...] = ()
    runtime: str = ""
    stands_for: str = ""
    exports: tuple[str, ...] = ()

    def symbols(self) -> set[str]:
        """Every identifier in the code of this view; docs aside."""
        code = [
            self.value,
            self.heading,
            *self.lines,
            self.runtime,
            self.stands_for,
            "TYPE_CHECKING" * bool(self.runtime),
        ]
        code += [part for one in self.fields for part in (one.annotation, one.default)]
        code += {"alias": ["TypeAlias"], "constants": ["TypeAlias", "Final"], "union": ["TypeAlias"]}.get(self.kind, [])
        if self.stands_for:
            code.append("stands_for")
        return {symbol for text in code for symbol in _IDENTIFIER.findall(text)}


class Views:
    """Views of the definitions that a profile's own module has to define."""

    def __init__(self, profile: ir.Profile, own: frozenset[str]) -> None:
        self.own = own
        self.definitions = profile.definitions
        self.printer = Printer(profile.definitions)

    def ordered(self) -> list[View]:
        """Classes first, bases before what inherits from them; then aliases and unions, each after what it names."""
        names = [name for name in self.definitions if name in self.own]
        ordered: dict[str, None] = {}
        for name in names:
            if self._is_class(name):
                self._place(name, ordered, self._bases)
        for name in names:
            if not self._is_class(name):
                self._place(name, ordered, self._eager)
        return [self.view(name) for name in ordered]

    def _is_class(self, name: str) -> bool:
        return isinstance(self.definitions[name], ir.Struct | ir.Record | ir.Fallback)

    def _bases(self, name: str) -> Iterator[str]:
        definition = self.definitions[name]
        if isinstance(definition, ir.Struct) and definition.base:
            yield definition.base

    def _eager(self, name: str) -> Iterator[str]:
        """Aliases that must be there when this one is evaluated."""
        yield from (one for one in ir.references(self.definitions[name]) if not self._is_class(one))

    def _place(self, name: str, ordered: dict[str, None], needs: Needs) -> None:
        # This ends: lowering has refused bases and aliases that lead back to themselves.
        if name in ordered or name not in self.own:
            return
        for needed in needs(name):
            self._place(needed, ordered, needs)
        ordered[name] = None

    def view(self, name: str) -> View:
        match self.definitions[name]:
            case ir.Alias() as alias:
                return View("alias", name, _doc(alias.doc), self.printer.annotation(alias.type), exports=(name,))
            case ir.Enum() as enum:
                return self._enum(enum)
            case ir.Struct() as struct:
                return self._struct(struct)
            case ir.Record() as record:
                return View(
                    "class", name, _doc(record.doc), heading="OpenRecord", lines=("__slots__ = ()",),
                    fields=self._fields(record.fields), exports=(name,),
                )  # fmt: skip
            case ir.Fallback() as fallback:
                lines = ["__slots__ = ()", f"_tag: ClassVar[str] = {literal(fallback.tag)}", *_groups(fallback.groups)]
                return View(
                    "class", name, _doc(fallback.doc), heading="UnknownVariant", lines=tuple(lines),
                    fields=self._fields(fallback.fields, fallback.groups), exports=(name,),
                )  # fmt: skip
            case ir.TaggedUnion() as union:
                value = " | ".join(union.classes())
                runtime = f"tagged_union({described(union)})"
                return View("union", name, _doc(union.doc), value, runtime=runtime, exports=(name,))
            case ir.UntaggedUnion() as union:
                options = [self.printer.annotation(option) for option in union.options]
                runtime = f"untagged_union({', '.join([literal(name), *options])})"
                return View("union", name, _doc(union.doc), " | ".join(options), runtime=runtime, exports=(name,))

    def _enum(self, enum: ir.Enum) -> View:
        if enum.kind == "integer" and enum.open:
            constants = {constant_name(title): value for title, value in enum.members}
            lines = [f"{name}: Final = {literal(value)}" for name, value in constants.items()]
            kind = self.printer.annotation(ir.Scalar("integer", enum.minimum, enum.maximum))
            lines.insert(0, f"_type: ClassVar[Any] = {kind}")
            return View(
                "class", enum.name, _doc(enum.doc), heading="IntConstants", lines=tuple(lines), exports=(enum.name,)
            )
        values = [value for _, value in enum.members]
        text = f"Literal[{', '.join(map(literal, values))}]"
        if not enum.open:
            return View("alias", enum.name, _doc(enum.doc), text, exports=(enum.name,))
        known = f"KNOWN_{constant_name(enum.name)}"
        exports = (enum.name, known)
        return View(
            "constants", enum.name, _doc(enum.doc), f"{text} | str", known, tuple(map(literal, values)), exports=exports
        )

    def _struct(self, struct: ir.Struct) -> View:
        heading = [struct.base or "Model", "kw_only=True"]
        if struct.tag:
            heading += [f"tag_field={literal(struct.tag.wire)}", f"tag={literal(struct.tag.value)}"]
        lines = []
        if struct.tag and not struct.definition:
            lines.append("_definition: ClassVar[bool] = False")
        if struct.variant_only:
            lines.append(f"_variant_only: ClassVar[tuple[str, ...]] = {strings(struct.variant_only)}")
        if not self._inherits_groups(struct):
            lines += _groups(struct.groups)
            if struct.groups:
                lines += ["", "def __post_init__(self) -> None:", "    self._groups.settle(self)", ""]
        stands = described(struct.stands_for) if struct.stands_for else ""
        return View(
            "class", struct.name, _doc(struct.doc), heading=", ".join(heading), lines=tuple(lines),
            fields=self._fields(struct.fields, struct.groups), stands_for=stands, exports=(struct.name,),
        )  # fmt: skip

    def _inherits_groups(self, struct: ir.Struct) -> bool:
        base = self.definitions.get(struct.base or "")
        return isinstance(base, ir.Struct) and base.groups == struct.groups

    def _fields(self, fields: tuple[ir.Field, ...], groups: ir.Groups | None = None) -> tuple[FieldView, ...]:
        hidden = hidden_builtins(fields)
        grouped = {name for group in groups.groups for name in group.members} if groups else set()
        return tuple(
            FieldView(
                one.name,
                self.printer.field(one, hidden, one.name in grouped and not one.default),
                self.printer.default(one, hidden, one.name in grouped),
                _doc(one.doc),
            )
            for one in fields
        )


def described(union: ir.TaggedUnion) -> str:
    """The runtime description of a tagged union, nested ones inside it."""
    variants = ", ".join(
        f"{literal(variant.value)}: {variant.target if isinstance(variant.target, str) else described(variant.target)}"
        for variant in union.variants
    )
    parts = [literal(union.name), literal(union.tag), "{" + variants + "}"]
    if union.fallback:
        parts.append(f"fallback={union.fallback}")
    if union.default:
        parts.append(f"default={union.default}")
    if union.excluded:
        parts.append(f"excluded={strings(union.excluded)}")
    if union.foreign:
        parts.append(f"foreign={strings(union.foreign)}")
    return f"TaggedUnion({', '.join(parts)})"


def _groups(groups: ir.Groups | None) -> list[str]:
    if groups is None:
        return []
    parts = [f"({literal(one.title)}, {strings(one.members)}, {strings(one.required)})" for one in groups.groups]
    return [f"_groups: ClassVar[Groups] = Groups({', '.join([str(groups.exclusive), *parts])})"]


def _doc(text: str) -> str:
    return docstring(text) if text.strip() else ""
