"""The instruction table's public face: from PTX text to statements and back."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache

from ptxmm import isa_copies, isa_foreign, isa_form, isa_mbarrier, isa_memory, isa_proxies, isa_sync, isa_tiles
from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import InputError, Span, Unsupported, near
from ptxmm.isa_form import LEAST, Form, Requirement, Row, split, whole
from ptxmm.isa_operands import Operand
from ptxmm.isa_site import Common, Declared, Site
from ptxmm.isa_table import BY_OPCODE, ELSEWHERE, QUALIFIERS, ROWS
from ptxmm.isa_text import mnemonic, ptx
from ptxmm.program import (
    NOWHERE,
    Assign,
    Assume,
    AsyncCopy,
    Atomic,
    Barrier,
    Branch,
    Const,
    Elect,
    Exit,
    Expr,
    Foreign,
    Label,
    Load,
    MbarrierArrive,
    MbarrierPending,
    MbarrierWait,
    Nop,
    Select,
    Statement,
)

__all__ = ["ROWS", "Operand", "decode", "form_of", "ptx", "requirement", "row_of", "writes"]


TOKEN = Type("b", 64)
"""The state of an mbarrier, as an arrival gives it."""

MOST_NAMED = 4
"""How many instructions a hint lists."""

BUILDERS: dict[str, Callable[[Site, Common], Statement]] = {
    "load": isa_memory.load,
    "store": isa_memory.store,
    "view_load": isa_memory.view_load,
    "view_store": isa_memory.view_store,
    "atom": isa_memory.atom,
    "red": isa_memory.red,
    "fence": isa_sync.fence,
    "membar": isa_sync.membar,
    "alias_fence": isa_proxies.alias_fence,
    "artifact_fence": isa_sync.artifact_fence,
    "barrier": isa_sync.barrier,
    "cluster_arrive": isa_sync.cluster_arrive,
    "cluster_wait": isa_sync.cluster_wait,
    "warp_sync": isa_sync.warp_sync,
    "nanosleep": isa_sync.nanosleep,
    "prefetch": isa_sync.prefetch,
    "mbarrier_init": isa_mbarrier.init,
    "mbarrier_inval": isa_mbarrier.inval,
    "mbarrier_tx": isa_mbarrier.transactions,
    "mbarrier_arrive": isa_mbarrier.arrive,
    "mbarrier_wait": isa_mbarrier.wait,
    "mbarrier_pending": isa_mbarrier.pending,
    "copy_arrive": isa_mbarrier.copy_arrive,
    "copy": isa_copies.copy,
    "bulk_copy": isa_copies.bulk_copy,
    "bulk_reduce": isa_copies.bulk_reduce,
    "tile_copy": isa_tiles.tile_copy,
    "tile_reduce": isa_tiles.tile_reduce,
    "commit_group": isa_copies.commit_group,
    "wait_group": isa_copies.wait_group,
    "async_store": isa_copies.async_store,
    "async_red": isa_copies.async_red,
    "bulk_prefetch": isa_copies.bulk_prefetch,
    "tile_prefetch": isa_tiles.tile_prefetch,
    "map_prefetch": isa_tiles.map_prefetch,
    "init_fence": isa_proxies.init_fence,
    "async_fence": isa_proxies.async_fence,
    "one_sided_async_fence": isa_proxies.one_sided_async_fence,
    "tensormap_fence": isa_proxies.tensormap_fence,
    "tensormap_replace": isa_proxies.tensormap_replace,
    "tensormap_copy": isa_proxies.tensormap_copy,
    "elect": isa_proxies.elect,
    "grid_dependency": isa_proxies.grid_dependency,
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
    why = foreign(mnemonic, at)
    if why is not None:
        rest = text.partition(mnemonic)[2].strip()
        place = whole(mnemonic, at)
        return Foreign(mnemonic=mnemonic, operands=rest, reason=why, guard=guard, at=place, text=text)
    form = form_of(mnemonic, at)
    common: Common = {"guard": guard, "at": form.at, "text": text}
    return BUILDERS[form.row.builds](Site(form, operands, declared), common)


def foreign(mnemonic: str, at: Span = NOWHERE) -> str | None:
    """Why no model has an instruction that PTX has, in a sentence; None for the others.

    >>> foreign("ld.weak.u32"), foreign("wgmma.fence.sync.aligned")[:25]
    (None, 'tensor core instructions ')
    """
    return isa_foreign.reason(mnemonic) or isa_foreign.reason_of(form_of(mnemonic, at))


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
    row = row_of(mnemonic, at)
    try:
        form = isa_form.match(row, mnemonic, at, QUALIFIERS)
    except InputError as wrong:
        raise _nearer(wrong, row, mnemonic, at) from None
    for rule in form.row.rules:
        rule(form, form.type)
    return form


def _nearer(wrong: InputError, row: Row, mnemonic: str, at: Span) -> InputError:
    """The error, with an instruction of a longer opcode as its hint where the first wrong word is nearly that."""
    depth = len(row.opcode)
    known = {other.opcode[depth]: other.name for other in ROWS if other.opcode[:depth] == row.opcode != other.opcode}
    word = split(mnemonic)[depth:][:1]
    if not word or wrong.at.column != word[0].within(at).column or wrong.hint.startswith("did you mean"):
        return wrong
    names = [known[close] for close in get_close_matches(word[0].text, sorted(known))]
    hint = f"did you mean {' or '.join(f'`{name}`' for name in names)}?" if names else wrong.hint
    return InputError(wrong.message, wrong.at, hint)


def row_of(mnemonic: str, at: Span = NOWHERE) -> Row:
    """The row of the longest opcode that a mnemonic starts with."""
    words = tuple(word.text for word in split(mnemonic))
    found = next((n for n in range(len(words), 0, -1) if words[:n] in BY_OPCODE), 0)
    longer = [row.name for row in ROWS if len(row.opcode) > found + 1 and row.opcode[: found + 1] == words[: found + 1]]
    if longer:
        close = near(".".join(words[: found + 2]), longer) if len(longer) > MOST_NAMED else ""
        hint = close or f"write `{'` or `'.join(longer)}`"
        raise InputError(f"unknown instruction `{mnemonic}`", whole(mnemonic, at), hint)
    if found:
        return BY_OPCODE[words[:found]]
    names = {row.opcode[0] for row in ROWS} | {name[0] for name in isa_foreign.OPCODES} | set(ELSEWHERE)
    first = split(mnemonic)[0]
    raise InputError(f"unknown instruction `{first.text}`", first.within(at), near(first.text, names - {first.text}))


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
        case MbarrierArrive(dst=str(name)):
            return ((name, TOKEN),)
        case MbarrierWait(dst=str(name)):
            return ((name, PRED),)
        case MbarrierPending(dst=name):
            return ((name, U32),)
        case Elect(dst=dst, pred=pred):
            return tuple((name, type_) for name, type_ in ((dst, U32), (pred, PRED)) if name is not None)
    return ()


def requirement(statement: Statement, space: str = "") -> Requirement:
    """The smallest PTX version and target (`sm_NN`) that have the instruction as `ptx` writes it.

    >>> from ptxmm.program import Fence, Order, Scope
    >>> requirement(Fence(order=Order.ACQUIRE, scope=Scope.CLUSTER))
    ((8, 6), 90)
    """
    if isinstance(statement, Assign | Assume | Label | Branch | Exit | Nop):
        return LEAST
    if isinstance(statement, Foreign):
        raise Unsupported(statement.reason)
    try:
        need = form_of(mnemonic(statement, space)).requirement
    except InputError as wrong:
        raise Unsupported(f"PTX has no such instruction: {wrong.message}") from wrong
    more = _operands_need(statement)
    return max(need[0], more[0]), max(need[1], more[1])


def _operands_need(statement: Statement) -> Requirement:
    """What operands need beyond the mnemonic: the count of an arrival, and sources that are not read."""
    match statement:
        case MbarrierArrive(expect=None, completes=True, count=count) if count != Const(1):
            return (7, 8), 90
        case MbarrierArrive(dst=None):
            return (7, 1), 80
        case AsyncCopy(bulk=False, read=Select()):
            return (7, 5), 80
    return LEAST
