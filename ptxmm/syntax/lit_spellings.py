"""What people write in the words of CUDA C++ or of PTX that has another form here, and how it is written."""

from __future__ import annotations

import re

from ptxmm.errors import InputError
from ptxmm.syntax.lit_text import Source

ATOMICS = {
    "atomicAdd": "add.u32 r0, [x], 1",
    "atomicSub": "add.u32 r0, [x], -1",
    "atomicExch": "exch.b32 r0, [x], 1",
    "atomicCAS": "cas.b32 r0, [x], 0, 1",
    "atomicMin": "min.u32 r0, [x], 1",
    "atomicMax": "max.u32 r0, [x], 1",
    "atomicInc": "inc.u32 r0, [x], 1",
    "atomicDec": "dec.u32 r0, [x], 1",
    "atomicAnd": "and.b32 r0, [x], 1",
    "atomicOr": "or.b32 r0, [x], 1",
    "atomicXor": "xor.b32 r0, [x], 1",
}
SCOPES = {"": "gpu", "_block": "cta", "_system": "sys"}
SPELLED: dict[str, str] = {
    "__syncthreads": "write `bar.sync 0;`",
    "__syncwarp": "write `bar.warp.sync 0xffffffff;`",
    "__nanosleep": "write `nanosleep.u32 40;`",
    "cluster.sync": "write `barrier.cluster.arrive; barrier.cluster.wait;`",
    "getctarank": "each thread says where it is: `thread A @ d0.c0.b0`",
    "for": "write `i = 0; while (i < 3) { …; i = i + 1; }`, or `repeat (3) { … }`",
    "break": "branch to a label behind the loop: `bra OUT;`",
    "continue": "branch to a label at the end of the loop: `bra NEXT;`",
    "return": "write `exit;`",
    "goto": "write `bra L1;`",
    "asm": "write the instruction itself, with its operands in place: `st.relaxed.gpu.u32 [x], 1;`",
    **{f"__threadfence{suffix}": f"write `fence.sc.{scope};`, which it means" for suffix, scope in SCOPES.items()},
    **{
        f"{name}{suffix}": f"write `atom.relaxed.{scope}.{form};`"
        for name, form in ATOMICS.items()
        for suffix, scope in SCOPES.items()
    },
}
WORD = re.compile(r"(?<![\w$.%])[A-Za-z_][\w.]*")
REACH = 400
BEFORE = re.compile(r"[;{}]")


def foreign(word: str) -> str | None:
    """How something is written that this language has under another name.

    >>> foreign("__syncthreads"), foreign("return")
    ('write `bar.sync 0;`', 'write `exit;`')
    """
    return SPELLED.get(word) or SPELLED.get(word.partition(".")[0])


def complaint(source: Source, start: int, end: int) -> InputError | None:
    """The error for such a word at a place, if one stands there."""
    word = source.text[start:end]
    hint = foreign(word)
    return source.error(f"`{word}` is not a word of this language", start, end, hint) if hint else None


def before(source: Source, start: int, end: int) -> InputError | None:
    """The error for such a word in the statement that goes wrong at a place of the text."""
    first = max((found.end() for found in BEFORE.finditer(source.text, max(0, start - REACH), start)), default=0)
    words = (found.span() for found in WORD.finditer(source.text, max(first, start - REACH), end))
    return next((wrong for word in words if (wrong := complaint(source, *word)) is not None), None)
