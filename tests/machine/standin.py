"""What stands in for CuPy: as much of it as `ptxmm.gpu.launch` uses, on the machine of this process."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
from numpy import uint8, uint32, uint64

from machine import textures
from machine.device import Machine, Settings, compiled
from machine.driver import install
from machine.grid import Grid

__version__ = "0.0+machine"
NAME = b"Sequential machine"
STEP = 1e-5
"""Milliseconds that a step counts for where launches are timed."""

machine = Machine()
driver = install(machine)


def restart(settings: Settings) -> None:
    """Another machine, with memory of its own."""
    global machine
    machine = driver.machine = Machine(settings)


class MemoryPointer:
    """A place in memory."""

    def __init__(self, memory: Any, offset: int) -> None:
        self.mem, self.ptr = memory, memory.ptr + offset


class UnownedMemory:
    """Memory that something else owns."""

    def __init__(self, ptr: int, size: int, owner: object) -> None:
        self.ptr, self.size, self.owner = ptr, size, owner


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


class Stream:
    """A stream; in `with` it is the current one."""

    current: list[Stream] = []  # noqa: RUF012
    made = 0

    def __init__(self, *, non_blocking: bool = False) -> None:
        self.non_blocking, self.ptr = non_blocking, Stream.made
        Stream.made += 1

    def __enter__(self) -> Stream:
        Stream.current.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Stream.current.pop()

    def synchronize(self) -> None:
        machine.synchronize()


Stream.current.append(Stream())


class Event:
    """A moment in a stream, told in steps of the machine."""

    def __init__(self) -> None:
        self.steps = 0

    def record(self, stream: Stream | None = None) -> None:
        def noted(_before: Grid | None, _released: Callable[[], None], over: Callable[[], None]) -> None:
            self.steps = machine.scheduler.steps
            over()

        machine.stream((stream or Stream.current[-1]).ptr).put(noted)

    def synchronize(self) -> None:
        machine.synchronize()

    @property
    def done(self) -> bool:
        """Whether everything before it is over: whoever asks lets the machine run."""
        return machine.done()


class Function:
    """A kernel; its `ptr` is what the driver is asked about."""

    def __init__(self, module: Module) -> None:
        self.ptr, self.module, self.text = id(self), module, module.text
        driver.functions[self.ptr] = self.text

    def __call__(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], args: tuple[Any, ...], shared_mem: int = 0,
        *, stream: Stream | None = None,
    ) -> None:  # fmt: skip
        assert grid[1:] == block[1:] == (1, 1)
        assert all(each.size == 1 for each in args)
        arguments = tuple((int.from_bytes(each.tobytes(), "little"), 8 * each.dtype.itemsize) for each in args)
        machine.launch((stream or Stream.current[-1]).ptr, self.text, (grid[0], block[0]), arguments, shared_mem)


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


class Device:
    """The device of a number: there is one."""

    def __init__(self, number: int = 0) -> None:
        if number:
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def use(self) -> None:
        pass

    def synchronize(self) -> None:
        machine.synchronize()


def properties(_number: int) -> dict[str, Any]:
    """What the runtime says of the device."""
    settings = machine.settings
    return {
        "name": NAME, "major": settings.capability[0], "minor": settings.capability[1],
        "multiProcessorCount": settings.multiprocessors, "l2CacheSize": settings.l2,
    }  # fmt: skip


cuda = SimpleNamespace(
    Device=Device, Event=Event, Stream=Stream, MemoryPointer=MemoryPointer, UnownedMemory=UnownedMemory,
    function=SimpleNamespace(Module=Module, Function=Function),
    runtime=SimpleNamespace(getDeviceProperties=properties, driverGetVersion=lambda: 13000, **textures.NAMED),
    driver=SimpleNamespace(
        funcSetAttribute=lambda _function, _attribute, _value: None,
        occupancyMaxActiveBlocksPerMultiprocessor=lambda _function, _threads, _shared: machine.settings.occupancy,
    ),
    texture=textures,
    get_current_stream=lambda: Stream.current[-1],
    get_elapsed_time=lambda start, end: (end.steps - start.steps) * STEP,
)  # fmt: skip

__all__ = ["asarray", "cuda", "ndarray", "uint8", "uint32", "uint64", "zeros"]
