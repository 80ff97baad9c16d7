"""The kernels as CUDA C++: files whose repeated parts are written once and filled in for each arm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"
SECTION = re.compile(r"^//@ each *(\w*)\n(.*?)^//@ end\n", re.MULTILINE | re.DOTALL)
HOLE = re.compile(r"@([A-Z]+)@")
ASM = re.compile(r'\basm(?: volatile)?\("(?P<text>[^"]*)"\s*(?P<operands>(?::[^;]*?)?)\)\s*(?:;|$)', re.MULTILINE)
OPERAND = re.compile(r'"=?(?P<kind>[rlhfd])"')

Filling = Mapping[str, str]


def source(*names: str, arms: Mapping[str, Sequence[Filling]] | None = None) -> str:
    """The text of a module: `common.cu` and the files named, each section written once for each of its fillings.

    >>> "st.release.gpu" in source()
    True
    """
    texts = [(KERNELS / f"{name}.cu").read_text(encoding="utf-8") for name in ("common", *names)]
    return SECTION.sub(lambda found: _filled(found[2], (arms or {})[found[1] or "each"]), "\n".join(texts))


def _filled(text: str, fillings: Sequence[Filling]) -> str:
    pieces = HOLE.split(text)
    return "".join(
        "".join(filling[piece] if place % 2 else piece for place, piece in enumerate(pieces)) for filling in fillings
    )


def instructions(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The PTX that a text holds between quotes: each template, with the kinds of its operands.

    >>> list(instructions('asm volatile("red.add.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");'))
    [('red.add.u32 [%0], %1;', ('l', 'r'))]
    """
    for found in ASM.finditer(text):
        yield found["text"], tuple(each["kind"] for each in OPERAND.finditer(found["operands"]))
