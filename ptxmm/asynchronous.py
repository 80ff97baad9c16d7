"""The instructions of litmus tests that act on mbarriers, start copies, wait for them, or change tensor maps.

PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy", "mbarrier", "tensormap.replace",
"tensormap.cp_fenceproxy", "griddepcontrol", "elect.sync".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.arith import Type
from ptxmm.instructions import Instruction
from ptxmm.terms import Const, Expr, Order, Scope

ONE = Const(1)

# --- mbarriers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierInit(Instruction):
    """`mbarrier.init`: the object becomes valid, in phase 0, and waits for `count` arrivals a phase."""

    address: Expr
    count: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierInval(Instruction):
    """`mbarrier.inval`: the object is no mbarrier any more."""

    address: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierTx(Instruction):
    """`mbarrier.expect_tx` and, with `complete`, `mbarrier.complete_tx`: relaxed, by so many `bytes`.

    `remote` says that it is written `.shared::cluster`.
    """

    address: Expr
    bytes: Expr
    complete: bool
    scope: Scope = Scope.CTA
    remote: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierArrive(Instruction):
    """`mbarrier.arrive` and `.arrive_drop`, with `.expect_tx` where `expect` is set; `dst` takes the state.

    `completes` is false for `.noComplete`. `order` is RELEASE or RELAXED. `remote` says that it is written
    `.shared::cluster`.
    """

    address: Expr
    count: Expr = ONE
    expect: Expr | None = None
    drop: bool = False
    completes: bool = True
    dst: str | None = None
    order: Order = Order.RELEASE
    scope: Scope = Scope.CTA
    remote: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierWait(Instruction):
    """`mbarrier.test_wait` and, with `tries`, `.try_wait`: `dst` becomes whether the phase is complete.

    Exactly one of `token` (what an arrive gave) and `parity` is set. `order` is ACQUIRE or RELAXED.
    """

    dst: str | None
    address: Expr
    token: Expr | None = None
    parity: Expr | None = None
    tries: bool = True
    order: Order = Order.ACQUIRE
    scope: Scope = Scope.CTA


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierPending(Instruction):
    """`mbarrier.pending_count`: how many arrivals were pending when `token` was made."""

    dst: str
    token: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyArrive(Instruction):
    """`cp.async.mbarrier.arrive`: an arrival when all earlier `cp.async` of the thread are complete.

    It first adds one to the pending count, except where `increments` is false (`.noinc`).
    """

    address: Expr
    increments: bool = True


# --- copies ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncCopy(Instruction):
    """`cp.async` (not `bulk`), `cp.async.bulk{.tensor}` and `cp.reduce.async.bulk{.tensor}`.

    Between `destination` and `source`, both memory; with a tensor `map`, the side in global memory is the box of the
    map at `coordinates` (counted in elements), and None here. `size` counts bytes (of the box, where there is a map:
    None). Completion is told to `mbarrier`, or where that is None to groups. `multicast` is the mask of CTAs in the
    cluster. `reduce` is one of `arith.ATOMICS` with the element `type`. `read` is how many bytes of `size` a `cp.async`
    reads, the rest being zeros. `order` is RELAXED with a `scope` for strong copies and reductions. `spaces` are those
    of destination and source as they are written.
    """

    destination: Expr | None
    source: Expr | None
    size: Expr | None
    bulk: bool = True
    mbarrier: Expr | None = None
    map: Expr | None = None
    coordinates: tuple[Expr, ...] = ()
    multicast: Expr | None = None
    reduce: str | None = None
    type: Type | None = None
    read: Expr | None = None
    order: Order = Order.WEAK
    scope: Scope | None = None
    spaces: tuple[str, str] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncStore(Instruction):
    """`st.async` and, with an `op` of `arith.ATOMICS`, `red.async`: through the generic proxy, out of program order.

    With an `mbarrier` the bytes are completed there; without, the access is a release at `scope`.
    """

    values: tuple[Expr, ...]
    address: Expr
    type: Type
    mbarrier: Expr | None = None
    op: str | None = None
    order: Order = Order.WEAK
    scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Instruction):
    """`cp.async.bulk.commit_group` and, not `bulk`, `cp.async.commit_group`."""

    bulk: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitGroup(Instruction):
    """`cp.async{.bulk}.wait_group N`: at most the last `pending` groups stay incomplete; None is `cp.async.wait_all`.

    With `read`, only tensor maps and sources have been read.
    """

    pending: int | None
    bulk: bool = True
    read: bool = False


# --- tensor maps -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TensormapReplace(Instruction):
    """`tensormap.replace`: a weak access to all 128 bytes; `field` `global_address` is the part that is modelled.

    `ordinal` says which dimension, for the parts that have one value for each.
    """

    address: Expr
    value: Expr
    field: str = "global_address"
    ordinal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TensormapCopy(Instruction):
    """`tensormap.cp_fenceproxy`: 128 bytes by the generic proxy, then the release half of the tensor map's fence."""

    destination: Expr
    source: Expr
    scope: Scope


# --- threads and grids -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Elect(Instruction):
    """`elect.sync`: `dst` is the elected lane, `pred` whether this thread is it; orders nothing."""

    dst: str | None
    pred: str | None
    mask: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDependency(Instruction):
    """`griddepcontrol.wait` and, not `wait`, `griddepcontrol.launch_dependents`."""

    wait: bool


# --- what is read and not decided ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign(Instruction):
    """An instruction that PTX has and no model here: `mnemonic` and `operands` as written, `reason` in one sentence.

    `dst` are the registers that it may write.
    """

    mnemonic: str
    operands: str = ""
    dst: tuple[str, ...] = ()
    reason: str = field(default="", compare=False)
