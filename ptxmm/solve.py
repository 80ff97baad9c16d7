"""Z3 behind one narrow door: SMT-LIB text in, an assignment, a core, or a reason for giving up out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

import z3

from ptxmm.deadline import NEVER, Deadline
from ptxmm.errors import Undecided

VERSION: str = z3.get_version_string()


# Steps of Z3 (well under a second) that are tried before a timer is set: a timer costs a thread for each check.
EASY = 300_000
LONGEST = 1_000_000.0
# Characters of constraints from which on they get a solver of their own.
LARGE = 200_000
# Characters that are read at once: a fraction of a second.
PIECE = 1_000_000


class Truth(Enum):
    """What a check answers."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


@dataclass
class Loaded:
    """Constraints that are loaded; `prefix` starts the names of their variables.

    Large ones stand in a solver of their `own`. Z3 is slow with many assumptions there, so that named literals are
    asserted for one check (`held`), and its steps are no measure of its time, so that the timer is always set.
    """

    solver: z3.Solver
    prefix: str
    large: bool = False
    own: bool = False
    held: bool = False
    open: bool = True
    declared: dict[int, z3.FuncDeclRef] = field(default_factory=dict)

    def check(self, names: Sequence[str], deadline: Deadline, *, briefly: bool = False, core: bool = False) -> Truth:
        """Whether the constraints and the named literals hold together.

        `briefly` gives up soon; `core` asks for a core also of large constraints.
        """
        if deadline.left() == 0:
            return Truth.UNKNOWN
        assumed = [z3.Bool(self.prefix + name, self.solver.ctx) for name in names]
        if self.large:
            self._hold([] if core else assumed)
            return self._timed(assumed if core else [], deadline, EASY if briefly else 0)
        self.solver.set("rlimit", EASY)
        answer = Truth(str(self.solver.check(*assumed)))
        return self._timed(assumed, deadline, 0) if answer is Truth.UNKNOWN and not briefly else answer

    def _hold(self, literals: list[z3.BoolRef]) -> None:
        """Assert literals in place of those that were asserted for the check before."""
        if self.held:
            self.solver.pop()
        self.held = bool(literals)
        if literals:
            self.solver.push()
            self.solver.add(*literals)

    def _timed(self, assumed: list[z3.BoolRef], deadline: Deadline, steps: int) -> Truth:
        self.solver.set("rlimit", steps)
        self.solver.set("timeout", max(1, int(min(deadline.left(), LONGEST) * 1000)))
        answer = Truth(str(self.solver.check(*assumed)))
        self.solver.set("timeout", 0)
        return answer

    def assignment(self, variables: Sequence[int]) -> dict[int, bool]:
        """The numbered variables in the assignment that the last check found; those it leaves open are False."""
        context, model = self.solver.ctx.ref(), self.solver.model()
        found = {}
        for number in variables:
            value = z3.Z3_model_get_const_interp(context, model.model, self._declared(number).ast)
            found[number] = bool(value) and z3.Z3_get_bool_value(context, value) == z3.Z3_L_TRUE
        return found

    def _declared(self, number: int) -> z3.FuncDeclRef:
        """The declaration of a variable, as Z3's C interface has it, which is many times faster than z3py's."""
        if number not in self.declared:
            context = self.solver.ctx
            name = z3.Z3_mk_string_symbol(context.ref(), f"{self.prefix}v{number}")
            made = z3.Z3_mk_func_decl(context.ref(), name, 0, None, z3.BoolSort(context).ast)
            self.declared[number] = z3.FuncDeclRef(made, context)
        return self.declared[number]

    def core(self) -> frozenset[str]:
        """The named literals that the last check could not have together, where it was asked for a core."""
        return frozenset(str(name)[len(self.prefix) :] for name in self.solver.unsat_core())

    def why(self) -> str:
        """Why the last check gave up."""
        reason = self.solver.reason_unknown()
        return reason if reason not in ("timeout", "canceled", "unknown", "") else "time-out"

    def close(self) -> None:
        """Take the constraints out of a solver that is not theirs alone."""
        self.open = False
        if not self.own:
            self.solver.pop()

    def add(self, text: str, deadline: Deadline = NEVER) -> None:
        """Add more constraints, line by line; Undecided is raised where the deadline passes."""
        if self.large:
            self._hold([])
        start = 0
        while start < len(text):
            deadline.check()
            end = text.find("\n", start + PIECE) + 1 or len(text)
            self.solver.from_string(text[start:end])
            start = end


class Session:
    """One solver for many tests: each is loaded, asked, and forgotten.

    Z3 keeps their names in its context, and slows down and grows with them, so both are renewed at times: after so
    many tests, or so many characters of constraints.
    """

    RENEWAL = 100
    READ = 1_500_000

    def __init__(self) -> None:
        self.loads = 0
        self._kept: Loaded | None = None
        self._renew()

    def _renew(self) -> None:
        self._forget()
        self.read = 0
        self.solver = _solver()

    @contextmanager
    def load(self, text: str, prefix: str, deadline: Deadline = NEVER) -> Iterator[Loaded]:
        """The constraints, for as long as the block runs."""
        loaded = self._pushed(text, prefix, deadline)
        try:
            yield loaded
        finally:
            self._forget()
            loaded.close()

    def keep(self, text: str, prefix: str, deadline: Deadline = NEVER) -> Loaded:
        """The constraints, until others are loaded."""
        self._kept = self._pushed(text, prefix, deadline)
        return self._kept

    def _pushed(self, text: str, prefix: str, deadline: Deadline) -> Loaded:
        self._forget()
        if len(text) > LARGE:
            return apart(text, prefix, deadline)
        loaded = Loaded(self.solver, prefix)
        self.read += len(text)
        loaded.solver.push()
        try:
            loaded.add(text, deadline)
        except Undecided:
            loaded.close()
            raise
        return loaded

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def prefix(self) -> str:
        """A new prefix for names."""
        self.loads += 1
        if self.loads % self.RENEWAL == 0 or self.read > self.READ:
            self._renew()
        return f"t{self.loads}_"


def apart(text: str, prefix: str, deadline: Deadline = NEVER) -> Loaded:
    """The constraints in a solver of their own, for as long as they are used."""
    loaded = Loaded(_solver(), prefix, len(text) > LARGE, own=True)
    loaded.add(text, deadline)
    return loaded


def _solver() -> z3.Solver:
    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("random_seed", 0)
    return solver


@lru_cache(maxsize=1)
def session() -> Session:
    """The process's solver."""
    return Session()
