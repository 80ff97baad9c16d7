"""Where the bytes of a box lie: the stretches of it that follow one another both in the array and in shared memory.

PTX ISA, "Tensors: bounding box", "out of boundary access": a load fills elements outside the array with zeros, a store
leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ptxmm.tensor_maps import Shape


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many `bytes` from byte `at` of the box; in the array from byte `there`, or outside of it."""

    at: int
    bytes: int
    there: int | None


def stretches(shape: Shape, corner: Sequence[int]) -> list[Stretch]:
    """The stretches of the box at a corner, which is given in elements.

    >>> stretches(Shape(4, (8, 4), (4, 2), (32,)), (4, 3))
    [Stretch(at=0, bytes=16, there=112), Stretch(at=16, bytes=16, there=None)]
    """
    found: list[Stretch] = []
    for one in _rows(shape, corner):
        last = found[-1] if found else None
        apart = last is None or (one.there is None) != (last.there is None)
        if last is None or apart or (one.there is not None and one.there != (last.there or 0) + last.bytes):
            found.append(one)
        else:
            found[-1] = replace(last, bytes=last.bytes + one.bytes)
    return found


def _rows(shape: Shape, corner: Sequence[int]) -> Iterator[Stretch]:
    element, width = shape.element, shape.box[0]
    low = min(max(-corner[0], 0), width)
    high = max(min(shape.dims[0] - corner[0], width), low)
    for number, sides in enumerate(product(*(range(side) for side in reversed(shape.box[1:])))):
        place = [first + step for first, step in zip(corner[1:], reversed(sides), strict=True)]
        at = number * width * element
        if not all(0 <= one < most for one, most in zip(place, shape.dims[1:], strict=True)) or low == high:
            yield Stretch(at, width * element, None)
            continue
        start = sum(one * stride for one, stride in zip(place, shape.strides, strict=True)) + corner[0] * element
        if low:
            yield Stretch(at, low * element, None)
        yield Stretch(at + low * element, (high - low) * element, start + low * element)
        if high < width:
            yield Stretch(at + high * element, (width - high) * element, None)
