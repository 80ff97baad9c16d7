"""Small random tests of the engines: two or three threads in all places, with every kind of instruction."""

from __future__ import annotations

from dataclasses import dataclass, replace

from building import add, atom, bar, bra, equal, fence, label, ld, st
from hypothesis import strategies as some

from ptxmm.arith import U32, U64, Type
from ptxmm.program import (
    Addr,
    Bar,
    Barrier,
    Binary,
    ClusterBarrier,
    Const,
    Expr,
    Fence,
    FinalMem,
    FinalReg,
    Object,
    Order,
    Place,
    Program,
    Proxy,
    ProxyFence,
    Reg,
    Scope,
    Space,
    Statement,
    Thread,
    View,
    WarpSync,
)

U16 = Type("u", 16)
SCOPES = ("cta", "cluster", "gpu", "sys")
ATOMIC_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
ALL = frozenset(
    {
        "cluster",
        "alias",
        "proxies",
        "one-sided",
        "restricted",
        "mixed",
        "barriers",
        "lanes",
        "branches",
        "predicates",
        "vectors",
    }
)
HOME = Place(device=0, cluster=0, cta=0)
VIEWS = {
    "alias": View("w", "x"),
    "texture": View("t", "x", Proxy.TEXTURE),
    "surface": View("s", "x", Proxy.SURFACE),
    "constant": View("c", "x", Proxy.CONSTANT),
}


@some.composite
def programs(draw: some.DrawFn, features: frozenset[str] = ALL, events: int = 6) -> Program:
    """A test whose final states show every register and the words `x`, `y`; `h` is shared memory of CTA 0."""
    count = draw(some.sampled_from((2, 2, 2, 3)))
    kinds = ["alias"] if "alias" in features else []
    kinds += ["texture", "surface", "constant"] if "proxies" in features else []
    view = draw(some.sampled_from((None, None, *kinds)))
    places = [draw(where(features, lane)) for lane in range(count)]
    near = all((one.device, one.cluster) == (0, 0) for one in places)
    meet = WarpSync(mask=draw(some.sampled_from((None, Const(3), Const(7)))))
    drawn = Drawn(features, view, mixed="mixed" in features and draw(some.integers(0, 5)) == 0, near=near, meet=meet)
    threads = []
    for index in range(count):
        body: list[Statement] = []
        for position in range(draw(some.integers(1, max(events // count, 2)))):
            body.extend(draw(instructions(drawn, f"r{position}")))
        if any(getattr(item, "target", "") for item in body):
            body.append(label("end"))
        threads.append(shaped("ABC"[index], places[index], body))
    objects = (
        Object("x"),
        Object("y", init=(Const(draw(some.sampled_from((0, 0, 1)))),)),
        Object("z", length=2, init=(Const(0), Const(0))),
        Object("h", space=Space.SHARED, owner=HOME),
    )
    columns = [FinalReg(one.name, reg) for one in threads for reg in one.types]
    memory = [FinalMem(name, 0, U32) for name in "xy"]
    views = (VIEWS[view],) if view else ()
    return Program("random", objects, tuple(threads), views=views, locations=(*columns, *memory))


@dataclass(frozen=True)
class Drawn:
    """What is drawn once for a test: its features, its view of `x`, mixed sizes, whether all can
    reach `h`, and the warp barrier."""

    features: frozenset[str]
    view: str | None
    mixed: bool
    near: bool
    meet: WarpSync

    @property
    def scopes(self) -> tuple[str, ...]:
        return SCOPES if "cluster" in self.features else tuple(scope for scope in SCOPES if scope != "cluster")

    def kinds(self, before: list[str]) -> list[str]:
        """The kinds of instruction to draw from, frequent ones several times."""
        found = ["load", "load", "load", "store", "store", "store", "atom", "atom", "fence"]
        found += ["view", "view", "proxy fence"] if self.view else []
        found += ["barrier", "barrier"] if "barriers" in self.features else []
        found += ["cluster barrier"] if {"barriers", "cluster"} <= self.features else []
        found += ["arithmetic"] if before else []
        found += ["branch"] if before and "branches" in self.features else []
        found += ["predicate"] if before and "predicates" in self.features else []
        return found + [kind for kind in ("vectors",) if kind in self.features]

    def names(self) -> tuple[str, ...]:
        """The words to draw from."""
        return ("x", "x", "x", "y", "y", *(["w"] if self.view == "alias" else []), *(["h"] if self.near else []))


@some.composite
def where(draw: some.DrawFn, features: frozenset[str], lane: int) -> Place:
    """A CTA, and sometimes a lane of its warp 0."""
    place = placed(draw(some.sampled_from((0, 0, 1, 2))), draw(some.sampled_from((0, 0, 0, 1))))
    single = "lanes" in features and draw(some.booleans())
    return replace(place, warp=0, lane=lane) if single else place


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
def instructions(draw: some.DrawFn, drawn: Drawn, dst: str) -> list[Statement]:
    """One instruction, or the few that belong together."""
    before = [f"r{i}" for i in range(int(dst[1:]))]
    kind = draw(some.sampled_from(drawn.kinds(before)))
    if kind == "predicate":
        (item,) = draw(memory(drawn, draw(some.sampled_from(("load", "store", "atom"))), dst, before))
        return [replace(item, guard=equal(draw(some.sampled_from(before)), draw(some.sampled_from((0, 1)))))]
    if kind == "branch":
        return [bra("end", equal(draw(some.sampled_from(before)), draw(some.sampled_from((0, 1)))))]
    if kind == "arithmetic":
        return [add(dst, draw(some.sampled_from(before)), 1)]
    if kind in ("load", "store", "atom", "view", "vectors"):
        return draw(memory(drawn, kind, dst, before))
    return draw(synchronisation(drawn, kind, dst, before))


@some.composite
def memory(draw: some.DrawFn, drawn: Drawn, kind: str, dst: str, before: list[str]) -> list[Statement]:
    """An access of memory."""
    scope, number = draw(some.sampled_from(drawn.scopes)), draw(some.sampled_from((1, 2)))
    place = draw(addresses(drawn, before))
    values: tuple[int | str, ...] = (number, number, *before)
    value = draw(some.sampled_from(values))
    match kind:
        case "load":
            item = ld(dst, place, draw(some.sampled_from(strengths("acquire", scope))))
            return [replace(item, type=U16) if drawn.mixed and draw(some.booleans()) else item]
        case "store":
            return [st(place, value, draw(some.sampled_from(strengths("release", scope))))]
        case "view":
            view = VIEWS[drawn.view or ""]
            stored = view.proxy is Proxy.SURFACE and draw(some.booleans())
            return [st(view.name, number, proxy=view.proxy) if stored else ld(dst, view.name, proxy=view.proxy)]
        case "vectors":
            if draw(some.booleans()):
                read = ld(dst, "z", draw(some.sampled_from(strengths("acquire", scope))))
                return [replace(read, dst=(dst, f"{dst}v"))]
            write = st("z", value, draw(some.sampled_from(strengths("release", scope))))
            return [replace(write, values=(*write.values, Const(3)))]
    op = draw(some.sampled_from(("add", "exch", "cas", "red")))
    order = draw(some.sampled_from(("relaxed", "release") if op == "red" else ATOMIC_ORDERS))
    operands = (draw(some.sampled_from((0, 1))), number) if op == "cas" else (value,)
    return [atom("add" if op == "red" else op, None if op == "red" else dst, place, *operands, how=f"{order}.{scope}")]


@some.composite
def synchronisation(draw: some.DrawFn, drawn: Drawn, kind: str, dst: str, before: list[str]) -> list[Statement]:
    """A fence or a barrier."""
    scope = draw(some.sampled_from(drawn.scopes))
    match kind:
        case "proxy fence":
            if drawn.view == "alias" and "one-sided" in drawn.features:
                order = draw(some.sampled_from((None, Order.RELEASE, Order.ACQUIRE)))
                return [ProxyFence(kind="alias", order=order, scope=Scope.SYS if order else None)]
            return [ProxyFence(kind=drawn.view or "")]
        case "fence":
            if "restricted" in drawn.features and drawn.near and draw(some.booleans()):
                halves = ((Order.RELEASE, "shared::cta"), (Order.ACQUIRE, "shared::cluster"))
                order, window = draw(some.sampled_from(halves))
                return [Fence(order=order, scope=Scope.CLUSTER, window=window)]
            orders = ("acq_rel", "sc", "acquire", "release") if "one-sided" in drawn.features else ("acq_rel", "sc")
            return [fence(f"{draw(some.sampled_from(orders))}.{scope}")]
        case "cluster barrier":
            order = draw(some.sampled_from((Order.RELEASE, Order.RELAXED)))
            return [ClusterBarrier(wait=False, order=order), ClusterBarrier(wait=True, order=Order.ACQUIRE)]
    pred = Reg(draw(some.sampled_from(before))) if before else Const(1)
    op = draw(some.sampled_from(("popc", "and", "or")))
    meetings: tuple[Statement, ...] = (
        bar(), bar(), bar("sync", 1, 64), bar("arrive", 1, 64), drawn.meet,
        Barrier(kind=Bar.RED, id=Const(2), op=op, pred=pred, dst=dst),
    )  # fmt: skip
    return [draw(some.sampled_from(meetings))]


def strengths(half: str, scope: str) -> tuple[str, ...]:
    """How a load or store may be ordered."""
    return ("weak", f"relaxed.{scope}", f"{half}.{scope}")


@some.composite
def addresses(draw: some.DrawFn, drawn: Drawn, before: list[str]) -> Expr:
    """A word, or an element of `z` that a register chooses."""
    chosen = draw(some.sampled_from((*drawn.names(), *(["z"] if before else []))))
    if chosen != "z":
        return Addr(chosen)
    index = Binary("&", Reg(draw(some.sampled_from(before))), Const(1), U64)
    return Binary("+", Addr("z"), Binary("*", index, Const(4), U64), U64)
