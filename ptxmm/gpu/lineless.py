"""Machine instructions of textures and surfaces, for which ptxas records no line of PTX: the nearest are theirs."""

from __future__ import annotations

import re
from dataclasses import replace

from ptxmm.gpu.sass import Machine

KINDS = {r"tex\.": ("TLD", "TEX"), r"suld\.": ("SULD",), r"sust\.": ("SUST",)}
"""Instructions of PTX whose machine instructions have no line."""


def placed(ptx: str, instructions: tuple[Machine, ...]) -> tuple[Machine, ...]:
    r"""The instructions, each of these with a line of its kind, near to that of the instruction before it.

    Where there are as many of a kind as lines of it, each has a line of its own, and those that come first in lines
    have the first.

    >>> here = (Machine(0, 2, "STG.E"), Machine(16, 2, "TLD.LZ"), Machine(32, 3, "TLD.LZ"))
    >>> [one.line for one in placed("tex.1d a\n\n\nst.u32 b\n@p tex.1d c", here)]
    [2, 1, 5]
    """
    if not any(one.words[0] in opcodes for one in instructions for opcodes in KINDS.values()):
        return instructions
    lines = [re.sub(r"^@!?\w+\s+", "", line.strip()) for line in ptx.splitlines()]
    found: dict[Machine, int] = {}
    for pattern, opcodes in KINDS.items():
        places = [number for number, line in enumerate(lines, 1) if re.match(pattern, line)]
        ours = sorted((one for one in instructions if one.words[0] in opcodes), key=lambda one: (one.line, one.at))
        if len(ours) == len(places):
            found |= dict(zip(ours, places, strict=True))
        elif places:
            found |= {one: min(places, key=lambda number: abs(number - one.line)) for one in ours}
    return tuple(replace(one, line=found.get(one, one.line)) for one in instructions)
