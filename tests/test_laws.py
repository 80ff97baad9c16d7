"""Laws of the models, on random tests: what a change of a test may do to its final states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from building import Options, fence, model
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as some
from random_programs import ALL, programs

from ptxmm.cat import shipped_models
from ptxmm.enumeration import outcomes
from ptxmm.program import (
    Addr,
    Assign,
    Atomic,
    Barrier,
    Fence,
    FinalMem,
    FinalReg,
    Load,
    Object,
    Order,
    Program,
    Reg,
    Scope,
    Statement,
    Store,
    Thread,
    View,
)  # fmt: skip

QUICK = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
TIERS = pytest.mark.parametrize("examples", [QUICK, pytest.param(LONG, marks=pytest.mark.slow)], ids=["quick", "long"])
OPTIONS = Options(frozenset({"outcome"}), bound=2, timeout=5.0)
State = frozenset[tuple[str, int]]
EVEN = ALL - {"mixed"}
NAMES = {"A": "P", "B": "Q", "C": "R", "x": "u", "y": "v", "z": "data", "w": "also", "r0": "a", "r1": "b", "r2": "c"}


def states(program: Program, under: str) -> set[State]:
    """The final states; tests that the engine cannot finish or the model does not support are passed over."""
    found = outcomes(program, model(under), OPTIONS)
    assume(found.complete)
    return {frozenset(zip(found.columns, state.values, strict=True)) for state in found.states}


def law(
    examples: settings, under: some.SearchStrategy[str], tests: some.SearchStrategy[Program]
) -> Callable[[Callable[[Program, str, some.DataObject], None]], None]:
    """Runs a check for random programs, a random model and further random choices."""

    def run(check: Callable[[Program, str, some.DataObject], None]) -> None:
        examples(given(program=tests, under=under, data=some.data())(check))()

    return run


MODELS = some.sampled_from(shipped_models())


# --- names -----------------------------------------------------------------------------------------------------------


def renamed(value: Any) -> Any:
    """A test, or a part of one, with new names of threads, registers and places."""
    match value:
        case Reg(name):
            return Reg(NAMES.get(name, name))
        case Addr() | FinalMem() | Object():
            return replace(value, name=NAMES.get(value.name, value.name))
        case FinalReg(thread, reg):
            return FinalReg(NAMES[thread], NAMES.get(reg, reg))
        case View():
            return replace(value, name=NAMES.get(value.name, value.name), target=NAMES[value.target])
        case Thread():
            types = {NAMES.get(name, name): kind for name, kind in value.types.items()}
            return replace(value, name=NAMES[value.name], body=renamed(value.body), types=types)
        case tuple():
            return tuple(NAMES.get(part, part) if isinstance(part, str) else renamed(part) for part in value)
        case Assign(dst=str(dst)) | Barrier(dst=str(dst)):
            value = replace(value, dst=NAMES.get(dst, dst))
    if is_dataclass(value) and not isinstance(value, type):
        init = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        return replace(value, **{name: renamed(part) for name, part in init.items() if name not in ("name", "target")})
    return value


@TIERS
def test_names_mean_nothing(examples: settings) -> None:
    @law(examples, MODELS, programs())
    def check(program: Program, under: str, data: some.DataObject) -> None:
        new = renamed(program)
        backward = {new_name: old for old, new_name in NAMES.items()}

        def old(column: str) -> str:
            return ".".join(backward.get(part, part) for part in column.split("."))

        found = {frozenset((old(column), value) for column, value in state) for state in states(new, under)}
        assert found == states(program, under)


# --- strength --------------------------------------------------------------------------------------------------------

ORDERS: dict[type, dict[Order, tuple[Order, ...]]] = {
    Load: {Order.WEAK: (Order.RELAXED, Order.ACQUIRE), Order.RELAXED: (Order.ACQUIRE,)},
    Store: {Order.WEAK: (Order.RELAXED, Order.RELEASE), Order.RELAXED: (Order.RELEASE,)},
    Atomic: {
        Order.RELAXED: (Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL),
        Order.ACQUIRE: (Order.ACQ_REL,),
        Order.RELEASE: (Order.ACQ_REL,),
    },
    Fence: {
        Order.ACQUIRE: (Order.ACQ_REL, Order.SC),
        Order.RELEASE: (Order.ACQ_REL, Order.SC),
        Order.ACQ_REL: (Order.SC,),
    },
}
WIDER = {
    Scope.CTA: (Scope.CLUSTER, Scope.GPU, Scope.SYS),
    Scope.CLUSTER: (Scope.GPU, Scope.SYS),
    Scope.GPU: (Scope.SYS,),
}


def stronger(item: Statement) -> Iterator[Statement]:
    """The same instruction with a stronger order."""
    if not isinstance(item, Load | Store | Atomic | Fence) or getattr(item, "proxy", "generic") != "generic":
        return
    for order in ORDERS[type(item)].get(item.order, ()):
        if not (isinstance(item, Atomic) and item.reduction and order is not Order.RELEASE):
            yield replace(item, order=order, scope=item.scope or Scope.SYS)


def wider(item: Statement) -> Iterator[Statement]:
    """The same instruction with a wider scope."""
    if isinstance(item, Load | Store | Atomic | Fence) and item.scope is not None:
        for scope in WIDER.get(item.scope, ()):
            yield replace(item, scope=scope)


def variations(program: Program, change: Any) -> list[Program]:
    """The tests in which one instruction is changed."""
    return [
        with_body(program, thread, (*thread.body[:at], new, *thread.body[at + 1 :]))
        for thread in program.threads
        for at, item in enumerate(thread.body)
        for new in change(item)
    ]


def with_body(program: Program, thread: Thread, body: tuple[Statement, ...]) -> Program:
    """A test in which one thread has other code."""
    threads = tuple(replace(one, body=body) if one.name == thread.name else one for one in program.threads)
    return Program(program.name, program.objects, threads, views=program.views, locations=program.locations)


@TIERS
@pytest.mark.parametrize("change", [stronger, wider])
def test_a_stronger_order_or_wider_scope_adds_no_final_state(examples: settings, change: Any) -> None:
    @law(examples, MODELS, programs(EVEN))
    def check(program: Program, under: str, data: some.DataObject) -> None:
        changed = variations(program, change)
        assume(changed)
        assert states(data.draw(some.sampled_from(changed)), under) <= states(program, under)


@TIERS
def test_a_fence_more_adds_no_final_state(examples: settings) -> None:
    @law(examples, MODELS, programs(EVEN))
    def check(program: Program, under: str, data: some.DataObject) -> None:
        thread = data.draw(some.sampled_from(program.threads))
        at = data.draw(some.integers(0, len(thread.body)))
        more = fence(data.draw(some.sampled_from(("acq_rel.cta", "acq_rel.gpu", "sc.cta", "sc.gpu", "sc.sys"))))
        fenced = with_body(program, thread, (*thread.body[:at], more, *thread.body[at:]))
        assert states(fenced, under) <= states(program, under)


# --- models ----------------------------------------------------------------------------------------------------------


@TIERS
def test_what_sequential_consistency_allows_every_model_allows(examples: settings) -> None:
    @law(examples, some.sampled_from(("ptx-6.0", "ptx-7.5", "ptx-9.4")), programs(EVEN - {"alias", "proxies"}))
    def check(program: Program, under: str, data: some.DataObject) -> None:
        assert states(program, "sc") <= states(program, under)


@TIERS
def test_the_versions_agree_on_what_all_of_them_have(examples: settings) -> None:
    @law(examples, some.just("ptx-9.4"), programs(frozenset({"alias", "barriers", "branches"})))
    def check(program: Program, under: str, data: some.DataObject) -> None:
        assert states(program, "ptx-7.5") == states(program, under)


@TIERS
def test_the_proxy_model_extends_the_plain_one(examples: settings) -> None:
    @law(examples, some.just("ptx-7.5"), programs(frozenset({"barriers", "branches"})))
    def check(program: Program, under: str, data: some.DataObject) -> None:
        assert states(program, "ptx-6.0") == states(program, under)
