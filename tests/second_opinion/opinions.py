"""Plain objects as two generators read them: the properties by wire name, which are required, which may be null."""

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from codegen import ir

TIMEOUT = 120  # seconds


@dataclass(frozen=True)
class Property:
    required: bool
    nullable: bool


def ours(profile: ir.Profile) -> dict[str, dict[str, Property]]:
    """The schema's own plain objects as we read them: no unions, no property groups.

    A class that doubles as a union's variant counts without what only the variant has.
    """
    found = {}
    for name in profile.exported:
        definition = profile.definitions[name]
        if isinstance(definition, ir.Record) or (isinstance(definition, ir.Struct) and _is_plain(definition)):
            fields = [one for one in _fields(profile, definition) if one.name not in _borrowed(definition)]
            found[name] = {one.wire: Property(one.required, _is_nullable(profile, one.type)) for one in fields}
    return found


def _is_plain(struct: ir.Struct) -> bool:
    return struct.groups is None and struct.stands_for is None


def _borrowed(definition: ir.Struct | ir.Record) -> tuple[str, ...]:
    return definition.variant_only if isinstance(definition, ir.Struct) else ()


def _fields(profile: ir.Profile, definition: ir.Struct | ir.Record) -> list[ir.Field]:
    base = profile.definitions[definition.base] if isinstance(definition, ir.Struct) and definition.base else None
    return [*(_fields(profile, base) if isinstance(base, ir.Struct) else ()), *definition.fields]


def _is_nullable(profile: ir.Profile, kind: ir.Type) -> bool:
    match kind:
        case ir.Nullable() | ir.AnyType() | ir.Scalar(kind="null"):
            return True
        case ir.Choice(options):
            return any(_is_nullable(profile, option) for option in options)
        case ir.Ref(name):
            target = profile.definitions[name]
            if isinstance(target, ir.UntaggedUnion):
                return any(_is_nullable(profile, option) for option in target.options)
            return isinstance(target, ir.Alias) and _is_nullable(profile, target.type)
    return False


def theirs(schema: Path) -> dict[str, dict[str, Property]]:
    """Every class that datamodel-code-generator makes of a schema. Its output is read, not run."""
    command = [sys.executable, "-m", "datamodel_code_generator", "--input", str(schema)]
    command += ["--input-file-type", "jsonschema", "--output-model-type", "msgspec.Struct"]
    command += ["--target-python-version", "3.11", "--formatters", "builtin"]  # whatever Python this runs on
    command += ["--disable-timestamp", "--disable-warnings"]
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    return read_classes(made.stdout)


def read_classes(source: str) -> dict[str, dict[str, Property]]:
    """The classes of a module of msgspec structs, with what they inherit."""
    body = ast.parse(source).body
    classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    aliases = {
        node.target.id: node.value
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
    }

    def members(name: str) -> dict[str, Property]:
        found: dict[str, Property] = {}
        for base in classes[name].bases:
            if isinstance(base, ast.Name) and base.id in classes:
                found |= members(base.id)
        for node in classes[name].body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                wire, required = _described(node.target.id, node.value)
                found[wire] = Property(required, _allows_none(node.annotation, aliases))
        return found

    return {name: members(name) for name in classes}


def _described(name: str, default: ast.expr | None) -> tuple[str, bool]:
    """The wire name of a member, and whether it has to be there: `field(name=...)` may say."""
    if isinstance(default, ast.Call) and isinstance(default.func, ast.Name) and default.func.id == "field":
        given = {keyword.arg: keyword.value for keyword in default.keywords}
        renamed = given.get("name")
        wire = renamed.value if isinstance(renamed, ast.Constant) else name
        return str(wire), not {"default", "default_factory"} & given.keys()
    return name, default is None


def _allows_none(annotation: ast.expr, aliases: dict[str, ast.expr]) -> bool:
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _allows_none(left, aliases) or _allows_none(right, aliases)
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, *_])):
            return _allows_none(inner, aliases)
        case ast.Constant(value=str(text)):
            return _allows_none(ast.parse(text, mode="eval").body, aliases)
        case ast.Constant(value=None) | ast.Name(id="Any"):
            return True
        case ast.Name(id=name) if name in aliases:
            return _allows_none(aliases[name], aliases)
    return False
