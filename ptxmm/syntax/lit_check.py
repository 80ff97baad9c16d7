"""What the table of instructions cannot check: registers are written and wide enough, spaces suit the place."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import PRED, Type
from ptxmm.program import Addr, Asynchronous, AsyncStore, Atomic, Barrier, Foreign, Load, Reg, Statement, Store
from ptxmm.syntax.lit_operands import Operands, is_short
from ptxmm.syntax.lit_reach import Reach
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node, Step
from ptxmm.syntax.lit_values import bits_of, no_integer
from ptxmm.syntax.lit_wait import fits


@dataclass(frozen=True, slots=True)
class Check:
    """Checks the instructions of one thread, whose words are known."""

    source: Source
    words: Operands

    def statement(self, step: Step, statement: Statement) -> None:
        """What the table cannot check: registers are written somewhere and wide enough, spaces suit the place."""
        if isinstance(statement, Foreign):
            return
        place = 0
        for node in step.exprs:
            self._known(node, is_short(step.of or step.text, place))
            place += node.kind == "memory"
        match statement:
            case Load(type=type_) if step.of:
                fits(self.source, type_, step.start, step.start + len(step.of))
            case Store(type=type_, values=values) | AsyncStore(type=type_, values=values, op=None):
                self._sources(step, len(values), type_, wider=True)
            case AsyncStore(type=type_):
                self._sources(step, 1, type_, wider=False)
            case Atomic(type=type_, operands=operands):
                self._sources(step, len(operands), type_, wider=False)
            case Barrier(pred=Reg(name)) if self.words.registers.types[name] != PRED:
                node = step.exprs[-1]
                raise self.source.error("this is no predicate", node.start, node.end, "make one with `setp`")
        if isinstance(statement, Load | Store | Atomic) and isinstance(statement.address, Addr):
            self._window(step, statement.address)
        if isinstance(statement, Asynchronous):
            Reach(self.source, self.words).statement(step, statement)

    def _window(self, step: Step, where: Addr) -> None:
        """`.shared` is the thread's own CTA; that of another CTA of the cluster is `.shared::cluster`."""
        owner = self.words.memory.object(where.name).owner
        mnemonic = step.of or step.text
        words = mnemonic.split(".")
        own = next((word for word in words if word in ("shared", "shared::cta")), None)
        if owner is None or own is None or (owner.device, owner.cta) == (self.words.place.device, self.words.place.cta):
            return
        start = step.start + mnemonic.index(f".{own}") + 1
        message = f"`{where.name}` is shared memory of another CTA of the cluster"
        better = ".".join("shared::cluster" if word == own else word for word in words)
        raise self.source.error(message, start, start + len(own), f"write `{better}`")

    def _known(self, node: Node, short: bool) -> None:
        if node.kind == "memory" and node.args[0].kind == "name":
            self.words.pointer(node.args[0], short)
        for item in (arg for arg in node.args if arg.kind == "vector"):
            self._known(item, short)
        for item in node.args or (node,):
            if item.kind == "name" and item.text != "_":
                name = item.text.removeprefix("%")
                if (
                    name not in self.words.registers.readable
                    and self.words.memory.seen(item.text, self.words.place) is None
                ):
                    raise self.words.never(item)

    def _sources(self, step: Step, count: int, type_: Type, *, wider: bool) -> None:
        """Each value that is written has the width of the access; a store may cut a wider one."""
        for node in written(step)[:count]:
            if node.kind not in ("name", "index"):
                no_integer(self.source, self.words.reader().value(node), type_, node)
            found = self.words.type_of(node)
            computed = found == PRED and node.kind != "name"
            if found is None or computed or found.bits == type_.bits or (wider and found.bits > type_.bits):
                continue
            message = f"width mismatch: `{step.text}` needs {bits_of(type_)}, this has {bits_of(found)}"
            hint = f"convert it first: `cvt.u{type_.bits}.u{found.bits}`"
            if (
                node.kind == "name"
                and found.bits < type_.bits
                and self.words.registers.extended(node.text.removeprefix("%"))
            ):
                hint += f", or declare `.reg .b{type_.bits} {node.text};`, so that the load extends it"
            hint = "make a number with `selp`" if found == PRED else hint
            raise self.source.error(message, node.start, node.end, hint)


def written(step: Step) -> list[Node]:
    """The operands behind the address: what an instruction writes to memory."""
    after = next((i for i, node in enumerate(step.exprs) if node.kind == "memory"), len(step.exprs)) + 1
    return [item for node in step.exprs[after:] for item in (node.args if node.kind == "vector" else (node,))]
