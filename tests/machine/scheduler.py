"""Everything that goes on at once, one step at a time: who goes next is drawn from a seed.

An agent is a generator: it gives up its turn by yielding None, and waits by yielding a gate that another opens.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from random import Random

from machine.memory import Fault

Steps = Generator["Gate | None", None, None]

TURNS = (1, 1, 1, 2, 2, 3, 5, 12)
"""Steps of one turn: most are short, some let one agent run ahead."""

CYCLES = 4000.0
"""By how much the clock goes on while each agent that can makes one step, on average."""


class Hang(Exception):
    """A launch that would not end: all wait, or too many steps were made."""


@dataclass(slots=True, eq=False)
class Agent:
    """One of those that go on: a thread, or a copy that was started. `ended` is called behind its last step."""

    steps: Steps
    ended: Callable[[], None]


@dataclass(slots=True, eq=False)
class Gate:
    """What agents wait for, opened once."""

    scheduler: Scheduler
    waiting: list[Agent] = field(default_factory=list)

    def open(self) -> None:
        self.scheduler.blocked -= len(self.waiting)
        self.scheduler.ready += self.waiting
        self.waiting = []


@dataclass(slots=True, eq=False)
class Scheduler:
    """Agents in turn; `most` is how many steps there may be in one run."""

    random: Random
    most: int = 50_000_000
    ready: list[Agent] = field(default_factory=list)
    blocked: int = 0
    clock: float = 0.0
    steps: int = 0

    def start(self, steps: Steps, ended: Callable[[], None]) -> None:
        """Let one more agent take part."""
        self.ready.append(Agent(steps, ended))

    def gate(self) -> Gate:
        return Gate(self)

    def run(self) -> None:
        """Go on until all have ended; Hang where they never would."""
        ready, draw, turns = self.ready, self.random.random, len(TURNS)
        last = self.steps + self.most
        while ready:
            place = int(draw() * len(ready))
            agent, turn = ready[place], TURNS[int(draw() * turns)]
            self.clock += CYCLES * turn / len(ready)
            self.steps += turn
            try:
                for _ in range(turn):
                    gate = next(agent.steps)
                    if gate is not None:
                        ready[place] = ready[-1]
                        ready.pop()
                        gate.waiting.append(agent)
                        self.blocked += 1
                        break
            except StopIteration:
                # Whoever was started or freed meanwhile stands behind: this agent is still at its place.
                ready[place] = ready[-1]
                ready.pop()
                agent.ended()
            except NameError as missing:
                raise Fault(f"a register that was never written: {missing}") from missing
            if self.steps > last:
                raise Hang(f"{len(ready)} agents go on after {self.most} steps")
        if self.blocked:
            raise Hang(f"{self.blocked} agents wait for each other")
