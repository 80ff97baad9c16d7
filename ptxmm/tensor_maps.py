"""The shape of a tensor map: its dimensions, its box and its strides, and where they stand among its 16 words.

PTX ISA, "Tensors" and "tensormap.replace". A map is opaque to everything but these; here it holds its address in word
0, then the box, the dimensions and the strides, a word each, and in the last word all that changes no bytes of a box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ptxmm.program import Program, TensorMap, TensormapReplace

WORDS, OTHERS = 16, 15
FIRST = {"global_address": 0, "box_dim": 1, "global_dim": 6, "global_stride": 11}
"""The word of the first dimension of each field that is followed."""

MOST_IN_BOX, INNER = 256, 16
"""The most elements that a box has in a dimension; and what its bytes in the first one, their place in the array and
the address of the array are multiples of: else an H200 meets an illegal instruction (decision 12)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Elements of so many bytes in each dimension, innermost first; `strides` are bytes, from the second dimension on.

    >>> Shape(4, (8, 4), (4, 2), (32,)).bytes
    32
    """

    element: int
    dims: tuple[int, ...]
    box: tuple[int, ...]
    strides: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        """How many bytes a box has, those outside the array among them."""
        return self.element * prod(self.box)

    @property
    def wrong(self) -> str:
        """Why no map has this shape."""
        if any(not 0 < side <= MOST_IN_BOX for side in self.box):
            sides = " by ".join(map(str, self.box))
            return f"has a box of {sides} elements, and each side is 1 to {MOST_IN_BOX}"
        if self.box[0] * self.element % INNER:
            return f"has a box of {self.box[0] * self.element} bytes in its first dimension, no multiple of {INNER}"
        if any(stride % INNER for stride in self.strides):
            return f"has a stride that is no multiple of {INNER}"
        below = self.element * self.dims[0]
        for stride, side in sorted(zip(self.strides, self.dims[1:], strict=True)):
            if side > 1 and stride < below:
                return f"has a stride of {stride} bytes over a part of {below} bytes, so that elements overlap"
            below += (side - 1) * stride
        return ""

    def words(self) -> dict[int, int]:
        """What the words of a map of this shape hold, its address apart."""
        fields = {"box_dim": self.box, "global_dim": self.dims, "global_stride": self.strides}
        return {FIRST[name] + at: value for name, values in fields.items() for at, value in enumerate(values)}

    def changed(self, words: dict[int, int]) -> Shape:
        """The shape that a copy finds which reads these words, others being as they were.

        >>> Shape(4, (8,), (4,)).changed({1: 8}).box
        (8,)
        """
        whole = self.words() | words
        box, dims, strides = (
            tuple(whole[FIRST[name] + at] for at in range(count))
            for name, count in (
                ("box_dim", len(self.box)), ("global_dim", len(self.dims)), ("global_stride", len(self.strides)),
            )
        )  # fmt: skip
        return replace(self, box=box, dims=dims, strides=strides)


def shape_of(program: Program, described: TensorMap) -> Shape:
    """The shape that a map is declared with: where it names no dimensions, it has one, of all elements of its array."""
    target = program.physical(described.target)
    return shape(described, target.type.size, target.length)


def shape(described: TensorMap, element: int, length: int) -> Shape:
    """The shape of a map of an array of so many elements."""
    if described.dims:
        return Shape(element, described.dims, described.box_dims, described.strides)
    return Shape(element, (length,), (-(-described.box // element),))


def words_of(described: TensorMap, element: int, length: int) -> dict[int, int]:
    """What the host writes to the words of a map, its address apart."""
    return shape(described, element, length).words()


def word_of(statement: TensormapReplace) -> int:
    """The word that a replacement writes."""
    if statement.field not in FIRST:
        return OTHERS
    return FIRST[statement.field] + (statement.ordinal or 0)


def replaced(program: Program) -> tuple[int, ...]:
    """The words that instructions of a test replace, the address apart, in order."""
    found = (word_of(s) for thread in program.threads for s in thread.body if isinstance(s, TensormapReplace))
    return tuple(sorted({word for word in found if word}))


def fills(program: Program) -> bool:
    """Whether a test changes what elements outside the array are filled with."""
    items = (s for thread in program.threads for s in thread.body)
    return any(isinstance(s, TensormapReplace) and s.field == "fill_mode" for s in items)
