"""What a final state of a test consists of: registers and memory, by the names that the test has for them."""

from __future__ import annotations

from ptxmm.arith import U32, Type
from ptxmm.program import Expr, FinalMem, FinalReg, Program, leaves

Column = FinalReg | FinalMem


def columns(program: Program) -> tuple[Column, ...]:
    """What a final state consists of: what the condition, `locations` and the filter name, or everything."""
    formulas: list[Expr] = [program.condition.formula] if program.condition is not None else []
    formulas += [*program.locations, *([program.filter] if program.filter is not None else [])]
    found: list[Column] = [leaf for f in formulas for leaf in leaves(f) if isinstance(leaf, FinalReg | FinalMem)]
    return tuple(dict.fromkeys(found or program.everything))


def column_name(program: Program, column: Column) -> str:
    """A column as the test would write it."""
    if isinstance(column, FinalReg):
        return f"{column.thread}.{column.reg}"
    item = program.physical(column.name)
    if column.type.size == item.type.size and column.offset % item.type.size == 0:
        return column.name if item.length == 1 else f"{column.name}[{column.offset // item.type.size}]"
    return f"{column.name}+{column.offset}" if column.offset else column.name


def column_type(program: Program, column: Column) -> Type:
    """The type at which a column is shown."""
    return column.type if isinstance(column, FinalMem) else program.thread(column.thread).types.get(column.reg, U32)
