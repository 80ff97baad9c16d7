"""Which tests have their interleavings as executions, and which have no others.

Under the shipped models every interleaving is an execution. Where all accesses that decide how a test goes on are
strong, with scopes that hold each other, and are of one word, no other execution whose memory is fair goes on in
another way; under `sc` none does with several words either. `docs/progress.md` has the proofs.
"""

from __future__ import annotations

from itertools import pairwise

from ptxmm.deciding import Access, deciding, word
from ptxmm.model import Model
from ptxmm.program import (
    Addr,
    Assign,
    Atomic,
    Branch,
    Exit,
    Fence,
    Label,
    Load,
    Nop,
    Object,
    Order,
    Program,
    Proxy,
    Scope,
    Space,
    Statement,
    Store,
    Thread,
)
from ptxmm.resources import models_dir
from ptxmm.tags import includes

# The shipped models that have the axioms of `lib/ptx-axioms.cat` or of `sc`, and whether one word only is exact.
ONE_WORD = {"ptx-6.0": True, "ptx-7.5": True, "ptx-9.4": True, "ptx-9.4-literal": True, "ptx-9.4-strict": True,
            "sc": False}  # fmt: skip


def is_sound(program: Program, model: Model) -> bool:
    """Whether every interleaving of a test is an execution that the model allows."""
    return is_shipped(model) and can_follow(program)


def is_exact(program: Program, model: Model) -> bool:
    """Whether each execution of a test whose memory is fair goes on as some interleaving does."""
    if not is_sound(program, model):
        return False
    program = deciding(program)
    where = [thread.place for thread in program.threads]
    made = [(place, access) for index, place in enumerate(where) for access in accesses(program, index)]
    several = len({word(access) for _, access in made}) > 1
    if several and ONE_WORD[model.name]:
        return False
    return all(
        access.order is not Order.WEAK and access.scope is not None and includes(access.scope, place, other)
        for place, access in made
        for other, beside in made
        if word(access) == word(beside)
    )


def accesses(program: Program, thread: int) -> list[Access]:
    """The accesses in the code of a thread."""
    return [s for s in program.threads[thread].body if isinstance(s, Access)]


def can_follow(program: Program) -> bool:
    """Whether a test has nothing but accesses of whole words at fixed addresses, fences, arithmetic and branches."""
    together = not program.launches and len({thread.place.kernel for thread in program.threads}) == 1
    if not together or any(thread.after is not None for thread in program.threads):
        return False
    if not all(_plain(program, thread, statement) for thread in program.threads for statement in thread.body):
        return False
    words = {word(access) for thread in range(len(program.threads)) for access in accesses(program, thread)}
    return all(a[0] != b[0] or sum(a[1]) <= b[1][0] for a, b in pairwise(sorted(words)))


def _plain(program: Program, thread: Thread, statement: Statement) -> bool:
    match statement:
        case Load(dst=elements) | Store(values=elements) | Atomic(dst=elements):
            return len(elements) == 1 and _whole(program, thread, statement)
    return isinstance(statement, (Assign, Branch, Exit, Fence, Label, Nop))


def _whole(program: Program, thread: Thread, access: Access) -> bool:
    if not isinstance(access.address, Addr) or access.type.lanes > 1:
        return False
    if isinstance(access, (Load, Store)) and access.proxy is not Proxy.GENERIC:
        return False
    item, offset, size = program.by_name[access.address.name], access.address.offset, access.type.size
    if not isinstance(item, Object) or item.mbarrier is not None or item.tensormap is not None:
        return False
    readonly = isinstance(access, Load) and access.readonly
    own = item.space is Space.SHARED and item.owner is not None and includes(Scope.CTA, thread.place, item.owner)
    return (
        (item.space is Space.GLOBAL or own) and not readonly and 0 <= offset <= item.size - size and offset % size == 0
    )


def is_shipped(model: Model) -> bool:
    """Whether a model is one of those whose axioms are known here."""
    return model.name in ONE_WORD and model.path == str(models_dir() / f"{model.name}.cat")
