"""Instructions that PTX has and no model: kept as they are written, with the registers that they may write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ptxmm import isa
from ptxmm.arith import PRED, U32
from ptxmm.errors import InputError, Span
from ptxmm.program import Expr, Foreign
from ptxmm.syntax.lit_operands import Operands
from ptxmm.syntax.lit_tree import Node, Step
from ptxmm.syntax.lit_types import Write
from ptxmm.syntax.lit_values import TYPES


@lru_cache(maxsize=1024)
def is_undecided(mnemonic: str) -> bool:
    """Whether a mnemonic is that of an instruction that no model has.

    >>> is_undecided("tcgen05.wait::ld.sync.aligned"), is_undecided("ld.u32")
    (True, False)
    """
    try:
        return isa.foreign(mnemonic) is not None
    except InputError:
        return False


def undecided(words: Operands, step: Step, *, at: Span, guard: Expr | None) -> Foreign:
    """The instruction, its operands as text."""
    last = step.exprs[-1].end if step.exprs else step.start
    first = step.exprs[0].start if step.exprs else step.start
    operands = re.sub(r"\s+", " ", words.source.text[first:last])
    names = tuple(
        node.text.removeprefix("%") for node in _named(step) if words.memory.seen(node.text, words.place) is None
    )
    text = f"{step.text} {operands}".strip()
    why = isa.foreign(step.text, at) or ""
    return Foreign(mnemonic=step.text, operands=operands, dst=names, reason=why, guard=guard, at=at, text=text)


def results(statement: Foreign, step: Step) -> Iterator[Write]:
    """What the instruction may write to registers: values of the last type it names, and the predicate behind `|`."""
    types = [TYPES[word] for word in statement.mnemonic.split(".") if word in TYPES]
    for index, node in enumerate(_named(step)):
        name = node.text.removeprefix("%")
        if name in statement.dst:
            paired = step.exprs[0].kind == "binary" and index == 1
            yield Write(name, PRED if paired else types[-1] if types else U32, False, node.start, node.end)


def _named(step: Step) -> list[Node]:
    """The names in the first operand: results, where the instruction has any."""
    first = step.exprs[0] if step.exprs else None
    if first is None or first.kind not in ("name", "vector", "binary"):
        return []
    nodes = (first,) if first.kind == "name" else first.args
    return [node for node in nodes if node.kind == "name" and node.text != "_" and not re.search(r"[.:@]", node.text)]
