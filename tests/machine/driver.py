"""What `ctypes.CDLL("libcuda.so.1")` stands for with the machine: memory mapped twice, and tensor maps."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from machine.arithmetic import kind_of
from machine.copies import ELEMENTS, Map
from machine.device import Machine, compiled
from machine.memory import ALIAS
from ptxmm.tensor_maps import INNER, Shape

SERIALIZATION = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""

MAJOR = 75
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR; the minor number follows."""


@dataclass(slots=True, eq=False)
class Driver:
    """The functions of the driver that the harness calls by name; references are those of ctypes."""

    machine: Machine
    made: int = 0
    reserved: int = 0
    functions: dict[int, str] = field(default_factory=dict)

    def cuInit(self, _flags: int) -> int:
        return 0

    def cuDeviceGet(self, device: Any, number: int) -> int:
        device._obj.value = number
        return int(number != 0)

    def cuDeviceGetAttribute(self, value: Any, what: int, _device: Any) -> int:
        value._obj.value = self.machine.settings.capability[what - MAJOR]
        return 0

    def cuMemGetAllocationGranularity(self, size: Any, _properties: Any, _option: Any) -> int:
        size._obj.value = 4096
        return 0

    def cuMemCreate(self, handle: Any, size: Any, _properties: Any, _flags: Any) -> int:
        self.made = handle._obj.value = self.machine.memory.allocate(size.value)
        self.reserved = 0
        return 0

    def cuMemAddressReserve(self, address: Any, _size: Any, *_others: Any) -> int:
        """Memory has two addresses here, so that what was made last is what is mapped next."""
        address._obj.value = self.made ^ (ALIAS if self.reserved else 0)
        self.reserved += 1
        return int(self.reserved > 2)

    def cuMemMap(self, address: Any, _size: Any, _offset: Any, handle: Any, _flags: Any) -> int:
        return int((address.value ^ handle.value) & ~ALIAS != 0)

    def cuMemSetAccess(self, _address: Any, _size: Any, _access: Any, _count: Any) -> int:
        return 0

    def cuLaunchKernelEx(self, configuration: Any, function: Any, pointers: Any, _extra: Any) -> int:
        """A launch with attributes, of which the machine knows that of a dependent one."""
        told = configuration._obj
        attributes = [told.attributes[place].id for place in range(told.count)]
        if set(attributes) - {SERIALIZATION}:
            return 1
        text = self.functions[function.value]
        arguments = tuple(
            (int.from_bytes(ctypes.string_at(pointers[place], bits // 8), "little"), bits)
            for place, (_, bits) in enumerate(compiled(text)[0].parameters)
        )
        self.machine.launch(
            told.stream or 0, text, (told.grid[0], told.block[0]), arguments, told.shared, dependent=bool(attributes)
        )
        return 0

    def cuTensorMapEncodeTiled(
        self, start: Any, kind: Any, rank: Any, address: Any, dims: Any, strides: Any, box: Any, *_others: Any
    ) -> int:
        sides, outer = range(rank.value), range(rank.value - 1)
        shape = Shape(
            kind_of(ELEMENTS[kind.value]).size, tuple(dims[n] for n in sides), tuple(box[n] for n in sides),
            tuple(strides[n] for n in outer),
        )  # fmt: skip
        if shape.wrong or address.value % INNER:
            return 1
        content = Map.written(address.value, kind.value, shape)
        ctypes.memmove(start.value, content, len(content))
        return 0


def install(machine: Machine) -> Driver:
    """Let this process find the machine where it asks for the driver."""
    real, driver = ctypes.CDLL, Driver(machine)

    def library(name: Any, *arguments: Any, **named: Any) -> Any:
        return driver if name == "libcuda.so.1" else real(name, *arguments, **named)

    setattr(ctypes, "CDLL", library)  # noqa: B010
    return driver
