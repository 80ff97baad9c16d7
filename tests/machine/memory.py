"""The memory of the machine: one range of bytes, in which global memory and the shared memory of each CTA are pieces.

Global addresses have high bits, as on a device, so that an address cut to 32 bits is found out. A second mapping of
all of global memory lies at a distance of `ALIAS`. An access that is not aligned, or outside every piece, is a fault.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from machine.shown import Shown

SIZE = 1 << 28
BASE = 0x7F12 << 32
ALIAS = 1 << 40
GRAIN = 4
"""Bits of the size of what is marked as belonging to a piece."""

APART = 512

WINDOW = 1 << 56
"""Where shared memory is in the generic address space."""

RANK = 24
"""Bits of an offset in shared memory; above them is one more than the rank of the CTA, or 0 for one's own."""

OFFSETS = (1 << RANK) - 1
MASKS = {bits: (1 << bits) - 1 for bits in (8, 16, 32, 64, 128)}


class Fault(Exception):
    """A kernel does what PTX does not allow, or leaves undefined."""


@dataclass(slots=True)
class Memory:
    """All bytes of a device."""

    bytes: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, SIZE))
    marks: bytearray = field(default_factory=lambda: bytearray(SIZE >> GRAIN))
    views: dict[int, memoryview[int]] = field(init=False)
    free: dict[int, list[int]] = field(default_factory=dict)
    shown: dict[int, Shown] = field(default_factory=dict)
    end: int = 1 << 12

    def __post_init__(self) -> None:
        whole = memoryview(self.bytes)
        self.views = {8: whole.cast("B"), 16: whole.cast("H"), 32: whole.cast("I"), 64: whole.cast("Q")}

    def allocate(self, size: int) -> int:
        """The address of a new piece."""
        room = -(-size // APART) * APART
        if self.free.get(room):
            start = self.free[room].pop()
        else:
            start, self.end = self.end, self.end + room + APART
            if self.end > SIZE:
                raise MemoryError("the machine has no more memory")
        self._mark(start, size, 1)
        return start ^ BASE

    def release(self, address: int, size: int) -> None:
        """Take a piece back."""
        start = address ^ BASE
        self._mark(start, size, 0)
        self.free.setdefault(-(-size // APART) * APART, []).append(start)

    def _mark(self, start: int, size: int, mark: int) -> None:
        grains = -(-size // (1 << GRAIN))
        self.marks[start >> GRAIN : (start >> GRAIN) + grains] = bytes((mark,)) * grains

    def piece(self, address: int, size: int) -> memoryview[int]:
        """The bytes at an address."""
        start = self._place(address, 1)
        return self.views[8][start : start + size]

    def _place(self, address: int, size: int) -> int:
        place = (address ^ BASE) & ~ALIAS
        if place & (size - 1) or not 0 <= place < SIZE or not self.marks[place >> GRAIN]:
            raise Fault(f"an access of {size} bytes at {address:#x}")
        return place

    def load(self, address: int, bits: int) -> int:
        """What lies at an address, as a number without a sign."""
        if bits == 128:
            place = self._place(address, 16) >> 3
            return self.views[64][place] | self.views[64][place + 1] << 64
        return self.views[bits][self._place(address, bits >> 3) * 8 // bits]

    def store(self, address: int, bits: int, value: int) -> None:
        """Store the low bits of a number."""
        value &= MASKS[bits]
        if bits == 128:
            place = self._place(address, 16) >> 3
            self.views[64][place], self.views[64][place + 1] = value & MASKS[64], value >> 64
        else:
            self.views[bits][self._place(address, bits >> 3) * 8 // bits] = value
