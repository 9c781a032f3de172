"""Eight threads meet a codec that has compiled nothing yet, and none gets a wrong answer."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import acp_bindings
import pytest

from tests.package.codec.profiles import ROOT, profiles
from tests.package.codec.test_properties import SWEEPS, drawn

THREADS = 8

# Reads [[definition, [text, ...]], ...]; writes for each text what it is written as, or the pointer and reason.
PROGRAM = """
import importlib, json, sys, threading

module = importlib.import_module(sys.argv[1])
jobs = json.load(sys.stdin)
sys.setswitchinterval(1e-6)
start = threading.Barrier(int(sys.argv[2]))
answers = {}

def answer(name, text):
    reports = []
    try:
        model = module.decode(text, getattr(module, name), on_tolerated=lambda *report: reports.append(report))
    except module.DecodeError as error:
        return [error.pointer, error.reason]
    return [module.encode(model).decode(), type(model).__name__, reports]

def run(number):
    # Each begins elsewhere, so that they compile different types at once, and each comes by every type.
    mine = jobs[number * len(jobs) // start.parties :] + jobs[: number * len(jobs) // start.parties]
    start.wait()
    answers[number] = {name: [answer(name, text) for text in texts] for name, texts in mine}

threads = [threading.Thread(target=run, args=(number,)) for number in range(start.parties)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
json.dump([answers[number] for number in range(start.parties)], sys.stdout)
"""


def answers_of(module: str, jobs: list[Any], threads: int) -> list[dict[str, Any]]:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, str(threads)],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(Path(acp_bindings.__file__).parents[1])},
        timeout=120,
        check=False,
    )
    assert result.stderr == ""
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("name", profiles())
def test_cold_start(name: str) -> None:
    profile = profiles()[name]
    jobs = []
    for definition in profile.definitions:
        texts = []
        for kind in ("mutated", "valid", "mutated"):
            for seed in range(SWEEPS):
                texts.append(json.dumps(drawn(profile, definition, kind, random.Random(f"{definition} {kind} {seed}"))))
        jobs.append([definition, texts])
    alone = answers_of(profile.module.__name__, jobs, 1)
    together = answers_of(profile.module.__name__, jobs, THREADS)
    assert len(together) == THREADS
    assert together == alone * THREADS


def test_one_type_for_all_at_once() -> None:
    """The same few types in every thread, so that all wait for one that compiles."""
    profile = profiles()["v2/stable"]
    update = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "_x", "background": 5}
    text = json.dumps({"sessionId": "s", "update": update})
    jobs = [["UpdateSessionNotification", [text] * 50]]
    alone = answers_of(profile.module.__name__, jobs, 1)
    assert answers_of(profile.module.__name__, jobs, THREADS) == alone * THREADS
    assert alone[0]["UpdateSessionNotification"][0][1:] == [
        "UpdateSessionNotification",
        [["/update/background", "expected array, got integer"]],
    ]


def test_decoding_while_unknown_variants_are_read() -> None:
    """Attributes of unknown variants compile their own types, in whatever thread they are first read."""
    module = profiles()["v2/stable"].module
    payloads = [{"type": "_x", "methodId": f"m{i}", "name": "n"} for i in range(50)]
    wrong: list[Any] = []

    def run() -> None:
        for payload in payloads:
            method = module.convert(payload, module.AuthMethod)
            if (method.method_id, method.name) != (payload["methodId"], "n"):
                wrong.append(payload)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
