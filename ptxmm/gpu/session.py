"""Jobs in, answers out in order, each with a deadline: a process that launches them, and is replaced where it fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ptxmm.gpu.jobs import Done, Job, Passed, Started
from ptxmm.gpu.log import Device
from ptxmm.gpu.process import NoGpu, Process
from ptxmm.gpu.reach import Reach

__all__ = ["NoGpu", "Process", "Session"]

AHEAD = 48
"""Jobs that are sent before the first of them is answered: their kernels are compiled meanwhile."""

LOADING = 60.0
"""Seconds that loading its kernels may take, with those of the jobs before it."""

SPARES = 3
"""Processes that start beside the one that launches, once one has been lost: each takes a second to be ready."""

GRACE = 4.0
"""Seconds that a job may take beyond twice its own: the process itself gives up earlier on a launch."""

Answer = tuple[Done, bytes]


class Session:
    """Jobs sent to a process, which is replaced where a job outlives its deadline."""

    def __init__(
        self, number: int, start: Callable[[int], Process] = Process.started, running: Process | None = None
    ) -> None:
        self.number, self.start = number, start
        self.running = running or start(number)
        self.spares: deque[Process] = deque()

    @property
    def device(self) -> Device:
        """The device; NoGpu where there is none."""
        return self.running.device

    @property
    def capability(self) -> str:
        """Its compute capability, which is known earlier than the rest."""
        return self.running.capability

    @property
    def reach(self) -> Reach:
        """The GPUs that it has beside it, known as early."""
        return self.running.reach

    def answers(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """The answers in order, with the machine code of audited ones; a job that kills the process has failed."""
        coming, sent = iter(jobs), deque[Job]()
        while True:
            while len(sent) < AHEAD and (job := next(coming, None)) is not None:
                sent.append(job)
                self.running.send(job)
            if not sent:
                return
            yield self._answer(sent)
            self._keep(1)

    def _answer(self, sent: deque[Job], spoilt: str = "") -> Answer:
        """What the first of the jobs came to; where a control made it fail, what it comes to alone."""
        first, code, its_own = sent.popleft(), b"", False
        answer: Started | Passed | Done | str = "the process ended"
        try:
            self.running.device  # noqa: B018
            answer = self._next(LOADING, "its kernels were not loaded")
            if isinstance(answer, Started):
                code, its_own = answer.code, True
                answer = self._next(GRACE, "a launch did not end")
            if isinstance(answer, Passed):
                its_own = False
                answer = self._next(first.seconds * 2 + GRACE, "a launch did not end")
        except (EOFError, OSError):
            answer = "the process that launched it ended"
        if isinstance(answer, Done):
            assert answer.number == first.number
            if not answer.fatal:
                ran = 1 if answer.spoilt else len(first.kernels)
                return replace(answer, spoilt=spoilt or answer.spoilt, kernels=ran), code
        failed = answer.failed if isinstance(answer, Done) else str(answer)
        by_itself = len(first.kernels) == 1 or (answer.alone if isinstance(answer, Done) else its_own)
        if not by_itself:
            sent.appendleft(first.safer())
        self._replace()
        for job in sent:
            self.running.send(job)
        return (Done(first.number, failed=failed), code) if by_itself else self._answer(sent, failed)

    def _next(self, seconds: float, otherwise: str) -> Started | Passed | Done | str:
        """What the process says next, or a sentence where it says nothing for so long."""
        if not self.running.connection.poll(seconds):
            return f"{otherwise} in {seconds:.0f} seconds"
        answer = self.running.connection.recv()
        assert isinstance(answer, Started | Passed | Done)
        return answer

    def _keep(self, number: int) -> None:
        """Have so many processes start, of which the next is ready where this one is lost."""
        while len(self.spares) < number:
            self.spares.append(self.start(self.number))

    def _replace(self) -> None:
        """Go on with a spare process; who loses one may lose the next soon."""
        self.running.end()
        self._keep(1)
        self.running = self.spares.popleft()
        self._keep(SPARES)

    def close(self) -> None:
        """End all processes."""
        for process in (self.running, *self.spares):
            process.end()
