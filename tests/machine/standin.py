"""What stands in for CuPy: as much of it as `ptxmm.gpu.launch` uses, on the machine of this process."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy
from numpy import uint8, uint32, uint64

from machine import devices, textures
from machine.device import Machine, Settings, compiled
from machine.driver import install

__version__ = "0.0+machine"
NAME = b"Sequential machine"
STEP = 1e-5
"""Milliseconds that a step counts for where launches are timed."""

machine = Machine()
driver = install(machine)


def restart(settings: Settings) -> None:
    """Another machine, with memory of its own."""
    global machine, driver
    machine = Machine(settings)
    driver = install(machine)


class MemoryPointer:
    """A place in memory."""

    def __init__(self, memory: Any, offset: int) -> None:
        self.mem, self.ptr = memory, memory.ptr + offset


class UnownedMemory:
    """Memory that something else owns."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class Owned:
    """Memory that is given back with the last array on it."""

    def __init__(self, size: int) -> None:
        self.size, self.memory = size, machine.memory
        self.ptr = self.memory.allocate(size)

    def __del__(self) -> None:
        self.memory.release(self.ptr, self.size)


class ndarray:
    """Bytes of the machine as an array of one dimension."""

    def __init__(self, shape: tuple[int], dtype: Any, memptr: MemoryPointer) -> None:
        self.shape, self.dtype, self.data = shape, numpy.dtype(dtype), memptr
        self.nbytes = shape[0] * self.dtype.itemsize

    def _seen(self) -> Any:
        machine.synchronize()
        return numpy.frombuffer(machine.memory.piece(self.data.ptr, self.nbytes), self.dtype)

    def __getitem__(self, part: slice) -> ndarray:
        start, stop, step = part.indices(self.shape[0])
        assert step == 1
        place = MemoryPointer(self.data.mem, self.data.ptr - self.data.mem.ptr + start * self.dtype.itemsize)
        return ndarray((max(0, stop - start),), self.dtype, place)

    def __setitem__(self, part: slice, values: ndarray) -> None:
        self[part]._seen()[:] = values.get()

    def fill(self, value: int) -> None:
        self._seen()[:] = value

    def get(self) -> Any:
        """The content, on the host."""
        return self._seen().copy()


def zeros(shape: int | tuple[int, ...], dtype: Any) -> ndarray:
    """A new array, of one dimension whatever is asked for."""
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    made = ndarray((size,), dtype, MemoryPointer(Owned(size * numpy.dtype(dtype).itemsize), 0))
    made.fill(0)
    return made


def asarray(values: Any) -> ndarray:
    """An array with the content of one on the host."""
    made = zeros(len(values), values.dtype)
    made._seen()[:] = values
    return made


class Function:
    """A kernel; its `ptr` is what the driver is asked about."""

    def __init__(self, module: Module) -> None:
        self.ptr, self.module, self.text, self.device = id(self), module, module.text, devices.here()[-1]
        driver.functions[self.ptr] = self.text

    def __call__(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], args: tuple[Any, ...], shared_mem: int = 0,
        *, stream: devices.Stream | None = None,
    ) -> None:  # fmt: skip
        assert grid[1:] == block[1:] == (1, 1)
        assert all(each.size == 1 for each in args)
        stream = stream or devices.current_stream()
        assert self.device == devices.here()[-1] == stream.device, "a launch on another device than the current one"
        assert not self.device or (self.device, 0) in machine.reaching, "the memory of the first device is not reached"
        arguments = tuple((int.from_bytes(each.tobytes(), "little"), 8 * each.dtype.itemsize) for each in args)
        machine.launch(stream.ptr, self.text, (grid[0], block[0]), arguments, shared_mem)


class Module:
    """A module, loaded from PTX."""

    def __init__(self) -> None:
        self.text = ""

    def load(self, code: bytes) -> None:
        if code.startswith(b"\x7fELF"):
            raise RuntimeError("the machine reads PTX, not machine code: hide ptxas from PATH")
        self.text = code.decode()

    def get_function(self, name: str) -> Function:
        entry, _ = compiled(self.text)
        assert entry.name == name
        return Function(self)

    def get_global_var(self, name: str) -> int:
        entry, _ = compiled(self.text)
        return machine.constants(self.text)[0] + entry.constants[name][0]


def properties(_number: int) -> dict[str, Any]:
    """What the runtime says of the device."""
    settings = machine.settings
    return {
        "name": NAME, "major": settings.capability[0], "minor": settings.capability[1],
        "multiProcessorCount": settings.multiprocessors, "l2CacheSize": settings.l2,
    }  # fmt: skip


cuda = SimpleNamespace(
    Device=devices.Device, Event=devices.Event, Stream=devices.Stream, MemoryPointer=MemoryPointer,
    UnownedMemory=UnownedMemory,
    function=SimpleNamespace(Module=Module, Function=Function),
    runtime=SimpleNamespace(
        getDeviceProperties=properties, driverGetVersion=lambda: 13000, deviceEnablePeerAccess=devices.enable,
        **textures.NAMED,
    ),
    driver=SimpleNamespace(
        funcSetAttribute=lambda _function, _attribute, _value: None,
        occupancyMaxActiveBlocksPerMultiprocessor=lambda _function, _threads, _shared: machine.settings.occupancy,
    ),
    texture=textures,
    get_current_stream=devices.current_stream,
    get_elapsed_time=lambda start, end: (end.steps - start.steps) * STEP,
)  # fmt: skip

__all__ = ["asarray", "cuda", "ndarray", "uint8", "uint32", "uint64", "zeros"]
