"""Values that tell rounds apart: where a test only stores small constants, memory need not be set back between rounds.

In a round of epoch *e* the constant *v* is stored as `16 e + v`. What a load returns from an earlier round, it reads as
the initial value; nothing is ever cleared, and no store of the harness disturbs the caches.
"""

from __future__ import annotations

from ptxmm.gpu.code import PREDICATE, Code
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    Branch,
    Const,
    Exit,
    Expr,
    Fence,
    FinalMem,
    Label,
    Load,
    Nop,
    Program,
    ProxyFence,
    Space,
    Store,
    leaves,
)

VALUES = 16
"""How many values a location can hold in one epoch."""

WORD = 32

EPOCHS = (1 << WORD) // VALUES
"""How many epochs a word can tell apart; the first is 1, since memory that nothing was stored to holds 0."""

PLAIN = (Fence, Assign, Assume, Branch, Exit, Label, Nop)

VIEWS = ("alias", "texture", "surface", "constant")
"""Proxy fences for other ways to memory, and not for copies."""

Initial = dict[tuple[str, int], int]


def epochs(program: Program) -> Initial | None:
    """The initial value of each word by object and offset, where epochs can tell rounds apart, else None.

    >>> from ptxmm.program import Object, Place, Thread
    >>> from ptxmm.arith import U32
    >>> store = Store(values=(Const(1),), address=Addr("x"), type=U32)
    >>> test = Program("t", (Object("x"),), (Thread("A", Place(), (store,)),))
    >>> epochs(test)
    {('x', 0): 0}
    """
    objects = program.objects
    if any(o.space is not Space.GLOBAL or o.type.bits != WORD or o.type.floating or o.tensormap for o in objects):
        return None
    if not all(_suits(program, s) for thread in program.threads for s in thread.body):
        return None
    values = {(item.name, place * item.type.size): item.init[place] for item in objects for place in range(item.length)}
    finals = [leaf for formula in _formulas(program) for leaf in leaves(formula) if isinstance(leaf, FinalMem)]
    if any((leaf.name, leaf.offset) not in values or leaf.type.bits != WORD for leaf in finals):
        return None
    numbers = {key: value.value for key, value in values.items() if isinstance(value, Const)}
    return numbers if len(numbers) == len(values) else None


def one_writer_each(program: Program) -> bool:
    """Whether no word is stored to by two threads, or at two addresses, where values tell rounds apart."""
    writers: dict[tuple[str, int], tuple[int, str]] = {}
    for number, thread in enumerate(program.threads):
        for store in thread.body:
            if not isinstance(store, Store):
                continue
            assert isinstance(store.address, Addr)
            name = program.physical(store.address.name).name
            for place in range(len(store.values)):
                word = (name, store.address.offset + place * store.type.size)
                writer = (number, store.address.name)
                if writers.setdefault(word, writer) != writer:
                    return False
    return True


def _formulas(program: Program) -> list[Expr]:
    asked = [program.condition.formula] if program.condition is not None else []
    return [*asked, *program.locations, *([program.filter] if program.filter is not None else [])]


def _suits(program: Program, statement: object) -> bool:
    match statement:
        case Load(address=Addr(name), type=type_):
            return type_.bits == WORD and not type_.floating and type_.lanes == 1 and name in program.by_name
        case Store(address=Addr(name), type=type_, values=values):
            return type_.bits == WORD and all(isinstance(v, Const) and 0 <= v.value < VALUES for v in values)
        case ProxyFence(kind=kind):
            return kind in VIEWS
    return isinstance(statement, PLAIN) and not _addresses(statement)


def _addresses(statement: object) -> bool:
    return isinstance(statement, Assign) and any(isinstance(leaf, Addr) for leaf in leaves(statement.value))


def decoded(code: Code, raw: str, register: str, initial: int, when: str = "") -> None:
    """Write what turns a word of memory into the value that it has in this epoch."""
    value, now = code.fresh(32), code.fresh(PREDICATE)
    code.add(f"sub.u32 {value}, {raw}, epoch", f"setp.lt.u32 {now}, {value}, {VALUES}")
    code.add(f"{when}selp.b32 {register}, {value}, {initial % (1 << 32)}, {now}")
