"""What a test needs of a model beyond the plain generic proxy."""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.enumeration.launch import several
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

ALWAYS: dict[type, tuple[str, ...]] = {
    Barrier: ("barriers",),
    ClusterBarrier: ("cluster-barriers",),
    WarpSync: ("warp-barriers",),
    **dict.fromkeys(
        (MbarrierInit, MbarrierInval, MbarrierTx, MbarrierArrive, MbarrierWait, MbarrierPending), ("mbarriers",)
    ),
    CopyArrive: ("mbarriers", "copies"),
    AsyncStore: ("copies",),
    TensormapReplace: ("tensormap",),
    TensormapCopy: ("tensormap",),
}


def used(program: Program) -> set[str]:
    """The `vocabulary.FEATURES` that the declarations and the code of a test use, mixed sizes apart."""
    declared = {"mbarriers" for item in program.objects if item.mbarrier is not None}
    declared |= {"tensormap" for item in program.objects if item.tensormap is not None}
    views = {"alias" if view.proxy is Proxy.GENERIC else str(view.proxy) for view in program.views}
    return (views | declared).union(
        feature for thread in program.threads for item in thread.body for feature in needs(item)
    )


def needs(item: Statement) -> Iterator[str]:
    """The features that one instruction needs."""
    yield from ALWAYS.get(type(item), ())
    match item:
        case Fence(order=order, window=window):
            if window is not None:
                yield "mbarriers" if window == "mbarrier_init" else "restricted-fences"
            elif order in (Order.ACQUIRE, Order.RELEASE):
                yield "one-sided-fences"
        case ProxyFence(kind=kind, order=order):
            yield kind
            if kind == "alias" and order is not None:
                yield "one-sided-fences"
        case AsyncCopy(bulk=bulk, map=shape):
            yield "async" if bulk else "copies"
            yield from ("tensormap",) if shape is not None else ()
    if isinstance(item, Load | Store | Atomic | Fence) and item.scope is Scope.CLUSTER:
        yield "cluster"


def unsupported(program: Program, model: Model) -> str:
    """Why a model cannot decide a test, or nothing."""
    missing = sorted(used(program) - model.supports)
    if missing:
        return f"the model {model.name} does not have {', '.join(FEATURES[one] for one in missing)}"
    for thread in program.threads:
        for item in thread.body:
            if isinstance(item, Foreign):
                return f"no model has `{item.mnemonic}`: {item.reason}"
    if several(program) and "kernels" not in model.supports:
        return f"the model {model.name} does not have {FEATURES['kernels']}"
    return ""
