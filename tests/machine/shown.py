"""What textures and surfaces show: rows of words, in global memory or in an array that has no address of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from machine.memory import Fault, Memory

if TYPE_CHECKING:
    from machine.grid import Thread

WORD = 4
CONSTANTS = 1 << 12
"""Where the constant bank begins: an address in `.const` is none elsewhere."""

KINDS = ("texture", "surface")


@dataclass(frozen=True, slots=True)
class Shown:
    """A texture or a surface: `start` and the numbers of its words, in each dimension the row first."""

    kind: str
    start: int
    sizes: tuple[int, ...]


def texel(thread: Thread, kind: str, handle: int, *places: int) -> int:
    """Where the word at some coordinates lies."""
    shown = thread.memory.shown.get(handle)
    if shown is None or shown.kind != kind or len(shown.sizes) != len(places):
        raise Fault(f"{handle:#x} is no {kind} of {len(places)} dimensions")
    column, *row = places
    if kind == "surface":
        if column % WORD:
            raise Fault(f"byte {column} of a row is in the middle of a word")
        column //= WORD
    if any(not place < size for place, size in zip((column, *row), shown.sizes, strict=True)):
        raise Fault(f"the {kind} has no word {places}")
    return shown.start + WORD * (column + shown.sizes[0] * (row[0] if row else 0))


def show(memory: Memory, kind: str, start: int, sizes: tuple[int, ...]) -> int:
    """A new texture or surface, by the number that a kernel is given."""
    handle = 1 << 20 | len(memory.shown) + 1
    memory.shown[handle] = Shown(kind, start, sizes)
    return handle
