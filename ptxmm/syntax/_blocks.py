"""The instructions of NVIDIA's test dialect, as a table from the first word of an opcode to its reader."""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.program import ProxyFence, Statement
from ptxmm.syntax._written import LOADS, STORES, Written, atomic, fence, load, store


def _load(written: Written) -> Statement:
    return load(written, LOADS[written.opcode.split(".", 1)[0]])


def _store(written: Written) -> Statement:
    return store(written, STORES[written.opcode.split(".", 1)[0]])


def _atomic(written: Written) -> Statement:
    """`atom.add.acq_rel.gpu r0, [x], 1`: relaxed and of GPU scope where it does not say, as in PTX."""
    return atomic(written, ("operation", "order", "scope"), {"order": "relaxed", "scope": "gpu"})


def _fence(written: Written) -> Statement:
    """Fences, and `fence.alias` for `fence.proxy.alias`."""
    if written.opcode == "fence.alias":
        written.arity(0)
        return ProxyFence(kind="alias", at=written.at, text=written.line)
    return fence(written)


def _surface(written: Written) -> Statement:
    raise written.error("atomic operations through the surface proxy are not supported", written.opcode)


INSTRUCTIONS: dict[str, Callable[[Written], Statement]] = {
    **dict.fromkeys(LOADS, _load),
    **dict.fromkeys(STORES, _store),
    **dict.fromkeys(("atom", "red"), _atomic),
    **dict.fromkeys(("suatom", "sured"), _surface),
    "fence": _fence,
}
