"""Every row of the instruction table as lines of PTX, and a reader for such lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations, product

from ptxmm.arith import PRED, Type
from ptxmm.errors import InputError, Span
from ptxmm.isa import Operand, decode, form_of
from ptxmm.isa_form import Form, Row, Slot, match
from ptxmm.isa_table import QUALIFIERS
from ptxmm.isa_table_proxies import CODED
from ptxmm.program import (
    NOWHERE,
    Addr,
    Atomic,
    Binary,
    Const,
    Expr,
    Load,
    Object,
    Proxy,
    Reg,
    Space,
    Statement,
    TensorMap,
    Unary,
    View,
)

BYTES = Type("b", 8)
MEMORY: dict[str, Object | View] = {
    "gx": Object("gx", BYTES, 1024),
    "sx": Object("sx", BYTES, 1024, space=Space.SHARED),
    "kx": Object("kx", BYTES, 1024, space=Space.CONST),
    "px": Object("px", BYTES, 64, space=Space.PARAM),
    "tx": View("tx", "gx", Proxy.TEXTURE),
    "ux": View("ux", "gx", Proxy.SURFACE),
    "cx": View("cx", "gx", Proxy.CONSTANT),
    "mx": Object("mx", Type("b", 64), space=Space.SHARED),
    "dx": Object("dx", Type("b", 64), 16, tensormap=TensorMap("gx", 256)),
    "ex": Object("ex", Type("b", 64), 16, space=Space.SHARED, tensormap=TensorMap("gx", 256)),
}
WHERE = {"global": "gx", "shared": "sx", "const": "kx", "param": "px"}
VIEWS = {"tld": "tx", "suld": "ux", "sust": "ux", "ldc": "cx"}
REGISTERS = {"f32": "%f", "f64": "%g", "pred": "%p"}
TYPES = {"p": PRED, "h": Type("b", 16), "r": Type("b", 32), "d": Type("b", 64)}
BY_WIDTH = {8: "%h", 16: "%h", 32: "%r", 64: "%d", 128: "%q"}

SCOPED = tuple({"scope": scope} for scope in ("cta", "cluster", "gpu", "sys"))
MMIO = {"mmio": "mmio", "scope": "sys"}
WIDE = ({"vector": "v8", "type": "b32"}, {"vector": "v4", "type": "f64"})
STRONG = (*SCOPED, MMIO, {"scope": "gpu"} | WIDE[0])
HALVES = ({}, {"noftz": "noftz"}, *({"noftz": "noftz", "vector": vector} for vector in ("v2", "v4", "v8")))
NC = {"space": "global", "non-coherence": "nc"}
ORDERED = ({}, *({"order": o, "scope": s} for o in ("release", "relaxed") for s in ("cta", "cluster")))
WAITING = ({}, *({"order": o, "scope": s} for o in ("acquire", "relaxed") for s in ("cta", "cluster")))
TOLD, GROUP = "mbarrier::complete_tx::bytes", "bulk_group"
LOAD = {"destination space": "shared::cta", "source space": "global", "completion": TOLD}
TO_CLUSTER = LOAD | {"destination space": "shared::cluster"}
STORE = {"destination space": "global", "source space": "shared::cta", "completion": GROUP}
BETWEEN = TO_CLUSTER | {"source space": "shared::cta"}
COPIES = (LOAD, TO_CLUSTER, STORE, BETWEEN)
REDUCTIONS = (STORE, BETWEEN)
STRONG_COPY = {"order": "relaxed", "scope": "cluster"}
SEEDS: dict[str, tuple[dict[str, str], ...]] = {
    "ld": ({}, *WIDE, NC, NC | WIDE[0], *(s | {"order": o} for s in STRONG for o in ("relaxed", "acquire"))),
    "st": ({}, *WIDE, *(s | {"order": o} for s in STRONG for o in ("relaxed", "release"))),
    "atom": HALVES,
    "red": HALVES,
    "fence": ({}, {"scope": "gpu"}, {"scope": "cluster"}),
    "mbarrier.arrive": ORDERED,
    "mbarrier.arrive_drop": ORDERED,
    "mbarrier.test_wait": WAITING,
    "mbarrier.try_wait": WAITING,
    "mbarrier.expect_tx": ({}, *({"order": "relaxed", "scope": scope} for scope in ("cta", "cluster"))),
    "mbarrier.complete_tx": ({}, *({"order": "relaxed", "scope": scope} for scope in ("cta", "cluster"))),
    "cp.async.bulk": (*COPIES, *(copy | STRONG_COPY | {"type": "b128"} for copy in COPIES)),
    "cp.async.bulk.tensor": (LOAD, TO_CLUSTER, STORE),
    "cp.reduce.async.bulk": (*REDUCTIONS, *(each | STRONG_COPY for each in REDUCTIONS)),
    "cp.reduce.async.bulk.tensor": (STORE,),
    "st.async": ({"space": "shared::cluster", "completion": TOLD}, {"order": "release", "scope": "gpu"}),
    "red.async": (
        {"order": "relaxed", "scope": "cluster", "space": "shared::cluster", "completion": TOLD},
        {"order": "release", "scope": "gpu", "operation": "add"},
    ),
}
"""Choices that only make sense together, from which the sampling starts."""


@lru_cache(maxsize=64)
def forms(row: Row, depth: int) -> tuple[str, ...]:
    """Mnemonics of a row that its rules allow: from each seed, every choice of words for every `depth` slots."""
    return tuple(sorted({m for m in _forms(row, depth) if _valid(m)}))


def turned(mnemonic: str, row: Row) -> str:
    """The mnemonic with its qualifiers the other way round, but for one that leads the others."""
    words = mnemonic.split(".")[len(row.opcode) :]
    leading = [word for word in words if any(slot.leads and word in slot.words for slot in row.slots)]
    return ".".join((*row.opcode, *leading, *reversed([word for word in words if word not in leading])))


def refused(row: Row, depth: int) -> dict[str, str]:
    """Mnemonics with qualifiers in order that the rules of a row refuse, with a line of operands for each."""
    found = {}
    for mnemonic in sorted(set(_forms(row, depth))):
        try:
            form = match(row, mnemonic, NOWHERE, QUALIFIERS)
        except InputError:
            continue
        if not _valid(mnemonic) and (form.type is not None or row.builds not in ("atom", "red")):
            found[f"{mnemonic} {_operands(form)[0]}".strip()] = mnemonic
    return found


def _forms(row: Row, depth: int) -> Iterator[str]:
    typed = any(slot.name == "operation" for slot in row.slots)
    for seed in SEEDS.get(row.name, ({},)):
        free = [slot for slot in row.slots if slot.name not in seed]
        always = [slot for slot in free if slot.required or slot.implied or (typed and slot.name == "type")]
        others = [slot for slot in free if slot not in always]
        for some in combinations(others, min(depth, len(others))):
            for chosen in product(*(_choices(slot) for slot in (*always, *some))):
                yield _mnemonic(row, seed | dict(chosen))


def _choices(slot: Slot) -> list[tuple[str, str]]:
    return [(slot.name, word) for word in (*slot.words, *([] if slot.required or slot.implied else [""]))]


def _mnemonic(row: Row, words: Mapping[str, str]) -> str:
    given = dict(words)
    if row.name in ("ld", "st") and not given.get("type"):
        given["type"] = "b32"
    return ".".join((*row.opcode, *(given[slot.name] for slot in row.slots if given.get(slot.name))))


def _valid(mnemonic: str) -> bool:
    try:
        form = form_of(mnemonic)
    except InputError:
        return False
    return form.type is not None or form.row.builds not in ("atom", "red")


# --- operands --------------------------------------------------------------------------------------------------------


def lines(mnemonic: str) -> tuple[str, ...]:
    """The mnemonic with register operands, in each shape that its operands may have."""
    form = form_of(mnemonic)
    return tuple(f"{mnemonic} {operands}".strip() for operands in _operands(form))


def _operands(form: Form) -> tuple[str, ...]:
    memory, policy = f"[{_where(form)}]", ", %d15" if form.has("cache hint") else ""
    match form.row.builds:
        case "load" | "view_load":
            return (f"{_registers(form, 0)}, {memory}{policy}",)
        case "store" | "view_store" | "red":
            return (f"{memory}, {_registers(form, 0)}{policy}",)
        case "atom" if form.get("operation") == "cas":
            return tuple(
                f"{d}, {memory}, {_registers(form, 1)}, {_registers(form, 2)}" for d in (_registers(form, 0), "_")
            )
        case "atom":
            results = (_registers(form, 0), *(() if form.has("vector") else ("_",)))
            return tuple(f"{d}, {memory}, {_registers(form, 8)}{policy}" for d in results)
        case "barrier":
            return _barrier(form)
        case "warp_sync":
            return ("0xffffffff", "%r1")
        case "nanosleep":
            return ("20", "%r1")
        case "prefetch":
            return (memory,)
        case "elect":
            return ("%r0|%p0, 0xffffffff", "_|%p1, %r1")
    return _mbarrier(form) or _copy(form, policy) or _tensormap(form, policy) or ("",)


def _mbarrier(form: Form) -> tuple[str, ...]:
    match form.row.builds:
        case "mbarrier_init":
            return ("[mx], 1", "[%a0], %r1")
        case "mbarrier_inval" | "copy_arrive":
            return ("[mx]",)
        case "mbarrier_tx":
            return ("[mx], 16", "[%a0], %r1")
        case "mbarrier_arrive":
            counts = (", 1", ", %r1") if form.has("action") else ("",)
            state = "_" if form.get("space") == "shared::cluster" else "%d1"
            return tuple(f"{state}, [mx]{count}" for count in counts)
        case "mbarrier_wait":
            phases = ("0", "1", "%r1") if form.has("phase") else ("%d1",)
            limits = ("", ", 20") if form.row.name == "mbarrier.try_wait" else ("",)
            return tuple(f"%p0, [mx], {phase}{limit}" for phase in phases for limit in limits)
        case "mbarrier_pending":
            return ("%r0, %d1",)
    return ()


def _copy(form: Form, policy: str) -> tuple[str, ...]:
    into, out_of = ("[gx]" if form.get(f"{side} space") == "global" else "[sx]" for side in ("destination", "source"))
    mask = ", %h1" if form.has("multicast") else ""
    bounds, byte_mask = ", 0, 0" if form.has("bounds") else "", ", %h2" if form.has("mask") else ""
    match form.row.builds:
        case "copy":
            sizes = ("16",) if form.get("cache operator") == "cg" else ("4", "8", "16")
            return tuple(f"{into}, [gx], {size}{policy}" for size in sizes)
        case "bulk_copy" | "bulk_reduce":
            told = "" if form.get("completion") == GROUP else ", [mx]"
            return tuple(f"{into}, {out_of}, {n}{bounds}{told}{mask}{policy}{byte_mask}" for n in ("16", "%r1"))
        case "wait_group" if form.row.name != "cp.async.wait_all":
            return ("0", "7")
        case "async_store" | "async_red":
            value = "%b1" if form.type is not None and form.type.bits == 8 else _registers(form, 1)
            return (f"[%a0], {value}" if form.get("order") == "release" else f"[%a0], {value}, [%a1]",)
        case "bulk_prefetch":
            return (f"[gx], 16{policy}",)
    return ()


def _tensormap(form: Form, policy: str) -> tuple[str, ...]:
    dimensions = int((form.get("dimensions") or "0")[0])
    mode = form.get("mode") or "tile"
    places = 5 if mode in ("tile::gather4", "tile::scatter4") else dimensions
    box = f"[%a0, {{{', '.join(f'%r{i}' for i in range(places))}}}]"
    offsets = {"im2col": max(1, dimensions - 2), "im2col::w": 2, "im2col::w::128": 2}.get(mode, 0)
    image = f", {{{', '.join(f'%h{i}' for i in range(offsets))}}}" if offsets else ""
    mask = ", %h1" if form.has("multicast") else ""
    match form.row.builds:
        case "tile_copy" if form.get("destination space") == "global":
            return (f"{box}, [sx]{policy}",)
        case "tile_copy":
            return (f"[sx], {box}, [mx]{image}{mask}{policy}",)
        case "tile_reduce":
            return (f"{box}, [sx]{policy}",)
        case "tile_prefetch":
            return (f"{box}{image}{policy}",)
        case "map_prefetch":
            return ("[%a0]",)
        case "tensormap_fence":
            return ("[%a0], 128",) if form.get("order") == "acquire" else ("",)
        case "tensormap_replace":
            return _replaced(form)
        case "tensormap_copy":
            return ("[%a0], [%a1], 128",)
    return ()


def _replaced(form: Form) -> tuple[str, ...]:
    ordinal = "0, " if "_dim" in (field := form.get("field") or "") or "stride" in field else ""
    value = "%d1" if form.get("type") == "b64" else "1" if field in CODED else "%r1"
    return (f"[%a0], {ordinal}{value}",)


def _barrier(form: Form) -> tuple[str, ...]:
    match form.get("action"):
        case "sync":
            return ("0", "15, 64", "%r1, %r2")
        case "arrive":
            return ("1, 64", "%r1, %r2")
    result = "%r0" if form.get("operation") == "popc" else "%p0"
    return (f"{result}, 2, %p1", f"{result}, 3, 64, !%p1", f"{result}, %r1, %r2, %p1")


def _where(form: Form) -> str:
    if form.row.name in VIEWS:
        return VIEWS[form.row.name]
    return WHERE.get((form.get("space") or "").partition("::")[0], "%a0")


def _registers(form: Form, first: int) -> str:
    type_ = form.type or Type("b", 32)
    name, vector = _register(type_), form.get("vector")
    if not vector:
        return f"{name}{first}"
    return "{" + ", ".join(f"{name}{first + i}" for i in range(int(vector[1:]))) + "}"


def sink(statement: Statement) -> str:
    """A register for results that are not wanted."""
    match statement:
        case Load(type=type_) | Atomic(type=type_):
            return f"{_register(type_)}15"
    return "_"


def _register(type_: Type) -> str:
    return REGISTERS.get(str(type_)) or BY_WIDTH[type_.bits]


# --- reading ---------------------------------------------------------------------------------------------------------


def read(line: str, memory: Mapping[str, Object | View] = MEMORY) -> Statement:
    """The statement that a line of PTX spells, over declared objects and registers that start with `%`."""
    start = len(line) - len(line.lstrip())
    mnemonic, _, rest = line.strip().partition(" ")
    at = Span("test.lit", 1, start + 1, line)
    operands = []
    for found in re.finditer(r"\[[^\]]*\]|\{[^}]*\}|[^,\s]+", rest):
        operands.append(_operand(found[0], at, start + len(mnemonic) + 2 + found.start()))
    return decode(mnemonic, tuple(operands), at=at, declared=memory.get, text=line)


def _operand(text: str, at: Span, column: int) -> Operand:
    here = Span(at.path, at.line, column, at.source, len(text))
    if text == "_":
        return Operand("sink", None, (), here)
    if text.startswith("{"):
        parts = re.finditer(r"[^,\s]+", text[1:-1])
        return Operand("vector", None, tuple(_operand(p[0], at, column + 1 + p.start()) for p in parts), here)
    if text.startswith("["):
        address, _, places = text[1:-1].partition(", ")
        base, _, offset = address.partition("+")
        items = _operand(places, at, column + 3 + len(address)).items if places else ()
        return Operand("mem", _address(base, int(offset or 0)), items, here)
    if "|" in text:
        return Operand("vector", None, tuple(_operand(part, at, column) for part in text.split("|")), here)
    if text.startswith("%"):
        return Operand("reg", Reg(text), (), here, TYPES.get(text[1]))
    return Operand("expr", _value(text), (), here)


def _value(text: str) -> Expr:
    if text.startswith("!"):
        return Unary("!", Reg(text[1:]), PRED)
    return Addr(text) if text.isalpha() else Const(int(text, 0))


def _address(base: str, offset: int) -> Expr:
    if not base.startswith("%"):
        return Addr(base, offset)
    return Binary("+", Reg(base), Const(offset), Type("u", 64)) if offset else Reg(base)
