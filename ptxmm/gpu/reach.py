"""Which GPUs reach each other's memory, as the driver tells before CuPy is there: on them one test may run."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import permutations
from typing import Any

MAJOR, MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and MINOR."""

NATIVE_ATOMICS = 3
"""CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How many GPUs, from the chosen one on, reach each other's memory; `why` says why there are not more."""

    gpus: int = 1
    why: str = "this machine has 1"

    def lacking(self, needed: int) -> str | None:
        """Why a test that needs so many GPUs does not run, or None.

        >>> Reach().lacking(2), Reach(2).lacking(2)
        ('it needs 2 GPUs, and this machine has 1', None)
        """
        return f"it needs {needed} GPUs, and {self.why}" if needed > self.gpus else None


ALONE = Reach()


def capability_of(number: int) -> str | None:
    """The compute capability of a device; None where the driver does not tell."""
    try:
        return _capability(_driver(), number)
    except (OSError, AttributeError, RuntimeError):
        return None


def reach(number: int) -> Reach:
    """The GPUs from this one on that reach each other: all are of one kind, and each has atomics on all memory."""
    try:
        driver = _driver()
        whole = _asked(driver.cuDeviceGetCount)
        for there in range(number + 1, whole):
            if why := _apart(driver, tuple(range(number, there + 1))):
                return Reach(there - number, why)
    except (OSError, AttributeError, RuntimeError) as failed:
        return Reach(1, f"the driver does not tell of others ({failed})")
    return Reach(max(1, whole - number), f"this machine has {whole}" + (f", the first is {number}" if number else ""))


def _apart(driver: Any, numbers: tuple[int, ...]) -> str:
    """Why the last of some GPUs cannot take part with the others, or nothing."""
    first, last = numbers[0], numbers[-1]
    kinds = [_capability(driver, each) for each in (first, last)]
    if kinds[0] != kinds[1]:
        return f"GPU {last} has compute capability {kinds[1]}, not {kinds[0]}"
    for one, other in permutations(numbers, 2):
        if last in (one, other):
            ends = (_device(driver, one), _device(driver, other))
            if not _asked(driver.cuDeviceCanAccessPeer, *ends):
                return f"GPU {one} does not reach the memory of GPU {other}"
            if not _asked(driver.cuDeviceGetP2PAttribute, ctypes.c_int(NATIVE_ATOMICS), *ends):
                return f"GPU {one} has no atomic operations on the memory of GPU {other}"
    return ""


def _capability(driver: Any, number: int) -> str:
    device = _device(driver, number)
    found = [_asked(driver.cuDeviceGetAttribute, ctypes.c_int(what), device) for what in (MAJOR, MINOR)]
    return f"{found[0]}.{found[1]}"


def _driver() -> Any:
    driver = ctypes.CDLL("libcuda.so.1")
    if code := driver.cuInit(0):
        raise RuntimeError(f"error {code}")
    return driver


def _device(driver: Any, number: int) -> Any:
    """The handle of a device."""
    return ctypes.c_int(_asked(driver.cuDeviceGet, ctypes.c_int(number)))


def _asked(function: Any, *arguments: Any) -> int:
    """A number that the driver writes through the first argument."""
    found = ctypes.c_int()
    code = function(ctypes.byref(found), *arguments)
    if code:
        raise RuntimeError(f"error {code}")
    return found.value
