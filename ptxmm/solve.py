"""Z3 behind one narrow door: SMT-LIB text in, an assignment, a core, or a reason for giving up out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import z3

from ptxmm.deadline import Deadline

VERSION: str = z3.get_version_string()


# Steps of Z3 (well under a second) that are tried before a timer is set: a timer costs a thread for each check.
EASY = 300_000
LONGEST = 1_000_000.0


class Truth(Enum):
    """What a check answers."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Loaded:
    """Constraints that are loaded; `prefix` starts the names of their variables."""

    solver: z3.Solver
    prefix: str

    def check(self, names: Sequence[str], deadline: Deadline) -> Truth:
        """Whether the constraints and the named literals hold together."""
        if deadline.left() == 0:
            return Truth.UNKNOWN
        assumed = [z3.Bool(self.prefix + name, self.solver.ctx) for name in names]
        self.solver.set("rlimit", EASY)
        answer = Truth(str(self.solver.check(*assumed)))
        if answer is Truth.UNKNOWN:
            self.solver.set("rlimit", 0)
            self.solver.set("timeout", max(1, int(min(deadline.left(), LONGEST) * 1000)))
            answer = Truth(str(self.solver.check(*assumed)))
            self.solver.set("timeout", 0)
        return answer

    def assignment(self, variables: Sequence[int]) -> dict[int, bool]:
        """The numbered variables in the assignment that the last check found; those it leaves open are False."""
        model, context = self.solver.model(), self.solver.ctx
        return {number: z3.is_true(model[z3.Bool(f"{self.prefix}v{number}", context)]) for number in variables}

    def core(self) -> frozenset[str]:
        """The named literals that the last check could not have together."""
        return frozenset(str(name)[len(self.prefix) :] for name in self.solver.unsat_core())

    def why(self) -> str:
        """Why the last check gave up."""
        reason = self.solver.reason_unknown()
        return reason if reason not in ("timeout", "canceled", "unknown", "") else "time-out"

    def block(self, text: str) -> None:
        """Add more constraints."""
        self.solver.from_string(text)


class Session:
    """One solver for many tests: each is loaded, asked, and forgotten.

    Z3 keeps their names in its context, and slows down and grows with them, so both are renewed at times: after so
    many tests, or so many characters of constraints.
    """

    RENEWAL = 100
    READ = 1_500_000

    def __init__(self) -> None:
        self.loads = 0
        self._renew()

    def _renew(self) -> None:
        self.read = 0
        self.solver = z3.SimpleSolver(ctx=z3.Context())
        self.solver.set("random_seed", 0)

    @contextmanager
    def load(self, text: str, prefix: str) -> Iterator[Loaded]:
        """The constraints, for as long as the block runs."""
        solver = self.solver
        self.read += len(text)
        solver.push()
        try:
            solver.from_string(text)
            yield Loaded(solver, prefix)
        finally:
            solver.pop()

    def prefix(self) -> str:
        """A new prefix for names."""
        self.loads += 1
        if self.loads % self.RENEWAL == 0 or self.read > self.READ:
            self._renew()
        return f"t{self.loads}_"


def alone(text: str) -> Loaded:
    """Constraints in a solver of their own."""
    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("random_seed", 0)
    solver.from_string(text)
    return Loaded(solver, "")


@lru_cache(maxsize=1)
def session() -> Session:
    """The process's solver."""
    return Session()
