"""Memory with two virtual addresses."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

PINNED, ON_DEVICE, READ_AND_WRITE = 1, 1, 3
"""CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE."""


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", _Location), ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )  # fmt: skip


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


@dataclass(slots=True)
class Twice:
    """Memory of at least `size` bytes on a device, mapped at `first` and at `second` as long as the process runs."""

    size: int
    device: int
    first: int = field(init=False)
    second: int = field(init=False)

    def __post_init__(self) -> None:
        location = _Location(ON_DEVICE, self.device)
        properties = _Properties(type=PINNED, location=location)
        step, handle = ctypes.c_size_t(), ctypes.c_uint64()
        _call("cuMemGetAllocationGranularity", ctypes.byref(step), ctypes.byref(properties), ctypes.c_int(0))
        self.size = -(-self.size // step.value) * step.value
        size = ctypes.c_size_t(self.size)
        _call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(properties), ctypes.c_uint64(0))
        self.first, self.second = (self._mapped(handle, location) for _ in range(2))

    def _mapped(self, handle: ctypes.c_uint64, location: _Location) -> int:
        address, none, size = ctypes.c_uint64(), ctypes.c_uint64(0), ctypes.c_size_t(self.size)
        access = _Access(location, READ_AND_WRITE)
        _call("cuMemAddressReserve", ctypes.byref(address), size, ctypes.c_size_t(0), none, none)
        _call("cuMemMap", address, size, ctypes.c_size_t(0), handle, none)
        _call("cuMemSetAccess", address, size, ctypes.byref(access), ctypes.c_size_t(1))
        return address.value


def _call(name: str, *arguments: object) -> None:
    """Call the driver."""
    code = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if code:
        raise RuntimeError(f"{name} failed: error {code}")
