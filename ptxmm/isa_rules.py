"""What restricts the qualifiers of an instruction beyond their order: each rule looks at a form and its type."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.isa_form import Form, choices

STRONG = {"ld": "relaxed", "st": "relaxed"}
NOUN = {"ld": "load", "st": "store"}
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
VECTOR_OPS = {"f32": ("add",)} | dict.fromkeys((*HALVES, *PACKED), ("add", "min", "max"))


def strength(form: Form, _: Type | None) -> None:
    """A weak or volatile access takes no scope, every other order needs one."""
    name, order, scope = form.row.name, form.get("order"), form.get("scope")
    if order in (None, "weak") and scope:
        better = f"write `{form.but(order=STRONG[name], space=None, type=None, vector=None)}` for a strong {NOUN[name]}"
        message = (
            f"`{name}.weak` takes no scope" if order else f"`{name}` without a memory order is weak and takes no scope"
        )
        raise form.fail("scope", message, better)
    if order == "volatile" and scope:
        raise form.fail("scope", f"`{name}.volatile` takes no scope", "it always has the scope of the system")
    if order not in (None, "weak", "volatile") and not scope:
        better = form.but(scope="gpu", space=None, type=None, vector=None)
        raise form.fail("order", f"`{name}.{order}` needs a scope", f"write `{better}`, or `.cta`, `.cluster`, `.sys`")


def mmio(form: Form, type_: Type | None) -> None:
    """`.mmio` goes with `.relaxed.sys` (acquire and release since PTX 9.3) and names no space but `.global`."""
    if not form.has("mmio"):
        return
    if form.get("order") not in ("relaxed", "acquire", "release"):
        raise form.fail("mmio", "`.mmio` needs a memory order", f"write `{form.but(order='relaxed', scope='sys')}`")
    if form.get("scope") != "sys":
        raise form.fail("scope", "`.mmio` needs the scope `.sys`", f"write `{form.but(scope='sys')}`")
    if form.get("space") not in (None, "global"):
        raise form.fail("space", "`.mmio` is for global memory", f"write `{form.but(space='global')}`")
    if form.has("vector"):
        raise form.fail("vector", "`.mmio` takes no vector", f"write `{form.but(vector=None)}`")


def private(form: Form, _: Type | None) -> None:
    """Local memory belongs to one thread."""
    if form.get("space") == "local":
        raise form.fail(
            "space", "`.local` memory is private to a thread", "a litmus test needs no local memory: use a register"
        )


def caching(form: Form, _: Type | None) -> None:
    """Cache operators are for weak accesses and exclude eviction priorities."""
    operator = form.get("cache operator")
    if operator and form.get("order") not in (None, "weak"):
        raise form.fail(
            "cache operator",
            f"`.{operator}` is for weak accesses",
            f"write `{form.but(**{'cache operator': None})}`",
        )
    for slot in ("L1 priority", "L2 priority"):
        if operator and form.has(slot):
            raise form.fail(slot, f"`.{operator}` and `.{form.get(slot)}` exclude each other", "keep one of them")


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
    """Vectors of `ld` and `st`: at most 128 bits, 256 bits in global memory."""
    vector = form.get("vector")
    if not vector or type_ is None:
        return
    total = int(vector[1:]) * type_.bits
    if total > 256 or type_.bits > 64 or (vector == "v8" and type_.bits != 32):
        raise form.fail(
            "vector",
            f"`.{vector}.{type_}` is too wide",
            "a vector has at most 128 bits, or 256 as `.v8.b32` or `.v4.b64`",
        )
    if total == 256 and form.get("space") != "global":
        raise form.fail("vector", f"`.{vector}.{type_}` is for global memory", f"write `{form.but(space='global')}`")


def atomic_type(form: Form, type_: Type | None) -> None:
    """The operations and types that the ISA combines, `.noftz`, and the vectors."""
    op, vector = str(form.get("operation")), form.get("vector")
    if type_ is None:
        return
    if vector:
        if str(type_) not in VECTOR_TYPES[vector]:
            raise form.fail(
                "vector",
                f"`{form.row.name}` has no `.{vector}.{type_}`",
                f"`.{vector}` takes {choices(VECTOR_TYPES[vector])}",
            )
        if op not in VECTOR_OPS[str(type_)]:
            raise form.fail(
                "operation", f"`.{vector}.{type_}` has no `.{op}`", f"it takes {choices(VECTOR_OPS[str(type_)])}"
            )
        if form.get("space") not in (None, "global"):
            raise form.fail("space", f"`.{vector}` is for global memory", f"write `{form.but(space='global')}`")
    elif str(type_) not in TYPES_OF[op]:
        more = " (with `.v2`, `.v4` also the floating types)" if op in ("min", "max") and type_.floating else ""
        raise form.fail(
            "type", f"`{form.row.name}.{op}` has no type `.{type_}`", f"it takes {choices(TYPES_OF[op])}{more}"
        )
    small = str(type_) in (*HALVES, *PACKED)
    if small and not form.has("noftz"):
        raise form.fail(
            "type", f"`.{op}.{type_}` needs `.noftz`", f"write `{form.but(noftz='noftz', type=str(type_))}`"
        )
    if not small and form.has("noftz"):
        raise form.fail("noftz", f"`.{type_}` takes no `.noftz`", f"write `{form.but(noftz=None)}`")


def fence_scope(form: Form, _: Type | None) -> None:
    """`fence` needs a scope; `.sync_restrict` goes with one order and the scope of the cluster."""
    window, order, scope = form.get("restriction"), form.get("order"), form.get("scope")
    if not scope:
        better = form.but(scope="cluster" if window else "gpu")
        raise form.fail(
            "order",
            f"`{form.but()}` needs a scope",
            f"write `{better}`" + ("" if window else ", or `.cta`, `.cluster`, `.sys`"),
        )
    if not window:
        return
    wanted = "release" if window.endswith("cta") else "acquire"
    if order != wanted:
        raise form.fail(
            "order", f"`.{window}` goes with `.{wanted}`", f"write `{form.but(order=wanted, scope='cluster')}`"
        )
    if scope != "cluster":
        raise form.fail("scope", f"`.{window}` needs the scope `.cluster`", f"write `{form.but(scope='cluster')}`")


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
