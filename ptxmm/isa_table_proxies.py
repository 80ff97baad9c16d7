"""The rows of the instruction table for proxies, tensor maps, dependent grids and `elect.sync`."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.isa_form import Form, Row, Slot
from ptxmm.isa_slots import ALIGNED, SCOPE, need, words

FENCES = "Parallel Synchronization and Communication Instructions: membar, fence"
MAPS = "Data Movement and Conversion Instructions: tensormap.replace"
COPIED = "Parallel Synchronization and Communication Instructions: tensormap.cp_fenceproxy"

ALL = Slot("scope", SCOPE.words, required=True)
ONE_SIDED = Slot("order", words("release acquire"), required=True)
SPACES = Slot("space", words("global shared::cta shared::cluster"))
WINDOWS = words("sync_restrict::shared::cta sync_restrict::shared::cluster sync_restrict::shared::cluster::read")
IN_64_BITS = words("global_address global_stride")
BY_DIMENSION = words("box_dim global_dim global_stride element_stride")
CODED = words("elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode")
FIELDS = words("global_address rank box_dim global_dim global_stride element_stride") + CODED


def window(form: Form, _: Type | None) -> None:
    """A one-sided async fence covers its own CTA when it releases, the cluster when it acquires."""
    order, found = form.get("order"), str(form.get("window"))
    fitting = WINDOWS[1:2] if order == "acquire" else (WINDOWS[0], WINDOWS[2])
    if found not in fitting:
        message = f"`.{order}` does not go with `.{found}`"
        raise form.fail("window", message, f"write `{form.but(window=fitting[0])}`")


def both_or_neither(form: Form, _: Type | None) -> None:
    """The alias fence is two-way and has no scope, or one-sided at the scope of the system."""
    order, scope = form.get("order"), form.get("scope")
    if order is None and scope is not None:
        message, hint = (
            f"`{form.but(scope=None)}` takes no scope",
            "the one-sided halves have `.release.sys` and `.acquire.sys`",
        )
        raise form.fail("scope", message, hint)
    if order is not None and scope is None:
        raise form.fail("order", f"`{form.but()}` needs a scope", f"write `{form.but(scope='sys')}`: it has no other")


def field_type(form: Form, type_: Type | None) -> None:
    """Addresses and strides have 64 bits, the other fields 32."""
    field = str(form.get("field"))
    wanted = "b64" if field in IN_64_BITS else "b32"
    if type_ is not None and str(type_) != wanted:
        raise form.fail("type", f"`.{field}` has the type `.{wanted}`", f"write `{form.but(type=wanted)}`")


ROWS: tuple[Row, ...] = (
    Row(
        ("fence", "proxy"),
        FENCES,
        (
            Slot("proxy", ("alias",), required=True),
            Slot("order", words("release acquire")),
            Slot("scope", ("sys",)),
        ),
        "alias_fence",
        (both_or_neither,),
        (need("alias release", (9, 4), 90), need("alias acquire", (9, 4), 90)),
        ((7, 5), 70),
    ),
    Row(("membar", "proxy"), FENCES, (Slot("proxy", ("alias",), required=True),), "alias_fence", since=((7, 5), 70)),
    Row(
        ("fence", "mbarrier_init"),
        FENCES,
        (Slot("order", ("release",), required=True), Slot("scope", ("cluster",), required=True)),
        "init_fence",
        since=((8, 0), 90),
    ),
    *(
        Row((head, "proxy", "async"), FENCES, (SPACES,), "async_fence", since=((8, 0), 90), real=head == "fence")
        for head in ("fence", "membar")
    ),
    Row(
        ("fence", "proxy", "async::generic"),
        FENCES,
        (ONE_SIDED, Slot("window", WINDOWS, required=True), Slot("scope", ("cluster",), required=True)),
        "one_sided_async_fence",
        (window,),
        (need(WINDOWS[2], (9, 4)),),
        ((8, 6), 90),
    ),
    Row(
        ("fence", "proxy", "tensormap::generic"),
        FENCES,
        (ONE_SIDED, ALL),
        "tensormap_fence",
        since=((8, 3), 90),
    ),
    Row(
        ("tensormap", "replace"),
        MAPS,
        (
            Slot("mode", ("tile",), implied=True),
            Slot("field", FIELDS, required=True),
            Slot("space", words("global shared::cta")),
            Slot("size", ("b1024",), implied=True),
            Slot("type", words("b32 b64"), implied=True),
        ),
        "tensormap_replace",
        (field_type,),
        (need("swizzle_atomicity", (8, 6), 100, specific=True),),
        ((8, 3), 90),
        specific=True,
    ),
    Row(
        ("tensormap", "cp_fenceproxy"),
        COPIED,
        (
            Slot("destination space", ("global",), implied=True),
            Slot("source space", ("shared::cta",), implied=True),
            Slot("proxies", ("tensormap::generic",), implied=True),
            Slot("order", ("release",), implied=True),
            ALL,
            Slot("sync", ("sync",), implied=True),
            Slot("aligned", ALIGNED.words, implied=True),
        ),
        "tensormap_copy",
        since=((8, 3), 90),
    ),
    Row(
        ("prefetch", "tensormap"),
        "Data Movement and Conversion Instructions: prefetch, prefetchu",
        (),
        "map_prefetch",
        since=((8, 0), 90),
    ),
    Row(
        ("elect", "sync"),
        "Parallel Synchronization and Communication Instructions: elect.sync",
        (),
        "elect",
        since=((8, 0), 90),
    ),
    Row(
        ("griddepcontrol",),
        "Parallel Synchronization and Communication Instructions: griddepcontrol",
        (Slot("action", words("launch_dependents wait"), required=True),),
        "grid_dependency",
        since=((7, 8), 90),
    ),
)
