"""Copies through tensor maps while a thread is walked: what they read of the map, and the ways that its boxes go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from ptxmm import arith, tensor_maps
from ptxmm.arith import Type
from ptxmm.boxes import stretches
from ptxmm.errors import Undecided
from ptxmm.events import Event
from ptxmm.formula import Lit
from ptxmm.program import AsyncCopy, Order, Place, Proxy, Space
from ptxmm.tensor_maps import Shape
from ptxmm.values import Table

if TYPE_CHECKING:
    from ptxmm.walk import Walk

Spot = tuple[str, str, int, Lit]
WORD = Type("b", 64)
MAP_SIZE = tensor_maps.WORDS * WORD.size
ALIGNED = 128
"""What an address in shared memory must be a multiple of: CUDA Programming Guide, alignment of bulk tensor copies."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One way that a copy may go: from a place, or `zeros`, to a place, so many bytes, where `literal` holds."""

    source: Spot
    target: Spot
    size: int
    literal: Lit
    zeros: bool = False


@dataclass
class Started:
    """A copy under way: its start, what reads and what writes, and the moment (node) of its instruction.

    `sizes` are the bytes that it may have in all.
    """

    start: Event
    bulk: bool
    guard: Lit
    moment: int
    sizes: dict[int, Lit] = field(default_factory=dict)
    reads: list[Event] = field(default_factory=list)
    writes: list[tuple[Event, Place | None]] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        """Everything that must be over before the copy is complete."""
        return [*self.reads, *(event for event, _ in self.writes)]


class Tiles:
    """The copies through tensor maps of one walk over a thread; `words` are those of a map that are looked at."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.graph, self.logic, self.program = walk, walk.graph, walk.logic, walk.program
        self.words = (0, *tensor_maps.replaced(self.program))

    def legs(self, statement: AsyncCopy, guard: Lit, started: Started) -> list[Leg]:
        """The ways through a tensor map: one for each content that it may have."""
        assert statement.map is not None
        legs: list[Leg] = []
        for spot in self.walk.accesses.spots(statement, statement.map, guard, MAP_SIZE, 64):
            item = self.program.physical(spot[0])
            if item.tensormap is None or item.space is Space.SHARED:
                reason = f"uses `{spot[0]}` as a tensor map in global or parameter memory, which it is not"
                self.walk.undefined(statement, self.logic.both(guard, spot[3]), reason)
                continue
            address, *others = (self._described(statement, guard, spot, word, started) for word in self.words)
            declared = tensor_maps.shape_of(self.program, item.tensormap)
            for shape, where in self._shapes(declared, others):
                literal = self.logic.both(spot[3], where)
                if shape != declared and shape.wrong:
                    self.walk.undefined(statement, self.logic.both(guard, literal), shape.wrong)
                    continue
                size = self.logic.disj((started.sizes.get(shape.bytes, -1), literal))
                started.sizes[shape.bytes] = size
                legs += self._boxed(statement, guard, spot[0], shape, literal, address)
        return legs

    def _described(self, statement: AsyncCopy, guard: Lit, spot: Spot, word: int, started: Started) -> Table:
        """What a copy reads in a word of its tensor map."""
        where = (spot[2] + word * WORD.size, WORD.size)
        read = self.walk.accesses.access("R", statement, guard, spot, where, WORD, order=Order.WEAK,
                                         proxy=Proxy.TENSORMAP, issue=started.start.id)  # fmt: skip
        read.table = self.walk.accesses.read_table(read)
        started.reads.append(read)
        return read.table

    def _shapes(self, declared: Shape, others: list[Table]) -> Iterator[tuple[Shape, Lit]]:
        """The shapes that a map may have, by what is read in the words that the test replaces."""
        followed = [(word, table) for word, table in zip(self.words[1:], others, strict=True)
                    if word in declared.words()]  # fmt: skip
        found: dict[Shape, Lit] = {}
        for chosen in product(*(table.items() for _, table in followed)):
            words = {word: value for (word, _), (value, _) in zip(followed, chosen, strict=True)}
            shape = declared.changed(words)
            literal = self.logic.conj([literal for _, literal in chosen])
            found[shape] = self.logic.disj((found.get(shape, -1), literal))
        yield from found.items()

    def _boxed(self, statement: AsyncCopy, guard: Lit, name: str, shape: Shape, literal: Lit,
               address: Table) -> Iterator[Leg]:  # fmt: skip
        """The ways of a box: in the array from each address that the map may hold, and beside it nothing but zeros.

        What a store may write behind the end of a row is a choice for each row.
        """
        walk, accesses = self.walk, self.walk.accesses
        loads = statement.destination is not None
        inside = statement.destination if statement.destination is not None else statement.source
        assert inside is not None
        corner = self._corner(statement, shape)
        if not loads and min(corner) < 0:
            reason = "stores a box whose first element has a coordinate below 0"
            walk.undefined(statement, self.logic.both(guard, literal), reason)
            return
        if corner[0] * shape.element % tensor_maps.INNER:
            reason = f"has a box that begins in the middle of {tensor_maps.INNER} bytes of its first dimension"
            walk.undefined(statement, self.logic.both(guard, literal), reason)
            return
        found = stretches(shape, corner, stores=not loads)
        if loads and tensor_maps.fills(self.program) and any(one.there is None for one in found):
            raise Undecided(walk.tell(statement, "may fill its box with what `.fill_mode` says, which is not followed"))
        near = accesses.spots(statement, inside, self.logic.both(guard, literal), shape.bytes, ALIGNED, writes=loads)
        written = {one: self.walk.free() if one.padding else 1 for one in found}
        for one, (box, virtual, offset, here) in product(found, near):
            beside = (box, virtual, offset + one.at, 1)
            if one.there is None:
                if loads:
                    yield Leg(beside, beside, one.bytes, self.logic.both(literal, here), zeros=True)
                continue
            for value, chosen in address.items():
                where = self.logic.conj((literal, here, chosen, written[one]))
                if value % tensor_maps.INNER:
                    reason = f"goes through `{name}` to an array whose address is no multiple of {tensor_maps.INNER}"
                    self.walk.undefined(statement, self.logic.both(guard, where), reason)
                    continue
                item, alias, place = accesses.resolve(value + one.there)
                if item is None or not 0 <= place <= item.size - one.bytes:
                    rest = "may write behind the end of a row, to fill 16 bytes, and so " if one.padding else ""
                    reason = f"{rest}goes through `{name}` to bytes outside every object"
                    self.walk.undefined(statement, self.logic.both(guard, where), reason)
                    continue
                far = (item.name, alias, place, 1)
                ends = (far, beside) if loads else (beside, far)
                yield Leg(*ends, one.bytes, where)

    def _corner(self, statement: AsyncCopy, shape: Shape) -> list[int]:
        """Where a box begins, in elements, as many coordinates as the map has dimensions."""
        numbers = [self.walk.arrivals.constant(statement, one) for one in statement.coordinates] or [0]
        corner = [arith.signed(arith.wrap(number, 32), 32) for number in numbers]
        if any(corner[len(shape.dims) :]) or len(corner) < len(shape.dims):
            reason = "has another number of coordinates than its map has dimensions: declare it with `dims(8, 4)`"
            raise Undecided(self.walk.tell(statement, reason))
        return corner[: len(shape.dims)]
