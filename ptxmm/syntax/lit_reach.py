"""Whose shared memory an mbarrier or copy may name: what is for the own CTA, and how another CTA's is spelled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxmm.program import (
    Addr,
    AsyncCopy,
    Asynchronous,
    CopyArrive,
    Expr,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierTx,
    MbarrierWait,
    Space,
    TensormapCopy,
    TensormapReplace,
)
from ptxmm.syntax.lit_operands import Operands
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node, Step

OWN = ("shared", "shared::cta")
REMOTE = "shared::cluster"
ONLY_OWN = {
    MbarrierInit: "only the threads of its CTA initialise an mbarrier",
    MbarrierInval: "only the threads of its CTA invalidate an mbarrier",
    MbarrierWait: "only the threads of its CTA wait for an mbarrier",
    CopyArrive: "`cp.async.mbarrier.arrive` is for an mbarrier of the own CTA",
    TensormapReplace: "`tensormap.replace` is for a tensor map of the own CTA",
}


@dataclass(frozen=True, slots=True)
class Reach:
    """Checks the shared memory that the instructions of one thread name."""

    source: Source
    words: Operands

    def statement(self, step: Step, statement: Asynchronous) -> None:
        """Insist on the own CTA's memory where PTX does, and on `.shared::cluster` for that of another CTA."""
        places = [node for node in step.exprs if node.kind == "memory"]
        match statement:
            case MbarrierInit() | MbarrierInval() | MbarrierWait() | CopyArrive() | TensormapReplace():
                self._own(statement.address, places[0], ONLY_OWN[type(statement)])
            case MbarrierArrive(address=address):
                self._arrive(step, statement, address, places[0])
            case MbarrierTx(address=address):
                self._spelled(step, address)
            case TensormapCopy(source=address):
                self._own(address, places[1], "`tensormap.cp_fenceproxy` copies from the own CTA")
            case AsyncCopy():
                self._copy(step, statement, places)

    def remote(self, address: Expr | None) -> bool | None:
        """Whether an address names shared memory of another CTA, None for what is not known or not shared."""
        if not isinstance(address, Addr):
            return None
        held = self.words.memory.object(address.name)
        if held.space is not Space.SHARED or held.owner is None:
            return None
        place = self.words.place
        return (held.owner.device, held.owner.cta) != (place.device, place.cta)

    def _own(self, address: Expr | None, node: Node, why: str) -> None:
        if self.remote(address):
            raise self.source.error("this is shared memory of another CTA of the cluster", node.start, node.end, why)

    def _arrive(self, step: Step, arrive: MbarrierArrive, address: Expr, node: Node) -> None:
        if not arrive.completes:
            self._own(address, node, "`.noComplete` is for an mbarrier of the own CTA")
        if self.remote(address) and arrive.dst is not None:
            first = step.exprs[0]
            message = "an mbarrier of another CTA gives no state"
            raise self.source.error(message, first.start, first.end, "write `_`")
        self._spelled(step, address)

    def _copy(self, step: Step, copy: AsyncCopy, places: list[Node]) -> None:
        into, out_of = copy.spaces or ("", "")
        if out_of in OWN and copy.source is not None:
            self._own(copy.source, places[1], "a copy reads the shared memory of the own CTA")
        if not copy.bulk:
            self._own(copy.destination, places[0], "`cp.async` writes the shared memory of the own CTA")
        if (into, out_of) == (REMOTE, "shared::cta") and self.remote(copy.destination) is False:
            message = "a copy from shared to shared memory goes to another CTA of the cluster"
            raise self.source.error(message, places[0].start, places[0].end, "copy with `ld` and `st` inside a CTA")
        if into != REMOTE:
            self._spelled(step, copy.destination)

    def _spelled(self, step: Step, address: Expr | None) -> None:
        """`.shared` is the thread's own CTA; that of another CTA of the cluster is `.shared::cluster`."""
        own = next(self._spaces(step), None)
        if own is None or not self.remote(address) or not isinstance(address, Addr):
            return
        word, start = own
        better = step.text[: start - step.start] + REMOTE + step.text[start - step.start + len(word) :]
        message = f"`{address.name}` is shared memory of another CTA of the cluster"
        raise self.source.error(message, start, start + len(word), f"write `{better}`")

    def _spaces(self, step: Step) -> Iterator[tuple[str, int]]:
        """The words for the own CTA's memory in a mnemonic, and where they stand."""
        at = step.start
        for word in step.text.split("."):
            if word in OWN:
                yield word, at
            at += len(word) + 1
