"""The grammar of a PTX mnemonic: an opcode, then slots of qualifiers in order; errors point there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ptxmm.arith import PRED, Type
from ptxmm.errors import InputError, Span, near

Requirement = tuple[tuple[int, int], int]
LEAST: Requirement = ((6, 0), 70)
"""What the memory model itself needs: PTX 6.0 and `sm_70`."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one qualifier: `name` says what it states ("scope"), `words` are the spellings without the dot.

    `implied` is for what PTX requires and tests may leave out, because the operands decide it. `short` has spellings
    that tests may use, each with the word that it stands for. What `leads` comes first in any order of the others.
    """

    name: str
    words: tuple[str, ...]
    required: bool = False
    implied: bool = False
    short: tuple[tuple[str, str], ...] = ()
    leads: bool = False

    def spelled(self, word: str) -> str | None:
        """The word of this slot that a spelling means."""
        return word if word in self.words else dict(self.short).get(word)


@dataclass(frozen=True, slots=True)
class Need:
    """A form that has all of `words` among its qualifiers needs this PTX version and target (`sm_NN`).

    `specific` is for what architecture-specific targets, such as `sm_100a`, have alone.
    """

    words: frozenset[str]
    version: tuple[int, int]
    target: int
    specific: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction: its opcode, its qualifiers in order, what restricts them, what it needs, what it becomes.

    `builds` is a key of `isa.BUILDERS`; `section` is that of the PTX ISA; `real` is False for spellings that no
    assembler knows, those of NVIDIA's model artifact among them. `specific` is for instructions that
    architecture-specific targets, such as `sm_90a`, have alone. `any_order` is for instructions whose qualifiers
    kernels write in any order, as `ptxas` takes them: no two slots of these share a word.
    """

    opcode: tuple[str, ...]
    section: str
    slots: tuple[Slot, ...]
    builds: str
    rules: tuple[Callable[[Form, Type | None], None], ...] = ()
    needs: tuple[Need, ...] = ()
    since: Requirement = LEAST
    real: bool = True
    specific: bool = False
    any_order: bool = False

    @property
    def name(self) -> str:
        """The opcode as it is written."""
        return ".".join(self.opcode)


@dataclass(frozen=True, slots=True)
class Word:
    """A qualifier of a mnemonic, how many characters stand before it, and how many it has where it is short."""

    text: str
    offset: int
    width: int = 0

    def within(self, at: Span) -> Span:
        """Where it stands, in a mnemonic that stands at `at`."""
        return Span(at.path, at.line, at.column + self.offset, at.source, max(1, self.width or len(self.text)))


@dataclass(frozen=True, slots=True)
class Form:
    """A mnemonic matched against its row: at most one word for each slot, in the order of the row."""

    row: Row
    words: tuple[tuple[str, Word], ...]
    at: Span

    def get(self, slot: str) -> str | None:
        """The qualifier in a slot."""
        return next((word.text for name, word in self.words if name == slot), None)

    def where(self, slot: str) -> Span:
        """Where the qualifier of a slot stands, else the whole mnemonic."""
        return next((word.within(self.at) for name, word in self.words if name == slot), self.at)

    def has(self, slot: str) -> bool:
        return self.get(slot) is not None

    def but(self, **changes: str | None) -> str:
        """The mnemonic with some slots changed or taken away.

        >>> from ptxmm.isa import form_of
        >>> form_of("ld.acquire.gpu.u32").but(order="relaxed", scope="sys", type=None)
        'ld.relaxed.sys'
        """
        filled = {name: word.text for name, word in self.words} | changes
        return ".".join((*self.row.opcode, *(w for slot in self.row.slots if (w := filled.get(slot.name)))))

    def fail(self, slot: str, message: str, hint: str = "") -> InputError:
        """An error that points at the qualifier of a slot."""
        return InputError(message, self.where(slot), hint)

    @property
    def type(self) -> Type | None:
        """The type that is written."""
        word = self.get("type")
        return type_of(word) if word else None

    @property
    def requirement(self) -> Requirement:
        """The smallest PTX version and target for this form."""
        version, target = self.row.since
        for need in self._needs():
            version, target = max(version, need.version), max(target, need.target)
        return version, target

    @property
    def specific(self) -> bool:
        """Whether only an architecture-specific target such as `sm_90a` has this form.

        >>> from ptxmm.isa import form_of
        >>> form_of("tensormap.replace.tile.rank.b1024.b32").specific
        True
        """
        return self.row.specific or any(need.specific for need in self._needs())

    def _needs(self) -> list[Need]:
        present = {word.text for _, word in self.words}
        return [need for need in self.row.needs if need.words <= present]


def split(mnemonic: str) -> tuple[Word, ...]:
    """The words of a mnemonic.

    >>> [(word.text, word.offset) for word in split("ld.weak.u32")]
    [('ld', 0), ('weak', 3), ('u32', 8)]
    """
    words, offset = [], 0
    for text in mnemonic.split("."):
        words.append(Word(text, offset))
        offset += len(text) + 1
    return tuple(words)


def whole(mnemonic: str, at: Span) -> Span:
    """The place of the whole mnemonic."""
    return Span(at.path, at.line, at.column, at.source, len(mnemonic))


Known = Mapping[str, frozenset[str]]
"""The qualifiers of all instructions, each with the names of the slots where it may stand."""


def match(row: Row, mnemonic: str, at: Span, known: Known) -> Form:
    """The form of `row` that a mnemonic spells."""
    filled: dict[str, Word] = {}
    last, misplaced = -1, None
    for word in split(mnemonic)[len(row.opcode) :]:
        index, slot = _slot(row, word, at, known, filled)
        if (full := slot.spelled(word.text)) not in (None, word.text):
            word = Word(str(full), word.offset, len(word.text))
        if slot.name in filled:
            first = filled[slot.name].text
            both = (
                f"`.{word.text}` stands twice"
                if first == word.text
                else f"`.{first}` and `.{word.text}` exclude each other"
            )
            raise InputError(f"{both}: `{row.name}` takes one {slot.name}", word.within(at), "keep one of them")
        filled[slot.name] = word
        if index < last and misplaced is None and (slot.leads or not row.any_order):
            misplaced = word
        last = max(last, index)
    form = Form(row, tuple((s.name, filled[s.name]) for s in row.slots if s.name in filled), whole(mnemonic, at))
    if misplaced is not None:
        raise InputError(
            f"`.{misplaced.text}` stands in the wrong place", misplaced.within(at), f"write `{form.but()}`"
        )
    for slot in row.slots:
        if slot.required and slot.name not in filled:
            raise InputError(f"`{form.but()}` names no {slot.name}", form.at, f"add {choices(slot.words)}")
    return form


def _slot(row: Row, word: Word, at: Span, known: Known, filled: Mapping[str, Word]) -> tuple[int, Slot]:
    """The slot that a word fills: of several that have it one that is free, if possible behind all that are filled."""
    last = max((i for i, slot in enumerate(row.slots) if slot.name in filled), default=-1)
    fitting = [(i, slot) for i, slot in enumerate(row.slots) if slot.spelled(word.text) is not None]
    if fitting:
        free = [(i, slot) for i, slot in fitting if slot.name not in filled] or fitting
        return next(((i, slot) for i, slot in free if i > last), free[0])
    if not word.text:
        raise InputError("a qualifier is missing here", word.within(at))
    own = {w for slot in row.slots for w in slot.words}
    if word.text not in known:
        hint = near(word.text, own) or near(word.text, known)
        raise InputError(f"unknown qualifier `.{word.text}`", word.within(at), hint)
    alone = row.slots if len(row.slots) == 1 else ()
    same = next((slot for slot in row.slots if slot.name in known[word.text] or slot in alone), None)
    if same is not None:
        hint = f"its {same.name} is {choices(_alike(word.text, same, known))}"
    elif row.slots:
        hint = f"it takes: {', '.join(slot.name for slot in row.slots)}"
    else:
        hint = "it takes no qualifier"
    raise InputError(f"`{row.name}` takes no `.{word.text}`", word.within(at), hint)


def _alike(word: str, slot: Slot, known: Known) -> tuple[str, ...]:
    """The words of a slot; of types, those as wide as another type, where there are any."""
    if slot.name != "type" or "type" not in known[word]:
        return slot.words
    return tuple(other for other in slot.words if type_of(other).bits == type_of(word).bits) or slot.words


def choices(words: Iterable[str]) -> str:
    """Qualifiers as a sentence lists them.

    >>> choices(["cta", "gpu", "sys"])
    '`.cta`, `.gpu` or `.sys`'
    """
    quoted = [f"`.{w}`" for w in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def type_of(word: str) -> Type:
    """The type that a qualifier names.

    >>> type_of("bf16x2"), type_of("s8")
    (Type(kind='bf', bits=32, lanes=2), Type(kind='s', bits=8, lanes=1))
    """
    if word == "pred":
        return PRED
    kind = word.rstrip("0123456789x")
    bits, _, lanes = word[len(kind) :].partition("x")
    return Type(kind, int(bits) * int(lanes or 1), int(lanes or 1))
