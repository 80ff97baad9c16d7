"""Tensor maps as the driver encodes them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from ptxmm.arith import Type
from ptxmm.errors import Unsupported
from ptxmm.program import Object, Program
from ptxmm.tensor_maps import Shape, shape_of

MAP_BYTES = 128

KINDS = {
    Type("u", 8): 0, Type("u", 16): 1, Type("u", 32): 2, Type("s", 32): 3, Type("u", 64): 4, Type("s", 64): 5,
    Type("f", 16): 6, Type("f", 32): 7, Type("f", 64): 8, Type("bf", 16): 9,
}  # fmt: skip
"""CU_TENSOR_MAP_DATA_TYPE by the type of an element."""

ALIGNED = 64


@dataclass(frozen=True, slots=True)
class Described:
    """What a tensor map describes: the shape of an array and of a box, and what kind of elements these are of."""

    kind: int
    shape: Shape


def described(program: Program, item: Object) -> Described:
    """What a tensor map of a test describes; Unsupported where the driver knows no such elements."""
    assert item.tensormap is not None
    type_ = program.physical(item.tensormap.target).type
    kind = KINDS.get(type_, KINDS.get(Type("u", type_.bits)))
    if kind is None:
        raise Unsupported(f"it has a tensor map of elements of {type_.size} bytes")
    return Described(kind, shape_of(program, item.tensormap))


def encoded(map_: Described, address: int) -> bytes:
    """The 128 bytes of a tensor map of an array at an address (cuTensorMapEncodeTiled)."""
    driver, shape = ctypes.CDLL("libcuda.so.1"), map_.shape
    room, rank = ctypes.create_string_buffer(MAP_BYTES + ALIGNED), len(shape.dims)
    start = -(-ctypes.addressof(room) // ALIGNED) * ALIGNED
    dims, strides = (ctypes.c_uint64 * rank)(*shape.dims), (ctypes.c_uint64 * rank)(*shape.strides)
    box, steps = (ctypes.c_uint32 * rank)(*shape.box), (ctypes.c_uint32 * rank)(*[1] * rank)
    none = ctypes.c_int(0)
    code = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(start), ctypes.c_int(map_.kind), ctypes.c_uint32(rank), ctypes.c_void_p(address),
        dims, strides, box, steps, none, none, none, none,
    )  # fmt: skip
    if code:
        raise RuntimeError(f"the driver makes no tensor map of {shape}: error {code}")
    return ctypes.string_at(start, MAP_BYTES)
