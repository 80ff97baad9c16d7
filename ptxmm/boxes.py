"""Where the bytes of a box lie: the stretches of it that follow one another both in the array and in shared memory.

PTX ISA, "Tensors: bounding box", "out of boundary access": a load fills elements outside the array with zeros, a store
leaves them out, but for those that share 16 bytes of the innermost dimension with its last elements (A29).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ptxmm.tensor_maps import INNER, Shape


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many `bytes` from byte `at` of the box; in the array from byte `there`, or outside of it.

    `padding` is behind the end of a row: what is stored may go there, and may not.
    """

    at: int
    bytes: int
    there: int | None
    padding: bool = False


def stretches(shape: Shape, corner: Sequence[int], *, stores: bool = False) -> list[Stretch]:
    """The stretches of the box at a corner, which is given in elements; one that `stores` reaches padding.

    >>> stretches(Shape(4, (8, 4), (4, 2), (32,)), (4, 3))
    [Stretch(at=0, bytes=16, there=112, padding=False), Stretch(at=16, bytes=16, there=None, padding=False)]
    >>> stretches(Shape(4, (7,), (8,)), (4,), stores=True)[1]
    Stretch(at=12, bytes=4, there=28, padding=True)
    """
    found: list[Stretch] = []
    for one in _rows(shape, corner, stores=stores):
        last = found[-1] if found else None
        apart = last is None or one.padding or last.padding or (one.there is None) != (last.there is None)
        if last is None or apart or (one.there is not None and one.there != (last.there or 0) + last.bytes):
            found.append(one)
        else:
            found[-1] = replace(last, bytes=last.bytes + one.bytes)
    return found


def _rows(shape: Shape, corner: Sequence[int], *, stores: bool) -> Iterator[Stretch]:
    element, width = shape.element, shape.box[0]
    low = min(max(-corner[0], 0), width)
    high = max(min(shape.dims[0] - corner[0], width), low)
    chunk = min(high + -shape.dims[0] % (INNER // element), width) if stores else high
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
        if high < chunk:
            yield Stretch(at + high * element, (chunk - high) * element, start + high * element, padding=True)
        if chunk < width:
            yield Stretch(at + chunk * element, (width - chunk) * element, None)
