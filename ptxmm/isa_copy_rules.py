"""What restricts the qualifiers of asynchronous copies, stores and reductions beyond their order."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.isa_form import Form, choices
from ptxmm.isa_rules import HALVES, wide

ADDED = ("u32", "s32", "u64", "s64")
WIDEST = 128
GROUP, BYTES = "bulk_group", "mbarrier::complete_tx::bytes"
TILES = {("shared::cta", "global"): BYTES, ("shared::cluster", "global"): BYTES, ("global", "shared::cta"): GROUP}
COPIES = TILES | {("shared::cluster", "shared::cta"): BYTES}
REDUCTIONS = {("shared::cluster", "shared::cta"): BYTES, ("global", "shared::cta"): GROUP}
DIRECTIONS = {
    "bulk_copy": COPIES,
    "tile_copy": TILES,
    "bulk_reduce": REDUCTIONS,
    "tile_reduce": {("global", "shared::cta"): GROUP},
}
"""From where to where, and how completion is told (PTX ISA, "Completion Mechanisms for Asynchronous Copies")."""

NOT_TILES = {
    "im2col": "the image modes of tensor copies",
    "im2col::w": "the image modes of tensor copies",
    "im2col::w::128": "the image modes of tensor copies",
    "im2col_no_offs": "the image modes of tensor copies",
    "tile::gather4": "gathered rows of a tensor",
    "tile::scatter4": "scattered rows of a tensor",
}
ELEMENTS = {
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
}
"""PTX ISA, "cp.reduce.async.bulk": the types of each operation into global memory."""

INTO_SHARED = {
    "and": ("b32",),
    "or": ("b32",),
    "xor": ("b32",),
    "add": ("u32", "s32", "u64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "min": ("u32", "s32"),
    "max": ("u32", "s32"),
}
"""The same into shared memory, and of `red.async`."""


def direction(form: Form, _: Type | None) -> None:
    """The spaces are a direction that there is, and completion is told as it has it."""
    known = DIRECTIONS[form.row.builds]
    into, out_of = form.get("destination space"), form.get("source space")
    if into is None and out_of is None:
        return
    fitting = {pair: how for pair, how in known.items() if into in (None, pair[0]) and out_of in (None, pair[1])}
    if not fitting or into is None or out_of is None:
        slot = "destination space" if out_of is None else "source space"
        ways = fitting or {pair: how for pair, how in known.items() if pair[0] == into} or known
        better = [_better(form, *pair) for pair in ways]
        message = f"`{form.row.name}` names no {'source' if out_of is None else 'destination'} space"
        if into is not None and out_of is not None:
            message = f"`{form.row.name}` does not go from `.{out_of}` to `.{into}`"
        raise form.fail(slot, message, f"write `{'` or `'.join(better)}`")
    told = form.get("completion")
    if told not in (None, fitting[into, out_of]):
        message = f"`.{told}` is not how a copy from `.{out_of}` to `.{into}` completes"
        raise form.fail("completion", message, f"write `.{fitting[into, out_of]}`")


def _better(form: Form, into: str, out_of: str) -> str:
    rest = dict.fromkeys(("completion", "mode", "multicast", "cache hint", "operation", "noftz", "type", "CTA group"))
    rest |= dict.fromkeys(("bounds", "mask"))
    return form.but(**rest | {"destination space": into, "source space": out_of})


def bulk(form: Form, _: Type | None) -> None:
    """Where `.multicast::cluster`, `.cp_mask`, `.ignore_oob` and the cache hint may stand."""
    into, out_of = form.get("destination space"), form.get("source space")
    if into is None or out_of is None:
        return
    places = {
        "multicast": ("shared::cluster", "global"),
        "mask": ("global", "shared::cta"),
        "bounds": ("shared::cta", "global"),
    }
    for slot, place in places.items():
        if form.has(slot) and (into, out_of) != place:
            message = f"`.{form.get(slot)}` is for copies from `.{place[1]}` to `.{place[0]}`"
            raise form.fail(slot, message, f"write `{form.but(**{slot: None})}`")
    if form.has("cache hint") and "global" not in (into, out_of):
        raise form.fail("cache hint", "`.L2::cache_hint` is for global memory", "leave it out")


def relaxed(form: Form, _: Type | None) -> None:
    """Strong copies name order, scope and, where they reduce nothing, the type `.b128`."""
    order, scope = form.get("order"), form.get("scope")
    if order == "relaxed" and scope is None:
        raise form.fail("order", f"`{form.row.name}.relaxed` needs a scope", f"write `{form.row.name}.relaxed.gpu`")
    if scope is not None and order != "relaxed":
        message = f"`.{scope}` needs a memory order"
        raise form.fail("scope", message, f"write `{form.row.name}.relaxed.{scope}`")
    if form.row.builds == "bulk_copy" and (order == "relaxed") != form.has("type"):
        if form.has("type"):
            raise form.fail("type", "`.b128` is for `.relaxed` copies", f"write `{form.but(type=None)}`")
        raise form.fail("order", "`.relaxed` copies name the type `.b128`", f"write `{form.but(type='b128')}`")
    spaces = (form.get("destination space"), form.get("source space"))
    if spaces == ("shared::cluster", "shared::cta") and scope in ("gpu", "sys"):
        raise form.fail("scope", f"`.{scope}` is for global memory", f"write `{form.but(scope='cluster')}`")


def tile(form: Form, _: Type | None) -> None:
    """`.multicast::cluster` goes from global memory to `.shared::cluster`; some modes go one way."""
    into, out_of = form.get("destination space"), form.get("source space")
    if form.has("multicast") and into not in (None, "shared::cluster"):
        message = "`.multicast::cluster` is for copies from `.global` to `.shared::cluster`"
        raise form.fail("multicast", message, f"write `{form.but(multicast=None)}`")
    if form.has("CTA group") and into == "global":
        raise form.fail("CTA group", f"`.{form.get('CTA group')}` is for copies to shared memory", "leave it out")
    mode = form.get("mode")
    if mode in ("tile::scatter4", "im2col_no_offs") and (out_of == "global" or form.row.builds == "tile_prefetch"):
        raise form.fail("mode", f"`.{mode}` is for copies from shared memory", "write `.tile`")
    if mode in ("tile::gather4", "im2col", "im2col::w", "im2col::w::128") and into == "global":
        raise form.fail("mode", f"`.{mode}` is for copies to shared memory", "write `.tile`")
    dimensions = int((form.get("dimensions") or "3d")[0])
    if mode and mode.startswith("im2col") and dimensions < 3:
        raise form.fail("dimensions", f"`.{mode}` is for 3 to 5 dimensions", f"write `{form.but(dimensions='3d')}`")
    if mode in ("tile::gather4", "tile::scatter4") and form.get("dimensions") not in (None, "2d"):
        raise form.fail("dimensions", f"`.{mode}` is for 2 dimensions", f"write `{form.but(dimensions='2d')}`")
    if mode == "tile::scatter4" and form.row.builds == "tile_reduce":
        raise form.fail("mode", "a reduction scatters nothing", "write `.tile`")


def elements(form: Form, type_: Type | None) -> None:
    """The operations and types that the ISA combines."""
    op, into = str(form.get("operation")), form.get("destination space")
    known = INTO_SHARED if into == "shared::cluster" else ELEMENTS
    if type_ is not None and str(type_) not in known[op]:
        raise form.fail("type", f"`{form.row.name}` has no `.{op}.{type_}`", f"it takes {choices(known[op])}")
    half = str(type_) in HALVES and op == "add"
    if half != form.has("noftz"):
        if half:
            raise form.fail("type", f"`.add.{type_}` needs `.noftz`", f"write `{form.but(noftz='noftz')}`")
        raise form.fail("noftz", f"`.{op}.{type_}` takes no `.noftz`", f"write `{form.but(noftz=None)}`")
    if form.has("cache hint") and into == "shared::cluster":
        raise form.fail("cache hint", "`.L2::cache_hint` is for global memory", "leave it out")


def sent(form: Form, type_: Type | None) -> None:
    """`st.async` and `red.async`: to another CTA with an mbarrier, or as a release to global memory without."""
    if form.get("order") == "release":
        _released(form, type_)
    else:
        _told(form, type_)


def _released(form: Form, type_: Type | None) -> None:
    name, red = form.row.name, form.row.name == "red.async"
    for slot in ("completion", "space"):
        if form.get(slot) in (BYTES, "shared::cluster"):
            message = f"`{name}.release` is for global memory and has no mbarrier"
            raise form.fail(
                slot, message, f"write `{name}.{'relaxed.cluster' if red else 'weak'}.shared::cluster.{BYTES}`"
            )
    if form.get("scope") not in ("gpu", "sys"):
        at = "scope" if form.has("scope") else "order"
        raise form.fail(at, f"`{name}.release` needs the scope `.gpu` or `.sys`", "write `.release.gpu`")
    if red and form.get("operation") != "add":
        raise form.fail("operation", "`red.async.release` has the operation `.add`", "write `.add`")
    if form.has("vector"):
        raise form.fail("vector", f"`{name}.release` takes no vector", "leave it out")
    if red and type_ is not None and type_.kind == "b":
        raise form.fail("type", f"`red.async.add` has no type `.{type_}`", f"it takes {choices(ADDED)}")


def _told(form: Form, type_: Type | None) -> None:
    name, red = form.row.name, form.row.name == "red.async"
    if form.has("mmio"):
        raise form.fail("mmio", "`.mmio` needs `.release`", f"write `{name}.mmio.release.sys`")
    if form.get("space") == "global":
        raise form.fail("space", f"`{name}` to global memory is a release", f"write `{name}.release.gpu`")
    if not form.has("completion"):
        raise form.fail("order", f"`{name}` names no completion", f"add `.{BYTES}`, or write `.release.gpu`")
    if red:
        _reduced(form, type_)
    elif form.has("scope"):
        raise form.fail("scope", "`st.async.weak` takes no scope", "write `.release` for a strong store")
    elif type_ is not None and type_.bits < 32:
        raise form.fail("type", f"`st.async` on an mbarrier has no type `.{type_}`", "it stores 32 or 64 bits")
    elif type_ is not None and wide(form, type_) > WIDEST:
        raise form.fail(
            "vector", f"`.{form.get('vector')}` does not go with `.{type_}`", "a vector has at most 128 bits"
        )


def _reduced(form: Form, type_: Type | None) -> None:
    op = str(form.get("operation"))
    if (form.get("order"), form.get("scope")) != ("relaxed", "cluster"):
        at = "scope" if form.has("scope") else "order"
        raise form.fail(at, "`red.async` on an mbarrier is `.relaxed.cluster`", "write `red.async.relaxed.cluster`")
    if type_ is not None and str(type_) not in INTO_SHARED[op]:
        raise form.fail("type", f"`red.async` has no `.{op}.{type_}`", f"it takes {choices(INTO_SHARED[op])}")
