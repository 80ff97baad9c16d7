"""Tensor maps as the driver encodes them."""

from __future__ import annotations

import ctypes

from ptxmm.gpu.initial import MAP_BYTES, MapShape

KINDS = {1: 0, 2: 1, 4: 2, 8: 4}
"""CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32 and 64 by bytes."""

ALIGNED = 64


def encoded(shape: MapShape, address: int) -> bytes:
    """The 128 bytes of a tensor map of one dimension at an address (cuTensorMapEncodeTiled)."""
    driver = ctypes.CDLL("libcuda.so.1")
    room = ctypes.create_string_buffer(MAP_BYTES + ALIGNED)
    start = -(-ctypes.addressof(room) // ALIGNED) * ALIGNED
    length = (ctypes.c_uint64 * 1)(shape.length)
    strides = (ctypes.c_uint64 * 1)(0)
    box, steps = (ctypes.c_uint32 * 1)(shape.box), (ctypes.c_uint32 * 1)(1)
    none = ctypes.c_int(0)
    code = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(start), ctypes.c_int(KINDS[shape.size]), ctypes.c_uint32(1),
        ctypes.c_void_p(-(-address // 256) * 256), length, strides, box, steps, none, none, none, none,
    )  # fmt: skip
    if code:
        raise RuntimeError(f"the driver makes no tensor map of {shape}: error {code}")
    return ctypes.string_at(start, MAP_BYTES)
