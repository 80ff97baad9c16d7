"""Work spread over processes, with the results in order; a process that dies costs one item, not the rest."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

AHEAD = 2


@dataclass(slots=True)
class Worker:
    """A process, our end of its pipe, and the numbers of the items it was sent and has not answered."""

    process: BaseProcess
    pipe: Connection
    held: deque[int] = field(default_factory=deque)


class Pool(Generic[Item, Answer]):
    """Processes that each answer one item after another; `lost` answers for an item whose process died."""

    def __init__(
        self, work: Callable[[Item], Answer], items: Sequence[Item], lost: Callable[[Item], Answer], jobs: int
    ) -> None:
        self.work, self.items, self.lost = work, items, lost
        self.context = get_context("fork" if sys.platform == "linux" else None)
        self.waiting = deque(range(len(items)))
        self.answers: dict[int, Answer] = {}
        self.workers: dict[Connection, Worker] = {}
        for _ in range(min(jobs, len(items))):
            self._start()

    def ordered(self) -> Generator[Answer, None, None]:
        """The answers, in the order of the items. A process that is told to end takes its workers with it."""
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            for number in range(len(self.items)):
                while number not in self.answers:
                    self._receive()
                yield self.answers.pop(number)
        finally:
            signal.signal(signal.SIGTERM, before)
            for worker in self.workers.values():
                worker.process.terminate()
                worker.process.join()

    def _start(self) -> None:
        ours, theirs = self.context.Pipe()
        inherited = [*self.workers, ours]
        process = self.context.Process(target=serve, args=(self.work, theirs, inherited), daemon=True)
        process.start()
        theirs.close()
        self.workers[ours] = Worker(process, ours)
        self._feed(self.workers[ours])

    def _feed(self, worker: Worker) -> None:
        while self.waiting and len(worker.held) < AHEAD:
            number = self.waiting.popleft()
            worker.held.append(number)
            try:
                worker.pipe.send(self.items[number])
            except OSError:
                return

    def _receive(self) -> None:
        for pipe in wait(list(self.workers)):
            assert isinstance(pipe, Connection)
            worker = self.workers[pipe]
            try:
                answer = pipe.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            self.answers[worker.held.popleft()] = answer
            self._feed(worker)

    def _bury(self, worker: Worker) -> None:
        """A process died: over the item that it was at."""
        del self.workers[worker.pipe]
        worker.pipe.close()
        worker.process.join()
        if worker.held:
            number = worker.held.popleft()
            self.answers[number] = self.lost(self.items[number])
        self.waiting.extendleft(reversed(worker.held))
        if self.waiting:
            self._start()


def serve(work: Callable[[Item], Answer], pipe: Connection, inherited: list[Connection]) -> None:
    """A worker's life: until the pipe is closed, answer what comes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for end in inherited:
        end.close()
    try:
        while True:
            pipe.send(work(pipe.recv()))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
