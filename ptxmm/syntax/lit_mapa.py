"""`mapa`: the address of an object in another CTA of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from ptxmm.arith import U32
from ptxmm.program import Addr, Binary, Const, Expr, Select
from ptxmm.syntax.lit_operands import Operands
from ptxmm.syntax.lit_tree import Node, Step

NAME = "mapa"
SPELLED = ("mapa.u64", "mapa.shared::cluster.u64")
SHAPE = "write `mapa.shared::cluster.u64 r0, s, 1;`"


def is_mapa(mnemonic: str) -> bool:
    """Whether a mnemonic is that of `mapa`."""
    return mnemonic.partition(".")[0] == NAME


def destination(words: Operands, step: Step) -> Node:
    """The register that gets the address."""
    mnemonic = (step.start, step.start + len(step.text))
    if step.text not in SPELLED:
        hint = "an address has 64 bits: write `mapa.shared::cluster.u64`"
        raise words.source.error(f"`{step.text}` is no `mapa` of this language", *mnemonic, hint)
    if len(step.exprs) != 3:
        raise words.source.error(f"`{step.text}` takes 3 operands, not {len(step.exprs)}", *mnemonic, SHAPE)
    first = step.exprs[0]
    if first.kind != "name" or first.text == "_":
        raise words.source.error("the address goes to a register", first.start, first.end, SHAPE)
    return first


def address(words: Operands, step: Step) -> Expr:
    """The address of the object that the CTA of a rank in the cluster has; 0 where there is no such rank."""
    node, rank = step.exprs[1:]
    found = words.named_address(node)
    own = found.expr if found is not None else None
    obj = words.memory.object(own.name) if isinstance(own, Addr) else None
    if not isinstance(own, Addr) or obj is None or obj.family is None:
        message = "`mapa` needs an object that each CTA of the cluster has"
        hint = "declare it as `.shared @ d0.c0.* .u32 s;`, and name it here"
        raise words.source.error(message, node.start, node.end, hint)
    place = words.place
    homes = [words.memory.objects[name] for name in words.memory.families[obj.family]]
    near = [o for o in homes if o.owner and (o.owner.device, o.owner.cluster) == (place.device, place.cluster)]
    family = [Addr(o.name, own.offset) for o in sorted(near, key=lambda o: o.owner.cta if o.owner else 0)]
    value = words.reader().value(rank)
    if value.type not in (None, U32) and not words.lenient and (value.type is None or value.type.bits != U32.bits):
        raise words.source.error("a rank has 32 bits", rank.start, rank.end)
    if isinstance(value.expr, Const):
        return _known(words, value.expr.value, family, rank)
    chosen: Expr = Const(0)
    for number, home in reversed(list(enumerate(family))):
        chosen = Select(Binary("==", value.expr, Const(number), U32), home, chosen)
    return chosen


def _known(words: Operands, number: int, family: Sequence[Addr], rank: Node) -> Addr:
    if not 0 <= number < len(family):
        hint = f"ranks are 0 to {len(family) - 1}"
        raise words.source.error(f"this cluster has no CTA of rank {number}", rank.start, rank.end, hint)
    return family[number]
