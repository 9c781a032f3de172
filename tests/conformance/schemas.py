"""What an agent may send, by the pinned schemas and an independent validator: our own decoder is lenient."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema_rs

from tests.support.cli import ROOT


class Schema:
    """One version's schema: whole messages, and the objects in them, which may have no members of their own."""

    def __init__(self, version: int) -> None:
        text = (ROOT / f"schema/v{version}/schema.json").read_text(encoding="utf-8")
        self.document: dict[str, Any] = json.loads(text)
        definitions = self.document["$defs"].items()
        self._message = jsonschema_rs.Draft202012Validator(self.document)
        self._params: dict[str, str] = {}
        self._results: dict[str, str] = {}
        for name, body in definitions:
            answers = name.endswith("Response")
            if body.get("x-side") in ("client", "protocol") and not answers:
                self._params[body["x-method"]] = name
            elif body.get("x-side") == "agent" and answers:
                self._results[body["x-method"]] = name

    def check(self, frame: dict[str, Any], answered: str | None) -> None:
        """Raises for a frame that an agent must not send; `answered` is the method that a response answers."""
        self._message.validate(frame)
        method = frame.get("method")
        if method is not None:
            assert method in self._params or method.startswith("_"), f"no method of a client: {method}"
            if method in self._params:
                self.valid(self._params[method], frame["params"])
            if method == "session/update":
                self.valid("SessionUpdate", frame["params"]["update"])
        elif "error" in frame:
            self.valid("Error", frame["error"])
        elif answered in self._results:
            self.valid(self._results[answered], frame["result"])

    def valid(self, name: str, value: object) -> None:
        """Raises unless the value is one of the definition, without members at its root that the definition lacks."""
        self._closed(name).validate(value)

    @functools.cache  # noqa: B019 - there is one object for each version, and it stays
    def _closed(self, name: str) -> Any:
        body = {"$defs": self.document["$defs"], "$ref": f"#/$defs/{name}", "unevaluatedProperties": False}
        return jsonschema_rs.Draft202012Validator(body)


@functools.cache
def schema(version: int) -> Schema:
    return Schema(version)
