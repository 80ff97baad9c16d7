"""Launches through CuPy: a process of its own that runs kernels for some time and sends back what they counted."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from ptxmm.gpu.aliases import Twice
from ptxmm.gpu.assembler import architecture_of, assembled, version
from ptxmm.gpu.counting import Tally
from ptxmm.gpu.harness import COPIES, COUNTERS, KEYS, ROW, STATES, VALUES
from ptxmm.gpu.initial import MAP_BYTES
from ptxmm.gpu.log import Device, Profile
from ptxmm.gpu.maps import encoded
from ptxmm.gpu.shape import Chip, Shape, shape
from ptxmm.gpu.source import ENTRY, Kernel

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

UNUSABLE = "no GPU can be used"
MISSING = f"{UNUSABLE}: install CuPy for your CUDA version (pip install cupy-cuda13x, or cupy-cuda12x)"
COMPILERS = max(2, min(16, (os.cpu_count() or 2) - 2))
KEPT = 256
"""Loaded kernels that are kept: tests often share a control."""

LAUNCH = 1.5e-3
"""Seconds that one launch is aimed at."""

PATIENCE = 2_000_000
"""Cycles after which a wait is stuck."""

SCRATCH = 64 + (1 << 20)
LATE, ALL = 1, 2
PRELOADS = {"none": 0, "late": LATE, "all": ALL}
MAX_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


@dataclass(frozen=True, slots=True)
class Job:
    """Kernels that take turns, for `seconds` under each profile."""

    number: int
    kernels: tuple[Kernel, ...]
    profiles: tuple[Profile, ...]
    seconds: float
    seed: int


@dataclass(frozen=True, slots=True)
class Started:
    """The kernels of a job are loaded: from now on it only takes the seconds that it was given."""

    number: int


@dataclass(frozen=True, slots=True)
class Done:
    """The tallies of a job, some for each profile and one for each kernel; or what failed, `fatal` for the process."""

    number: int
    tallies: tuple[tuple[Tally, ...], ...] = ()
    failed: str = ""
    fatal: bool = False
    seconds: float = 0.0


def serve(jobs: Connection, number: int) -> None:
    """Answer jobs until there are no more; the first answer says which device it is, or why there is none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not os.environ.get("PTXMM_DEBUG"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        gpu = Gpu(number)
        jobs.send(gpu.device)
    except ImportError:
        jobs.send(MISSING)
        return
    except Exception as failed:
        jobs.send(f"{UNUSABLE}: {_sentence(failed)}")
        return
    waiting: SimpleQueue[tuple[Job, list[Future[Any]]] | None] = SimpleQueue()
    with ThreadPoolExecutor(COMPILERS) as compilers:
        loading: OrderedDict[str, Future[Any]] = OrderedDict()

        def receive() -> None:
            while (job := jobs.recv()) is not None:
                for kernel in job.kernels:
                    if kernel.text not in loading:
                        loading[kernel.text] = compilers.submit(gpu.load, kernel)
                    loading.move_to_end(kernel.text)
                waiting.put((job, [loading[kernel.text] for kernel in job.kernels]))
                while len(loading) > KEPT:
                    loading.popitem(last=False)
            waiting.put(None)

        Thread(target=receive, daemon=True).start()
        while (item := waiting.get()) is not None:
            job, coming = item
            try:
                functions = [each.result() for each in coming]
            except Exception as failed:
                jobs.send(Done(job.number, failed=f"its kernel does not load: {_sentence(failed)}"))
                continue
            jobs.send(Started(job.number))
            try:
                begun = time.perf_counter()
                tallies = tuple(gpu.run(job, functions, profile) for profile in job.profiles)
                jobs.send(Done(job.number, tallies, seconds=time.perf_counter() - begun))
            except Exception as failed:
                jobs.send(Done(job.number, failed=f"the launch failed: {_sentence(failed)}", fatal=True))


def _sentence(failed: Exception) -> str:
    return re.sub(r"^ptxas \S+, |cuda\w+: |CUDA_\w+: ", "", str(failed).strip() or type(failed).__name__).splitlines()[
        0
    ]


class Gpu:
    """A device, with buffers that are kept from one test to the next."""

    def __init__(self, number: int) -> None:
        import cupy
        import numpy

        self.cupy, self.numpy = cupy, numpy
        cupy.cuda.Device(number).use()
        self.number = number
        properties = cupy.cuda.runtime.getDeviceProperties(number)
        self.chip = Chip(properties["multiProcessorCount"], properties["l2CacheSize"])
        self.assembler = shutil.which("ptxas")
        self.device = Device(
            name=properties["name"].decode(),
            capability=f"{properties['major']}.{properties['minor']}",
            multiprocessors=self.chip.multiprocessors,
            driver=_driver(cupy),
            cupy=cupy.__version__,
            ptxas=version(self.assembler) if self.assembler else "the driver's",
        )
        self.buffers: dict[str, Any] = {}
        self.mapped: dict[str, Twice] = {}
        self.epoch = 1

    def load(self, kernel: Kernel) -> Any:
        """A kernel as a function of the driver."""
        self.cupy.cuda.Device(self.number).use()
        module = self.cupy.cuda.function.Module()
        architecture = architecture_of(self.device.capability)
        code = assembled(self.assembler, kernel.text, architecture) if self.assembler else kernel.text.encode()
        module.load(code)
        return module.get_function(ENTRY)

    def buffer(self, name: str, size: int) -> Any:
        """A buffer of at least so many bytes."""
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

    def run(self, job: Job, functions: list[Any], profile: Profile) -> tuple[Tally, ...]:
        """Launch the kernels in turn until the time is over."""
        sessions = [
            Session(self, kernel, function, profile, job, place)
            for place, (kernel, function) in enumerate(zip(job.kernels, functions, strict=True))
        ]
        begun = time.perf_counter()
        for session in sessions:
            session.calibrate()
        share = job.seconds / len(job.profiles)
        while time.perf_counter() - begun < share:
            for session in sessions:
                session.launch()
            self.cupy.cuda.get_current_stream().synchronize()
        return tuple(session.tally() for session in sessions)


class Session:
    """One kernel under one profile."""

    def __init__(self, gpu: Gpu, kernel: Kernel, function: Any, profile: Profile, job: Job, place: int) -> None:
        self.gpu, self.kernel, self.function, self.profile, self.job = gpu, kernel, function, profile, job
        driver = gpu.cupy.cuda.driver
        once = kernel.layout.slot
        if once > SHARED_DEFAULT:
            driver.funcSetAttribute(function.ptr, MAX_SHARED, once)
        occupancy = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, kernel.layout.threads, once)
        if not occupancy:
            raise RuntimeError("a CTA of this test does not fit on a multiprocessor")
        self.shape: Shape = shape(kernel, profile, gpu.chip, occupancy)
        occupancy = driver.occupancyMaxActiveBlocksPerMultiprocessor(
            function.ptr, kernel.layout.threads, self.shape.dynamic
        )
        self.shape = shape(kernel, profile, gpu.chip, occupancy)
        self.alias = 0
        if kernel.aliased:
            self.memory, self.alias = gpu.twice(f"twice{place}", self.shape.memory + 256)
        else:
            self.memory = gpu.buffer(f"memory{place}", self.shape.memory + 256)
        self.results = gpu.buffer("results", self.shape.results + 256)
        self.sync = gpu.buffer(f"sync{place}", self.shape.sync)
        self.table = gpu.buffer(f"table{place}", self.shape.table)
        self.scratch = gpu.buffer("scratch", SCRATCH)
        for buffer, size in ((self.memory, self.shape.memory), (self.sync, self.shape.sync)):
            buffer[:size].fill(0)
        self.table[: self.shape.table].fill(0)
        self.templates = gpu.buffer(f"templates{place}", MAP_BYTES * max(1, len(kernel.maps)))
        for number, described in enumerate(kernel.maps):
            content = gpu.numpy.frombuffer(encoded(described, self.memory.data.ptr), gpu.numpy.uint8)
            self.templates[number * MAP_BYTES : (number + 1) * MAP_BYTES] = gpu.cupy.asarray(content)
        self.passes, self.met, self.expected, self.launches = 1, 0, 0, 0

    def calibrate(self) -> None:
        """One launch of one pass, then as many passes a launch as take about as long as is aimed at."""
        events = [self.gpu.cupy.cuda.Event() for _ in range(2)]
        events[0].record()
        self.launch()
        events[1].record()
        events[1].synchronize()
        seconds = max(1e-6, self.gpu.cupy.cuda.get_elapsed_time(*events) / 1e3)
        aim = min(LAUNCH, self.job.seconds / (4 * len(self.job.profiles)))
        self.passes = int(min(4096, max(1, aim / seconds)))

    def launch(self) -> None:
        u32, u64 = self.gpu.numpy.uint32, self.gpu.numpy.uint64
        s, pointers = (
            self.shape,
            [b.data.ptr for b in (self.results, self.sync, self.table, self.scratch, self.templates)],
        )
        memory = -(-self.memory.data.ptr // 256) * 256
        arguments = (
            u64(memory), u64(s.stride), u32(s.slot), *(u64(p) for p in pointers), u64(self.alias % (1 << 64)),
            u32(self.gpu.epoch), u32(self.met % (1 << 32)), u32(s.units), u32(s.rounds), u32(self.passes), u32(s.turn),
            u32(PRELOADS[self.profile.preload]), u32(self.profile.busy), u64(PATIENCE), u32(self.job.seed % (1 << 32)),
        )  # fmt: skip
        self.function((s.ctas, 1, 1), (s.threads, 1, 1), arguments, s.dynamic)
        self.gpu.epoch += self.passes
        self.met += len(self.kernel.layout.seats) * self.passes * (s.rounds + self.kernel.meetings)
        self.expected += s.instances * self.passes
        self.launches += 1

    def tally(self) -> Tally:
        """What was counted so far."""
        numpy = self.gpu.numpy
        words = sum(self.kernel.words)
        raw = self.table[: self.shape.table].get()
        counts = raw[:KEYS].view(numpy.uint64).reshape(COPIES, ROW).sum(axis=0)
        keys = raw[KEYS:VALUES].view(numpy.uint64)
        values = raw[VALUES:].view(numpy.uint64).reshape(STATES, max(1, words))
        states = tuple(
            (tuple(int(word) for word in values[place][:words]), int(counts[place]))
            for place in numpy.flatnonzero(keys)
        )
        counters = {name: int(counts[STATES + place]) for place, name in enumerate(COUNTERS)}
        failed = int(self.sync[:4].get().view(numpy.uint32)[0])
        return Tally(states, counters, self.expected, failed, self.launches)


SHARED_DEFAULT = 48 << 10


def _driver(cupy: Any) -> str:
    version = cupy.cuda.runtime.driverGetVersion()
    try:
        shown = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
        name = shown.stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        name = "unknown"
    return f"{name} (CUDA {version // 1000}.{version % 1000 // 10})"
