"""Runs every benchmark and prints one table for each; `--json` prints the numbers instead."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import orjson
from acp_bindings import v1, v2
from rich.console import Console
from rich.table import Table

from benchmarks import connection
from benchmarks.messages import V1, V2
from benchmarks.timing import import_seconds, process_seconds, seconds_each

_BIN = Path(sys.executable).parent
# The ratios that we want to stay below (for the official SDK: above).
DECODE = {"text chunk": 1.2, "tool call": 1.2, "one tolerated field": 25.0}
ENCODE = {"text chunk": 1.7, "tool call": 1.7}
CAREFUL = 10.0
IMPORT = 0.15
SDK = 5.0
# Over stdio: a share of what a bare pipe does, and multiples of the official SDK's speed.
PIPE = 0.8
TURN = 4.0
SPAWN = 1 / 3
# What the command line is allowed.
HELP = 0.5
HELP_SECONDS = 0.15
UPDATE_SECONDS = 3.0


@dataclass(frozen=True)
class Figure:
    """One comparison. `ratio` is ours to theirs; where `more_is_better`, theirs to ours."""

    group: str
    name: str
    ours: float
    theirs: float
    limit: float | None
    more_is_better: bool = False

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours if self.more_is_better else self.ours / self.theirs

    @property
    def holds(self) -> bool | None:
        if self.limit is None:
            return None
        return self.ratio >= self.limit if self.more_is_better else self.ratio <= self.limit


def against_orjson() -> Iterator[Figure]:
    for name, message in V2.items():
        data = orjson.dumps(message)
        model = v2.decode(data, v2.UpdateSessionNotification)
        best = seconds_each(
            {
                "decode": partial(v2.decode, data, v2.UpdateSessionNotification),
                "loads": partial(orjson.loads, data),
                "encode": partial(v2.encode, model),
                "dumps": partial(orjson.dumps, message),
            }
        )
        yield Figure("decode : orjson.loads", name, best["decode"], best["loads"], DECODE.get(name, CAREFUL))
        yield Figure("encode : orjson.dumps", name, best["encode"], best["dumps"], ENCODE.get(name))


def against_sdk() -> Iterator[Figure]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from acp.schema import SessionNotification
    for name, message in V1.items():
        data = orjson.dumps(message)
        ours = v1.decode(data, v1.SessionNotification)
        theirs = SessionNotification.model_validate_json(data)
        best = seconds_each(
            {
                "our decode": partial(v1.decode, data, v1.SessionNotification),
                "their decode": partial(SessionNotification.model_validate_json, data),
                "our encode": partial(v1.encode, ours),
                "their encode": partial(theirs.model_dump_json, by_alias=True, exclude_unset=True),
            }
        )
        for what in ("decode", "encode"):
            group = f"agent-client-protocol 0.12.1 : ours, {what}"
            yield Figure(group, name, best[f"our {what}"], best[f"their {what}"], SDK, more_is_better=True)


def connecting() -> Iterator[Figure]:
    group = "over stdio"
    pipe, sdk = connection.requests()
    yield Figure(group, "a request : bare pipe", pipe.ours, pipe.theirs, PIPE, more_is_better=True)
    yield Figure(group, "a request : official SDK", sdk.ours, sdk.theirs, None, more_is_better=True)
    turn = connection.streaming()
    name = f"a turn of {connection.CHUNKS:,} chunks : official SDK ({turn.note})"
    yield Figure(group, name, turn.ours, turn.theirs, TURN, more_is_better=True)
    spawn = connection.opening()
    yield Figure(group, "spawn + initialize : official SDK", spawn.ours, spawn.theirs, SPAWN)


def importing() -> Iterator[Figure]:
    best = import_seconds(["acp_bindings.v2", "acp_bindings.v2.unstable", "msgspec", "acp.schema"])
    for module, limit in (("acp_bindings.v2", IMPORT), ("acp_bindings.v2.unstable", None), ("msgspec", None)):
        yield Figure("import : acp.schema", module, best[module], best["acp.schema"], limit)


def generating() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        ours = [
            str(_BIN / "acp-codegen"),
            "generate",
            "--profile",
            "v2/stable",
            "--profile",
            "v2/unstable",
            "--out",
            folder,
        ]
        theirs = [
            str(_BIN / "datamodel-codegen"),
            "--input",
            "schema/v2/schema.json",
            "--input-file-type",
            "jsonschema",
        ]
        theirs += ["--output-model-type", "msgspec.Struct", "--output", f"{folder}/peer.py"]
        best = process_seconds({"ours": ours, "theirs": theirs}, rounds=3)
    name = "two profiles : one file by datamodel-code-generator"
    yield Figure("generate", name, best["ours"], best["theirs"], 1.0)


def updating() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder, "new/v2")
        shutil.copytree("schema/v2", new)
        for path in new.glob("schema*.json"):
            schema = orjson.loads(path.read_bytes())
            schema["$defs"]["TextContent"]["properties"]["language"] = {"type": "string"}
            path.write_bytes(orjson.dumps(schema))
        options = ["--dry-run", "--out", folder, "--profile", "v2/stable", "--profile", "v2/unstable"]
        ours = [str(_BIN / "acp-codegen"), "update", str(new.parent), *options]
        theirs = [str(_BIN / "datamodel-codegen"), "--input", str(new / "schema.json")]
        theirs += ["--input-file-type", "jsonschema", "--output", f"{folder}/peer.py"]
        best = process_seconds({"ours": ours, "theirs": theirs}, rounds=3)
    yield Figure("update", "two profiles : 3 s, as promised", best["ours"], UPDATE_SECONDS, 1.0)
    yield Figure("update", "two profiles : one file by datamodel-code-generator", best["ours"], best["theirs"], None)


def helping() -> Iterator[Figure]:
    commands = {
        "ours": [str(_BIN / "acp-codegen"), "--help"],
        "theirs": [str(_BIN / "datamodel-codegen"), "--help"],
        "bare": [sys.executable, "-c", "pass"],
    }
    best = process_seconds(commands, rounds=9)
    yield Figure("--help", "all of it : datamodel-codegen --help", best["ours"], best["theirs"], HELP)
    yield Figure("--help", "beyond a bare interpreter : 150 ms", best["ours"] - best["bare"], HELP_SECONDS, 1.0)


def main() -> None:
    figures = [*against_orjson(), *against_sdk(), *connecting(), *importing()]
    figures += [*generating(), *updating(), *helping()]
    if "--json" in sys.argv:
        print(json.dumps([asdict(one) | {"ratio": one.ratio, "holds": one.holds} for one in figures], indent=2))
        return
    console = Console()
    for group in dict.fromkeys(one.group for one in figures):
        table = Table(
            "", "ours", "theirs", "ratio", "limit", title=group, title_justify="left", box=None, pad_edge=False
        )
        for one in (one for one in figures if one.group == group):
            limit = "" if one.limit is None else f"{'>=' if one.more_is_better else '<='} {one.limit:.2g}"
            style = "" if one.holds is None else "green" if one.holds else "red"
            table.add_row(
                one.name, shown(one.ours), shown(one.theirs), f"[{style or 'default'}]{one.ratio:.2f}[/]", limit
            )
        console.print(table, "", highlight=False)


def shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


if __name__ == "__main__":
    main()
