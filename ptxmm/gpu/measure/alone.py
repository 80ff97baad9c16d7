"""An arm in a process of its own, because a launch that fails takes the GPU away from the process that made it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import astuple
from importlib import import_module

from ptxmm.gpu.measure.statistics import Count

PATIENCE = 60.0
LOST = Count(1, 1)
ENDLESS = Count(0, 1, 1)


def alone(function: str, *arguments: str, command: Sequence[str] = (sys.executable, "-m", __name__)) -> Count:
    """What `module:function` counts with these arguments; a process that is lost is one launch that went wrong."""
    try:
        ended = subprocess.run(
            [*command, function, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return ENDLESS
    if ended.returncode:
        return LOST
    return Count(*json.loads(ended.stdout))


def main(arguments: Sequence[str]) -> int:
    """Call the function and print what it counted."""
    module, _, function = arguments[0].partition(":")
    try:
        found: Count = getattr(import_module(module), function)(*arguments[1:])
    except Exception as failed:
        print(f"{type(failed).__name__}: {failed}", file=sys.stderr)
        return 1
    print(json.dumps(astuple(found)), flush=True)
    return 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
