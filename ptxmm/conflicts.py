"""Accesses that conflict, and when nothing orders them: the data races of PTX ISA 8.7.1."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.encode import STRONG, Encoding
from ptxmm.events import Event, same_warp
from ptxmm.features import mixed_objects
from ptxmm.fixed import same_virtual_bytes
from ptxmm.formula import Lit
from ptxmm.program import Program, Proxy, Space, TensormapCopy

CAUSALITY = ("cause", "causality", "causality-order")


@dataclass(frozen=True, slots=True)
class RacePair:
    """Two accesses that conflict, and the literal that nothing orders them."""

    first: int
    second: int
    on: str
    mixed: bool
    literal: Lit


def race_pairs(encoding: Encoding) -> list[RacePair] | None:
    """The possible data races (PTX ISA 8.7.1), or None where the model names no causality or no moral strength.

    Accesses of one thread through one proxy do not race, except with what a copy does out of program order; through
    different proxies they do, where no proxy fence carries causality from one to the other. A read of a tensor map
    that was written before the kernel races with that, where no acquire is between (PTX ISA 8.9.4). The lanes of a
    warp copy a tensor map together.
    """
    cause, strong = encoding.evaluation.named(*CAUSALITY), encoding.evaluation.named(*STRONG)
    if cause is None or strong is None:
        return None
    formulas, found = encoding.formulas, []
    groups: dict[str, list[Event]] = {}
    for event in encoding.graph.events:
        if event.kind in "RW" and event.guard != -1:
            groups.setdefault(event.object, []).append(event)
    for events in groups.values():
        for place, one in enumerate(events):
            for other in events[:place]:
                if not _may_race(encoding.program, one, other) or not same_virtual_bytes(one, other):
                    continue
                literal = formulas.conj(
                    (
                        one.guard, other.guard, -strong.lit(one.id, other.id),
                        -cause.lit(one.id, other.id), -cause.lit(other.id, one.id),
                    )
                )  # fmt: skip
                if literal != -1:
                    mixed = one.where != other.where and one.issue < 0 and other.issue < 0
                    found.append(RacePair(other.id, one.id, one.object, mixed, literal))
    return found


def _may_race(program: Program, one: Event, other: Event) -> bool:
    """Whether two accesses conflict, and nothing in their places already orders them."""
    if "W" not in (one.kind, other.kind):
        return False
    if -1 in (one.thread, other.thread):
        by_map = Proxy.TENSORMAP in (one.proxy, other.proxy)
        item = program.physical(one.object)
        unseen = item.tensormap is not None and not item.tensormap.acquired and item.space is Space.GLOBAL
        return by_map and unseen
    if isinstance(one.statement, TensormapCopy) and isinstance(other.statement, TensormapCopy):
        a, b = (program.threads[e.thread] for e in (one, other))
        if same_warp(a, b) and a.place.lane is not None:
            return False
    if one.issue >= 0 or other.issue >= 0:
        return one.issue != other.issue
    return (one.thread, one.proxy) != (other.thread, other.proxy)


def may_mix(encoding: Encoding) -> bool:
    """Whether accesses of different sizes to the same bytes are possible at all."""
    return bool(mixed_objects(encoding.graph))
