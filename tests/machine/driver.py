"""What `ctypes.CDLL("libcuda.so.1")` stands for with the machine: devices, memory that is mapped, tensor maps."""

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

NATIVE_ATOMICS = 3
"""CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED."""


@dataclass(slots=True, eq=False)
class Driver:
    """The functions of the driver that the harness calls by name; references are those of ctypes."""

    machine: Machine
    made: int = 0
    reserved: int = 0
    ranges: dict[int, int] = field(default_factory=dict)
    made_on: dict[int, tuple[int, int]] = field(default_factory=dict)
    lies_on: dict[int, int] = field(default_factory=dict)
    opened: dict[int, tuple[int, ...]] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)

    def cuInit(self, _flags: int) -> int:
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = self.machine.settings.devices
        return 0

    def cuDeviceGet(self, device: Any, number: Any) -> int:
        device._obj.value = number.value
        return int(not 0 <= number.value < self.machine.settings.devices)

    def cuDeviceCanAccessPeer(self, can: Any, one: Any, other: Any) -> int:
        can._obj.value = int(not self.machine.settings.apart)
        return int(one.value == other.value)

    def cuDeviceGetP2PAttribute(self, value: Any, what: Any, one: Any, other: Any) -> int:
        value._obj.value = int(not self.machine.settings.copied)
        return int(what.value != NATIVE_ATOMICS or one.value == other.value)

    def cuDeviceGetAttribute(self, value: Any, what: Any, _device: Any) -> int:
        value._obj.value = self.machine.settings.capability[what.value - MAJOR]
        return 0

    def cuMemGetAllocationGranularity(self, size: Any, _properties: Any, _option: Any) -> int:
        size._obj.value = 4096
        return 0

    def cuMemCreate(self, handle: Any, size: Any, properties: Any, _flags: Any) -> int:
        self.made = handle._obj.value = self.machine.memory.allocate(size.value)
        self.made_on[self.made] = (properties._obj.location.id, size.value)
        self.reserved = 0
        return 0

    def cuMemAddressReserve(self, address: Any, size: Any, *_others: Any) -> int:
        """What was made before has two addresses here, which are asked for first; else it is a range for pieces."""
        if self.made and self.reserved < 2:
            address._obj.value = self.made ^ (ALIAS if self.reserved else 0)
            self.reserved += 1
            return 0
        start = address._obj.value = self.machine.memory.allocate(size.value)
        self.ranges[start] = size.value
        return 0

    def cuMemMap(self, address: Any, size: Any, _offset: Any, handle: Any, _flags: Any) -> int:
        at = address.value
        if any(start <= at and at + size.value <= start + whole for start, whole in self.ranges.items()):
            self.lies_on[at], made = self.made_on[handle.value]
            self.machine.memory.release(handle.value, made)
            self.made = 0
            return int(made != size.value)
        return int((at ^ handle.value) & ~ALIAS != 0)

    def cuMemSetAccess(self, address: Any, _size: Any, access: Any, count: Any) -> int:
        self.opened[address.value] = tuple(access[place].location.id for place in range(count.value))
        return 0

    def cuMemUnmap(self, address: Any, size: Any) -> int:
        return int(self.ranges.get(address.value) != size.value)

    def cuMemRelease(self, handle: Any) -> int:
        return int(handle.value not in self.made_on)

    def cuMemAddressFree(self, address: Any, size: Any) -> int:
        self.machine.memory.release(address.value, self.ranges.pop(address.value))
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


REAL = ctypes.CDLL


def install(machine: Machine) -> Driver:
    """Let this process find the machine where it asks for the driver."""
    driver = Driver(machine)

    def library(name: Any, *arguments: Any, **named: Any) -> Any:
        return driver if name == "libcuda.so.1" else REAL(name, *arguments, **named)

    setattr(ctypes, "CDLL", library)  # noqa: B010
    return driver
