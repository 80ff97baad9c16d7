"""Launches that may start before the one before them has ended: programmatic dependent launch, through the driver."""

from __future__ import annotations

import ctypes
from typing import Any

SERIALIZATION = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: the value is a union of 64 bytes, of which this attribute is an int."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("padding", ctypes.c_char * 4),
        ("value", ctypes.c_int),
        ("rest", ctypes.c_char * 60),
    )


class _Configuration(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_Attribute)), ("count", ctypes.c_uint),
    )  # fmt: skip


def launch(
    function: Any, stream: int, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: tuple[Any, ...],
    shared: int,
) -> None:  # fmt: skip
    """Launch a function of the driver, dependent on what was launched before it; `arguments` are numbers of numpy."""
    attribute = _Attribute(SERIALIZATION, b"", 1, b"")
    configuration = _Configuration(
        (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), shared, stream, ctypes.pointer(attribute), 1
    )
    values = [ctypes.create_string_buffer(each.tobytes(), each.nbytes) for each in arguments]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(each) for each in values))
    code = ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx(
        ctypes.byref(configuration), ctypes.c_void_p(function.ptr), pointers, None
    )
    if code:
        raise RuntimeError(f"cuLaunchKernelEx failed: error {code}")
