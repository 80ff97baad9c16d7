"""The rows of the instruction table for mbarriers."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.isa_form import Form, Requirement, Row, Slot
from ptxmm.isa_slots import need, words

SECTION = "Parallel Synchronization and Communication Instructions: mbarrier"
FIRST: Requirement = ((7, 0), 80)
CLUSTERS: Requirement = ((8, 0), 90)

SCOPE = Slot("scope", words("cta cluster"))
OWN = Slot("space", words("shared shared::cta"))
ANY = Slot("space", words("shared shared::cta shared::cluster"))
B64 = Slot("type", ("b64",), implied=True)
ARRIVE_ORDER = Slot("order", words("release relaxed"))
WAIT_ORDER = Slot("order", words("acquire relaxed"))
TX_ORDER = Slot("order", ("relaxed",))

WINDOW = (need("shared::cta", (7, 8)), need("shared::cluster", (8, 0), 90))
ORDERED = (
    *WINDOW,
    need("cta", (8, 0)),
    need("cluster", (8, 0), 90),
    need("relaxed", (8, 6), 90),
)


def paired(form: Form, _: Type | None) -> None:
    """A memory order and a scope are written together."""
    if form.has("order") == form.has("scope"):
        return
    if form.has("order"):
        better = f"write `{_short(form, scope='cta')}`, or with `.cluster`"
        raise form.fail("order", f"`.{form.get('order')}` needs a scope", better)
    order = next(slot.words[0] for slot in form.row.slots if slot.name == "order")
    message = f"`.{form.get('scope')}` needs a memory order"
    raise form.fail("scope", message, f"write `{_short(form, order=order)}`")


def _short(form: Form, **changes: str) -> str:
    return form.but(**dict.fromkeys(("space", "type")) | changes)


def own_completion(form: Form, _: Type | None) -> None:
    """`.noComplete` is a release of the CTA on an object of the CTA."""
    if form.get("action") != "noComplete":
        return
    if form.get("order") == "relaxed":
        raise form.fail("order", "`.noComplete` takes no `.relaxed`", f"write `{form.but(order='release')}`")
    if form.get("scope") == "cluster":
        raise form.fail("scope", "`.noComplete` has the scope `.cta`", f"write `{form.but(scope='cta')}`")
    if form.get("space") == "shared::cluster":
        message = "`.noComplete` is for an mbarrier of the own CTA"
        raise form.fail("space", message, f"write `{form.but(space='shared::cta')}`")


def _arrive(name: str) -> Row:
    return Row(
        ("mbarrier", name),
        f"{SECTION}.{name}",
        (Slot("action", words("expect_tx noComplete"), leads=True), ARRIVE_ORDER, SCOPE, ANY, B64),
        "mbarrier_arrive",
        (paired, own_completion),
        (*ORDERED, need("expect_tx", (8, 0), 90)),
        FIRST,
        any_order=True,
    )


def _transactions(name: str) -> Row:
    return Row(
        ("mbarrier", name),
        f"{SECTION}.{name}",
        (TX_ORDER, SCOPE, ANY, B64),
        "mbarrier_tx",
        (paired,),
        since=CLUSTERS,
        any_order=True,
    )


def _wait(name: str, since: Requirement) -> Row:
    return Row(
        ("mbarrier", name),
        f"{SECTION}.test_wait, mbarrier.try_wait",
        (Slot("phase", ("parity",), leads=True), WAIT_ORDER, SCOPE, OWN, B64),
        "mbarrier_wait",
        (paired,),
        (*(n for n in ORDERED if "shared::cluster" not in n.words), need("parity", (7, 1))),
        since,
        any_order=True,
    )


ROWS: tuple[Row, ...] = (
    Row(("mbarrier", "init"), f"{SECTION}.init", (OWN, B64), "mbarrier_init", needs=WINDOW[:1], since=FIRST),
    Row(("mbarrier", "inval"), f"{SECTION}.inval", (OWN, B64), "mbarrier_inval", needs=WINDOW[:1], since=FIRST),
    _transactions("expect_tx"),
    _transactions("complete_tx"),
    _arrive("arrive"),
    _arrive("arrive_drop"),
    _wait("test_wait", FIRST),
    _wait("try_wait", ((7, 8), 90)),
    Row(("mbarrier", "pending_count"), f"{SECTION}.pending_count", (B64,), "mbarrier_pending", since=FIRST),
    Row(
        ("cp", "async", "mbarrier", "arrive"),
        "Parallel Synchronization and Communication Instructions: cp.async.mbarrier.arrive",
        (Slot("increment", ("noinc",)), OWN, B64),
        "copy_arrive",
        needs=WINDOW[:1],
        since=FIRST,
    ),
)
