"""What a test loads is used only when all of its instructions are on their way.

An assembler starts arithmetic with a loaded value as early as it can, and then the thread waits for the load before it
issues what follows in the test: a store behind the load could never come before it. So behind each test stands a
branch that is never taken, to a loop that would change the values: nothing that uses them can move before the branch.
"""

from __future__ import annotations

from ptxmm.gpu.code import PREDICATE, Code

ZEROS = "[sync+64]"


def landing(code: Code, number: int, registers: dict[str, int]) -> tuple[list[str], list[str]]:
    """The lines behind the test of a thread, and those of the loop, for registers with their widths."""
    if not registers:
        return [], []
    late, again = code.register(f"late{number}", PREDICATE), code.register(f"again{number}", 64)
    aside = [f"LATE{number}:", f"    ld.volatile.global.u64 {again}, {ZEROS};"]
    for register, bits in registers.items():
        aside += [f"    {line};" for line in _changed(register, bits, again)]
    aside += [f"    setp.eq.u64 {late}, {again}, 0;", f"    @{late} bra LATE{number};", f"    bra LANDED{number};"]
    here = [f"    setp.eq.u32 {late}, turn, 0;", f"    @{late} bra LATE{number};", f"LANDED{number}:"]
    return here, aside


def _changed(register: str, bits: int, word: str) -> list[str]:
    """A register becomes something else."""
    if bits == PREDICATE:
        return [f"setp.eq.u64 {register}, {word}, 1"]
    if bits == 128:
        return [f"mov.b128 {register}, {{{word}, {word}}}"]
    return [f"cvt.u{bits}.u64 {register}, {word}" if bits < 64 else f"mov.b64 {register}, {word}"]
