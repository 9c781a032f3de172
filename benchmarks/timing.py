"""How things are timed: interleaved rounds, the fastest of each, so that what else the machine does hits all alike."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from timeit import Timer

ROUNDS = 15
ROUND_SECONDS = 0.02


def seconds_each(calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds for one call of each, the best of all rounds; the calls take turns."""
    timers = {name: Timer(call) for name, call in calls.items()}
    loops = {name: max(1, int(ROUND_SECONDS / (timer.timeit(200) / 200))) for name, timer in timers.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(loops[name]) / loops[name])
    return best


def process_seconds(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, float]:
    """Seconds of whole processes, the best of some rounds; the processes take turns."""
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def import_seconds(modules: Sequence[str], rounds: int = 9) -> dict[str, float]:
    """Seconds that each import takes in a fresh interpreter, start-up aside; the best of some rounds.

    The first round may compile: what pip installs comes compiled, and what lies in a checkout is to be measured alike.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    best = dict.fromkeys(modules, float("inf"))
    for _ in range(rounds):
        for module in modules:
            code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
            shown = subprocess.run(
                [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
            ).stdout
            best[module] = min(best[module], float(shown))
    return best
