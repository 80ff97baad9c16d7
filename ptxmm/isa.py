"""The instruction table's public face: from PTX text to statements and back."""

from __future__ import annotations

from ptxmm import isa_form
from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import InputError, Span, near
from ptxmm.isa_build import BUILDERS
from ptxmm.isa_form import Form, Row, split, whole
from ptxmm.isa_operands import Operand
from ptxmm.isa_site import Declared, Site
from ptxmm.isa_table import BY_OPCODE, ELSEWHERE, LATER, QUALIFIERS, ROWS
from ptxmm.program import NOWHERE, Atomic, Barrier, Expr, Load, Statement

__all__ = ["ROWS", "Operand", "decode", "form_of", "row_of", "writes"]


def decode(
    mnemonic: str,
    operands: tuple[Operand, ...],
    *,
    at: Span,
    declared: Declared,
    guard: Expr | None = None,
    text: str = "",
) -> Statement:
    """The statement that a PTX mnemonic and its operands spell; `at` is where the mnemonic starts.

    >>> from ptxmm.program import Addr, Const, Object
    >>> x, one = Operand("mem", Addr("x"), (), NOWHERE), Operand("expr", Const(1), (), NOWHERE)
    >>> decode("st.release.gpu", (x, one), at=NOWHERE, declared=Object).order
    <Order.RELEASE: 'release'>
    """
    form = form_of(mnemonic, at)
    return BUILDERS[form.row.builds](
        Site(form, operands, declared), {"guard": guard, "at": whole(mnemonic, at), "text": text}
    )


def form_of(mnemonic: str, at: Span = NOWHERE) -> Form:
    """The row and the qualifiers that a mnemonic spells, all rules checked.

    >>> form_of("fence.acquire.gpu").requirement
    ((8, 6), 90)
    """
    form = isa_form.match(row_of(mnemonic, at), mnemonic, at, QUALIFIERS)
    for rule in form.row.rules:
        rule(form, form.type)
    return form


def row_of(mnemonic: str, at: Span = NOWHERE) -> Row:
    """The row of the longest opcode that a mnemonic starts with."""
    words = tuple(word.text for word in split(mnemonic, at))
    if any(_heads(name, words) for name in LATER):
        raise InputError(f"ptxmm does not support `{mnemonic}` yet", whole(mnemonic, at))
    found = next((n for n in range(len(words), 0, -1) if words[:n] in BY_OPCODE), 0)
    longer = [row.name for row in ROWS if len(row.opcode) > found + 1 and row.opcode[: found + 1] == words[: found + 1]]
    if longer:
        raise InputError(f"unknown instruction `{mnemonic}`", whole(mnemonic, at), f"write `{'` or `'.join(longer)}`")
    if found:
        return BY_OPCODE[words[:found]]
    names = {row.opcode[0] for row in ROWS} | set(ELSEWHERE)
    first = split(mnemonic, at)[0]
    raise InputError(f"unknown instruction `{first.text}`", first.at, near(first.text, names - {first.text}))


def _heads(name: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether `words` start with an opcode, a word before `::` counting as the whole."""
    return len(words) >= len(name) and all(w.partition("::")[0] == n for w, n in zip(words, name, strict=False))


def writes(statement: Statement) -> tuple[tuple[str, Type], ...]:
    """The registers that an instruction writes, each with the type it gets there: 8-bit values go to 16-bit registers.

    Assignments are the readers' own, and write nothing here.

    >>> from ptxmm.program import Addr
    >>> writes(Load(dst=("r0", None), address=Addr("x"), type=Type("s", 8)))
    (('r0', Type(kind='s', bits=16, lanes=1)),)
    """
    match statement:
        case Load(dst=dst, type=type_) | Atomic(dst=dst, type=type_):
            wide = Type(type_.kind, 16) if type_.bits == 8 else type_
            return tuple((name, wide) for name in dst if name is not None)
        case Barrier(dst=str(name), op=op):
            return ((name, U32 if op == "popc" else PRED),)
    return ()
