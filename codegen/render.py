"""IR to files: every template with its context, then black. Pure but for reading templates: {path: text} comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from codegen import ir
from codegen.contexts import MARK, folder, generation_context, module_contexts, profile_context, version_context
from codegen.environment import environment, render_template
from codegen.errors import CodegenError, Diagnostic, fail
from codegen.formatting import format_all
from codegen.overlay import Extra, Overlay

PROJECT = ("pyproject.toml", "README.md")


class _Renderer:
    """Renders shipped templates and, where there are any, those of a user."""

    def __init__(self, profiles: Sequence[ir.Profile], package: str, templates: Path, overlay: Overlay | None) -> None:
        self.profiles = profiles
        self.package = package
        self.templates = templates
        self.overlay = overlay
        own = overlay.folder if overlay else None
        self.template = partial(render_template, environment(templates, own), own=own)
        self.whole = vars(generation_context(profiles, package))
        self.contexts = {profile.name: profile_context(profile, profiles, package) for profile in profiles}

    def package_code(self) -> Iterator[tuple[str, str, str]]:
        """The package's own modules: path, the template that it is from, and text."""
        names = {profile.name for profile in self.profiles}
        for profile in self.profiles:
            for module, context in module_contexts(self.contexts[profile.name], self.profiles):
                path = f"{self.package}/{folder(profile)}/{module}"
                yield path, *self._rendered(f"profile/{module}.jinja", vars(context))
            if profile.channel == "unstable" and f"{profile.version}/stable" not in names:
                path = f"{self.package}/{profile.version}/__init__.py"
                yield path, *self._rendered("version.py.jinja", vars(version_context(profile)))
        yield f"{self.package}/__init__.py", *self._rendered("__init__.py.jinja", self.whole)

    def _rendered(self, template: str, context: Mapping[str, Any]) -> tuple[str, str]:
        return template, self.template(template, context=context)

    def copied(self) -> Iterator[tuple[str, str]]:
        """The runtime and whatever else is no template."""
        instead = dict(self.overlay.copies) if self.overlay else {}
        templates = self.templates
        for source in (*templates.glob("runtime/**/*.py"), *templates.glob("*.py"), templates / "py.typed"):
            name = source.relative_to(templates).as_posix()
            yield f"{self.package}/{name}", instead.get(name) or source.read_text(encoding="utf-8")

    def extra(self, extra: Extra) -> Iterator[tuple[str, str]]:
        """What one of the user's own templates makes: path and text."""
        contexts = [(profile, vars(self.contexts[profile.name])) for profile in self.profiles]
        if not extra.per_profile:
            yield extra.output(self.package, "", ""), self._extra_text(extra, self.whole)
            return
        for profile, context in contexts:
            where = folder(profile)
            yield extra.output(self.package, where, where.replace("/", "-")), self._extra_text(extra, context)

    def _extra_text(self, extra: Extra, context: Mapping[str, Any]) -> str:
        return self.template(extra.template, context=context) if extra.text is None else extra.text


def render(
    profiles: Sequence[ir.Profile],
    package: str,
    templates: Path,
    project: bool,
    overlay: Overlay | None = None,
    beside_only: bool = False,
) -> dict[str, str]:
    """All files by path below the output folder. `project` adds what makes the package pip-installable.

    With `beside_only` nothing but what the overlay puts beside the package. Raises CodegenError for templates of a user
    that do not render, or that write the same file.
    """
    renderer = _Renderer(profiles, package, templates, overlay)
    code: dict[str, str] = {}
    files: dict[str, str] = {}
    origins: dict[str, str] = {}
    if not beside_only:
        for path, template, text in renderer.package_code():
            code[path], origins[path] = text, template
        files |= renderer.copied()
        if project:
            for name in PROJECT:
                files[name] = renderer.template(f"project/{name}.jinja", context=renderer.whole)
    if overlay is not None:
        _add_extras(renderer, overlay, beside_only, code, files, origins)
        _check_code(code, origins, overlay)
    return dict(sorted((files | format_all(code)).items()))


def _add_extras(
    renderer: _Renderer,
    overlay: Overlay,
    beside_only: bool,
    code: dict[str, str],
    files: dict[str, str],
    origins: dict[str, str],
) -> None:
    """Put what a user adds to the rest. Raises CodegenError."""
    problems: list[Diagnostic] = []
    for extra in overlay.extras:
        place = str(overlay.folder / extra.template)
        for path, text in renderer.extra(extra):
            inside = path.startswith(f"{renderer.package}/")
            if beside_only and inside:
                continue
            if path in code or path in files:
                expected = "a path of its own; a template that is to replace another has the same name"
                problems.append(Diagnostic(place, f"{path}, which {origins.get(path, 'the package')} is", expected))
            elif not inside and MARK not in text.partition("\n")[0]:
                expected = "{{ header }} there, so that the file is known as generated"
                problems.append(Diagnostic(place, "a first line without the header", expected))
            origins[path] = extra.template
            is_code = path.endswith(".py") and extra.text is None
            (code if is_code else files)[path] = text
    if problems:
        raise CodegenError(problems)


def _check_code(code: Mapping[str, str], origins: Mapping[str, str], overlay: Overlay) -> None:
    """Refuse what is no Python before black does, with the template that it is from."""
    own = overlay.replaced | {extra.template for extra in overlay.extras}
    for path, text in code.items():
        try:
            compile(text, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            # A shipped template may include one of the user's.
            template = origins[path]
            place = str(overlay.folder / template) if template in own else str(overlay.folder)
            line = getattr(error, "lineno", None)
            found = f"line {line} of {path}: {error.args[0]}" if line else f"{path}: {error}"
            raise fail(place, found, "a template that makes Python") from None
