"""Which bytes of which object an address denotes, and what they hold at the start."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import wrap
from ptxmm.program import Addr, Program


@dataclass(frozen=True, slots=True)
class Spot:
    """`size` bytes at `offset` of an object, reached by the virtual address named `virtual`."""

    object: str
    offset: int
    size: int
    virtual: str

    @property
    def bytes(self) -> range:
        return range(self.offset, self.offset + self.size)

    def meets(self, other: Spot) -> bool:
        """Whether the two overlap in physical memory."""
        apart = self.offset + self.size <= other.offset or other.offset + other.size <= self.offset
        return self.object == other.object and not apart

    def matches(self, other: Spot) -> bool:
        """Whether the two are the same bytes of physical memory."""
        return (self.object, self.offset, self.size) == (other.object, other.offset, other.size)


def locate(program: Program, address: int, size: int, whole: int) -> Spot | None:
    """The bytes at a virtual address, None where an access of `whole` bytes there is misaligned or meets no object."""
    for virtual, base in program.addresses.items():
        thing = program.physical(virtual)
        if base <= address and address + size <= base + thing.size:
            return Spot(thing.name, address - base, size, virtual) if address % whole == 0 else None
    return None


def initial_bytes(program: Program) -> dict[str, bytes]:
    """What each object holds before the threads start, little-endian."""
    found = {}
    for thing in program.objects:
        content = b""
        for index in range(thing.length):
            init = thing.init[index] if index < len(thing.init) else None
            value = program.address(init) if isinstance(init, Addr) else init.value if init is not None else 0
            content += wrap(value, 8 * thing.type.size).to_bytes(thing.type.size, "little")
        found[thing.name] = content
    return found


def part(value: int, spot: Spot, offset: int, size: int) -> int:
    """The `size` bytes at `offset` of the object, out of a value that fills `spot`.

    >>> hex(part(0x11223344, Spot("x", 4, 4, "x"), 6, 2))
    '0x1122'
    """
    return wrap(value >> 8 * (offset - spot.offset), 8 * size)
