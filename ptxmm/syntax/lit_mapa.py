"""`mapa`: the address of an object in another CTA of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from ptxmm.arith import U32, U64, Type
from ptxmm.errors import InputError
from ptxmm.program import Addr, Binary, Const, Expr, Object, Select
from ptxmm.syntax.lit_operands import Operands
from ptxmm.syntax.lit_tree import Node, Step

NAME = "mapa"
WIDTHS = {"mapa.u64": U64, "mapa.shared::cluster.u64": U64, "mapa.shared::cluster.u32": U32}
SHAPE = "write `mapa.shared::cluster.u64 r0, s, 1;`"


def is_mapa(mnemonic: str) -> bool:
    """Whether a mnemonic is that of `mapa`."""
    return mnemonic.partition(".")[0] == NAME


def destination(words: Operands, step: Step) -> Node:
    """The register that gets the address."""
    mnemonic = (step.start, step.start + len(step.text))
    if step.text not in WIDTHS:
        hint = "write `mapa.shared::cluster.u32` or `.u64`"
        raise words.source.error(f"`{step.text}` is no `mapa` of this language", *mnemonic, hint)
    if len(step.exprs) != 3:
        raise words.source.error(f"`{step.text}` takes 3 operands, not {len(step.exprs)}", *mnemonic, SHAPE)
    first = step.exprs[0]
    if first.kind != "name" or first.text == "_":
        raise words.source.error("the address goes to a register", first.start, first.end, SHAPE)
    return first


def width(step: Step) -> Type:
    """The type of the address that an instruction gives."""
    return WIDTHS[step.text]


def address(words: Operands, step: Step) -> Expr:
    """The address of what the CTA of a rank in the cluster has there; 0 where there is no such rank or object."""
    node, rank = step.exprs[1:]
    found = words.named_address(node)
    if found is not None:
        own = found.expr
        obj = words.memory.object(own.name) if isinstance(own, Addr) else None
        if not isinstance(own, Addr) or obj is None or obj.family is None:
            raise _private(words, node)
        return _ranked(words, rank, [Addr(home.name, own.offset) for home in _homes(words, obj.family)])
    value, type_ = words.reader().value(node), width(step)
    if value.type is None or value.type.bits != type_.bits:
        message = f"`{step.text}` takes the address of shared memory in {type_.bits} bits, or its name"
        raise words.source.error(message, node.start, node.end, SHAPE)
    families = [f for f in words.memory.families if words.memory.seen(f, words.place) is not None]
    if not families:
        raise _private(words, node)
    chosen: Expr = Const(0)
    for family in reversed(families):
        own = Addr(words.memory.seen(family, words.place) or family)
        inside = Binary("-", value.expr, own, type_)
        homes: list[Expr] = [Binary("+", inside, Addr(home.name), type_) for home in _homes(words, family)]
        held = Binary("<", inside, Const(words.memory.object(own.name).size), type_)
        chosen = Select(held, _ranked(words, rank, homes), chosen)
    return chosen


def _homes(words: Operands, family: str) -> list[Object]:
    """The objects of a family in the cluster of the thread, by rank."""
    place = words.place
    found = [words.memory.objects[name] for name in words.memory.families[family]]
    near = [o for o in found if o.owner and (o.owner.device, o.owner.cluster) == (place.device, place.cluster)]
    return sorted(near, key=lambda o: o.owner.cta if o.owner and o.owner.cta else 0)


def _ranked(words: Operands, rank: Node, homes: Sequence[Expr]) -> Expr:
    """One of the addresses in the CTAs of a cluster, by the rank."""
    value = words.reader().value(rank)
    if value.type not in (None, U32) and not words.lenient and (value.type is None or value.type.bits != U32.bits):
        raise words.source.error("a rank has 32 bits", rank.start, rank.end)
    if isinstance(value.expr, Const):
        return _known(words, value.expr.value, homes, rank)
    chosen: Expr = Const(0)
    for number, home in reversed(list(enumerate(homes))):
        chosen = Select(Binary("==", value.expr, Const(number), U32), home, chosen)
    return chosen


def _private(words: Operands, node: Node) -> InputError:
    message = "`mapa` needs an object that each CTA of the cluster has"
    hint = "declare it as `.shared @ d0.c0.* .u32 s;`, and name it here"
    return words.source.error(message, node.start, node.end, hint)


def _known(words: Operands, number: int, family: Sequence[Expr], rank: Node) -> Expr:
    if not 0 <= number < len(family):
        hint = f"ranks are 0 to {len(family) - 1}"
        raise words.source.error(f"this cluster has no CTA of rank {number}", rank.start, rank.end, hint)
    return family[number]
