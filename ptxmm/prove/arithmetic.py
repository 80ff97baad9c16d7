"""Why a leader knows that all have arrived: the sign of the word flips with the last contribution, and not before.

This is arithmetic over integers, for any number `n` of CTAs up to 2^31; no memory model is in it. That additions to the
word add up is the theorem `nothing-between`: coherence puts the atomic operations on the word in a row, each of which
reads what the one before it wrote. So the word holds a *partial sum*, of some of the contributions:

    (start + ones + heavies) mod 2^32

where `ones` is what the `arrived` ordinary CTAs have added so far, in `calls` operations, and the heavy CTA adds
`weight` once. That the sum of the contributions modulo 2^32, taken one by one, is the sum modulo 2^32 is proved by
induction over the partial sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from string import Template

import z3

from ptxmm.prove.claims import Formula
from ptxmm.prove.language import Term
from ptxmm.prove.proving import Step
from ptxmm.solve import Truth

WORD, SIGN = 1 << 32, 1 << 31


class Sums:
    """The integers of the statement, and what the word holds."""

    def __init__(self) -> None:
        self.n, self.start, self.weight = z3.Ints("n start weight")
        self.arrived, self.calls, self.ones = z3.Ints("arrived calls ones")
        self.heavy, self.second = z3.Bools("heavy second")

    @property
    def value(self) -> Term:
        """The word."""
        heavies = z3.If(self.heavy, self.weight, 0) + z3.If(self.second, self.weight, 0)
        return (self.start + self.ones + heavies) % WORD

    @property
    def all_of_them(self) -> Formula:
        """Whether every CTA has contributed."""
        return self.arrived + z3.If(self.heavy, 1, 0) + z3.If(self.second, 1, 0) == self.n

    @property
    def flipped(self) -> Formula:
        """Whether the word's sign is not what it was at the start."""
        return (self.value >= SIGN) != (self.start >= SIGN)

    def given(self) -> list[Formula]:
        """What the integers count: of `n` CTAs one is heavy, and a second one might be."""
        count = self.arrived + z3.If(self.heavy, 1, 0) + z3.If(self.second, 1, 0)
        return [
            self.n >= 1, self.n <= SIGN, self.start >= 0, self.start < WORD, self.weight >= 0, self.weight < WORD,
            self.arrived >= 0, self.arrived <= self.n - 1, count <= self.n, self.calls >= self.arrived,
            self.ones >= self.calls,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A hypothesis about the contributions, and the test that breaks it: what each of three leaders does first."""

    name: str
    says: Callable[[Sums], Formula] = field(compare=False)
    words: str
    broken: Mapping[str, str] = field(compare=False)


TEXT = """\
ptx $name
.global .u32 d = 0;
$word
thread A @ d0.c0.b0 {
    $heavy
}
thread C @ d0.c2.b2 {
    $one
}
thread B @ d0.c1.b1 {
    $last
    ld.relaxed.gpu.global.u32 v, [m];
    ld.acquire.gpu.global.u32 _, [m];
    ld.weak.global.u32 r, [d];
}
thread D @ d0.c3.b3 {
    st.weak.global.u32 [d], 1;
    $own
}
exists ($condition)
"""

ONE = "red.release.gpu.global.add.u32 [m], 1;"
SLOTS = {
    "word": ".global .u32 m = 0;",
    "heavy": "red.release.gpu.global.add.u32 [m], 0x7ffffffd;",
    "one": ONE,
    "last": ONE,
    "own": ONE,
    "happens": "B.v >= 0x80000000",
    "missed": "B.r == 0",
}

CONDITIONS = (
    Condition(
        name="start",
        says=lambda s: z3.Or(s.start == 0, s.start == SIGN),
        words="the word starts at 0 or at 2^31 (where the round before left it)",
        broken={"word": ".global .u32 m = 1;"},
    ),
    Condition(
        name="one-heavy",
        says=lambda s: z3.Not(s.second),
        words="one CTA alone adds the large number",
        broken={"one": SLOTS["heavy"]},
    ),
    Condition(
        name="weight",
        says=lambda s: s.weight == SIGN - (s.n - 1),
        words="the large number is 2^31 - (n - 1)",
        broken={"heavy": "red.release.gpu.global.add.u32 [m], 0x7ffffffe;"},
    ),
    Condition(
        name="ones",
        says=lambda s: s.ones == s.calls,
        words="every other contribution adds 1",
        broken={"one": "red.release.gpu.global.add.u32 [m], 2;"},
    ),
    Condition(
        name="once",
        says=lambda s: s.calls == s.arrived,
        words="every CTA contributes once a round",
        broken={"one": f"{ONE} {ONE}"},
    ),
)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The statement: the sign has flipped exactly when all have contributed."""

    name: str = "sign-flip"
    words: str = (
        "In a word that n CTAs add to, one of them 2^31 - (n - 1) and the others 1, the sign differs from the start's"
        " exactly when all n have added."
    )
    hypotheses: tuple[Condition, ...] = CONDITIONS

    def test(self, name: str, changes: Mapping[str, str], *, misses: bool = True) -> str:
        """The litmus test with some slots changed: that a leader passes too early, or only that it passes."""
        slots = {**SLOTS, **changes}
        condition = f"{slots['happens']} && {slots['missed']}" if misses else slots["happens"]
        return Template(TEXT).substitute({**slots, "name": name, "condition": condition})

    def steps(self, timeout: float, dropped: Condition | None = None) -> Iterator[Step]:
        """Partial sums first, then the sign."""
        if dropped is None:
            yield from (_ask(name, facts, timeout) for name, facts in _partial_sums())
        yield _ask("goal", [z3.Not(self.law(dropped))], timeout)

    def law(self, dropped: Condition | None = None) -> Formula:
        """The statement as a formula, about any integers of these names."""
        sums = Sums()
        assumed = [condition.says(sums) for condition in self.hypotheses if condition is not dropped]
        return z3.Implies(z3.And(*sums.given(), *assumed), sums.flipped == sums.all_of_them)


def _partial_sums() -> Iterator[tuple[str, list[Formula]]]:
    """`word` follows `total` modulo 2^32: at the start, and after one more addition if before it."""
    word, total, start, added = z3.Ints("word total start added")
    yield "base", [start >= 0, start < WORD, word == start, total == start, word != total % WORD]
    yield "step", [word == total % WORD, added >= 0, (word + added) % WORD != (total + added) % WORD]


def _ask(name: str, facts: list[Formula], timeout: float) -> Step:
    solver = z3.Solver()
    solver.set("timeout", max(1, int(timeout * 1000)))
    solver.set("random_seed", 0)
    solver.add(*facts)
    answer = Truth(str(solver.check()))
    return Step(name, answer, why=solver.reason_unknown() if answer is Truth.UNKNOWN else "")


SIGN_FLIP = Arithmetic()
