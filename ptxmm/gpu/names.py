"""Registers and addresses of a thread of a test, as a kernel names them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.arith import U32, Type
from ptxmm.errors import Unsupported
from ptxmm.gpu.code import PREDICATE, Code, Leaf, Operand, width
from ptxmm.gpu.layout import Layout, cta_of
from ptxmm.gpu.maps import MAP_BYTES
from ptxmm.gpu.parameters import NAME
from ptxmm.gpu.views import address_lines
from ptxmm.program import Addr, Expr, Place, Program, Reg, Space, Thread

OPAQUE = 6
"""How many zeros there are that the assembler does not know to be zeros."""

SHARED = ("shared::cta", "shared::cluster")


@dataclass(slots=True)
class Names:
    """One thread of a test; `pre` is what comes before the threads meet: the addresses are computed there.

    `uses` counts how often each address was used beyond once. `short` says that registers hold addresses of shared
    memory in 32 bits.
    """

    program: Program
    layout: Layout
    number: int
    code: Code
    short: bool
    pre: list[str] = field(default_factory=list, kw_only=True)
    uses: dict[str, int] = field(default_factory=dict, kw_only=True)

    @property
    def thread(self) -> Thread:
        return self.program.threads[self.number]

    def type_of(self, name: str) -> Type:
        return self.thread.types.get(name, U32)

    def register(self, name: str) -> str:
        """The PTX register of one of the thread's registers."""
        numbers = list(dict.fromkeys([*self.thread.types, name]))
        return self.code.register(f"t{self.number}_{numbers.index(name)}", width(self.type_of(name)))

    def never(self) -> str:
        """A predicate that does not hold, of which the assembler does not know it."""
        name = f"never{self.number}"
        if name not in self.code.declared:
            self.pre.append(f"    setp.ne.u64 {self.code.register(name, PREDICATE)}, zero0, 0;")
        return name

    def leaf(self, expr: Expr) -> Operand:
        """Registers, and addresses as values: generic ones, or of the shared window where they are short."""
        match expr:
            case Reg(name):
                return self.register(name), width(self.type_of(name))
            case Addr(name, offset):
                space = self.space_of(name) if self.short else ""
                return self._moved(self.pointer(name, space if space in SHARED else ""), offset), 64
        raise Unsupported("a final value in the code of a thread")

    def windowed(self, space: str) -> Leaf:
        """Leaves of an address in a state space."""

        def leaf(expr: Expr) -> Operand:
            if isinstance(expr, Addr):
                return self._moved(self.pointer(expr.name, space), expr.offset), 64
            return self.leaf(expr)

        return leaf

    def _moved(self, pointer: str, offset: int) -> str:
        if not offset:
            return pointer
        made = self.code.fresh(64)
        self.code.add(f"add.s64 {made}, {pointer}, {offset}")
        return made

    def space_of(self, name: str) -> str:
        """The state space of an object as this thread sees it."""
        item = self.program.physical(name)
        if item.owner is None:
            return "const" if item.space is Space.CONST else "global"
        return SHARED[cta_of(item.owner) != cta_of(self.thread.place)]

    def pointer(self, name: str, space: str) -> str:
        """The address of an object for one more access; from the second on, the assembler cannot see that it is."""
        kind = "generic" if space not in SHARED and self.space_of(name) in SHARED else "window"
        item = self.program.physical(name)
        base = f"p{self.number}_{self.program.objects.index(item)}_{'a' if name != item.name else kind[0]}"
        count = self.uses[base] = self.uses.get(base, -1) + 1
        if not count:
            self.pre[:0] = self.located(self.code.register(base, 64), name, kind)
            return base
        made = self.code.register(f"{base}{count}", 64)
        self.pre.append(f"    add.s64 {made}, {base}, zero{(count - 1) % OPAQUE};")
        return made

    def located(self, register: str, name: str, kind: str) -> list[str]:
        """What puts the address of an object into a register: a `generic` one, or that in its `window`."""
        item = self.program.physical(name)
        if item.space in (Space.GLOBAL, Space.CONST):
            other = [f"    add.s64 {register}, {register}, alias;"] if name != item.name else []
            return [*(f"    {line};" for line in address_lines(self.program, item.name, register)), *other]
        if item.space is Space.PARAM:
            array = NAME.format(self.layout.parameters.index(item.name))
            return [f"    mad.wide.u32 {register}, slot_here, {MAP_BYTES}, {array};"]
        lines = [f"    add.s64 {register}, shared_here, {self.layout.shared[item.name]};"]
        assert item.owner is not None
        if kind == "generic":
            lines.append(f"    cvta.shared.u64 {register}, {register};")
        if cta_of(item.owner) != cta_of(self.thread.place):
            window = "" if kind == "generic" else ".shared::cluster"
            lines.append(f"    mapa{window}.u64 {register}, {register}, {self.rank(item.owner)};")
        return lines

    def rank(self, owner: Place) -> int:
        """The rank of a CTA in its cluster."""
        for thread, seat in zip(self.program.threads, self.layout.seats, strict=True):
            if cta_of(thread.place) == cta_of(owner):
                return seat.rank
        raise Unsupported("a CTA in which no thread runs has shared memory")
