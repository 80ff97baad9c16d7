"""What a test needs of a model beyond the plain generic proxy."""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.model import FEATURES, Model
from ptxmm.program import (
    Assign,
    Assume,
    Atomic,
    Barrier,
    Branch,
    ClusterBarrier,
    Exit,
    Fence,
    Label,
    Load,
    Nop,
    Order,
    Program,
    Proxy,
    ProxyFence,
    Scope,
    Statement,
    Store,
    WarpSync,
)  # fmt: skip


def used(program: Program) -> set[str]:
    """The `model.FEATURES` that the views and the code of a test use, mixed sizes apart."""
    views = {"alias" if view.proxy is Proxy.GENERIC else str(view.proxy) for view in program.views}
    return views.union(feature for thread in program.threads for item in thread.body for feature in needs(item))


def needs(item: Statement) -> Iterator[str]:
    """The features that one instruction needs."""
    match item:
        case Fence(order=order, window=window):
            if window is not None:
                yield "restricted-fences"
            elif order in (Order.ACQUIRE, Order.RELEASE):
                yield "one-sided-fences"
        case ProxyFence(kind=kind):
            yield kind
        case Barrier():
            yield "barriers"
        case ClusterBarrier():
            yield "cluster-barriers"
        case WarpSync():
            yield "warp-barriers"
    if isinstance(item, Load | Store | Atomic | Fence) and item.scope is Scope.CLUSTER:
        yield "cluster"


FOLLOWED = (
    Load, Store, Atomic, Fence, ProxyFence, Barrier, ClusterBarrier, WarpSync, Assign, Assume, Label, Branch, Exit, Nop,
)  # fmt: skip
FENCES = ("alias", "texture", "surface", "constant")
WINDOWS = (None, "shared::cta", "shared::cluster")


def not_followed(program: Program) -> str:
    """Why this engine cannot follow a test that a model may decide, or nothing."""
    for thread in program.threads:
        for item in thread.body:
            other = isinstance(item, ProxyFence) and item.kind not in FENCES
            if other or not isinstance(item, FOLLOWED) or (isinstance(item, Fence) and item.window not in WINDOWS):
                return f"this engine does not follow `{item.text or type(item).__name__}`"
    return "this engine does not follow several kernels" if _several(program) else ""


def _several(program: Program) -> bool:
    return len({thread.place.kernel for thread in program.threads}) > 1 or bool(program.launches)


def unsupported(program: Program, model: Model) -> str:
    """Why a model cannot decide a test, or nothing."""
    missing = sorted(used(program) - model.supports)
    if missing:
        return f"the model {model.name} does not have {', '.join(FEATURES[one] for one in missing)}"
    if _several(program) and "kernels" not in model.supports:
        return f"the model {model.name} does not have {FEATURES['kernels']}"
    return ""
