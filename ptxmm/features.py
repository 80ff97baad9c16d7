"""What a test needs that a model may lack, and what no model answers yet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ptxmm.errors import Unsupported
from ptxmm.events import EventGraph
from ptxmm.memory import Range
from ptxmm.model import Model
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Atomic,
    Barrier,
    ClusterBarrier,
    CopyArrive,
    Fence,
    Foreign,
    Load,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    Order,
    Program,
    Proxy,
    ProxyFence,
    Scope,
    Statement,
    Store,
    TensormapCopy,
    TensormapReplace,
    WarpSync,
)  # fmt: skip
from ptxmm.vocabulary import FEATURES

VIEWS = {
    Proxy.GENERIC: "alias",
    Proxy.TEXTURE: "texture",
    Proxy.SURFACE: "surface",
    Proxy.CONSTANT: "constant",
}


ASYNCHRONOUS: dict[type, tuple[str, ...]] = {
    MbarrierInit: ("mbarriers",),
    MbarrierInval: ("mbarriers",),
    MbarrierTx: ("mbarriers",),
    MbarrierArrive: ("mbarriers",),
    MbarrierWait: ("mbarriers",),
    MbarrierPending: ("mbarriers",),
    CopyArrive: ("mbarriers", "copies"),
    AsyncStore: ("copies",),
    TensormapReplace: ("tensormap",),
    TensormapCopy: ("tensormap",),
}


def needs(program: Program) -> Iterator[str]:
    """The features (`vocabulary.FEATURES`) that a test's code needs; accesses of different sizes are not looked at."""
    for item in program.objects:
        if item.mbarrier is not None:
            yield "mbarriers"
        if item.tensormap is not None:
            yield "tensormap"
    for view in program.views:
        yield VIEWS[view.proxy]
    for thread in program.threads:
        for statement in thread.body:
            yield from _needs(statement)


def _needs(statement: Statement) -> Iterator[str]:
    match statement:
        case ProxyFence(kind="alias", order=Order()):
            yield from ("alias", "one-sided-fences")
        case ProxyFence(kind=kind):
            yield kind
        case Fence(window="mbarrier_init"):
            yield "mbarriers"
        case Fence(window=str()):
            yield "restricted-fences"
        case Fence(order=Order.ACQUIRE | Order.RELEASE):
            yield "one-sided-fences"
        case Barrier():
            yield "barriers"
        case ClusterBarrier():
            yield "cluster-barriers"
        case WarpSync():
            yield "warp-barriers"
    yield from _asynchronous(statement)
    if isinstance(statement, (Load, Store, Atomic, Fence)) and statement.scope is Scope.CLUSTER:
        yield "cluster"


def _asynchronous(statement: Statement) -> Iterator[str]:
    yield from ASYNCHRONOUS.get(type(statement), ())
    if isinstance(statement, AsyncCopy):
        yield "async" if statement.bulk else "copies"
        if statement.map is not None:
            yield "tensormap"


def ensure_supported(program: Program, model: Model) -> None:
    """Raise Unsupported where the model has no meaning for something in the test."""
    for statement in (s for thread in program.threads for s in thread.body):
        if isinstance(statement, Foreign):
            raise Unsupported(f"no model has `{statement.mnemonic}`: {statement.reason}")
    for feature in needs(program):
        if feature not in model.supports:
            raise Unsupported(f"the model {model.name} does not have {FEATURES[feature]}")
    if len({thread.place.kernel for thread in program.threads}) > 1 and "kernels" not in model.supports:
        raise Unsupported(f"the model {model.name} does not have {FEATURES['kernels']}")


def ensure_sizes(graph: EventGraph, model: Model) -> None:
    """Raise Unsupported where accesses overlap in part and the model has no meaning for that."""
    if "mixed-size" not in model.supports and mixed_objects(graph):
        raise Unsupported(f"the model {model.name} does not have {FEATURES['mixed-size']}")


def mixed_objects(graph: EventGraph) -> list[str]:
    """The objects that accesses of different byte ranges overlap in."""
    return [name for name, ranges in graph.memory.ranges.items() if _overlap(sorted(ranges))]


def _overlap(ranges: list[Range]) -> bool:
    return any(a[0] + a[1] > b[0] for a, b in pairwise(ranges))


def ensure_readonly(graph: EventGraph) -> None:
    """Raise Unsupported where `ld.global.nc` reads an object that the test may write (PTX ISA 8.1 leaves that out)."""
    written = {e.object for e in graph.events if e.kind == "W" and e.thread >= 0 and e.guard != -1}
    for event in graph.events:
        if isinstance(event.statement, Load) and event.statement.readonly and event.object in written:
            raise Unsupported(
                f"ld.global.nc reads `{event.object}`, which the test writes: the memory model leaves that out"
            )
