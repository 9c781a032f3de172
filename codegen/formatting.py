"""Black over many files. It takes nearly all of the time of generating, so a second process takes half of a large job.

Run as a program, this file is that process: JSON of {name: text} in, the same formatted out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

import black
from black.mode import TargetVersion

SHARED_FROM = 100_000
"""Characters of all files together from which a second process is worth its start."""
_MODE = black.Mode(line_length=120, target_versions={TargetVersion.PY311}, magic_trailing_comma=False)


def format_all(texts: Mapping[str, str]) -> dict[str, str]:
    """Every text formatted, by name, in the order given."""
    theirs = _half(texts) if sum(map(len, texts.values())) >= SHARED_FROM and (os.cpu_count() or 1) > 1 else []
    if not theirs:
        return _format(texts)
    # -P: this folder has modules that are named like some of the standard library's.
    command = [sys.executable, "-P", __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as helper:
        assert helper.stdin is not None
        helper.stdin.write(json.dumps({name: texts[name] for name in theirs}).encode())
        helper.stdin.close()
        # Closed already, and `communicate` would flush it.
        helper.stdin = None
        done = _format({name: text for name, text in texts.items() if name not in theirs})
        answer, _ = helper.communicate()
    if helper.returncode:
        done |= _format({name: texts[name] for name in theirs})
    else:
        done |= json.loads(answer)
    return {name: done[name] for name in texts}


def _half(texts: Mapping[str, str]) -> list[str]:
    """Names of files that make up about half of the text."""
    ours, theirs = 0, 0
    chosen = []
    for name in sorted(texts, key=lambda name: len(texts[name]), reverse=True):
        if theirs < ours:
            theirs += len(texts[name])
            chosen.append(name)
        else:
            ours += len(texts[name])
    return chosen


def _format(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: black.format_str(text, mode=_MODE) for name, text in texts.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_format(json.load(sys.stdin))))
