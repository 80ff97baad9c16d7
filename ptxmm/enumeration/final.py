"""Final states: what is shown of them, and what they are in one execution."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from ptxmm.arith import U32, Type
from ptxmm.enumeration.memory import initial_bytes
from ptxmm.enumeration.skeleton import Skeleton, within
from ptxmm.program import Expr, FinalMem, FinalReg, Program, leaves

if TYPE_CHECKING:
    from ptxmm.enumeration.search import Found

Column = FinalReg | FinalMem


def asked_columns(program: Program) -> tuple[Column, ...]:
    """What the condition, `locations` and the filter name, each once; everything where they name nothing."""
    formulas: list[Expr] = [program.condition.formula] if program.condition is not None else []
    formulas += [*program.locations, *([program.filter] if program.filter is not None else [])]
    named: dict[Column, None] = {
        leaf: None for formula in formulas for leaf in leaves(formula) if isinstance(leaf, FinalReg | FinalMem)
    }
    return tuple(named) or program.everything


def column_name(program: Program, column: Column) -> str:
    """A column as a person names it: `A.r0`, `x`, `a[1]`, `x+2`."""
    if isinstance(column, FinalReg):
        return f"{column.thread}.{column.reg}"
    thing = program.physical(column.name)
    if column.type.size == thing.type.size and column.offset % thing.type.size == 0:
        return column.name if thing.length == 1 else f"{column.name}[{column.offset // thing.type.size}]"
    return f"{column.name}+{column.offset}" if column.offset else column.name


def column_type(program: Program, column: Column) -> Type:
    """The type at which a column is shown."""
    return program.thread(column.thread).types.get(column.reg, U32) if isinstance(column, FinalReg) else column.type


def final_registers(skeleton: Skeleton) -> dict[FinalReg, int]:
    """The registers of every thread when it has ended."""
    threads = skeleton.program.threads
    return {
        FinalReg(thread.name, name): value
        for thread, path in zip(threads, skeleton.paths, strict=True)
        for name, value in path.registers
    }


def final_states(found: Found, columns: tuple[Column, ...]) -> Iterator[dict[Column, int]]:
    """The final states of an execution: any co-maximal write may be the last one of its cell."""
    skeleton, program = found.skeleton, found.skeleton.program
    registers = final_registers(skeleton)
    wanted = [one for one in columns if isinstance(one, FinalMem)]
    cells = [cell for cell in skeleton.cells if any(program.physical(one.name).name == cell[0] for one in wanted)]
    last = []
    for cell in cells:
        writes = skeleton.writers[cell]
        overwritten = {one.id for one in writes for other in writes if (one.id, other.id) in found.co}
        last.append(sorted({within(one, cell) for one in writes if one.id not in overwritten}))
    for chosen in product(*last):
        memory = {name: bytearray(content) for name, content in initial_bytes(program).items()}
        for (name, start, end), value in zip(cells, chosen, strict=True):
            memory[name][start:end] = value.to_bytes(end - start, "little")
        state: dict[Column, int] = {one: registers.get(one, 0) for one in columns if isinstance(one, FinalReg)}
        for one in wanted:
            content = memory[program.physical(one.name).name][one.offset : one.offset + one.type.size]
            state[one] = int.from_bytes(content, "little")
        yield state
