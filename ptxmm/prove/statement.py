"""What a theorem is: events, hypotheses, a goal, and the litmus test that its counterexamples are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template

from ptxmm.model import Model
from ptxmm.prove.sentences import Sentence, sentence

Slots = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One assumption: its sentence, the words for it, and the change of the test that breaks it and nothing else.

    `features` limits it to models that support one of them: elsewhere it holds anyway.
    """

    name: str
    says: str
    words: str
    broken: Slots = field(compare=False)
    features: frozenset[str] = frozenset()

    @property
    def sentence(self) -> Sentence:
        """What it says, read."""
        return sentence(self.says)


@dataclass(frozen=True, slots=True)
class Lemma:
    """A sentence that is proved from the hypotheses in `by` and from the earlier steps named in `after`.

    `reads` are writes: if an atomic operation makes one, its read exists. A general lemma is about any events and needs
    no hypothesis. One that `defines` follows from the model's definitions alone, without its axioms.
    """

    name: str
    says: str
    by: tuple[Hypothesis, ...] = ()
    after: tuple[str, ...] = ()
    general: bool = False
    defines: bool = False
    reads: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that it needs."""
        return self.by


@dataclass(frozen=True, slots=True, kw_only=True)
class Induction:
    """That `claim` holds of every write `w` of a chain, since it holds of `w` where it holds of the write read for `w`.

    `chain` says which writes the chain has, `earlier` that `v` comes before `w`. The chain starts with the event
    `first`; what is used later is the claim for the event `last`, which is in the chain by the hypotheses `ends`.
    """

    claim: str
    chain: str
    earlier: str
    first: str
    last: str
    over: str
    name: str = "induction"
    after: tuple[str, ...] = ()
    by: tuple[Hypothesis, ...]
    ends: tuple[Hypothesis, ...]

    @property
    def uses(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that it needs."""
        return (*self.by, *self.ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A statement about named events in executions of any size.

    `given` says which kinds of events are named; it is no assumption about the protocol. `goal` is what is proved, from
    the last of the lemmas in `steps` and nothing else. The test `text` has slots: `slots` fills them so that the
    hypotheses hold, and `forms` are further such fillings.
    """

    name: str
    words: str
    given: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]
    goal: tuple[str, ...]
    steps: tuple[Lemma | Induction, ...]
    text: str
    slots: Slots
    forms: Mapping[str, Slots] = field(default_factory=dict)
    features: frozenset[str] = frozenset()

    def events(self) -> tuple[str, ...]:
        """The named events: those of `given`."""
        return tuple(dict.fromkeys(name for text in self.given for name in sentence(text).events))

    def stated_of(self, model: Model) -> bool:
        """Whether the theorem says anything of a model."""
        return not self.features or bool(self.features & model.supports)

    def assumed(self, model: Model) -> tuple[Hypothesis, ...]:
        """The hypotheses that are needed under a model."""
        return tuple(h for h in self.hypotheses if not h.features or h.features & model.supports)

    def test(self, name: str, changes: Slots, *, misses: bool = True) -> str:
        """The litmus test with some slots changed: that the goal is missed, or only that the events happen."""
        slots = {**self.slots, **changes}
        condition = f"{slots['happens']} && {slots['missed']}" if misses else slots["happens"]
        filled = Template(self.text).substitute({**slots, "name": name, "condition": condition})
        return "\n".join(line for line in filled.splitlines() if line.strip()) + "\n"
