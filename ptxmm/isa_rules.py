"""What restricts the qualifiers of an instruction beyond their order: each rule looks at a form and its type."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import Type
from ptxmm.isa_form import Form, choices

CONSTANT = ("const", "param")
WIDE = 256
NOUN = {"ld": "load", "st": "store"}


@dataclass(frozen=True, slots=True)
class Limit:
    """Where a hint may not stand: the orders that never take it, whether spaces but global do, what excludes it."""

    slot: str
    never: tuple[str, ...]
    anywhere: bool = True
    excludes: tuple[str, ...] = ()


L1_HINTS = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
TYPES_OF = {
    "add": ["u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"],
    "inc": ["u32"],
    "dec": ["u32"],
    "min": ["u32", "s32", "u64", "s64"],
    "max": ["u32", "s32", "u64", "s64"],
    "and": ["b32", "b64"],
    "or": ["b32", "b64"],
    "xor": ["b32", "b64"],
    "exch": ["b32", "b64", "b128"],
    "cas": ["b16", "b32", "b64", "b128"],
}
"""PTX ISA, "atom": the types of each operation on scalars; `red` has the same without `exch` and `cas`."""

HALVES = ("f16", "bf16")
PACKED = ("f16x2", "bf16x2")
VECTOR_TYPES = {"v2": (*HALVES, *PACKED, "f32"), "v4": (*HALVES, *PACKED, "f32"), "v8": HALVES}
LIMITS = (
    Limit("cache operator", ("volatile", "relaxed", "acquire", "release"), excludes=("L1 priority", "L2 priority")),
    Limit("L1 priority", ("volatile",), anywhere=False),
    Limit("L2 priority", ("volatile",), anywhere=False),
    Limit("cache hint", ("volatile",), anywhere=False),
    Limit("prefetch size", (), anywhere=False),
)
VECTOR_OPS = {"f32": ("add",)} | dict.fromkeys((*HALVES, *PACKED), ("add", "min", "max"))


def strength(form: Form, _: Type | None) -> None:
    """A weak or volatile access takes no scope, every other order needs one and shareable memory."""
    name, order, scope, space = form.row.name, form.get("order"), form.get("scope"), form.get("space")
    if order in (None, "weak") and scope:
        better = f"write `{_short(form, order='relaxed')}` for a strong {NOUN[name]}"
        message = f"`{name}` without a memory order is weak and" if order is None else f"`{name}.weak`"
        raise form.fail("scope", f"{message} takes no scope", better)
    if order == "volatile" and scope:
        raise form.fail("scope", f"`{name}.volatile` takes no scope", "it always has the scope of the system")
    if order not in (None, "weak", "volatile") and not scope:
        better = f"write `{_short(form, scope='gpu')}`, or with `.cta`, `.cluster` or `.sys`"
        raise form.fail("order", f"`{name}.{order}` needs a scope", better)
    if order not in (None, "weak") and space and space.partition("::")[0] in CONSTANT:
        raise form.fail("order", f"`.{order}` is for `.global` and `.shared` memory", f"write `{name}.{space}`")


def _short(form: Form, **changes: str) -> str:
    """The opcode with order and scope alone, as hints show it."""
    rest = dict.fromkeys(slot.name for slot in form.row.slots if slot.name not in ("mmio", "order", "scope"))
    return form.but(**rest | changes)


def mmio(form: Form, _: Type | None) -> None:
    """`.mmio` goes with `.relaxed.sys` (acquire and release since PTX 9.3), in global memory, and nothing else."""
    if not form.has("mmio"):
        return
    if form.get("order") not in ("relaxed", "acquire", "release"):
        raise form.fail("mmio", "`.mmio` needs a memory order", f"write `{_short(form, order='relaxed', scope='sys')}`")
    if form.get("scope") != "sys":
        raise form.fail("scope", "`.mmio` needs the scope `.sys`", f"write `{_short(form, scope='sys')}`")
    if form.get("space") not in (None, "global"):
        raise form.fail("space", "`.mmio` is for global memory", f"write `{form.but(space='global')}`")
    for slot, word in form.words:
        if slot not in ("mmio", "order", "scope", "space", "type"):
            raise form.fail(slot, f"`.mmio` takes no `.{word.text}`", f"write `{form.but(**{slot: None})}`")


def private(form: Form, _: Type | None) -> None:
    """Local memory belongs to one thread."""
    if form.get("space") == "local":
        raise form.fail(
            "space", "`.local` memory is private to a thread", "a litmus test needs no local memory: use a register"
        )


def writable(form: Form, _: Type | None) -> None:
    """Constant memory and parameters are not written."""
    space = form.get("space") or ""
    if space.partition("::")[0] in CONSTANT:
        raise form.fail("space", f"`.{space}` memory is read only", "use `.global` or `.shared` memory")


def caching(form: Form, _: Type | None) -> None:
    """Where cache operators and hints may stand."""
    for limit in LIMITS:
        word = form.get(limit.slot)
        if not word:
            continue
        without = f"write `{form.but(**{limit.slot: None})}`"
        order, space = form.get("order"), form.get("space")
        if order in limit.never:
            raise form.fail(limit.slot, f"`.{order}` takes no `.{word}`", without)
        if limit.anywhere is False and space not in (None, "global"):
            raise form.fail(limit.slot, f"`.{word}` is for global memory", without)
        for other in limit.excludes:
            if form.has(other):
                raise form.fail(other, f"`.{word}` and `.{form.get(other)}` exclude each other", "keep one of them")


def readonly(form: Form, _: Type | None) -> None:
    """`ld.global.nc` is weak, from global memory, with few cache operators."""
    if not form.has("non-coherence"):
        return
    if form.has("order"):
        raise form.fail(
            "order", f"`.nc` takes no `.{form.get('order')}`", f"write `{form.but(order=None, scope=None)}`"
        )
    if form.get("space") != "global":
        raise form.fail("non-coherence", "`.nc` is for global memory", f"write `{form.but(space='global')}`")
    if form.get("cache operator") in ("lu", "cv"):
        raise form.fail(
            "cache operator", f"`.nc` takes no `.{form.get('cache operator')}`", "it takes `.ca`, `.cg` or `.cs`"
        )


def vector_access(form: Form, type_: Type | None) -> None:
    """Vectors of `ld` and `st`: at most 128 bits, 256 bits in global memory; L2 priorities are for the latter."""
    if type_ is None:
        return
    vector, priority = form.get("vector"), form.get("L2 priority")
    total = wide(form, type_)
    if priority and total != WIDE:
        hint = "a `.v8` of 32-bit or a `.v4` of 64-bit elements takes it"
        raise form.fail("L2 priority", f"`.{priority}` is for vectors of 256 bits", hint)
    if not vector:
        return
    if total > WIDE or type_.bits > 64 or (vector == "v8" and type_.bits != 32):
        hint = "a vector has at most 128 bits, or 256 as `.v8` of 32-bit or `.v4` of 64-bit elements"
        raise form.fail("vector", f"`.{vector}` does not go with `.{type_}`", hint)
    if total == WIDE and form.get("space") not in (None, "global"):
        raise form.fail("vector", "a vector of 256 bits is for global memory", f"write `{form.but(space='global')}`")


def wide(form: Form, type_: Type) -> int:
    """How many bits an access has."""
    return int((form.get("vector") or "v1")[1:]) * type_.bits


def atomic_type(form: Form, type_: Type | None) -> None:
    """The operations and types that the ISA combines."""
    name, op, vector = form.row.name, str(form.get("operation")), form.get("vector")
    if op == "cas" and form.has("cache hint"):
        raise form.fail("cache hint", "`.cas` takes no cache hint", f"write `{form.but(**{'cache hint': None})}`")
    if vector and form.get("space") not in (None, "global"):
        raise form.fail("space", f"`.{vector}` is for global memory", f"write `{form.but(space='global')}`")
    if type_ is None:
        return
    if not vector and str(type_) not in TYPES_OF[op]:
        more = ", and floating types as vectors" if op in ("min", "max") and type_.bits <= 32 and type_.floating else ""
        raise form.fail("type", f"`{name}.{op}` has no type `.{type_}`", f"it takes {choices(TYPES_OF[op])}{more}")
    if vector and str(type_) not in VECTOR_TYPES[vector]:
        hint = f"`.{vector}` takes {choices(VECTOR_TYPES[vector])}"
        raise form.fail("vector", f"`{name}` has no `.{vector}.{type_}`", hint)
    if vector and op not in VECTOR_OPS[str(type_)]:
        hint = f"it takes {choices(VECTOR_OPS[str(type_)])}"
        raise form.fail("operation", f"`.{vector}.{type_}` has no `.{op}`", hint)
    _subnormals(form, type_)


def _subnormals(form: Form, type_: Type) -> None:
    """`.noftz` goes with the half precision types, and with them alone."""
    small = str(type_) in (*HALVES, *PACKED)
    if small and not form.has("noftz"):
        better = form.but(noftz="noftz", type=str(type_))
        raise form.fail("type", f"`.{type_}` needs `.noftz`", f"write `{better}`")
    if not small and form.has("noftz"):
        raise form.fail("noftz", f"`.{type_}` takes no `.noftz`", f"write `{form.but(noftz=None)}`")


def fence_scope(form: Form, _: Type | None) -> None:
    """`fence` needs a scope; `.sync_restrict` goes with one order and the scope of the cluster."""
    window = form.get("restriction")
    if window:
        wanted = "release" if window.endswith("cta") else "acquire"
        better = f"write `{form.but(order=wanted, scope='cluster')}`"
        if form.get("order") != wanted:
            raise form.fail("order", f"`.{window}` goes with `.{wanted}`", better)
        if form.get("scope") != "cluster":
            raise form.fail("scope", f"`.{window}` needs the scope `.cluster`", better)
    elif not form.has("scope"):
        better = f"write `{form.but(scope='gpu')}`, or with `.cta`, `.cluster` or `.sys`"
        raise form.fail("order", f"`{form.but()}` needs a scope", better)


def barrier_kind(form: Form, _: Type | None) -> None:
    """`.red` needs an operation and the type of its result; `.sync` and `.arrive` take neither."""
    kind, op, type_ = form.get("action"), form.get("operation"), form.get("type")
    if kind != "red":
        for slot in ("operation", "type"):
            if form.has(slot):
                raise form.fail(
                    slot,
                    f"`{form.row.name}.{kind}` takes no `.{form.get(slot)}`",
                    f"write `{form.but(operation=None, type=None)}`",
                )
        return
    if not op:
        raise form.fail(
            "action", f"`{form.row.name}.red` names no operation", "add `.popc.u32`, `.and.pred` or `.or.pred`"
        )
    wanted = "u32" if op == "popc" else "pred"
    if type_ != wanted:
        raise form.fail("type", f"`.red.{op}` gives `.{wanted}`", f"write `{form.but(type=wanted)}`")


def eviction(form: Form, _: Type | None) -> None:
    """`prefetch` names an eviction priority for global memory alone."""
    level = str(form.get("level"))
    if "::" in level and form.get("space") != "global":
        raise form.fail("level", f"`.{level}` is for global memory", f"write `{form.but(space='global')}`")
