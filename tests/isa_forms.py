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
}
WHERE = {"global": "gx", "shared": "sx", "const": "kx", "param": "px"}
VIEWS = {"tld": "tx", "suld": "ux", "sust": "ux", "ldc": "cx"}
REGISTERS = {"f32": "%f", "f64": "%g", "pred": "%p"}
BY_WIDTH = {8: "%h", 16: "%h", 32: "%r", 64: "%d", 128: "%q"}

SCOPED = tuple({"scope": scope} for scope in ("cta", "cluster", "gpu", "sys"))
MMIO = {"mmio": "mmio", "scope": "sys"}
WIDE = ({"vector": "v8", "type": "b32"}, {"vector": "v4", "type": "f64"})
STRONG = (*SCOPED, MMIO, {"scope": "gpu"} | WIDE[0])
HALVES = ({}, {"noftz": "noftz"}, *({"noftz": "noftz", "vector": vector} for vector in ("v2", "v4", "v8")))
NC = {"space": "global", "non-coherence": "nc"}
SEEDS: dict[str, tuple[dict[str, str], ...]] = {
    "ld": ({}, *WIDE, NC, NC | WIDE[0], *(s | {"order": o} for s in STRONG for o in ("relaxed", "acquire"))),
    "st": ({}, *WIDE, *(s | {"order": o} for s in STRONG for o in ("relaxed", "release"))),
    "atom": HALVES,
    "red": HALVES,
    "fence": ({}, {"scope": "gpu"}, {"scope": "cluster"}),
}
"""Choices that only make sense together, from which the sampling starts."""


@lru_cache(maxsize=64)
def forms(row: Row, depth: int) -> tuple[str, ...]:
    """Mnemonics of a row that its rules allow: from each seed, every choice of words for every `depth` slots."""
    return tuple(sorted({m for m in _forms(row, depth) if _valid(m)}))


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
        always = [slot for slot in free if slot.required or (typed and slot.name == "type")]
        others = [slot for slot in free if slot not in always]
        for some in combinations(others, min(depth, len(others))):
            for chosen in product(*(_choices(slot) for slot in (*always, *some))):
                yield _mnemonic(row, seed | dict(chosen))


def _choices(slot: Slot) -> list[tuple[str, str]]:
    return [(slot.name, word) for word in (*slot.words, *([] if slot.required else [""]))]


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
    return ("",)


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
    for found in re.finditer(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest):
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
        base, _, offset = text[1:-1].partition("+")
        return Operand("mem", _address(base, int(offset or 0)), (), here)
    if text.startswith("%"):
        return Operand("reg", Reg(text), (), here)
    return Operand("expr", _value(text), (), here)


def _value(text: str) -> Expr:
    if text.startswith("!"):
        return Unary("!", Reg(text[1:]), PRED)
    return Addr(text) if text.isalpha() else Const(int(text, 0))


def _address(base: str, offset: int) -> Expr:
    if not base.startswith("%"):
        return Addr(base, offset)
    return Binary("+", Reg(base), Const(offset), Type("u", 64)) if offset else Reg(base)
