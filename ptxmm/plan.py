"""A compiled model as a value: its operations one after another, and what these say about it without any test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ptxmm.model import Check

POINTWISE = frozenset(
    {"base", "nothing", "union", "inter", "diff", "product", "identity", "inverse", "optional", "complement"}
    | {"from_set", "to_set"}
)

LEFT = frozenset({"seq", "seq_within", "seq_optional", "optional_seq"})
ROWS = LEFT | {"union", "inter", "diff", "optional", "from_set", "to_set"}


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its name, and the slots of its operands."""

    op: str
    args: tuple[int, ...] = ()
    base: str = ""


@dataclass(frozen=True, eq=False)
class Plan:
    """The operations of a model, its axioms (name, check, negated, slot) and the slot of each name it defines."""

    steps: tuple[Step, ...]
    axioms: tuple[tuple[str, Check, bool, int], ...]
    names: dict[str, int]
    recursions: dict[int, tuple[tuple[int, ...], tuple[int, ...], int]] = field(default_factory=dict)
    flags: tuple[tuple[str, Check, bool, int], ...] = ()
    _varying: dict[int, frozenset[int]] = field(default_factory=dict)

    def needs(self, slot: int) -> set[str]:
        """The base names that a slot's meaning depends on."""
        return {self.steps[number].base for number in self.below([slot])}

    def below(self, slots: Iterable[int]) -> set[int]:
        """The slots that the meanings of some slots depend on, themselves included."""
        seen, stack = set[int](), list(slots)
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                step = self.steps[number]
                stack.extend(self.recursions[step.args[0]][1] if step.op == "fixpoint" else step.args)
        return seen

    def varying(self, group: int) -> frozenset[int]:
        """The slots that the variables of a recursion have a part in; recursions inside it have none."""
        if group not in self._varying:
            variables, bodies, _ = self.recursions[group]
            found = set(variables)
            for slot in sorted(self.below(bodies)):
                step = self.steps[slot]
                if step.op != "fixpoint" and found.intersection(step.args):
                    found.add(slot)
            self._varying[group] = frozenset(found)
        return self._varying[group]

    def row_by_row(self, group: int) -> bool:
        """Whether what a recursion relates an event to depends on no more than what it related that event to before."""
        varying = self.varying(group)
        for slot in varying.difference(self.recursions[group][0]):
            step = self.steps[slot]
            rest = step.args if step.op not in ROWS else step.args[1:] if step.op in LEFT else ()
            if varying.intersection(rest):
                return False
        return True

    @cached_property
    def monotone(self) -> bool:
        """Whether taking reads and fences out of an execution that the model allows leaves one that it allows.

        That is so where no axiom is negated, and a difference or complement takes away only what does not lead through
        other events: combinations of base relations pair by pair, or orders of writes alone.
        """
        return self._keeps(frozenset({"", "co"}))

    @cached_property
    def hereditary(self) -> bool:
        """Whether the same is true of taking out writes, too, that no read which stays reads from."""
        return self._keeps(frozenset({""}))

    def _keeps(self, through: frozenset[str]) -> bool:
        used = [self.steps[number] for number in self.below(slot for _, _, _, slot in self.axioms)]
        taken = [step.args[1] for step in used if step.op == "diff"]
        taken += [step.args[0] for step in used if step.op == "complement"]
        positive = not any(negated for _, _, negated, _ in self.axioms)
        return positive and all(self._direct(slot, through) for slot in taken)

    def _direct(self, slot: int, through: frozenset[str]) -> bool:
        """Whether a pair is in a slot's meaning by these two events alone, or by others that stay in any case."""
        step = self.steps[slot]
        if step.op in POINTWISE:
            return all(self._direct(arg, through) for arg in step.args)
        return self.needs(slot) <= through

    def uses(self, base: str) -> bool:
        """Whether the model mentions a base name."""
        return any(step.base == base for step in self.steps)
