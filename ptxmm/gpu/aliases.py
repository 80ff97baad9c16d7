"""Memory that the driver maps as it is told: at two virtual addresses, or one range with pieces on several GPUs."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass, field
from typing import Any

DRIVER = "libcuda.so.1"

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
        step = granularity(self.device)
        self.size = -(-self.size // step) * step
        handle = _created(self.size, self.device)
        self.first, self.second = (self._mapped(handle) for _ in range(2))

    def _mapped(self, handle: ctypes.c_uint64) -> int:
        address = _reserved(self.size)
        _map(address, self.size, handle)
        _open(address, self.size, (self.device,))
        return address.value


@dataclass(slots=True, eq=False, weakref_slot=True)
class Pieces:
    """One range of addresses, each piece of `size` bytes on its device, which devices reach while this object lives."""

    size: int
    devices: tuple[int, ...]
    reaching: tuple[int, ...]
    start: int = field(init=False)

    def __post_init__(self) -> None:
        if any(self.size % granularity(device) for device in self.devices):
            raise RuntimeError("the memory of a GPU is mapped in larger pieces than those of the test")
        whole = self.size * len(self.devices)
        address = _reserved(whole)
        self.start = address.value
        handles = [_created(self.size, device) for device in self.devices]
        for place, handle in enumerate(handles):
            _map(ctypes.c_uint64(self.start + place * self.size), self.size, handle)
        _open(address, whole, self.reaching)
        weakref.finalize(self, _given_back, ctypes.CDLL(DRIVER), self.start, self.size, handles).atexit = False


def granularity(device: int) -> int:
    """What the size of memory on a device is a multiple of."""
    step, properties = ctypes.c_size_t(), _Properties(type=PINNED, location=_Location(ON_DEVICE, device))
    _call("cuMemGetAllocationGranularity", ctypes.byref(step), ctypes.byref(properties), ctypes.c_int(0))
    return step.value


def _created(size: int, device: int) -> ctypes.c_uint64:
    handle, properties = ctypes.c_uint64(), _Properties(type=PINNED, location=_Location(ON_DEVICE, device))
    _call(
        "cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(properties), ctypes.c_uint64(0)
    )  # fmt: skip
    return handle


def _reserved(size: int) -> ctypes.c_uint64:
    address, none = ctypes.c_uint64(), ctypes.c_uint64(0)
    _call("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_size_t(0), none, none)
    return address


def _map(address: ctypes.c_uint64, size: int, handle: ctypes.c_uint64) -> None:
    _call("cuMemMap", address, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))


def _open(address: ctypes.c_uint64, size: int, devices: tuple[int, ...]) -> None:
    """Let devices read and write what is mapped."""
    access = (_Access * len(devices))(*(_Access(_Location(ON_DEVICE, each), READ_AND_WRITE) for each in devices))
    _call("cuMemSetAccess", address, ctypes.c_size_t(size), access, ctypes.c_size_t(len(devices)))


def _given_back(driver: Any, start: int, size: int, handles: list[ctypes.c_uint64]) -> None:
    address, whole = ctypes.c_uint64(start), ctypes.c_size_t(size * len(handles))
    driver.cuMemUnmap(address, whole)
    for handle in handles:
        driver.cuMemRelease(handle)
    driver.cuMemAddressFree(address, whole)


def _call(name: str, *arguments: object) -> None:
    """Call the driver."""
    code = getattr(ctypes.CDLL(DRIVER), name)(*arguments)
    if code:
        raise RuntimeError(f"{name} failed: error {code}")
