"""What ptxmm answers: verdicts with their evidence, as frozen values that the reports print."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.arith import U32, Type
from ptxmm.program import Order, Program, Proxy, Scope


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of an execution, for people.

    `kind` is `R`, `W`, `F` (fence or proxy fence), `B` (barrier) or `I` (initial write, `thread` None). `step` counts
    the events of the thread in program order; events of one instruction share `text`. `place` is the location as the
    test names it (`x`, `a[1]`, `x+2`), `value` what was read or written.
    """

    id: int
    kind: str
    thread: str | None
    step: int
    text: str
    place: str | None = None
    value: int | None = None
    type: Type = U32
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    line: int = 0


@dataclass(frozen=True, slots=True)
class MbarrierHistory:
    """What happened to one mbarrier in an execution: its operations in order, as ids of events, and how they left it.

    `phase` is the phase that is not complete, `pending` the arrivals and `bytes` the transaction count still to come.
    An object that no `init` made, or that was invalidated, is not `valid`. `undefined` says what PTX leaves undefined
    about the last of the operations; nothing is known of what comes after it.
    """

    name: str
    operations: tuple[int, ...]
    valid: bool = True
    phase: int = 0
    pending: int = 0
    bytes: int = 0
    undefined: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution that a model allows: events in thread order, named edges between their ids, and the final state.

    `edges` has at least `po` (immediate), `rf`, `co` (immediate), `fr`, `rmw`, and where they exist `sync` relations
    of the model file under the file's own names. `registers` are keyed by thread and register, `memory` by place.
    `mbarriers` has each mbarrier that something was done to.
    """

    events: tuple[Happening, ...]
    edges: dict[str, frozenset[tuple[int, int]]]
    registers: dict[tuple[str, str], int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    mbarriers: tuple[MbarrierHistory, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """What one instruction of an execution falls short of, so that two accesses race there.

    `lacks` names it, as `docs/races.md` lists; it is empty where no change of one instruction would order the pair.
    `event` is the instruction's event, with its thread, line and text; `why` a sentence, `instead` what would do.
    """

    lacks: tuple[str, ...]
    event: int
    thread: str
    line: int
    text: str
    why: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Race:
    """Two conflicting accesses that nothing orders (PTX ISA 8.7.1), in one execution that shows it.

    `first` and `second` are event ids of `witness`; `on` is the declared name of the object; `mixed` says that their
    sizes differ (8.7.2); `why` says in words what is missing. `hazard` is `read after write`, `write after read` or
    `write after write`, with `first` as what was to come first; `missing` holds the steps all of which together would
    order the pair in this execution.
    """

    on: str
    first: int
    second: int
    mixed: bool
    why: str
    witness: Execution
    hazard: str = ""
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a property other than the condition: `verdict` is `yes`, `no`, `unknown` or `not asked`.

    Of a hang, `why` says who waits for what, and `witness` is the execution that never ends.
    """

    verdict: str = "not asked"
    on: tuple[str, ...] = ()
    races: tuple[Race, ...] = ()
    why: str = ""
    witness: Execution | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Everything about one test under one model.

    `verdict` is one of `allowed forbidden holds fails unknown unsupported error`, `no condition` or `not asked`; `by`
    the axioms that a `forbidden` or `holds` needed; `why` the reason of an `unknown`, `unsupported` or `error`.
    `expected` are the stated words for this model on what was asked, `ok` None where none is stated, `surprises` one
    sentence for each that differs. `hang` is the answer under `progress`, `hangs` those under other progress models
    that the test names. `complete` is false where a loop was cut at `bound`. `line` is that of the error or of the
    stated verdicts, 0 where there is none.
    """

    path: str
    test: str
    variant: str | None
    model: str
    condition: str = ""
    verdict: str = "no condition"
    by: tuple[str, ...] = ()
    why: str = ""
    witness: Execution | None = None
    race: Answer = Answer()
    hang: Answer = Answer()
    progress: str = "fair"
    hangs: tuple[tuple[str, Answer], ...] = ()
    undefined: Answer = Answer()
    expected: tuple[str, ...] = ()
    ok: bool | None = None
    surprises: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    bound: int = 0
    complete: bool = True
    seconds: float = 0.0
    line: int = 0
    program: Program | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """`NAME[VARIANT]`."""
        return f"{self.test}[{self.variant}]" if self.variant is not None else self.test


@dataclass(frozen=True, slots=True)
class State:
    """One final state: values by column name (`A.r0`, `x`, `a[1]`), in the order of `Outcomes.columns`."""

    values: tuple[int, ...]
    satisfies: bool
    witness: Execution | None = field(default=None, compare=False, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """All final states of one test under one model, sorted by values; `complete` is false where a loop was cut."""

    path: str
    test: str
    variant: str | None
    model: str
    condition: str
    quantifier: str | None
    columns: tuple[str, ...]
    types: tuple[Type, ...]
    states: tuple[State, ...]
    complete: bool = True
    why: str = ""
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """`NAME[VARIANT]`."""
        return f"{self.test}[{self.variant}]" if self.variant is not None else self.test
