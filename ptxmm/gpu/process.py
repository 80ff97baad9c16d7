"""A process that launches kernels, as the command has it: started at once, and asked which device it is when needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

from ptxmm.errors import PtxmmError
from ptxmm.gpu.reach import ALONE, Reach

if TYPE_CHECKING:
    from ptxmm.gpu.jobs import Found, Job
    from ptxmm.gpu.log import Device

START = 60.0
"""Seconds in which the process must say which device it has."""

UNUSABLE = "no GPU can be used"
MISSING = f"{UNUSABLE}: install CuPy for your CUDA version (pip install cupy-cuda13x, or cupy-cuda12x)"
HERE = Path(__file__).parents[2]


@cache
def assembled() -> TemporaryDirectory[str]:
    """A folder for machine code, so that a process which takes the place of another need not assemble anew."""
    return TemporaryDirectory(prefix="ptxmm-")


class NoGpu(PtxmmError):
    """There is no GPU, or no CuPy."""


@dataclass(slots=True)
class Process:
    """A running process, and the connection to it; `known` is its device, once it has told."""

    process: Any
    connection: Connection
    known: Device | None = None
    told: Found | None = None
    outbox: SimpleQueue[Job | None] = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        Thread(target=self._send_all, daemon=True).start()

    def send(self, job: Job) -> None:
        """Send a job without waiting: a process that hangs may read no more."""
        self.outbox.put(job)

    def _send_all(self) -> None:
        with suppress(OSError, ValueError, TypeError):
            while (job := self.outbox.get()) is not None:
                self.connection.send(job)

    @classmethod
    def started(cls, number: int) -> Process:
        """A new process, which is not waited for."""
        here, there = Pipe()
        search = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "ptxmm.gpu.child", str(there.fileno()), str(number), assembled().name]
        process = subprocess.Popen(
            command, pass_fds=[there.fileno()], env={**os.environ, "PYTHONPATH": search},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        there.close()
        return cls(process, here)

    @property
    def capability(self) -> str:
        """The compute capability of the device, as soon as it is known."""
        self._hear()
        return self.told.capability if self.told is not None else self.device.capability

    @property
    def reach(self) -> Reach:
        """The GPUs that it has beside it, known as early."""
        self._hear()
        return self.told.reach if self.told is not None else ALONE

    def _hear(self) -> None:
        """Wait for what the process says first."""
        while self.known is None and self.told is None:
            self._listen()

    @property
    def device(self) -> Device:
        """The device; NoGpu where it cannot use one."""
        while self.known is None:
            self._listen()
        return self.known

    def _listen(self) -> None:
        from ptxmm.gpu.jobs import Found
        from ptxmm.gpu.log import Device

        try:
            answer = self.connection.recv() if self.connection.poll(START) else f"{UNUSABLE}: it did not answer"
        except (EOFError, OSError):
            answer = f"{UNUSABLE}: the process that uses it ended"
        if isinstance(answer, Found):
            self.told = answer
        elif isinstance(answer, Device):
            self.known = answer
        else:
            self.process.kill()
            raise NoGpu(str(answer))

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.outbox.put(None)
        self._kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.connection.close()

    def _kill(self) -> None:
        """End it with the assemblers that it has started."""
        if isinstance(self.process, subprocess.Popen) and self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
