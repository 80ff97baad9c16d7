"""What an expression evaluates to, given the values of its leaves."""

from __future__ import annotations

from collections.abc import Mapping

from ptxmm.arith import binary, unary
from ptxmm.program import Addr, Binary, Const, Expr, FinalMem, FinalReg, Program, Reg, Select, Unary

NO_REGISTERS: Mapping[str, int] = {}
NO_STATE: Mapping[FinalReg | FinalMem, int] = {}


def evaluate(
    expr: Expr,
    program: Program,
    regs: Mapping[str, int] = NO_REGISTERS,
    final: Mapping[FinalReg | FinalMem, int] = NO_STATE,
) -> int:
    """The value of an expression over registers, or over a final state; a register never written is 0."""
    match expr:
        case Const(value):
            return value
        case Reg(name):
            return regs.get(name, 0)
        case Addr():
            return program.address(expr)
        case Unary(op, arg, type):
            return unary(op, evaluate(arg, program, regs, final), type)
        case Binary(op, left, right, type):
            return binary(op, evaluate(left, program, regs, final), evaluate(right, program, regs, final), type)
        case Select(cond, then, other):
            chosen = then if evaluate(cond, program, regs, final) else other
            return evaluate(chosen, program, regs, final)
        case FinalReg() | FinalMem():
            return final[expr]
