"""The process that launches kernels, as the command sees it: jobs in, answers out in order, each with a deadline."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from ptxmm.errors import PtxmmError
from ptxmm.gpu.launch import UNUSABLE, Done, Job, Started, serve
from ptxmm.gpu.log import Device

AHEAD = 24
"""Jobs that are sent before the first of them is answered: their kernels are compiled meanwhile."""

START = 60.0
"""Seconds in which the process must say which device it has."""

LOADING = 60.0
"""Seconds that loading its kernels may take, with those of the jobs before it."""

GRACE = 2.0
"""Seconds that a job may take beyond those that it was given."""


class NoGpu(PtxmmError):
    """There is no GPU, or no CuPy."""


@dataclass(slots=True)
class Process:
    """A running process, and the connection to it."""

    process: Any
    connection: Connection
    device: Device
    outbox: SimpleQueue[Job | None] = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        Thread(target=self._send_all, daemon=True).start()

    def send(self, job: Job) -> None:
        """Send a job without waiting: a process that hangs may read no more."""
        self.outbox.put(job)

    def _send_all(self) -> None:
        with suppress(OSError, ValueError):
            while (job := self.outbox.get()) is not None:
                self.connection.send(job)

    @classmethod
    def started(cls, number: int) -> Process:
        """A new process; NoGpu where it cannot use a GPU."""
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, number), daemon=True)
        process.start()
        there.close()
        try:
            answer = here.recv() if here.poll(START) else f"{UNUSABLE}: it did not answer"
        except EOFError:
            answer = f"{UNUSABLE}: the process that uses it ended"
        if not isinstance(answer, Device):
            process.kill()
            raise NoGpu(answer)
        return cls(process, here, answer)

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.outbox.put(None)
        self.process.kill()
        self.process.join(10)
        self.connection.close()


class Session:
    """Jobs sent to a process, which is replaced where a job outlives its deadline."""

    def __init__(self, number: int, start: Callable[[int], Process] = Process.started) -> None:
        self.number, self.start = number, start
        self.running = start(number)
        self.device = self.running.device
        self.starter = ThreadPoolExecutor(1)
        self.spare = self.starter.submit(start, number)

    def answers(self, jobs: Iterable[Job]) -> Iterator[Done]:
        """The answers in order; a job that outlives its deadline, or kills the process, has failed."""
        coming, sent = iter(jobs), deque[Job]()
        while True:
            while len(sent) < AHEAD and (job := next(coming, None)) is not None:
                sent.append(job)
                self.running.send(job)
            if not sent:
                return
            yield self._answer(sent)

    def _answer(self, sent: deque[Job]) -> Done:
        first = sent.popleft()
        try:
            answer = self._next(LOADING, "its kernels were not loaded")
            if isinstance(answer, Started):
                answer = self._next(first.seconds * 2 + GRACE, "a launch did not end")
        except (EOFError, OSError):
            answer = "the process that launched it ended"
        if isinstance(answer, Done):
            assert answer.number == first.number
            if not answer.fatal:
                return answer
            answer = answer.failed
        self._replace()
        for job in sent:
            self.running.send(job)
        return Done(first.number, failed=str(answer))

    def _next(self, seconds: float, otherwise: str) -> Started | Done | str:
        """What the process says next, or a sentence where it says nothing for so long."""
        if not self.running.connection.poll(seconds):
            return f"{otherwise} in {seconds:.0f} seconds"
        answer = self.running.connection.recv()
        assert isinstance(answer, Started | Done)
        return answer

    def _replace(self) -> None:
        """Go on with the spare process, and start another."""
        self.running.end()
        self.running = self.spare.result()
        self.spare = self.starter.submit(self.start, self.number)

    def close(self) -> None:
        """End the process and the spare one."""
        self.running.end()
        with suppress(PtxmmError):
            self.spare.result().end()
        self.starter.shutdown()
