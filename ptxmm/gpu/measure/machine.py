"""A GPU as the measurements use it: modules from text, arrays, timed launches, tensor maps."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ptxmm.errors import PtxmmError
from ptxmm.gpu.assembler import architecture_of, assembled
from ptxmm.gpu.device import module_release
from ptxmm.gpu.measure.facts import facts
from ptxmm.gpu.measure.results import Code, Device
from ptxmm.gpu.measure.statistics import Count
from ptxmm.gpu.process import MISSING
from ptxmm.gpu.sass import disassembled, tool

SLOTS = 8
WRONG, TRIED, STUCK, CYCLES, EXTRA = range(5)
UINT32, FLOAT32 = 2, 7


class Machine:
    """One GPU. Arrays whose addresses it hands out live until `release`."""

    def __init__(self, number: int = 0) -> None:
        try:
            self.cp: Any = importlib.import_module("cupy")
        except ImportError:
            raise PtxmmError(MISSING) from None
        self.np: Any = importlib.import_module("numpy")
        try:
            count = self.cp.cuda.runtime.getDeviceCount()
            found = self.cp.cuda.runtime.getDeviceProperties(number) if number < count else None
        except Exception as failed:
            raise PtxmmError(f"no GPU can be used: {_first_line(failed)}") from None
        if found is None:
            raise PtxmmError(f"no GPU can be used: the driver finds {count}, and number {number} is asked for")
        self.cp.cuda.Device(number).use()
        self.number = number
        self.kept: list[Any] = []
        self.modules: list[Any] = []
        self.code: tuple[Code, ...] = ()
        self.folder = TemporaryDirectory()
        self.capability = (int(found["major"]), int(found["minor"]))
        self.device = Device(
            found["name"].decode(),
            "{}.{}".format(*self.capability),
            int(found["multiProcessorCount"]),
            _driver(self.cp),
            self.cp.__version__,
            "{}.{}".format(*self.cp.cuda.nvrtc.getVersion()),
        )
        self.multiprocessors = self.device.multiprocessors

    def module(self, text: str) -> Any:
        """The kernels of a text of CUDA C++, compiled for this GPU with the instructions of its architecture alone."""
        architecture = architecture_of(self.device.capability)
        if (made := self._audited(text, architecture)) is not None:
            return made
        module = self.cp.RawModule(code=text, options=("-std=c++17", f"-arch={architecture}"))
        try:
            module.compile()
        except Exception as failed:
            raise PtxmmError(f"the kernels cannot be compiled here: {_first_line(failed)}") from None
        return module

    def _audited(self, text: str, architecture: str) -> Any:
        """The same by way of PTX, with the facts of its machine code; None where a tool is missing or fails."""
        nvrtc = self.cp.cuda.nvrtc
        try:
            program = nvrtc.createProgram(text, "measurement.cu", [], [])
            nvrtc.compileProgram(program, ["-std=c++17", f"-arch={architecture.replace('sm_', 'compute_')}"])
            ptx = bytes(nvrtc.getPTX(program)).rstrip(b"\0").decode()
            code = assembled(tool("ptxas"), ptx, architecture)
            found = facts(ptx, disassembled(code))
            path = Path(self.folder.name, f"{len(self.modules)}.cubin")
            path.write_bytes(code)
            module = self.cp.RawModule(path=str(path))
            module.get_function(found[0].kernel)
        except Exception:
            return None
        self.modules.append(module)
        self.code += found
        return module

    def zeros(self, count: int, kind: str = "uint32") -> Any:
        return self.cp.zeros(count, kind)

    def results(self) -> Any:
        """Where a kernel reports what it counted."""
        return self.zeros(SLOTS, "uint64")

    def words(self, values: Sequence[int], kind: str = "uint64") -> Any:
        """Values as an array on the GPU."""
        return self.cp.asarray(self.np.array(values, kind))

    def launch(self, kernel: Any, grid: int, block: int, *arguments: Any, shared: int = 0) -> None:
        """Start a kernel; integers are passed as `u32`."""
        passed = tuple(self.np.uint32(each) if isinstance(each, int) else each for each in arguments)
        kernel((grid,), (block,), passed, shared_mem=shared)

    def timed(self, work: Callable[[], None]) -> float:
        """The milliseconds that the GPU spends on some work."""
        start, end = self.cp.cuda.Event(), self.cp.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return float(self.cp.cuda.get_elapsed_time(start, end))

    def counted(self, out: Any) -> tuple[Count, tuple[int, ...]]:
        """What a kernel reported, and all of its slots."""
        slots = tuple(int(each) for each in out.get())
        return Count(slots[WRONG], slots[TRIED], slots[STUCK]), slots

    def aligned(self, bytes: int, alignment: int) -> Any:
        """Zeroed bytes at an address that is a multiple of `alignment`."""
        pool = self.zeros(bytes + alignment, "uint8")
        start = -pool.data.ptr % alignment
        return pool[start : start + bytes]

    def address(self, array: Any) -> int:
        """Where an array lies. It is kept, because what knows an address alone keeps nothing alive."""
        self.kept.append(array)
        return int(array.data.ptr)

    def release(self) -> None:
        """Let go of what was kept, and of memory that nothing uses."""
        self.kept.clear()
        self.cp.get_default_memory_pool().free_all_blocks()

    def tensor_map(self, address: int, columns: int, rows: int, height: int, kind: int = UINT32) -> bytes:
        """A tensor map: `rows` of `columns` words of 4 bytes from `address`, in boxes of `height` whole rows."""
        memory = ctypes.create_string_buffer(128 + 64)
        at = (ctypes.addressof(memory) + 63) & ~63
        code = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
            ctypes.c_void_p(at), kind, 2, ctypes.c_void_p(address),
            (ctypes.c_uint64 * 2)(columns, rows), (ctypes.c_uint64 * 1)(4 * columns),
            (ctypes.c_uint32 * 2)(columns, height), (ctypes.c_uint32 * 2)(1, 1), 0, 0, 0, 0,
        )  # fmt: skip
        if code:
            raise PtxmmError(f"the driver refuses a tensor map: error {code}")
        return ctypes.string_at(at, 128)

    def maps(self, encoded: Sequence[bytes]) -> Any:
        """Tensor maps in global memory, one after another."""
        array = self.aligned(128 * len(encoded), 128)
        array.set(self.np.frombuffer(b"".join(encoded), self.np.uint8))
        return array

    def by_value(self, data: bytes) -> Any:
        """Bytes that a kernel takes as one parameter."""
        return self.np.frombuffer(data, f"V{len(data)}")


def insist(wrong: int, said: str) -> None:
    """Stop a measurement whose own check fails: what it would say of anything else is worth nothing."""
    if wrong:
        raise PtxmmError(f"the measurement contradicts itself: {wrong} {said}")


def _first_line(failed: Exception) -> str:
    lines = [line.strip() for line in str(failed).splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else type(failed).__name__)


def _driver(cp: Any) -> str:
    return module_release() or f"CUDA {cp.cuda.runtime.driverGetVersion()}"
