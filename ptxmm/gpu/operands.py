"""The operands of an instruction of a test as PTX takes them: registers, numbers, addresses in a state space."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptxmm.arith import U32, Type
from ptxmm.gpu.code import PREDICATE, width
from ptxmm.gpu.names import SHARED, Names
from ptxmm.gpu.short import is_short
from ptxmm.program import (
    Addr,
    AsyncCopy,
    AsyncStore,
    Atomic,
    Binary,
    Const,
    Expr,
    ProxyFence,
    Reg,
    Select,
    Statement,
    Store,
    TensormapCopy,
    TensormapReplace,
    Unary,
    named,
)


@dataclass(slots=True)
class Operands(Names):
    """One thread of a test, whose operands are computed into registers where PTX takes nothing else."""

    def space(self, statement: Statement) -> str:
        """The state space to name: that of the object whose address it is, none for an address out of a register."""
        address = getattr(statement, "address", None)
        if address is None or isinstance(statement, ProxyFence):
            return ""
        if getattr(statement, "remote", False):
            return SHARED[1]
        found = {self.space_of(name) for name in named(address)}
        return found.pop() if len(found) == 1 else ""

    def window(self, statement: Statement, name: str, space: str) -> str:
        """The state space in which an operand of an instruction is an address."""
        match statement:
            case AsyncCopy(spaces=spaces, mbarrier=mbarrier, multicast=multicast, bulk=bulk):
                into, out_of = spaces or (SHARED[0] if mbarrier is not None or not bulk else "global", "")
                out_of = out_of or ("global" if mbarrier is not None or not bulk else SHARED[0])
                into = SHARED[1] if multicast is not None else into
                into = SHARED[0] if into == "shared" else into
                return {"destination": into, "source": out_of, "mbarrier": into}.get(name, "")
            case AsyncStore(mbarrier=mbarrier):
                return SHARED[1] if mbarrier is not None else "global"
            case TensormapCopy():
                return {"destination": "global", "source": SHARED[0]}[name]
        return space

    def address(self, address: Expr, space: str) -> Expr:
        match address:
            case Addr(name, offset):
                return _moved_by(self.pointer(name, space), offset)
            case Binary("+", Addr(name, start), Const(offset)):
                return _moved_by(self.pointer(name, space), start + offset)
            case Binary("+", Reg() as base, Const(offset)) if space not in SHARED and not self.short:
                return _moved_by(self.code.into_register(base, 64, self.leaf), offset)
        objects = bool(named(address))
        leaf = self.windowed(space) if objects else self.leaf
        found = self.code.into_register(address, 64, leaf)
        if self.short and is_short(self.thread, address):
            found = self._generic(found)
        if space in SHARED and not objects:
            cast = self.code.fresh(64)
            self.code.add(f"cvta.to.{space}.u64 {cast}, {found}")
            found = cast
        return Reg(found)

    def _generic(self, found: str) -> str:
        """The generic address of one of the shared window, here or in another CTA of the cluster."""
        made = self.code.fresh(64)
        space = "shared::cluster" if self.layout.cluster_size > 1 else "shared"
        self.code.add(f"cvta.{space}.u64 {made}, {found}")
        return made

    def operand(self, statement: Statement, name: str, value: Expr) -> Expr:
        """A register or a number for an operand."""
        if name in ("pred",):
            return Reg(self.code.into_register(value, PREDICATE, self.leaf))
        if isinstance(value, Select) and name == "read":
            return replace(value, cond=Reg(self.code.value(value.cond, PREDICATE, self.leaf)))
        type_ = self._operand_type(statement, name)
        if isinstance(value, Const) and not type_.floating and type_.bits not in (16, 128):
            return value
        return Reg(self.code.into_register(value, width(type_), self.leaf))

    def _operand_type(self, statement: Statement, name: str) -> Type:
        match statement, name:
            case ((Store() | Atomic() | AsyncStore()), _):
                return statement.type
            case AsyncCopy(), "multicast":
                return Type("b", 16)
            case TensormapReplace(field=part), _:
                return Type("b", 64 if part in ("global_address", "global_stride") else 32)
            case _, "token":
                return Type("b", 64)
        return U32


def _moved_by(register: str, offset: int) -> Expr:
    return Binary("+", Reg(register), Const(offset), Type("u", 64)) if offset else Reg(register)


def is_expression(value: object) -> bool:
    """Whether a field of an instruction is an expression."""
    return isinstance(value, Const | Reg | Addr | Unary | Binary | Select)
