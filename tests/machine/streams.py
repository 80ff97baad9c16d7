"""Streams: what is put into one runs in order, each behind all before it; a dependent launch may start earlier."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from machine.grid import Grid


class Starts(Protocol):
    """Something in a stream: it starts behind a launch, tells when it lets others start, and when it is over."""

    def __call__(
        self, before: Grid | None, released: Callable[[], None], over: Callable[[], None], /
    ) -> Grid | None: ...


@dataclass(slots=True, eq=False)
class Stream:
    """One stream: what waits in it, how much of it runs, and whether a dependent launch may start."""

    waiting: deque[tuple[Starts, bool]] = field(default_factory=deque)
    running: int = 0
    released: bool = True
    last: Grid | None = None

    def put(self, work: Starts, *, dependent: bool = False) -> None:
        """Behind everything in the stream; with `dependent` behind the moment at which the launch before it allows."""
        self.waiting.append((work, dependent))

    def advance(self) -> None:
        """Start what can start."""
        while self.waiting:
            work, dependent = self.waiting[0]
            if self.running and not (dependent and self.released):
                return
            self.waiting.popleft()
            self.running += 1
            self.released = False
            self.last = work(self.last if dependent else None, self._release, self._over)

    def _release(self) -> None:
        self.released = True
        self.advance()

    def _over(self) -> None:
        self.running -= 1
        self.advance()
