"""What a litmus test declares beside its code: memory, its condition, verdicts, dialect, and notes for a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ptxmm.arith import U32, Type
from ptxmm.errors import Span
from ptxmm.terms import NOWHERE, Addr, Const, Expr, Place, Proxy, Space

# --- memory ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TensorMap:
    """What a tensor map describes: a box of `box` bytes of the object `target`.

    With `dims`, elements in each dimension, innermost first, `box_dims` are those of the box, and `strides` the bytes
    from one to the next in each dimension but the first; without, the object is an array of one dimension.
    `acquired` says that every CTA has already acquired the content that the host wrote.
    """

    target: str
    box: int
    acquired: bool = False
    dims: tuple[int, ...] = ()
    box_dims: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Object:
    """A declared object: `length` elements of `type`; `init` one value an element (an `Addr` for a pointer).

    `owner` is the CTA (a place without warp and lane) of shared memory. `family` is the name that objects at one offset
    of several CTAs share (`.shared @ d0.c0.*`), each then named `family@bN`. `mbarrier` is the count of each
    element, mbarriers that are live from the start; a tensor map is 16 words of 8 bytes, the first holding the address
    of what it maps (`tensor_maps`).
    """

    name: str
    type: Type = U32
    length: int = 1
    init: tuple[Const | Addr, ...] = (Const(0),)
    space: Space = Space.GLOBAL
    owner: Place | None = None
    device: int | None = None
    family: str | None = None
    mbarrier: int | None = None
    tensormap: TensorMap | None = None
    at: Span = field(default=NOWHERE, compare=False)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.type.size * self.length


@dataclass(frozen=True, slots=True)
class View:
    """A second way to `target` (an object or a generic view).

    With the generic proxy it is a second virtual address (`.alias`); with another proxy, the target's own virtual
    address accessed by that proxy (`.texref`, `.surfref`, `.constref`).
    """

    name: str
    target: str
    proxy: Proxy = Proxy.GENERIC
    at: Span = field(default=NOWHERE, compare=False)


# --- the question ----------------------------------------------------------------------------------------------------


class Quantifier(StrEnum):
    """What is asked of the condition."""

    EXISTS = "exists"
    NOT_EXISTS = "~exists"
    FORALL = "forall"


@dataclass(frozen=True, slots=True)
class Condition:
    """A quantifier and a formula over final states."""

    quantifier: Quantifier
    formula: Expr


@dataclass(frozen=True, slots=True)
class Word:
    """One stated verdict: `allowed`, `race` with the objects it is on, `hang` with the progress model."""

    word: str
    on: tuple[str, ...] | None = None
    progress: str | None = None

    def __str__(self) -> str:
        on = f" on {', '.join(self.on)}" if self.on else ""
        return self.word + (f"[{self.progress}]" if self.progress else "") + on


@dataclass(frozen=True, slots=True)
class Expect:
    """Stated verdicts, under the default model where `models` is None."""

    words: tuple[Word, ...]
    models: tuple[str, ...] | None = None
    at: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Conventions:
    """Where a dialect means something else than our language does (see `docs/language.md`)."""

    failed_cas_writes: bool = False
    reductions_read: bool = False
    named_instances: bool = False
    branches_control_the_rest: bool = False


OWN_CONVENTIONS = Conventions()


@dataclass(frozen=True, slots=True)
class Hardware:
    """Notes for a run on a GPU."""

    require: str | None = None
    preload: tuple[tuple[str, tuple[str, ...]], ...] = ()
    busy: tuple[tuple[str, int], ...] = ()
    skip: str | None = None


UNRESTRICTED = Hardware()
