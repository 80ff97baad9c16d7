"""A GPU through CuPy: machine code loaded, buffers that are kept from one test to the next, and waits with a limit."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from ptxmm.gpu.aliases import Pieces, Twice
from ptxmm.gpu.epochs import EPOCHS
from ptxmm.gpu.kernel import ENTRY
from ptxmm.gpu.log import Device
from ptxmm.gpu.peers import Peers, Spread
from ptxmm.gpu.shape import Chip

LIMIT = 1.0
"""Seconds after which a launch is taken to be one that does not end: its waits are bounded, barriers are not."""

NAP = 2e-5
ASK = 0.05
"""Seconds after which a launch that goes on is asked whether it has failed: a device says so within half a second."""

MAX_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""

SHARED_DEFAULT = 48 << 10
MODULE = Path("/proc/driver/nvidia/version")


class Hung(RuntimeError):
    """A launch that does not end."""


class Gpu:
    """A device, with buffers that are kept from one test to the next."""

    def __init__(self, number: int, assembler: str = "") -> None:
        import cupy
        import numpy

        self.cupy, self.numpy = cupy, numpy
        self.number = number
        self.use()
        properties = cupy.cuda.runtime.getDeviceProperties(number)
        self.chip = Chip(properties["multiProcessorCount"], properties["l2CacheSize"])
        self.device = Device(
            name=properties["name"].decode(),
            capability=f"{properties['major']}.{properties['minor']}",
            multiprocessors=self.chip.multiprocessors,
            driver=_driver(cupy),
            cupy=cupy.__version__,
            ptxas=assembler or "the driver's",
        )
        self.buffers: dict[str, Any] = {}
        self.mapped: dict[str, Twice] = {}
        self.arrays: dict[str, Any] = {}
        self.split: dict[tuple[str, int, tuple[int, ...]], Pieces] = {}
        self.beside: dict[int, Peers] = {}
        self.loading = RLock()
        self.epoch = 1
        self.ended = 0

    def use(self) -> None:
        """Make it the device of this thread."""
        self.cupy.cuda.Device(self.number).use()

    def load(self, code: bytes) -> Any:
        """Machine code, or PTX that the driver assembles, as a function of the driver."""
        self.use()
        with self.loading:
            return self.module(code)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Load nothing until launches have ended, and nothing any more after one that does not end.

        The driver would wait with it for that launch, and the thread that has to tell of it would wait for the driver.
        """
        self.loading.acquire()
        yield
        self.loading.release()

    def module(self, code: bytes) -> Any:
        """The same on the device of this thread, whichever that is."""
        module = self.cupy.cuda.function.Module()
        module.load(code)
        return module.get_function(ENTRY)

    def peers(self, count: int) -> Peers:
        """So many GPUs, this one and those that follow it."""
        if count not in self.beside:
            self.beside[count] = Peers(self, count)
        return self.beside[count]

    def occupancy(self, function: Any, threads: int, dynamic: int) -> int:
        """How many CTAs fit on a multiprocessor at once."""
        if isinstance(function, Spread):
            return function.occupancy(threads, dynamic, self.occupancy)
        driver = self.cupy.cuda.driver
        if dynamic > SHARED_DEFAULT:
            driver.funcSetAttribute(function.ptr, MAX_SHARED, dynamic)
        found = int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, dynamic))
        if not found:
            raise RuntimeError("a CTA of this test does not fit on a multiprocessor")
        return found

    def buffer(self, name: str, size: int) -> Any:
        """A buffer of at least so many bytes, zeros where it is new."""
        found = self.buffers.get(name)
        if found is None or found.nbytes < size:
            self.buffers.pop(name, None)
            found = self.buffers[name] = self.cupy.zeros(size, self.cupy.uint8)
        return found

    def twice(self, name: str, size: int) -> tuple[Any, int]:
        """A buffer that has two addresses, and how far the second is from the first."""
        found = self.mapped.get(name)
        if found is None or found.size < size:
            found = self.mapped[name] = Twice(size, self.number)
        memory = self.cupy.cuda.UnownedMemory(found.first, found.size, found)
        pointer = self.cupy.cuda.MemoryPointer(memory, 0)
        return self.cupy.ndarray((size,), self.cupy.uint8, pointer), found.second - found.first

    def pieces(self, name: str, size: int, places: tuple[int, ...], count: int) -> Any:
        """A buffer of zeros with pieces of so many bytes on `count` GPUs: each on that of its place."""
        peers, key = self.peers(count), (name, size, places)
        numbers = tuple(peers.numbers[place] for place in places)
        if key not in self.split:
            self.split[key] = Pieces(size, numbers, peers.numbers)
        found = self.split[key]
        whole = size * len(places)
        memory = self.cupy.cuda.UnownedMemory(found.start, whole, found, self.number)
        made = self.cupy.ndarray((whole,), self.cupy.uint8, self.cupy.cuda.MemoryPointer(memory, 0))
        peers.fill(made, size, numbers)
        return made

    def give_back(self) -> None:
        """Keep no memory in pieces: not called behind a launch that does not end, for which the driver would wait."""
        self.split.clear()

    def ensure_epochs(self, passes: int) -> None:
        """Begin with the first epoch again, on memory that holds zeros, where so many more cannot be told apart."""
        if self.epoch + passes > EPOCHS:
            self.epoch = 1
            memory = [buffer for name, buffer in self.buffers.items() if name.startswith("memory")]
            for buffer in (*memory, *(self.twice(name, found.size)[0] for name, found in self.mapped.items())):
                buffer.fill(0)
            if self.split:
                self.wait()
            for (name, size, places), held in list(self.split.items()):
                self.pieces(name, size, places, len(held.reaching))
            for array in self.arrays.values():
                self.clear(array)

    def foreign(self, name: str, address: int, size: int, owner: Any) -> Any:
        """Memory that something else owns, as a buffer in place of the one of that name."""
        pointer = self.cupy.cuda.MemoryPointer(self.cupy.cuda.UnownedMemory(address, size, owner), 0)
        found = self.buffers[name] = self.cupy.ndarray((size,), self.cupy.uint8, pointer)
        return found

    def clear(self, array: Any) -> None:
        """Let all texels of an array be zeros."""
        array.copy_from(self.cupy.zeros((array.height, array.width), self.numpy.uint32))

    def event(self) -> Any:
        """A moment in the stream of launches."""
        made = self.cupy.cuda.Event()
        made.record()
        return made

    def queue(self) -> Any:
        """A stream of its own, in which dependent launches depend on those before them; to be entered by `with`."""
        return self.cupy.cuda.Stream(non_blocking=True)

    def current(self) -> Any:
        """The stream of launches."""
        return self.cupy.cuda.get_current_stream()

    def stream(self) -> int:
        """The stream of launches, as the driver knows it."""
        return int(self.current().ptr)

    def wait(self, event: Any | None = None) -> None:
        """Wait until all launches have ended; `Hung` where one does not, the error of CuPy where one failed.

        Whoever asks an event or a stream may never be told that a launch failed; what comes next in the stream is.
        """
        event = event if event is not None else self.event()
        begun = asked = time.perf_counter()
        while not event.done:
            now = time.perf_counter()
            if now > asked + ASK:
                self.event()
                for peers in self.beside.values():
                    peers.moments()
                asked = now
            if now > begun + LIMIT:
                raise Hung(f"a launch did not end in {LIMIT:.0f} second{'s' if LIMIT > 1 else ''}")
            time.sleep(NAP)

    def between(self, first: Any, last: Any) -> float:
        """Seconds between two moments."""
        return float(self.cupy.cuda.get_elapsed_time(first, last)) / 1e3


def module_release() -> str | None:
    """The release of the driver as its kernel module says; None where it does not."""
    try:
        found = re.search(r"Kernel Module(?: for \S+)?\s+(\d[\d.]*)", MODULE.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return found[1] if found else None


def _driver(cupy: Any) -> str:
    version = cupy.cuda.runtime.driverGetVersion()
    return f"{_release()} (CUDA {version // 1000}.{version % 1000 // 10})"


def _release() -> str:
    """The release of the driver: as the kernel module says, which takes no time, or as nvidia-smi does."""
    if told := module_release():
        return told
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"
