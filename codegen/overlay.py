"""A folder of templates of one's own, laid over those that ship.

A file with the path of a shipped one takes its place, and reaches it as `shipped/<path>`. Every other file is one more
output: `profile/x.jinja` is rendered to `x` in the folder of each profile, `project/x` goes beside the package,
anything else into it. `{profile}` in a path stands for the name of each profile, `v2` or `v2-unstable`. What does not
end in `.jinja` is copied as it is. Templates whose names begin with one underscore are for others to include.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.environment import SHIPPED
from codegen.errors import CodegenError, Diagnostic, fail

JINJA = ".jinja"
PROFILE = "{profile}"
PER_PROFILE = "profile"
BESIDE = "project"


@dataclass(frozen=True, slots=True)
class Extra:
    """One file of the folder that is an output of its own. `text` is that of a file to be copied."""

    template: str
    text: str | None

    @property
    def per_profile(self) -> bool:
        """Whether there is one for each profile."""
        return PROFILE in self.template or self.template.startswith(f"{PER_PROFILE}/")

    def output(self, package: str, folder: str, slug: str) -> str:
        """Where it goes, below the output folder. `folder` and `slug` are those of a profile."""
        top, _, rest = self.template.removesuffix(JINJA).partition("/")
        if rest and top == PER_PROFILE:
            path = f"{package}/{folder}/{rest}"
        else:
            path = rest if rest and top == BESIDE else f"{package}/{top}{'/' if rest else ''}{rest}"
        return path.replace(PROFILE, slug)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A user's folder, read: which files take the place of shipped ones (copied ones as text), which come beside."""

    folder: Path
    replaced: frozenset[str] = frozenset()
    copies: tuple[tuple[str, str], ...] = ()
    extras: tuple[Extra, ...] = ()


def read_overlay(folder: Path, shipped: Path) -> Overlay:
    """A folder of templates. Raises CodegenError for links, for what is not UTF-8, and for a folder with nothing."""
    if not folder.is_dir():
        raise fail(str(folder), "no folder", "a folder of templates")
    problems: list[Diagnostic] = []
    replaced, copies, extras = [], [], []
    for path in _files(folder, problems):
        name = path.relative_to(folder).as_posix()
        is_template = name.endswith(JINJA)
        text = None if is_template else _text(path, problems)
        if (shipped / name).is_file():
            replaced.append(name)
            if text is not None:
                copies.append((name, text))
        elif name.startswith(f"{SHIPPED}/"):
            problems.append(
                Diagnostic(str(path), f"a folder {SHIPPED!r}", "another name: that one means our templates")
            )
        elif not is_template or not _is_partial(path.name):
            extras.append(Extra(name, text))
    if not problems and not replaced and not extras:
        problems.append(Diagnostic(str(folder), "no template", "files as in docs/templates.md"))
    if problems:
        raise CodegenError(problems)
    return Overlay(folder, frozenset(replaced), tuple(copies), tuple(extras))


def _is_partial(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _files(folder: Path, problems: list[Diagnostic]) -> Iterator[Path]:
    """Files in order, but for hidden ones, caches, and a README that is about the folder."""

    def unreadable(error: OSError) -> None:
        problems.append(Diagnostic(str(error.filename), error.strerror or str(error), "a folder that can be read"))

    for place, folders, files in os.walk(folder, onerror=unreadable):
        here = Path(place)
        for name in sorted((*folders, *files)):
            if (here / name).is_symlink():
                problems.append(Diagnostic(str(here / name), "a symbolic link", "the file itself"))
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one != "__pycache__")
        for name in sorted(files):
            about = here == folder and name.upper().startswith("README") and not name.endswith(JINJA)
            if not name.startswith(".") and not about:
                yield here / name


def _text(path: Path, problems: list[Diagnostic]) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeError) as error:
        problems.append(Diagnostic(str(path), str(error), "text in UTF-8"))
        return None
