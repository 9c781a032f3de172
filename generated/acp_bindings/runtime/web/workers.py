"""Several workers behind one socket cannot share connections, which live in their process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath

SERVERS = {"uvicorn", "gunicorn", "hypercorn", "fastapi", "granian"}
ADVICE = (
    "connections live in the process that opened them, and requests would reach another one: run one worker a port, "
    "and a proxy before them that keeps each client to its process by the affinity cookie"
)


def refuse_workers(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> None:
    """Raises RuntimeError when this process is one of several workers, as far as the server's command line tells."""
    count = workers(sys.argv if argv is None else argv, environ)
    if count > 1:
        raise RuntimeError(f"{count} workers behind one socket: {ADVICE}")


def workers(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """The workers that a known server was asked for; 1 where nothing tells otherwise."""
    command = PurePath(argv[0] if argv else "")
    if not SERVERS & {command.stem, *command.parts}:
        return 1
    found = environ.get("WEB_CONCURRENCY", "1")
    for number, word in enumerate(argv):
        name, _, value = word.partition("=")
        if name in ("--workers", "-w"):
            found = value or next(iter(argv[number + 1 :]), "1")
    return int(found) if found.isdecimal() else 1
