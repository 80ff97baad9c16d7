"""One instruction of another tool's dialect as it is written, and the statements of `ptxmm.program` that it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ptxmm.arith import Type
from ptxmm.errors import InputError, Span, near
from ptxmm.program import (
    Addr,
    Atomic,
    Const,
    Expr,
    Fence,
    Load,
    Order,
    Proxy,
    ProxyFence,
    Reg,
    Scope,
    Statement,
    Store,
)
from ptxmm.syntax._common import NAME, NUMBER, REGISTER, Text, literal, quoted

SCOPES = {scope.value: scope for scope in (Scope.CTA, Scope.GPU, Scope.SYS)}
ORDERS = {order.value: order for order in Order}
LOADS = {"ld": Proxy.GENERIC, "tld": Proxy.TEXTURE, "suld": Proxy.SURFACE, "ldc": Proxy.CONSTANT}
STORES = {"st": Proxy.GENERIC, "sust": Proxy.SURFACE}
READS = ("weak", "relaxed", "acquire")
WRITES = ("weak", "relaxed", "release")
UPDATES = ("relaxed", "acquire", "release", "acq_rel")
FENCES = ("acq_rel", "sc")
PROXY_FENCES = ("alias", "texture", "surface", "constant")
OPERATIONS = {"add": 1, "sub": 1, "and": 1, "or": 1, "xor": 1, "exch": 1, "min": 1, "max": 1, "cas": 2}
QUALIFIERS: dict[str, tuple[str, ...]] = {
    "order": tuple(ORDERS),
    "volatile": ("volatile",),
    "scope": tuple(SCOPES),
    "operation": tuple(OPERATIONS),
}


@cache
def qualified(opcode: str, shape: tuple[str, ...]) -> dict[str, str] | str:
    """The qualifiers of an opcode by kind, in the order of `shape`, or the first word that has no place there.

    >>> qualified("atom.relaxed.gpu.add", ("order", "scope", "operation"))
    {'order': 'relaxed', 'scope': 'gpu', 'operation': 'add'}
    >>> qualified("ld.gpu.relaxed", ("order", "scope"))
    'relaxed'
    """
    found, left = {}, list(shape)
    for word in opcode.split(".")[1:]:
        while left and word not in QUALIFIERS[left[0]]:
            left.pop(0)
        if not left:
            return word
        found[left.pop(0)] = word
    return found


@dataclass(slots=True)
class Written:
    """An instruction as it stands in the file: its opcode, its operands, and what all code of the test has named."""

    text: Text
    offset: int
    source: str
    opcode: str
    operands: tuple[str, ...]
    type: Type
    locations: dict[str, int]
    registers: dict[str, Type]
    brackets: bool = False

    @property
    def at(self) -> Span:
        return self.text.span(self.offset, len(self.source))

    @property
    def line(self) -> str:
        """The instruction in one line."""
        return " ".join(self.source.split())

    def error(self, message: str, part: str = "", hint: str = "") -> InputError:
        """An error at one part of the instruction, or at all of it."""
        shift = max(0, self.source.rfind(part) if part in self.operands else self.source.find(part))
        return self.text.error(message, self.offset + shift, len(part or self.source), hint)

    def arity(self, least: int, most: int | None = None) -> None:
        """Check how many operands there are."""
        most = least if most is None else most
        if not least <= len(self.operands) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.error(f"{quoted(self.opcode)} takes {wanted} operands, here are {len(self.operands)}")

    def register(self, position: int) -> str:
        """An operand that must be a register."""
        word = self.operands[position]
        if not REGISTER.fullmatch(word):
            raise self.error(f"{quoted(word)} is not a register", word, "registers are `r` and a number")
        self.registers[word] = self.type
        return word

    def value(self, position: int) -> Expr:
        """An operand that is a register or a number."""
        word = self.operands[position]
        if NUMBER.fullmatch(word):
            number = literal(word, self.type.bits)
            if number is None:
                raise self.error(f"this number has more than {self.type.bits} bits", word)
            return Const(number)
        if not REGISTER.fullmatch(word):
            raise self.error(f"{quoted(word)} is neither a register nor a number", word)
        self.registers[word] = self.type
        return Reg(word)

    def address(self, position: int) -> Addr:
        """An operand that names a location."""
        word = self.operands[position]
        name = word[1:-1].strip() if self.brackets and word[:1] == "[" and word[-1:] == "]" else word
        if self.brackets and name == word:
            raise self.error(f"{quoted(word)} is not an address", word, "write `[x]`")
        if not NAME.fullmatch(name) or REGISTER.fullmatch(name):
            raise self.error(f"{quoted(name)} is not a location", word)
        self.locations.setdefault(name, self.offset + max(0, self.source.find(word)))
        return Addr(name)

    def label(self, position: int) -> str:
        """An operand that names a label."""
        word = self.operands[position]
        if not NAME.fullmatch(word):
            raise self.error(f"{quoted(word)} is not a label", word)
        return word

    def qualifiers(self, *shape: str) -> dict[str, str]:
        """The qualifiers by kind; an error at the first that has no place in this shape."""
        found = qualified(self.opcode, shape)
        if isinstance(found, str):
            known = [word for kind in shape for word in QUALIFIERS[kind]]
            placed = f"write them in the order {', '.join(shape)}" if found in known else near(found, known)
            raise self.error(f"{quoted(self.opcode)} does not take `.{found}` here", found, placed)
        return found

    def strength(
        self, found: dict[str, str], allowed: Sequence[str], default: str | None = None
    ) -> tuple[Order, Scope]:
        """Order and scope of a strong instruction, both of which must stand."""
        order = found.get("order")
        if order not in allowed:
            what = f"takes no `.{order}`" if order else "needs a memory order"
            raise self.error(f"{quoted(self.opcode)} {what}", order or "", f"one of {', '.join(allowed)}")
        scope = found.get("scope")
        if scope is None:
            raise self.error(f"{quoted(self.opcode)} needs a scope", "", f"one of {', '.join(SCOPES)}")
        return ORDERS[order or ""], SCOPES[scope]

    def access(self, allowed: Sequence[str]) -> tuple[Order, Scope | None]:
        """Order and scope of a load or store: weak ones have no scope, volatile ones are relaxed at system scope."""
        found = self.qualifiers("order", "volatile", "scope")
        weak = found.get("order", "weak") == "weak"
        if "volatile" in found and "order" not in found and "scope" not in found:
            return Order.RELAXED, Scope.SYS
        if "volatile" in found or (weak and "scope" in found):
            kind = "volatile" if "volatile" in found else "weak"
            raise self.error(f"a {kind} access takes no {'order and ' * (kind == 'volatile')}scope", self.opcode)
        return (Order.WEAK, None) if weak else self.strength(found, allowed)


def load(written: Written, proxy: Proxy) -> Statement:
    """`ld r0, x` through a proxy."""
    written.arity(2)
    order, scope = written.access(READS)
    dst = written.register(0)
    return Load(
        dst=(dst,), address=written.address(1), type=written.type, order=order, scope=scope, proxy=proxy,
        at=written.at, text=written.line,
    )  # fmt: skip


def store(written: Written, proxy: Proxy) -> Statement:
    """`st x, 1` through a proxy."""
    written.arity(2)
    order, scope = written.access(WRITES)
    return Store(
        values=(written.value(1),), address=written.address(0), type=written.type, order=order, scope=scope,
        proxy=proxy, at=written.at, text=written.line,
    )  # fmt: skip


def atomic(written: Written, shape: Sequence[str], default: dict[str, str] | None = None) -> Statement:
    """`atom r0, x, 1` or `red x, 1`."""
    reduction = written.opcode.split(".")[0] == "red"
    found = {**(default or {}), **written.qualifiers(*shape)}
    order, scope = written.strength(found, UPDATES)
    operation = found.get("operation")
    if operation is None or (reduction and operation in ("exch", "cas")):
        known = [op for op in OPERATIONS if not reduction or op not in ("exch", "cas")]
        raise written.error(f"{quoted(written.opcode)} needs an operation", "", f"one of {', '.join(known)}")
    first = 0 if reduction else 1
    written.arity(first + 1 + OPERATIONS[operation])
    dst = None if reduction else written.register(0)
    operands = tuple(written.value(i) for i in range(first + 1, len(written.operands)))
    return Atomic(
        op=operation, dst=(dst,), address=written.address(first), operands=operands, type=written.type,
        order=order, scope=scope, reduction=reduction, at=written.at, text=written.line,
    )  # fmt: skip


def fence(written: Written) -> Statement:
    """`fence.sc.gpu` and `fence.proxy.alias`."""
    written.arity(0)
    parts = written.opcode.split(".")[1:]
    if parts[:1] == ["proxy"]:
        kind = ".".join(parts[1:])
        if kind not in PROXY_FENCES:
            hint = near(kind, PROXY_FENCES) or f"one of {', '.join(PROXY_FENCES)}"
            raise written.error(f"there is no {quoted(written.opcode)}", kind, hint)
        return ProxyFence(kind=kind, at=written.at, text=written.line)
    order, scope = written.strength(written.qualifiers("order", "scope"), FENCES)
    return Fence(order=order, scope=scope, at=written.at, text=written.line)
