"""The process that launches kernels, as the command sees it: jobs in, answers out in order, each with a deadline."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from ptxmm.errors import PtxmmError
from ptxmm.gpu.launch import MISSING, Done, Job, serve
from ptxmm.gpu.log import Device

AHEAD = 24
"""Jobs that are sent before the first of them is answered: their kernels are compiled meanwhile."""

START = 60.0
"""Seconds in which the process must say which device it has."""

GRACE = 6.0
"""Seconds that a job may take beyond those that it was given."""


class NoGpu(PtxmmError):
    """There is no GPU, or no CuPy."""


@dataclass(slots=True)
class Process:
    """A running process, and the connection to it."""

    process: Any
    connection: Connection
    device: Device

    @classmethod
    def started(cls, number: int) -> Process:
        """A new process; NoGpu where it cannot use a GPU."""
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, number), daemon=True)
        process.start()
        there.close()
        try:
            answer = here.recv() if here.poll(START) else "it did not answer"
        except EOFError:
            answer = "the process that uses it ended"
        if not isinstance(answer, Device):
            process.kill()
            raise NoGpu(f"{MISSING} ({answer})")
        return cls(process, here, answer)

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.process.kill()
        self.process.join(10)
        self.connection.close()


class Session:
    """Jobs sent to a process, which is replaced where a job outlives its deadline."""

    def __init__(self, number: int, start: Callable[[int], Process] = Process.started) -> None:
        self.number, self.start = number, start
        self.running = start(number)
        self.device = self.running.device

    def answers(self, jobs: Iterable[Job]) -> Iterator[Done]:
        """The answers in order; a job that outlives its deadline, or kills the process, has failed."""
        coming, sent = iter(jobs), deque[Job]()
        while True:
            while len(sent) < AHEAD and (job := next(coming, None)) is not None:
                sent.append(job)
                self._send(job)
            if not sent:
                return
            yield self._answer(sent)

    def _send(self, job: Job) -> None:
        """Send a job; to a process that ended it is sent again when that is noticed."""
        with suppress(OSError):
            self.running.connection.send(job)

    def _answer(self, sent: deque[Job]) -> Done:
        first = sent.popleft()
        deadline = first.seconds * 2 + GRACE
        begun = time.monotonic()
        try:
            if self.running.connection.poll(deadline):
                done = self.running.connection.recv()
                assert isinstance(done, Done)
                assert done.number == first.number
                if not done.fatal:
                    return done
                reason = done.failed
            else:
                reason = f"a launch did not end in {time.monotonic() - begun:.0f} seconds"
        except (EOFError, OSError):
            reason = "the process that launched it ended"
        self.running.end()
        self.running = self.start(self.number)
        for job in sent:
            self._send(job)
        return Done(first.number, failed=reason)

    def close(self) -> None:
        """End the process."""
        self.running.end()
