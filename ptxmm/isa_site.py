"""Where an instruction stands: its mnemonic, its operands, and what the declarations of the names in them decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from ptxmm.arith import PRED, Type
from ptxmm.errors import InputError, Span
from ptxmm.isa_form import Form, choices, type_of
from ptxmm.isa_operands import KINDS, Operand, destination, value
from ptxmm.program import Addr, Expr, Object, Proxy, Reg, Space, View, leaves

READ_BY = {Proxy.TEXTURE: "`tld`", Proxy.SURFACE: "`suld` or `sust`", Proxy.CONSTANT: "`ldc`"}
DECLARED_AS = {Proxy.TEXTURE: "texref", Proxy.SURFACE: "surfref", Proxy.CONSTANT: "constref"}
CANDIDATES = {"b": "b", "u": "ub", "s": "sbu", "f": "fb", "bf": ("bf", "b")}
"""The kinds of type that an access may have at a declared kind, best first."""


class Common(TypedDict):
    """What every statement is made with."""

    guard: Expr | None
    at: Span
    text: str


Declared = Callable[[str], Object | View | None]


@dataclass(frozen=True, slots=True)
class Site:
    """A matched mnemonic with its operands, and what the names in them stand for."""

    form: Form
    operands: tuple[Operand, ...]
    declared: Declared

    def count(self, least: int, most: int, shape: str) -> None:
        """Insist on the number of operands; `shape` is how the instruction is written."""
        found = len(self.operands)
        if least <= found <= most:
            return
        wanted = str(least) if least == most else f"{least} to {most}"
        noun = "operand" if wanted == "1" else "operands"
        at = self.operands[most].at if found > most else self.form.at
        takes = f"{wanted} {noun}" if most else "no operands"
        raise InputError(f"`{self.form.but()}` takes {takes}, not {found}", at, f"write `{self.form.but()}{shape}`")

    def memory(self, index: int) -> Expr:
        """The address in brackets at a position."""
        operand = self.operands[index]
        if operand.kind != "mem" or operand.expr is None:
            hint = f"write `[{operand.expr.name}]`" if isinstance(operand.expr, Reg | Addr) else "write `[x]`"
            raise InputError(
                f"`{self.form.but()}` needs an address in brackets here, not {KINDS[operand.kind]}", operand.at, hint
            )
        if operand.items and not any(slot.name == "dimensions" for slot in self.form.row.slots):
            raise self.placed(index)
        return operand.expr

    def placed(self, index: int) -> InputError:
        """The complaint about coordinates where none can stand."""
        at = self.operands[index].at
        return InputError("coordinates stand behind the name of a tensor map alone", at, "write `[D, {0}]` for the map")

    def results(self, index: int) -> tuple[str | None, ...]:
        """The registers that receive results at a position, one for each element of a vector form."""
        return tuple(destination(self.form, item) for item in self._elements(index))

    def values(self, index: int, type_: Type) -> tuple[Expr, ...]:
        """The values at a position, one for each element of a vector form, each in the range of the type."""
        return tuple(value(self.form, item, type_) for item in self._elements(index))

    def scalar(self, index: int, type_: Type) -> Expr:
        """One value."""
        return value(self.form, self.operands[index], type_)

    def number(self, index: int, type_: Type) -> Expr:
        """One value that is as wide as the type, where its width is known."""
        found = self.operands[index]
        if found.type is not None and (found.type.bits, found.type == PRED) != (type_.bits, type_ == PRED):
            wanted, has = (f"{t.bits} bits" if t != PRED else "a predicate" for t in (type_, found.type))
            message = f"width mismatch: `{self.form.but()}` needs {wanted} here, this has {has}"
            hint = "" if PRED in (type_, found.type) else f"convert it first: `cvt.u{type_.bits}.u{found.type.bits}`"
            raise InputError(message, found.at, hint)
        return value(self.form, found, type_)

    def _elements(self, index: int) -> tuple[Operand, ...]:
        operand, vector = self.operands[index], self.form.get("vector")
        if not vector:
            if operand.kind == "vector":
                wider = f"write `.v{len(operand.items)}` before the type" if len(operand.items) in (2, 4, 8) else ""
                raise InputError(f"`{self.form.but()}` takes no vector", operand.at, wider)
            return (operand,)
        length = int(vector[1:])
        if operand.kind != "vector":
            raise InputError(
                f"`.{vector}` needs a vector of {length} here, not {KINDS[operand.kind]}",
                operand.at,
                "write `{a, b, …}`",
            )
        if len(operand.items) != length:
            raise InputError(f"`.{vector}` needs {length} elements, not {len(operand.items)}", operand.at)
        return operand.items

    # --- what the declaration of the address decides ------------------------------------------------------------------

    def targets(self, index: int) -> tuple[tuple[str, Object | View], ...]:
        """The declared names in the address at a position and what they stand for."""
        found: dict[str, Object | View] = {}
        for leaf in leaves(self.memory(index)):
            if isinstance(leaf, Addr):
                item = self.declared(leaf.name)
                if item is None:
                    raise InputError(
                        f"unknown location `{leaf.name}`",
                        self.operands[index].at,
                        f"declare `.global .u32 {leaf.name};`",
                    )
                found[leaf.name] = item
        return tuple(found.items())

    def object(self, item: Object | View) -> Object:
        """The object behind a view."""
        while isinstance(item, View):
            target = self.declared(item.target)
            if target is None:
                raise InputError(f"unknown location `{item.target}`", item.at)
            item = target
        return item

    def proxy(self, item: Object | View) -> Proxy:
        """The proxy of a view; objects and aliases are generic."""
        return item.proxy if isinstance(item, View) else Proxy.GENERIC

    def generic(self, index: int) -> None:
        """Insist on generic locations in the space that the mnemonic names."""
        named = self.form.get("space")
        for name, item in self.targets(index):
            proxy = self.proxy(item)
            if proxy is not Proxy.GENERIC:
                raise InputError(
                    f"`{self.form.row.name}` cannot reach `{name}`, a {proxy} view",
                    self.operands[index].at,
                    f"use {READ_BY[proxy]}",
                )
            space = self.object(item).space
            if named and named.partition("::")[0] != space:
                raise self.form.fail(
                    "space",
                    f"`{name}` is declared `.{space}`, not `.{named}`",
                    f"write `{self.form.but(space=str(space))}`",
                )

    def within(self, index: int, window: str | None, what: str) -> None:
        """Insist on generic locations in the memory of a window, `global`, `shared::cta` or `shared::cluster`."""
        wanted = (window or "").partition("::")[0]
        for name, item in self.targets(index):
            proxy, space = self.proxy(item), self.object(item).space
            if proxy is not Proxy.GENERIC:
                raise InputError(
                    f"`{self.form.row.name}` cannot reach `{name}`, a {proxy} view", self.operands[index].at
                )
            if wanted and space != wanted:
                message = f"{what} is in {wanted} memory, and `{name}` is declared `.{space}`"
                raise InputError(message, self.operands[index].at, f"name an object that is declared `.{wanted}`")

    def shared(self, index: int, what: str) -> None:
        """Insist on shared memory."""
        self.within(index, "shared", what)

    def viewed(self, index: int, proxy: Proxy) -> None:
        """Insist on one view of a proxy as the address."""
        targets = self.targets(index)
        if len(targets) != 1 or self.proxy(targets[0][1]) is not proxy:
            shown = (
                f"`{targets[0][0]}` is no {proxy} view" if len(targets) == 1 else f"the address names no {proxy} view"
            )
            raise InputError(
                f"`{self.form.row.name}` is for {proxy} views, and {shown}",
                self.operands[index].at,
                f"declare one: `.{DECLARED_AS[proxy]} t = x;`",
            )

    def shareable(self, index: int, why: str) -> None:
        """Insist on global or shared memory, or, for what only global memory has, on global memory."""
        for name, item in self.targets(index):
            declared = self.object(item).space
            if declared in (Space.CONST, Space.PARAM):
                raise InputError(
                    f"`{name}` is declared `.{declared}`, {why}",
                    self.operands[index].at,
                    "use `.global` or `.shared` memory",
                )

    def everywhere(self, index: int, what: str) -> None:
        """Insist on global memory."""
        for name, item in self.targets(index):
            declared = self.object(item).space
            if declared is not Space.GLOBAL:
                raise InputError(
                    f"{what} is for global memory, and `{name}` is declared `.{declared}`", self.operands[index].at
                )

    def writable(self, index: int) -> None:
        """Insist that what is written is not constant."""
        self.shareable(index, "which is read only")

    def inside(self, index: int, size: int, aligned: int = 0) -> None:
        """Insist that `size` bytes at a declared name lie in the object, aligned to their size or as is said."""
        aligned = aligned or size
        address, at = self.memory(index), self.operands[index].at
        if not isinstance(address, Addr):
            return
        item = self.declared(address.name)
        if item is None:
            return
        held, shown = self.object(item), _shown(address)
        if not 0 <= address.offset <= held.size - size:
            where = f"`{address.name}` has {held.size} bytes, declared `.{held.type}" + (
                f"[{held.length}]`" if held.length > 1 else "`"
            )
            raise InputError(f"{size} bytes at `{shown}` do not lie in `{address.name}`", at, where)
        if address.offset % aligned:
            hint = "PTX leaves misaligned accesses undefined"
            raise InputError(f"{size} bytes at `{shown}` are not aligned to {aligned} bytes", at, hint)

    def type(self, index: int, allowed: tuple[str, ...]) -> Type:
        """The type of the access: the one that is written, else that of the declaration, as bits where need be."""
        written = self.form.get("type")
        if written:
            return type_of(written)
        types = {self.object(item).type for _, item in self.targets(index)}
        if len(types) != 1:
            why = "the address is in a register" if not types else "the locations have different types"
            example = self.form.but(type="u32" if "u32" in allowed else "b32")
            raise InputError(
                f"`{self.form.but()}` names no type, and {why}", self.form.at, f"write the type: `{example}`"
            )
        declared = types.pop()
        for kind in CANDIDATES[declared.kind]:
            candidate = declared if kind == declared.kind else Type(kind, declared.bits)
            if str(candidate) in allowed:
                return candidate
        fitting = [word for word in allowed if type_of(word).bits == declared.bits] or list(allowed)
        message = f"`{self.form.but()}` cannot be of the declared type `.{declared}`"
        raise InputError(message, self.form.at, f"write the type: {choices(fitting)}")


def _shown(address: Addr) -> str:
    return f"{address.name}{address.offset:+}" if address.offset else address.name
