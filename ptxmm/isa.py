"""The instruction table's public face: from PTX text to statements and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ptxmm import isa_form, isa_memory, isa_sync
from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import InputError, Span, Unsupported, near
from ptxmm.isa_form import LEAST, Form, Requirement, Row, split, whole
from ptxmm.isa_operands import Operand
from ptxmm.isa_site import Common, Declared, Site
from ptxmm.isa_table import BY_OPCODE, ELSEWHERE, LATER, QUALIFIERS, ROWS
from ptxmm.isa_text import mnemonic, ptx
from ptxmm.program import NOWHERE, Assign, Assume, Atomic, Barrier, Branch, Exit, Expr, Label, Load, Nop, Statement

__all__ = ["ROWS", "Operand", "decode", "form_of", "ptx", "requirement", "row_of", "writes"]


BUILDERS: dict[str, Callable[[Site, Common], Statement]] = {
    "load": isa_memory.load,
    "store": isa_memory.store,
    "view_load": isa_memory.view_load,
    "view_store": isa_memory.view_store,
    "atom": isa_memory.atom,
    "red": isa_memory.red,
    "fence": isa_sync.fence,
    "membar": isa_sync.membar,
    "proxy_fence": isa_sync.proxy_fence,
    "artifact_fence": isa_sync.artifact_fence,
    "barrier": isa_sync.barrier,
    "cluster_arrive": isa_sync.cluster_arrive,
    "cluster_wait": isa_sync.cluster_wait,
    "warp_sync": isa_sync.warp_sync,
    "nanosleep": isa_sync.nanosleep,
    "prefetch": isa_sync.prefetch,
}


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
    common: Common = {"guard": guard, "at": form.at, "text": text}
    return BUILDERS[form.row.builds](Site(form, operands, declared), common)


def form_of(mnemonic: str, at: Span = NOWHERE) -> Form:
    """The row and the qualifiers that a mnemonic spells, all rules checked.

    >>> form_of("fence.acquire.gpu").requirement
    ((8, 6), 90)
    """
    known = _right(mnemonic)
    return Form(known.row, known.words, whole(mnemonic, at)) if known is not None else _checked(mnemonic, at)


@lru_cache(maxsize=4096)
def _right(mnemonic: str) -> Form | None:
    """The form of a mnemonic without errors: tests repeat few mnemonics often."""
    try:
        return _checked(mnemonic, NOWHERE)
    except InputError:
        return None


def _checked(mnemonic: str, at: Span) -> Form:
    form = isa_form.match(row_of(mnemonic, at), mnemonic, at, QUALIFIERS)
    for rule in form.row.rules:
        rule(form, form.type)
    return form


def row_of(mnemonic: str, at: Span = NOWHERE) -> Row:
    """The row of the longest opcode that a mnemonic starts with."""
    words = tuple(word.text for word in split(mnemonic))
    if any(_heads(name, words) for name in LATER):
        raise InputError(f"ptxmm does not support `{mnemonic}` yet", whole(mnemonic, at))
    found = next((n for n in range(len(words), 0, -1) if words[:n] in BY_OPCODE), 0)
    longer = [row.name for row in ROWS if len(row.opcode) > found + 1 and row.opcode[: found + 1] == words[: found + 1]]
    if longer:
        raise InputError(f"unknown instruction `{mnemonic}`", whole(mnemonic, at), f"write `{'` or `'.join(longer)}`")
    if found:
        return BY_OPCODE[words[:found]]
    names = {row.opcode[0] for row in ROWS} | set(ELSEWHERE)
    first = split(mnemonic)[0]
    raise InputError(f"unknown instruction `{first.text}`", first.within(at), near(first.text, names - {first.text}))


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


def requirement(statement: Statement, space: str = "") -> Requirement:
    """The smallest PTX version and target (`sm_NN`) that have the instruction as `ptx` writes it.

    >>> from ptxmm.program import Fence, Order, Scope
    >>> requirement(Fence(order=Order.ACQUIRE, scope=Scope.CLUSTER))
    ((8, 6), 90)
    """
    if isinstance(statement, Assign | Assume | Label | Branch | Exit | Nop):
        return LEAST
    try:
        return form_of(mnemonic(statement, space)).requirement
    except InputError as wrong:
        raise Unsupported(f"PTX has no such instruction: {wrong.message}") from wrong
