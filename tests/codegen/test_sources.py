"""Sources: what each form of SOURCE reads, and one clear error for each that cannot be read."""

from __future__ import annotations

import gzip
import os
import select
import shutil
import tarfile
from pathlib import Path

import pytest

from codegen.errors import CodegenError
from codegen.sources import fetch, limits
from codegen.sources.npm import is_older, latest
from tests.support.packages import ALL, BY_PROFILE, MANIFEST, FakeNpm, fake_npm, link, package, tarball, tree


def problem(source: str | Path, profile: str | None = None) -> str:
    with pytest.raises(CodegenError) as raised:
        fetch(str(source), profile)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.found and diagnostic.expected
    return str(diagnostic)


def ends(pid: int) -> bool:
    """Whether a process that is no child of ours ends, within a few seconds."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    return fake_npm(tmp_path / "bin", monkeypatch)


# Folders


@pytest.mark.parametrize("below", ["", "schema"])
def test_folder_or_package_root(tmp_path: Path, below: str) -> None:
    tree(tmp_path / "pkg", {**ALL, "package.json": MANIFEST})
    fetched = fetch(str(tmp_path / "pkg" / below))
    assert fetched.files == BY_PROFILE
    assert (fetched.source, fetched.version) == (f"folder:{below or 'pkg'}", "7.8.9")


def test_folder_of_one_version(tmp_path: Path) -> None:
    tree(tmp_path, {**ALL, "package.json": MANIFEST})
    fetched = fetch(str(tmp_path / "schema/v2"))
    assert fetched.files == {"v2/stable": b"2s", "v2/unstable": b"2u"}
    assert (fetched.source, fetched.version) == ("folder:v2", "7.8.9")


@pytest.mark.parametrize("below", ["", "schema/"])
def test_older_folder_keeps_v1_at_its_top(tmp_path: Path, below: str) -> None:
    tree(tmp_path, {f"{below}schema.json": b"old", f"{below}schema.unstable.json": b"new"})
    fetched = fetch(str(tmp_path))
    assert fetched.files == {"v1/stable": b"old", "v1/unstable": b"new"}
    assert fetched.version == "unknown"


def test_v1_folder_wins_over_the_older_place(tmp_path: Path) -> None:
    tree(tmp_path, {"schema.json": b"old", "v1/schema.json": b"new"})
    assert fetch(str(tmp_path)).files == {"v1/stable": b"new"}


def test_profile_picks_from_a_folder(tmp_path: Path) -> None:
    tree(tmp_path, ALL)
    assert fetch(str(tmp_path), "v2/unstable").files == {"v2/unstable": b"2u"}


def test_folder_is_recorded_without_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree(tmp_path / "here", ALL))
    assert fetch(".").source == "folder:here"


def test_manifest_of_an_unrelated_folder_above_is_not_the_version(tmp_path: Path) -> None:
    tree(tmp_path, {"package.json": MANIFEST, "facts/v2/schema.json": b"{}"})
    assert fetch(str(tmp_path / "facts")).version == "unknown"


@pytest.mark.parametrize(
    "manifest", [b"", b"[]", b"{}", b'{"version": 3}', b'{"version": "\\u001b[31m"}', b"\xff", b"[" * 100_000]
)
def test_unusable_manifest_is_an_unknown_version(tmp_path: Path, manifest: bytes) -> None:
    tree(tmp_path, {**ALL, "package.json": manifest})
    assert fetch(str(tmp_path)).version == "unknown"


# Single files


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("v1/schema.json", "v1/stable"),
        ("v2/schema.json", "v2/stable"),
        ("v2/schema.unstable.json", "v2/unstable"),
        ("v1/my-unstable.json", "v1/unstable"),
    ],
)
def test_file_tells_its_profile(tmp_path: Path, name: str, profile: str) -> None:
    fetched = fetch(str(tree(tmp_path, {name: b"x"}) / name))
    assert fetched.files == {profile: b"x"}
    assert (fetched.source, fetched.version) == (f"file:{Path(name).name}", "unknown")


def test_file_relative_to_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree(tmp_path, ALL) / "schema/v2")
    assert fetch("schema.json").files == {"v2/stable": b"2s"}


def test_given_profile_wins_over_the_path(tmp_path: Path) -> None:
    tree(tmp_path, {"package.json": MANIFEST, "schema/v1/schema.json": b"x"})
    fetched = fetch(str(tmp_path / "schema/v1/schema.json"), "v2/unstable")
    assert (fetched.files, fetched.version) == ({"v2/unstable": b"x"}, "7.8.9")


def test_file_that_does_not_tell(tmp_path: Path) -> None:
    path = tree(tmp_path, {"mine.json": b"x"}) / "mine.json"
    assert "--profile" in problem(path)
    assert fetch(str(path), "v1/stable").files == {"v1/stable": b"x"}


# What cannot be read


def test_nothing_there(tmp_path: Path) -> None:
    assert "no such file or folder" in problem(tmp_path / "absent")
    assert "no such file or folder" in problem("\0")
    assert "no such file or folder" in problem("x" * 10_000)
    assert "no such file or folder" in problem("")


def test_folder_without_schemas(tmp_path: Path) -> None:
    assert "v2/schema.unstable.json" in problem(tmp_path)
    (tmp_path / "v2/schema.json").mkdir(parents=True)  # a folder is no file
    assert "no schema file" in problem(tmp_path)


def test_unknown_profile_lists_the_known(tmp_path: Path) -> None:
    assert "v1/stable, v1/unstable, v2/stable, v2/unstable" in problem(tree(tmp_path, ALL), "v3/stable\x1b")
    assert "\x1b" not in problem(tmp_path, "v3/stable\x1b")


def test_profile_that_a_folder_lacks(tmp_path: Path) -> None:
    text = problem(tree(tmp_path, {"v1/schema.json": b""}), "v2/stable")
    assert "only v1/stable" in text and "--profile" in text


def test_oversized_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SCHEMA_SIZE", 3)
    path = tree(tmp_path, {"v2/schema.json": b"123", "v1/schema.json": b"1234"})
    assert fetch(str(path / "v2/schema.json")).files == {"v2/stable": b"123"}
    assert "at most 3 bytes" in problem(path / "v1/schema.json")


def test_file_that_breaks_while_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tree(tmp_path, ALL) / "schema/v2/schema.json"

    def broken(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", broken)
    assert "Permission denied" in problem(path)


# npm


def test_npm_package(npm: FakeNpm) -> None:
    args = npm(package({**ALL, "schema/README.md": b"", "dist/schema/v1/schema.json": b"no"}))
    fetched = fetch("npm:@scope/pkg@7.8.9")
    assert fetched.files == BY_PROFILE
    assert (fetched.source, fetched.version) == ("npm:@scope/pkg@7.8.9", "7.8.9")
    assert args.read_text().split() == ["pack", "--ignore-scripts", "--", "@scope/pkg@7.8.9"]


@pytest.mark.parametrize("asked", ["npm:pkg", "npm:pkg@latest"])
def test_npm_records_the_version_that_it_got(npm: FakeNpm, asked: str) -> None:
    npm(package({"schema/schema.json": b"old"}))
    fetched = fetch(asked)
    assert (fetched.source, fetched.version) == ("npm:pkg@7.8.9", "7.8.9")
    assert fetched.files == {"v1/stable": b"old"}


def test_latest_version(npm: FakeNpm) -> None:
    args = npm(shown='"7.8.9"\n')
    assert latest("npm:@scope/pkg@1.0.0") == "7.8.9"
    assert args.read_text().split() == ["view", "--json", "--", "@scope/pkg@latest", "version"]


@pytest.mark.parametrize("shown", ["", "7.8.9", "[]", '["7.8.9"]', '"../x"', '"\\u001b"'])
def test_latest_version_that_is_none(npm: FakeNpm, shown: str) -> None:
    npm(shown=shown)
    with pytest.raises(CodegenError, match="as its latest version") as raised:
        latest("npm:pkg")
    assert "\x1b" not in str(raised.value)


def test_latest_version_without_a_network(npm: FakeNpm) -> None:
    npm(status=1, stderr="npm error code ENOTFOUND\nnpm error no network")
    with pytest.raises(CodegenError, match="npm view failing with ENOTFOUND"):
        latest("npm:pkg")


def test_precedence_of_versions() -> None:
    """The order that semver.org gives as its own example, and numbers that do not sort as text."""
    order = "x 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0"
    versions = [*order.split(), "1.0.9", "1.0.10", "1.2.0", "10.0.0"]
    for place, version in enumerate(versions):
        assert all(is_older(version, later) for later in versions[place + 1 :])
        assert not any(is_older(version, other) for other in versions[: place + 1])
    assert not is_older("1.0.0+a", "1.0.0+b") and not is_older("1.0.0+b", "1.0.0+a")


def test_npm_profile_picks(npm: FakeNpm) -> None:
    npm(package(ALL))
    assert fetch("npm:pkg", "v1/unstable").files == {"v1/unstable": b"1u"}


@pytest.mark.parametrize(
    "source",
    [
        "npm:",
        "npm:@scope",
        "npm:pkg@",
        "npm:--registry=evil",
        "npm:../pkg",
        "npm:./pkg",
        "npm:/pkg",
        "npm:git+ssh://host/pkg",
        "npm:pkg@https://host/x.tgz",
        "npm:pkg@^1 || 2",
        "npm:pkg@1.0.0\n",
        "npm:p\u00e4g",
    ],
)
def test_npm_source_that_is_no_package(npm: FakeNpm, source: str) -> None:
    args = npm(package(ALL))
    assert "npm:PACKAGE@VERSION" in problem(source)
    assert not args.exists(), "npm was run"


def test_no_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no npm on the PATH" in problem("npm:pkg")


def test_npm_that_does_not_start(npm: FakeNpm) -> None:
    args = npm()
    args.with_name("npm").write_text("#!/no/such/interpreter\n")
    assert "does not start" in problem("npm:pkg")


def test_npm_that_hangs(npm: FakeNpm, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = npm().parent
    # As the real one does, it starts a process that holds its pipes open and outlives it unless it is ended too.
    folder.joinpath("npm").write_text(f"#!/bin/sh\nsleep 600 & echo $! > '{folder}/child'\nwait\n")
    monkeypatch.setattr(limits, "NPM_TIMEOUT", 0.5)
    assert "within 0.5 seconds" in problem("npm:pkg")
    assert ends(int((folder / "child").read_text()))


@pytest.mark.parametrize(
    ("stderr", "found"),
    [
        ("npm error code E404\nnpm error 404 Not Found", "no such package (npm says E404)"),
        ("npm ERR! code ETARGET\nnpm ERR! notarget", "no such version of the package (npm says ETARGET)"),
        ("npm error code ENOTFOUND\nnpm error \x1b[31mno network", r"ENOTFOUND: 'npm error \x1b[31mno network'"),
        ("\n  \nsegfault", "exit status 9: 'segfault'"),
        ("", "exit status 9: ''"),
    ],
)
def test_npm_fails(npm: FakeNpm, stderr: str, found: str) -> None:
    npm(status=9, stderr=stderr)
    assert found in problem("npm:pkg@1.0.0")


@pytest.mark.parametrize("copies", [0, 2])
def test_npm_that_delivers_no_single_archive(npm: FakeNpm, copies: int) -> None:
    npm(package(ALL), copies=copies)
    assert f"{copies} archives" in problem("npm:pkg")


@pytest.mark.parametrize("manifest", [b"{}", b"nonsense", b'{"version": "../../etc"}'])
def test_npm_package_without_version(npm: FakeNpm, manifest: bytes) -> None:
    npm(package(ALL, manifest))
    assert "usable version" in problem("npm:pkg")


def test_npm_package_without_schemas(npm: FakeNpm) -> None:
    npm(package({"index.js": b""}))
    assert "no schema file" in problem("npm:pkg")


# Hostile archives


_ARCHIVES = {
    "nothing": b"",
    "no gzip": b"not gzip",
    "no tar": gzip.compress(b"not tar" * 200),
    "cut short": package(ALL)[:-40],
}


@pytest.mark.parametrize("archive", _ARCHIVES.values(), ids=_ARCHIVES.keys())
def test_archive_that_is_none(npm: FakeNpm, archive: bytes) -> None:
    npm(archive)
    assert "cannot be unpacked" in problem("npm:pkg")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_only_regular_members_count(npm: FakeNpm, kind: bytes) -> None:
    npm(tarball({"package/package.json": MANIFEST}, link("package/schema/v2/schema.json", kind, "/etc/passwd")))
    assert "no schema file" in problem("npm:pkg")


@pytest.mark.parametrize(
    "name",
    [
        "package/schema/../../v2/schema.json",
        "../package/schema/v2/schema.json",
        "/package/schema/v2/schema.json",
        "schema/v2/schema.json",
        "package/package/schema/v2/schema.json",
        "package/schema/\x1b/v2/schema.json",
    ],
)
def test_members_elsewhere_are_left_alone(npm: FakeNpm, tmp_path: Path, name: str) -> None:
    npm(tarball({"package/package.json": MANIFEST, name: b"evil"}))
    before = sorted(tmp_path.rglob("*"))
    assert "no schema file" in problem("npm:pkg")
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before] == [tmp_path / "bin/args"]


def test_oversized_package(npm: FakeNpm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_PACKAGE_SIZE", 50_000)
    npm(package({**ALL, "dist/bomb.js": bytes(60_000)}))
    assert "at most 50000 bytes unpacked" in problem("npm:pkg")


def test_oversized_member(npm: FakeNpm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SCHEMA_SIZE", 100)
    npm(package({**ALL, "schema/v3\x1b.json": bytes(101)}))
    text = problem("npm:pkg")
    assert "at most 100 bytes" in text and "\x1b" not in text


@pytest.mark.npm
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_published_package() -> None:
    fetched = fetch("npm:@agentclientprotocol/sdk@2.4.0")
    assert (fetched.source, fetched.version) == ("npm:@agentclientprotocol/sdk@2.4.0", "2.4.0")
    assert [(profile, len(data)) for profile, data in fetched.files.items()] == [
        ("v1/stable", 256258),
        ("v1/unstable", 385731),
        ("v2/stable", 341370),
        ("v2/unstable", 465191),
    ]
