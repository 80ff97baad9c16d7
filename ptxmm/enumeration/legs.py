"""Where the bytes of copies and the mbarriers of instructions are, given the values of their operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.pieces import Leg
from ptxmm.enumeration.scopes import cluster, cta
from ptxmm.program import AsyncCopy, Expr, Object, Program, Space, Statement, TensorMap, Thread

ALIGNED, MAP, WORD, MBARRIER = 16, 128, 8, 8
Value = Callable[[Expr], int]


class Undefined(Exception):
    """An operand with which the instruction has no defined meaning, and why."""


def place(program: Program, thread: Thread, address: int, size: int, align: int, *, writes: bool = False) -> Spot:
    """The bytes at an address."""
    for virtual, base in program.addresses.items():
        thing = program.physical(virtual)
        if base <= address and address + size <= base + thing.size:
            if address % align:
                raise Undefined(f"uses an address that is not a multiple of {align}")
            if writes and thing.space in (Space.CONST, Space.PARAM):
                raise Undefined("writes to constant memory")
            if thing.owner is not None and cluster(thing.owner) != cluster(thread.place):
                raise Undefined("accesses the shared memory of another cluster")
            return Spot(thing.name, address - base, size, virtual)
    raise Undefined("accesses bytes outside every object")


def mbarrier_at(program: Program, thread: Thread, address: int) -> Spot:
    """The mbarrier object at an address."""
    spot = place(program, thread, address, MBARRIER, MBARRIER)
    if program.physical(spot.object).space is not Space.SHARED:
        raise Undefined("uses an mbarrier that is not in shared memory")
    return spot


def tensor_map(program: Program, thread: Thread, address: int) -> tuple[Spot, TensorMap]:
    """The address field of the tensor map at an address, and what the map describes."""
    spot = place(program, thread, address, MAP, 64)
    thing = program.physical(spot.object)
    if thing.tensormap is None or thing.space is Space.SHARED:
        raise Undefined(f"uses `{thing.name}` as a tensor map, which it is not")
    return replace(spot, size=WORD), thing.tensormap


def straight(program: Program, thread: Thread, item: AsyncCopy, value: Value) -> Leg:
    """A copy between two addresses."""
    assert item.source is not None
    assert item.destination is not None
    assert item.size is not None
    size = value(item.size)
    if size <= 0 or (item.bulk and size % ALIGNED):
        raise Undefined(f"copies {size} bytes, which is not a positive multiple of {ALIGNED}")
    align = ALIGNED if item.bulk else size
    source = place(program, thread, value(item.source), size, align)
    target = place(program, thread, value(item.destination), size, align, writes=True)
    stays(program, thread, item, source, target)
    return leg(program, item, source, target, size if item.read is None else value(item.read))


def own(program: Program, thread: Thread, spot: Spot) -> bool | None:
    """Whether shared memory is that of the thread's CTA; None for global memory."""
    owner = program.physical(spot.object).owner
    return None if owner is None else cta(owner) == cta(thread.place)


def stays(program: Program, thread: Thread, item: AsyncCopy, source: Spot, target: Spot) -> None:
    """A copy reads shared memory of its own CTA, to there from global memory alone, and `cp.async` writes there too."""
    reads, writes = own(program, thread, source), own(program, thread, target)
    if reads is False or (writes is False and not item.bulk):
        raise Undefined("uses the shared memory of another CTA")
    if reads and writes:
        raise Undefined("copies within the shared memory of one CTA")


def leg(program: Program, item: AsyncCopy, source: Spot, target: Spot, known: int) -> Leg:
    """A copy, whose elements are as long as those of the finer of the two objects; a reduction adds whole elements."""
    element = min(program.physical(spot.object).type.size for spot in (source, target))
    kind = item.type or program.physical(target.object).type
    return Leg(source, target, known, element, kind.size if item.reduce is not None else 1)


def ctas(program: Program, thread: Thread) -> list[int]:
    """The CTAs of a thread's cluster, by rank: those that the test has threads or shared memory of."""
    here = cluster(thread.place)
    places = [one.place for one in program.threads] + [one.owner for one in program.objects if one.owner is not None]
    return sorted({one.cta for one in places if cluster(one) == here})


def members(program: Program, thread: Thread, mask: int, spot: Spot) -> list[Spot]:
    """The same bytes in each CTA of a cluster that a multicast names, by the ranks of the CTAs."""
    own, found = program.physical(spot.object), list[Spot]()
    for rank, number in enumerate(ctas(program, thread)):
        for other in program.objects:
            if mask >> rank & 1 and alike(own, other) and other.owner is not None and other.owner.cta == number:
                found.append(replace(spot, object=other.name, virtual=other.name))
    if len(found) < mask.bit_count() or not mask:
        raise Undefined(f"goes to CTAs of the mask {mask:#x} that have no such object")
    return found


def alike(one: Object, other: Object) -> bool:
    """Whether two objects are at one offset in the shared memory of their CTAs."""
    return one.name == other.name or (one.family is not None and one.family == other.family)


def spread(program: Program, thread: Thread, mask: int | None, spot: Spot) -> Iterator[Spot]:
    """Where what goes to a spot goes, with a multicast or without."""
    yield from [spot] if mask is None else members(program, thread, mask, spot)


def operands(item: Statement) -> tuple[Expr, ...]:
    """The operands that say where an asynchronous instruction goes."""
    names = ("address", "destination", "source", "map", "mbarrier")
    return tuple(one for name in names if (one := getattr(item, name, None)) is not None)
