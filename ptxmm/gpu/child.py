"""The process that launches kernels: it starts before the tests are read, assembles in threads, and answers in order.

`python -m ptxmm.gpu.child FD NUMBER FOLDER` talks through the file descriptor of a connection. CuPy and the driver take
most of a second to start; meanwhile jobs arrive and are assembled, for the architecture that the driver names first.
What is assembled is kept in the folder, for the process that takes the place of this one if a launch does not end.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections import OrderedDict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from ptxmm.gpu.process import MISSING, UNUSABLE
from ptxmm.gpu.reach import capability_of, reach

if TYPE_CHECKING:
    from ptxmm.gpu.device import Gpu
    from ptxmm.gpu.jobs import Done, Job

COMPILERS = max(2, min(32, (os.cpu_count() or 2)))
KEPT = 128
"""Loaded entries that are kept: many variants of a test have the same code."""

Loaded = tuple[Any, bytes]
"""An entry's function, and its machine code, which is empty where the driver assembles."""


def serve(jobs: Connection, number: int, folder: Path) -> None:
    """Answer jobs until there are no more; before, say which device it is, or why there is none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not os.environ.get("PTXMM_DEBUG"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if find_spec("cupy") is None:
        jobs.send(MISSING)
        return
    threads = ThreadPoolExecutor(COMPILERS + 1)
    starting = threads.submit(_gpu, number)
    from ptxmm.gpu.jobs import Found

    capability = capability_of(number)
    if capability is not None:
        jobs.send(Found(capability, reach(number)))
    waiting: SimpleQueue[Job | None] = SimpleQueue()
    loader = Loader(starting, capability, threads, folder)
    Thread(target=_receive, args=(jobs, loader, waiting), daemon=True).start()
    try:
        gpu = starting.result()
        gpu.use()
        if capability is None:
            jobs.send(Found(gpu.device.capability, reach(number)))
        jobs.send(gpu.device)
    except ImportError:
        jobs.send(MISSING)
        return
    except Exception as failed:
        jobs.send(f"{UNUSABLE}: {_sentence(failed)}")
        return
    with gpu.queue():
        while (item := waiting.get()) is not None:
            _answer(jobs, gpu, item, loader)
    threads.shutdown(wait=False, cancel_futures=True)


def _gpu(number: int) -> Gpu:
    """The device; CuPy is imported first, since that takes longest."""
    import cupy  # noqa: F401

    from ptxmm.gpu.assembler import version
    from ptxmm.gpu.device import Gpu

    assembler = shutil.which("ptxas")
    return Gpu(number, version(assembler) if assembler else "")


class Loader:
    """Entries on their way: assembled in threads, then loaded; each text once."""

    def __init__(
        self, starting: Future[Gpu], capability: str | None, threads: ThreadPoolExecutor, folder: Path
    ) -> None:
        self.starting, self.capability, self.threads, self.folder = starting, capability, threads, folder
        self.assembler = shutil.which("ptxas")
        self.loading: OrderedDict[str, Future[Loaded]] = OrderedDict()
        self.lock = Lock()

    def __call__(self, text: str) -> Future[Loaded]:
        """An entry on its way."""
        with self.lock:
            if text not in self.loading:
                self.loading[text] = self.threads.submit(self._load, text)
            self.loading.move_to_end(text)
            while len(self.loading) > KEPT:
                self.loading.popitem(last=False)
            return self.loading[text]

    def _load(self, text: str) -> Loaded:
        from ptxmm.gpu.assembler import architecture_of, kept

        if not self.assembler:
            return self.starting.result().load(text.encode()), b""
        capability = self.capability or self.starting.result().device.capability
        code = kept(self.folder, self.assembler, text, architecture_of(capability))
        return self.starting.result().load(code), code


def _receive(jobs: Connection, loader: Loader, waiting: SimpleQueue[Job | None]) -> None:
    """Take jobs; where nobody is left to answer, end in the middle of a launch."""
    try:
        while (job := jobs.recv()) is not None:
            loader(job.entry.text)
            waiting.put(job)
    except (EOFError, OSError):
        os._exit(1)
    waiting.put(None)


def _answer(jobs: Connection, gpu: Gpu, job: Job, loader: Loader) -> None:
    """Run one job and send what it came to; without its controls if it does not load with them."""
    from ptxmm.gpu.jobs import Done, Started

    spoilt = ""
    try:
        function, code = _loaded(gpu, job, loader)
    except Exception as failed:
        spoilt = f"a control does not load: {_sentence(failed)}"
        job = job.alone()
        try:
            function, code = _loaded(gpu, job, loader)
        except Exception as again:
            jobs.send(Done(job.number, failed=f"its kernel does not load: {_sentence(again)}"))
            return
    jobs.send(Started(job.number, code if job.audited else b""))
    jobs.send(replace(_played(jobs, gpu, job, function), spoilt=spoilt))


def _loaded(gpu: Gpu, job: Job, loader: Loader) -> Loaded:
    """The entry of a job, on all GPUs that its threads need."""
    function, code = loader(job.entry.text).result()
    devices = job.kernels[0].layout.devices
    if len(devices.numbers) > 1:
        peers = gpu.peers(len(devices.numbers))
        if devices.spread:
            function = peers.load(function, code or job.entry.text.encode(), gpu.module)
    return function, code


def _played(jobs: Connection, gpu: Gpu, job: Job, function: Any) -> Done:
    from ptxmm.gpu.device import Hung
    from ptxmm.gpu.jobs import Done, Passed
    from ptxmm.gpu.turns import alone, play

    by_itself = True
    try:
        usual = alone(gpu, job, function, job.profiles[0])
        by_itself = False
        jobs.send(Passed(job.number))
        order: deque[int] = deque(range(1, len(job.kernels)))
        played = tuple(play(gpu, job, function, profile, order, usual) for profile in job.profiles)
    except Exception as failed:
        told = str(failed) if isinstance(failed, Hung) else f"the launch failed: {_sentence(failed)}"
        return Done(job.number, failed=told, fatal=True, alone=by_itself or len(job.kernels) == 1)
    return Done(job.number, played)


def _sentence(failed: Exception) -> str:
    """The first line of what failed, without the names of codes."""
    told = str(failed).strip() or type(failed).__name__
    return re.sub(r"^ptxas \S+, |cuda\w+: |CUDA_\w+: ", "", told).splitlines()[0]


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), int(sys.argv[2]), Path(sys.argv[3]))
    os._exit(0)
