"""Small random tests of the engines: two or three threads in all places, with every kind of instruction."""

from __future__ import annotations

from dataclasses import replace

from building import add, atom, bar, bra, equal, fence, label, ld, st
from hypothesis import strategies as some

from ptxmm.arith import U32, U64, Type
from ptxmm.program import (
    Addr,
    Binary,
    ClusterBarrier,
    Const,
    Expr,
    FinalMem,
    FinalReg,
    Object,
    Order,
    Place,
    Program,
    Proxy,
    ProxyFence,
    Reg,
    Statement,
    Thread,
    View,
    WarpSync,
)

U16 = Type("u", 16)
SCOPES = ("cta", "cluster", "gpu", "sys")
ALL = frozenset({"cluster", "alias", "proxies", "one-sided", "mixed", "barriers", "branches"})
VIEWS = {
    "alias": View("w", "x"),
    "texture": View("t", "x", Proxy.TEXTURE),
    "surface": View("s", "x", Proxy.SURFACE),
    "constant": View("c", "x", Proxy.CONSTANT),
}


@some.composite
def programs(draw: some.DrawFn, features: frozenset[str] = ALL, events: int = 6) -> Program:
    """A test whose final states show every register and `x`, `y`."""
    count = draw(some.sampled_from((2, 2, 2, 3)))
    kinds = ["alias"] if "alias" in features else []
    kinds += ["texture", "surface", "constant"] if "proxies" in features else []
    view = draw(some.sampled_from((None, None, *kinds)))
    mixed = "mixed" in features and draw(some.integers(0, 5)) == 0
    places = [
        draw(some.builds(placed, some.sampled_from((0, 0, 1, 2)), some.sampled_from((0, 0, 0, 1))))
        for _ in range(count)
    ]
    budget = events // count
    threads = []
    for index in range(count):
        length = draw(some.integers(1, max(budget, 2)))
        body: list[Statement] = []
        for position in range(length):
            body.extend(draw(instructions(features, view, f"r{position}", mixed=mixed)))
        if any(getattr(item, "target", "") for item in body):
            body.append(label("end"))
        threads.append(shaped("ABC"[index], places[index], body))
    objects = (Object("x"), Object("y"), Object("z", length=2, init=(Const(0), Const(0))))
    columns = [FinalReg(one.name, reg) for one in threads for reg in one.types]
    memory = [FinalMem(name, 0, U32) for name in "xy"]
    views = (VIEWS[view],) if view else ()
    return Program("random", objects, tuple(threads), views=views, locations=(*columns, *memory))


def placed(number: int, device: int) -> Place:
    """CTAs 0 and 1 share a cluster; the clusters of two devices differ."""
    return Place(device=device, cluster=number // 2, cta=number)


def shaped(name: str, place: Place, body: list[Statement]) -> Thread:
    """A thread that knows the registers it writes."""
    names = {}
    for item in body:
        written = getattr(item, "dst", None)
        for dst in written if isinstance(written, tuple) else (written,):
            if dst is not None:
                names[dst] = U32
    return Thread(name, place, tuple(body), names)


@some.composite
def instructions(
    draw: some.DrawFn, features: frozenset[str], view: str | None, dst: str, *, mixed: bool
) -> list[Statement]:
    """One instruction, or the few that belong together."""
    scopes = SCOPES if "cluster" in features else tuple(scope for scope in SCOPES if scope != "cluster")
    scope = draw(some.sampled_from(scopes))
    before = [f"r{i}" for i in range(int(dst[1:]))]
    kind = draw(some.sampled_from(choices(features, view, before)))
    place = draw(addresses(view, before))
    number = draw(some.sampled_from((1, 2)))
    given_values: tuple[int | str, ...] = (number, number, *before)
    value = draw(some.sampled_from(given_values))
    match kind:
        case "load":
            item = ld(dst, place, draw(some.sampled_from(strengths("acquire", scope))))
            return [replace(item, type=U16) if mixed and draw(some.booleans()) else item]
        case "store":
            return [st(place, value, draw(some.sampled_from(strengths("release", scope))))]
        case "view":
            proxy = VIEWS[view or ""].proxy
            name = VIEWS[view or ""].name
            stored = proxy is Proxy.SURFACE and draw(some.booleans())
            return [st(name, number, proxy=proxy) if stored else ld(dst, name, proxy=proxy)]
        case "proxy fence":
            return [ProxyFence(kind=view or "")]
        case "atom":
            op = draw(some.sampled_from(("add", "exch", "cas", "red")))
            order = draw(some.sampled_from(("relaxed", "release") if op == "red" else ATOMIC_ORDERS))
            operands = (draw(some.sampled_from((0, 1))), number) if op == "cas" else (value,)
            given = "add" if op == "red" else op
            return [atom(given, None if op == "red" else dst, place, *operands, how=f"{order}.{scope}")]
        case "fence":
            orders = ("acq_rel", "sc", "acquire", "release") if "one-sided" in features else ("acq_rel", "sc")
            return [fence(f"{draw(some.sampled_from(orders))}.{scope}")]
        case "barrier":
            meetings: tuple[Statement, ...] = (bar(), bar(), bar("sync", 1, 64), bar("arrive", 1, 64), WarpSync())
            return [draw(some.sampled_from(meetings))]
        case "cluster barrier":
            order = draw(some.sampled_from((Order.RELEASE, Order.RELAXED)))
            return [ClusterBarrier(wait=False, order=order), ClusterBarrier(wait=True, order=Order.ACQUIRE)]
        case "branch":
            return [bra("end", equal(draw(some.sampled_from(before)), draw(some.sampled_from((0, 1)))))]
        case _:
            return [add(dst, draw(some.sampled_from(before)), 1)]


ATOMIC_ORDERS = ("relaxed", "acquire", "release", "acq_rel")


def choices(features: frozenset[str], view: str | None, before: list[str]) -> list[str]:
    """The kinds of instruction to draw from, frequent ones several times."""
    found = ["load", "load", "load", "store", "store", "store", "atom", "atom", "fence"]
    found += ["view", "view", "proxy fence"] if view else []
    found += ["barrier"] if "barriers" in features else []
    found += ["cluster barrier"] if {"barriers", "cluster"} <= features else []
    found += ["arithmetic"] if before else []
    found += ["branch"] if before and "branches" in features else []
    return found


def strengths(half: str, scope: str) -> tuple[str, ...]:
    """How a load or store may be ordered."""
    return ("weak", f"relaxed.{scope}", f"{half}.{scope}")


@some.composite
def addresses(draw: some.DrawFn, view: str | None, before: list[str]) -> Expr:
    """`x`, `y`, an alias of `x`, or an element of `z` that a register chooses."""
    names = ["x", "x", "x", "y", "y", *(["w"] if view == "alias" else [])]
    chosen = draw(some.sampled_from((*names, *(["z"] if before else []))))
    if chosen != "z":
        return Addr(chosen)
    index = Binary("&", Reg(draw(some.sampled_from(before))), Const(1), U64)
    return Binary("+", Addr("z"), Binary("*", index, Const(4), U64), U64)
