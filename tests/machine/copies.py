"""Asynchronous copies: each goes on beside the thread that started it, in pieces, and then tells those who wait."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from machine import mbarriers
from machine.arithmetic import kind_of
from machine.memory import Fault, Memory
from machine.scheduler import Steps
from machine.text import Unknown
from ptxmm.boxes import stretches
from ptxmm.tensor_maps import Shape

if TYPE_CHECKING:
    from machine.grid import Thread

PIECES = 8
"""At most in so many pieces a copy is made."""

Change = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a reduction does with each of its elements, of so many bytes: one atomic operation."""

    size: int
    change: Change


@dataclass(slots=True, eq=False)
class Flight:
    """A copy: whether it has read its source, and whether it is over."""

    read: bool = False
    over: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Bytes from one place to another; what is behind `size` bytes of the source is filled with zeros."""

    source: int
    target: int
    size: int
    room: int


@dataclass(slots=True, eq=False)
class Groups:
    """Copies of a thread that are waited for in groups: those that are not committed, and the groups in order."""

    pending: list[Flight] = field(default_factory=list)
    groups: list[list[Flight]] = field(default_factory=list)

    def commit(self) -> None:
        self.groups.append(self.pending)
        self.pending = []

    def wait(self, most: int | None, *, read: bool = False) -> Steps:
        """Until at most so many of the last groups go on; None waits for all copies, committed or not."""
        awaited = [*self.groups, self.pending] if most is None else self.groups[: len(self.groups) - most]
        while not all(flight.read if read else flight.over for group in awaited for flight in group):
            yield None


@dataclass(slots=True, eq=False)
class Copies:
    """What a thread has started."""

    thread: Thread
    small: Groups = field(default_factory=Groups)
    bulk: Groups = field(default_factory=Groups)

    def move(
        self, moves: list[Move], groups: Groups | None, then: Callable[[], None], reduction: Reduction | None
    ) -> None:
        """Start a copy, or a reduction."""
        flight = Flight()
        if groups is not None:
            groups.pending.append(flight)
        steps = _moved(self.thread, moves, flight, reduction)
        self.thread.grid.fly(steps, lambda: _ended(flight, then))

    def elements(self, address: int, values: list[int], bits: int, change: Change, then: Callable[[], None]) -> None:
        """Start an asynchronous store or reduction of registers."""
        flight = Flight(read=True)

        def steps() -> Steps:
            for place, value in enumerate(values):
                yield None
                change(address + place * bits // 8, value)
            yield None

        self.thread.grid.fly(steps(), lambda: _ended(flight, then))

    def arrive(self, address: int, *, increments: bool) -> None:
        """`cp.async.mbarrier.arrive`: an arrival when the copies before it are over."""
        memory, before = self.thread.memory, [*chain.from_iterable(self.small.groups), *self.small.pending]
        if increments:
            mbarriers.more(memory, address)

        def steps() -> Steps:
            while not all(flight.over for flight in before):
                yield None
            yield None
            mbarriers.arrive(memory, address)

        self.thread.grid.fly(steps(), lambda: None)


def _ended(flight: Flight, then: Callable[[], None]) -> None:
    then()
    flight.over = True


def _moved(thread: Thread, moves: list[Move], flight: Flight, reduction: Reduction | None) -> Steps:
    """The steps of a copy: it reads its source piece by piece, then writes, each in an order of its own."""
    memory, random = thread.memory, thread.scheduler.random
    size = None if reduction is None else reduction.size
    pieces = [piece for move in moves for piece in _pieces(move, size)]
    found: list[tuple[Move, bytes]] = []
    for piece in random.sample(pieces, len(pieces)):
        yield None
        content = bytes(memory.piece(piece.source, piece.size)) if piece.size else b""
        found.append((piece, content + bytes(piece.room - piece.size)))
    flight.read = True
    for piece, content in random.sample(found, len(found)):
        yield None
        if reduction is None:
            memory.piece(piece.target, piece.room)[:] = content
        else:
            reduction.change(piece.target, int.from_bytes(content, "little"))
    yield None


def _pieces(move: Move, size: int | None) -> Iterator[Move]:
    """The pieces of a move: the elements of a reduction, whose size is given, else some bytes."""
    step = size or (4 if move.room <= 4 * PIECES else 16 * -(-move.room // (16 * PIECES)))
    for at in range(0, move.room, step):
        size = max(0, min(step, move.size - at))
        yield Move(move.source + at, move.target + at, size, min(step, move.room - at))


def aligned(size: int, *addresses: int) -> None:
    """Bulk copies are of whole 16 bytes at places that are."""
    if any(each % 16 for each in (size, *addresses)):
        raise Fault(f"a bulk copy of {size} bytes at places that are not multiples of 16")


ELEMENTS = {0: "u8", 1: "u16", 2: "u32", 3: "s32", 4: "u64", 5: "s64", 6: "f16", 7: "f32", 8: "f64", 9: "bf16"}
"""The type of an element by CU_TENSOR_MAP_DATA_TYPE."""

LAST = 120
"""The word of a map that holds what is neither its address nor its shape, a byte each."""

LEFT_OUT = {"swizzle_mode": LAST + 2, "fill_mode": LAST + 3}
"""Bytes of fields that the machine follows only where they are 0."""


@dataclass(frozen=True, slots=True)
class Map:
    """A tensor map, as the stand-in of the driver encodes it: where an array is, and how boxes lie in it."""

    address: int
    element: str
    shape: Shape

    @classmethod
    def read(cls, memory: Memory, place: int) -> Map:
        words = [memory.load(place + 8 * word, 64) for word in range(15)]
        kind, rank, *others = (memory.load(place + LAST + byte, 8) for byte in range(8))
        if any(others):
            raise Unknown("a tensor map with swizzling or filling")
        element = ELEMENTS[kind]
        shape = Shape(
            kind_of(element).size, *map(tuple, (words[6 : 6 + rank], words[1 : 1 + rank], words[11 : 10 + rank]))
        )
        if shape.wrong:
            raise Fault(f"a tensor map {shape.wrong}")
        return cls(words[0], element, shape)

    @staticmethod
    def written(address: int, kind: int, shape: Shape) -> bytes:
        words = [0] * 16
        for word, value in {0: address, **shape.words(), 15: kind | len(shape.dims) << 8}.items():
            words[word] = value
        return struct.pack("<16Q", *words)

    def moves(self, corner: tuple[int, ...], near: int, *, out: bool) -> list[Move]:
        """What a copy of a box moves from the array to shared memory at `near`, or out of there, with padding."""
        found = []
        for each in stretches(self.shape, corner, stores=out):
            there = self.address + (each.there or 0)
            if out and each.there is not None:
                found.append(Move(near + each.at, there, each.bytes, each.bytes))
            elif not out:
                found.append(Move(there, near + each.at, each.bytes if each.there is not None else 0, each.bytes))
        return found
