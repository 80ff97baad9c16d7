"""Constant memory of a test: arrays of the module that hold the initial values, the same for all copies."""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.errors import Unsupported
from ptxmm.gpu.views import symbol, views
from ptxmm.instructions import operands
from ptxmm.program import Addr, Const, Load, Object, Program, Space, Statement, leaves

MOST = 64 << 10
"""Bytes of constant memory that a module may declare (CUDA programming guide, "compute capabilities")."""


def constants(program: Program) -> tuple[Object, ...]:
    """The objects in constant memory; Unsupported where a test does more with them than load."""
    found = tuple(item for item in program.objects if item.space is Space.CONST)
    names = {item.name for item in found}
    if any(isinstance(value, Addr) for item in found for value in item.init):
        raise Unsupported("its constant memory holds addresses, which differ from copy to copy")
    values = [value for item in program.objects for value in item.init if isinstance(value, Addr)]
    values += [leaf for thread in program.threads for s in thread.body for leaf in _beside_loads(s, names)]
    values += [value for thread in program.threads for value in thread.init.values() if isinstance(value, Addr)]
    if any(value.name in names for value in values):
        raise Unsupported("an address of its constant memory is a value")
    if found and (views(program).bank or sum(item.size + item.type.size for item in found) > MOST):
        raise Unsupported("it has more constant memory than a module")
    return found


def declarations(program: Program) -> tuple[str, ...]:
    """The arrays as a module declares them."""
    return tuple(
        f".const .align 16 .b8 {symbol(program, item.name)}[{item.size}] = {{{', '.join(map(str, _content(item)))}}};"
        for item in constants(program)
    )


def _content(item: Object) -> bytes:
    size = item.type.size
    numbers = (value.value % (1 << 8 * size) for value in item.init if isinstance(value, Const))
    return b"".join(number.to_bytes(size, "little") for number in numbers)


def _beside_loads(statement: Statement, names: set[str]) -> Iterator[Addr]:
    """Addresses in an instruction other than those that a load goes to; of those too, where it may go elsewhere."""
    for place, expr in operands(statement):
        found = [leaf for leaf in leaves(expr) if isinstance(leaf, Addr)]
        if not (isinstance(statement, Load) and place == "address") or not {leaf.name for leaf in found} <= names:
            yield from found
