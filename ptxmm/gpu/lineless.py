"""Machine instructions of textures and surfaces, for which ptxas records no line of PTX: the nearest is theirs."""

from __future__ import annotations

import re
from dataclasses import replace

from ptxmm.gpu.sass import Machine

INSTRUCTIONS = {"TLD": r"tex\.", "TEX": r"tex\.", "SULD": r"suld\.", "SUST": r"sust\."}
"""What in PTX a machine instruction without a line comes from."""


def placed(ptx: str, instructions: tuple[Machine, ...]) -> tuple[Machine, ...]:
    r"""The instructions, each of these with the line of its kind that is nearest to that of the one before it.

    >>> here = (Machine(0, 2, "STG.E"), Machine(16, 2, "TLD.LZ"))
    >>> [one.line for one in placed("tex.1d a\n\n\nst.u32 b\n@p tex.1d c\ntex.1d d", here)]
    [2, 1]
    """
    lines = [line.strip() for line in ptx.splitlines()]
    found = {
        opcode: [number for number, line in enumerate(lines, 1) if re.match(r"(@!?\w+\s+)?" + pattern, line)]
        for opcode, pattern in INSTRUCTIONS.items()
    }
    return tuple(
        replace(one, line=min(found[one.words[0]], key=lambda number: abs(number - one.line)))
        if found.get(one.words[0])
        else one
        for one in instructions
    )
