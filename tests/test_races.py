"""A race says which hazard it is and what is missing; with that put in, the pair does not race any more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from building import model
from hypothesis import HealthCheck, given, settings
from random_programs import ALL, programs

from ptxmm.check import check
from ptxmm.conflicts import race_pairs
from ptxmm.deadline import Deadline
from ptxmm.encode import encode
from ptxmm.errors import Span
from ptxmm.events import Ending
from ptxmm.options import Options
from ptxmm.program import Atomic, Fence, Load, Order, Program, ProxyFence, Scope, Statement, Store
from ptxmm.races.changes import exchange
from ptxmm.report.dot import execution_dot
from ptxmm.report.json import check_report
from ptxmm.report.sarif import sarif_report
from ptxmm.report.svg import execution_svg
from ptxmm.report.witness import evidence
from ptxmm.script import smt_lib
from ptxmm.solve import Truth, session
from ptxmm.syntax import lit, read_programs
from ptxmm.verdict import Missing, Race

LITMUS = Path(__file__).parent.parent / "litmus"
ASKED = Options(frozenset({"race"}), witness=True)
MEMORY = ".global .u32 x; .global .u32 y; .global .u32 f; .global .u64 q; .shared @ d0.c0.b0 .u32 s; .alias g = f;"


def program(*threads: str, memory: str = MEMORY) -> Program:
    """Threads as `PLACE: CODE`, named A, B, C; code is over lines, one instruction each."""
    lines = ["ptx t", memory]
    for name, thread in zip("ABC", threads, strict=False):
        place, _, code = thread.partition(":")
        lines += [f"thread {name} @ {place} {{", *(f"{one.strip()};" for one in code.split(";") if one.strip()), "}"]
    (found,) = lit.read("\n".join(lines).replace("};", "}"), "t.lit")
    return found


def races(test: Program, under: str = "ptx-9.4") -> dict[str, Race]:
    return {race.on: race for race in check(test, model(under), ASKED).race.races}


def lacking(test: Program, under: str = "ptx-9.4", on: str = "x") -> list[tuple[str, ...]]:
    return [one.lacks for one in races(test, under)[on].missing]


WRITER = "d0.c0.b0: st.weak.u32 [x], 1; "
READER = "d0.c1.b1: {}; @(r0 == 1) ld.weak.u32 r1, [x]"
RELEASE, ACQUIRE = "st.release.gpu.u32 [f], 1", "ld.acquire.gpu.u32 r0, [f]"


def message(publish: str, observe: str) -> Program:
    return program(WRITER + publish, READER.format(observe))


# --- what is missing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("publish", "observe", "lacks", "said"),
    [
        (
            "st.relaxed.gpu.u32 [f], 1", ACQUIRE, ("release",),
            "`st.relaxed.gpu.u32 [f], 1` (A, line 5) releases nothing that A did before it; "
            "write `st.release.gpu.u32`, or `fence.acq_rel.gpu` before it",
        ),
        (
            RELEASE, "ld.relaxed.gpu.u32 r0, [f]", ("acquire",),
            "`ld.relaxed.gpu.u32 r0, [f]` (B, line 8) acquires nothing of what came before "
            "`st.release.gpu.u32 [f], 1` (A, line 5), which it reads; "
            "write `ld.acquire.gpu.u32`, or `fence.acq_rel.gpu` after it",
        ),
        (
            "st.release.cta.u32 [f], 1", ACQUIRE, ("scope",),
            "`st.release.cta.u32 [f], 1` (A, line 5) has the scope .cta, which does not include B @ d0.c1.b1; "
            "write `st.release.gpu.u32`",
        ),
        (
            RELEASE, "ld.acquire.cta.u32 r0, [f]", ("scope",),
            "`ld.acquire.cta.u32 r0, [f]` (B, line 8) has the scope .cta, which does not include A @ d0.c0.b0; "
            "write `ld.acquire.gpu.u32`",
        ),
        (
            RELEASE, "ld.weak.u32 r0, [f]; fence.acq_rel.gpu", ("strength",),
            "`ld.weak.u32 r0, [f]` (B, line 8) is weak, and so synchronises with nobody; write `ld.relaxed.gpu.u32`",
        ),
        (
            "st.weak.u32 [f], 1", ACQUIRE, ("strength", "release"),
            "`st.weak.u32 [f], 1` (A, line 5) is weak and releases nothing that A did before it; "
            "write `st.release.gpu.u32`",
        ),
        (
            "fence.acq_rel.cta; st.relaxed.gpu.u32 [f], 1", ACQUIRE, ("scope",),
            "`fence.acq_rel.cta` (A, line 5) has the scope .cta, which does not include B @ d0.c1.b1; "
            "write `fence.acq_rel.gpu`",
        ),
        (
            "fence.acquire.gpu; st.relaxed.gpu.u32 [f], 1", ACQUIRE, ("release",),
            "`fence.acquire.gpu` (A, line 5) releases nothing that A did before it; write `fence.acq_rel.gpu`",
        ),
        (
            RELEASE.replace("[f]", "[g]"), ACQUIRE, ("alias",),
            "`ld.acquire.gpu.u32 r0, [f]` (B, line 8) uses the name f, and `st.release.gpu.u32 [g], 1` (A, line 5) "
            "the name g, so that the two are not morally strong; use one name",
        ),
    ],
)  # fmt: skip
def test_the_instruction_that_falls_short_is_named_and_what_to_write_instead(
    publish: str, observe: str, lacks: tuple[str, ...], said: str
) -> None:
    race = races(message(publish, observe))["x"]
    assert [one.lacks for one in race.missing] == [lacks]
    assert race.missing[0].why == said
    assert race.hazard == "read after write"


def test_two_steps_that_are_missing_are_both_named() -> None:
    assert lacking(message("st.relaxed.gpu.u32 [f], 1", "ld.relaxed.gpu.u32 r0, [f]")) == [("release",), ("acquire",)]
    narrow = message("st.release.cta.u32 [f], 1", "ld.acquire.cta.u32 r0, [f]")
    assert lacking(narrow) == [("scope",), ("scope",)]


def test_a_wider_scope_is_only_as_wide_as_it_must_be() -> None:
    memory = ".global .u32 x; .global .u32 f;"
    for place, scope in (("d0.c0.b1", "cluster"), ("d0.c1.b1", "gpu"), ("d1.c0.b0", "sys")):
        reader = f"{place}: ld.acquire.sys.u32 r0, [f]; @(r0 == 1) ld.weak.u32 r1, [x]"
        test = program(WRITER + "st.release.cta.u32 [f], 1", reader, memory=memory)
        assert [one.instead for one in races(test)["x"].missing] == [f"`st.release.{scope}.u32`"]
        older = "gpu" if scope == "cluster" else scope
        assert [one.instead for one in races(test, "ptx-6.0")["x"].missing] == [f"`st.release.{older}.u32`"]


def test_a_flag_read_at_another_width_does_not_synchronise() -> None:
    test = program(WRITER + "st.release.gpu.u64 [q], 1", READER.format("ld.acquire.gpu.u32 r0, [q]"))
    (missing,) = races(test)["x"].missing
    assert missing.lacks == ("width",)
    assert "touches bytes 0 to 3, and `st.release.gpu.u64 [q], 1` (A, line 5) bytes 0 to 7" in missing.why


def test_a_plain_store_cuts_a_chain_of_atomic_operations() -> None:
    test = program(
        WRITER + "red.release.gpu.add.u32 [f], 1",
        "d0.c1.b1: ld.relaxed.gpu.u32 r0, [f]; @(r0 == 1) st.relaxed.gpu.u32 [f], 2",
        "d0.c2.b2: ld.acquire.gpu.u32 r0, [f]; @(r0 == 2) ld.weak.u32 r1, [x]",
    )
    (missing,) = races(test)["x"].missing
    assert missing.lacks == ("chain",)
    assert "`red.release.gpu.add.u32 [f], 1` (A, line 5)" in missing.why
    assert missing.instead == "`atom.relaxed.gpu.exch.b32`"


def test_a_race_of_a_thread_in_between_names_that_thread() -> None:
    test = program(
        WRITER + RELEASE,
        "d0.c1.b1: ld.relaxed.gpu.u32 r0, [f]; @(r0 == 1) st.release.gpu.u32 [y], 1",
        "d0.c2.b2: ld.acquire.gpu.u32 r0, [y]; @(r0 == 1) ld.weak.u32 r1, [x]",
    )
    assert [(m.thread, m.lacks) for m in races(test)["x"].missing] == [("B", ("acquire",))]


def test_what_red_reads_acquires_nothing() -> None:
    test = program(
        WRITER + "red.release.gpu.add.u32 [f], 1",
        "d0.c1.b1: red.relaxed.gpu.add.u32 [f], 1; fence.acq_rel.gpu; st.relaxed.gpu.u32 [y], 1",
        "d0.c2.b2: ld.acquire.gpu.u32 r0, [y]; ld.relaxed.gpu.u32 r2, [f]; @(r0 == 1 && r2 == 2) ld.weak.u32 r1, [x]",
    )
    found = races(test)["x"].missing
    assert [m.lacks for m in found] in ([("result",)], [("acquire",)])


def test_a_reader_that_goes_on_without_the_flag_lacks_a_wait() -> None:
    test = program(WRITER + RELEASE, f"d0.c1.b1: {ACQUIRE}; ld.weak.u32 r1, [x]")
    (missing,) = races(test)["x"].missing
    assert missing.lacks == ("wait",)
    assert missing.why.startswith("`ld.acquire.gpu.u32 r0, [f]` (B, line 8) does not see `st.release.gpu.u32 [f], 1`")


def test_through_a_wait_the_poll_or_the_close_is_what_falls_short() -> None:
    wait = "d0.c1.b1: wait_until.gpu.u32 r0, [f], r0 == 1, {}; ld.weak.u32 r1, [x]"
    assert lacking(program(WRITER + RELEASE, wait.format("close = none"))) == [("acquire",)]
    weak = lacking(program(WRITER + RELEASE, wait.format("poll = weak")), on="f")
    assert weak == [("strength",)]
    loop = "d0.c1.b1: do { ld.relaxed.gpu.u32 r0, [f]; } while (r0 == 0); ld.weak.u32 r1, [x]"
    assert lacking(program(WRITER + RELEASE, loop.replace("; }", " ;}"))) == [("acquire",)]


# --- barriers and proxies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "lacks", "said"),
    [
        ("", "", "barrier", "A and B do not meet after `st.weak.shared.u32 [s], 1`"),
        ("bar.sync 1, 32", "bar.sync 2, 32", "barrier", "are the barriers 1 and 2; use one barrier"),
        ("bar.sync 1, 64", "bar.arrive 1, 64", "wait", "an arrival does not wait; use `barrier.cta.sync`"),
    ],
)
def test_threads_of_a_cta_that_do_not_meet(one: str, other: str, lacks: str, said: str) -> None:
    test = program(f"d0.c0.b0: st.weak.shared.u32 [s], 1; {one}", f"d0.c0.b0: {other}; ld.weak.shared.u32 r0, [s]")
    (missing,) = races(test)["s"].missing
    assert missing.lacks == (lacks,)
    assert said in missing.why


def test_a_barrier_of_another_cta_is_no_help() -> None:
    test = program("d0.c0.b0: st.weak.u32 [x], 1; bar.sync 0", "d0.c1.b1: bar.sync 0; ld.weak.u32 r0, [x]")
    (missing,) = races(test)["x"].missing
    assert missing.lacks == ()
    assert "`bar.sync 0` (A, line 5) and `bar.sync 0` (B, line 8) are barriers of different CTAs" in missing.why


def test_a_relaxed_arrival_at_a_cluster_barrier_publishes_nothing() -> None:
    code = "d0.c0.b0: st.weak.u32 [x], 1; barrier.cluster.arrive{}; barrier.cluster.wait"
    other = "d0.c0.b1: barrier.cluster.arrive; barrier.cluster.wait; ld.weak.u32 r0, [x]"
    assert not races(program(code.format(""), other))
    (missing,) = races(program(code.format(".relaxed"), other))["x"].missing
    assert (missing.lacks, missing.instead) == (("release",), "`barrier.cluster.arrive.release`")


def test_accesses_by_two_proxies_lack_a_proxy_fence() -> None:
    memory = ".global .u32 x; .texref t = x;"
    test = program("d0.c0.b0: st.weak.u32 [x], 1; tld.u32 r0, [t]", memory=memory)
    (missing,) = races(test, "ptx-7.5")["x"].missing
    assert missing.lacks == ("proxy fence",)
    assert missing.instead == "`fence.proxy.texture` before it"


def test_a_copy_that_nobody_waits_for_is_not_ordered_by_program_order() -> None:
    test = program("d0.c0.b0: cp.async.ca.shared.global [s], [x], 4; ld.shared.u32 r0, [s]")
    (missing,) = races(test)["s"].missing
    assert missing.lacks == ("wait",)
    assert missing.why.startswith("`ld.shared.u32 r0, [s]` (A, line 5) does not wait for the copy")
    assert missing.why.endswith("before it, write `cp.async.wait_group 0`, behind the `commit_group` of that")


MAP_FENCE = "fence.proxy.tensormap::generic"
MAP_COPY = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
ASYNCHRONOUS = [
    ("async/bulk-store[none]", "proxy fence", "`fence.proxy.async` before it"),
    ("async/bulk-store-own[none]", "proxy fence", "`fence.proxy.async` before it"),
    ("async/recycle[none]", "proxy fence", "`fence.proxy.async` before it"),
    ("async/bulk-overwrite[memory-fence]", "proxy fence", "`fence.proxy.async` before it"),
    ("async/bulk-load[relaxed]", "acquire", "`mbarrier.try_wait.parity.acquire.cta.shared::cta.b64`"),
    ("mbarrier/mbarrier-message[relaxed-arrive]", "release", "`mbarrier.arrive.release.cta.shared::cta.b64`"),
    ("async/bulk-load[no-wait]", "wait", "wait for the phase of `m` in which that completes"),
    (
        "async/reuse-source[no-wait]",
        "wait",
        "write `cp.async.bulk.wait_group.read 0`, behind the `commit_group` of that",
    ),
    ("async/bulk-forward[read]", "wait", "write `cp.async.bulk.wait_group 0`, behind the `commit_group` of that"),
    ("tensormap/map-publish[no-release]", "proxy fence", f"`{MAP_FENCE}.release.gpu` after it"),
    ("tensormap/map-publish[no-acquire]", "proxy fence", f"`{MAP_FENCE}.acquire.gpu [D], 128` before it"),
    ("tensormap/map-publish[narrow-acquire]", "scope", f"`{MAP_FENCE}.acquire.gpu`"),
    ("tensormap/map-replace[in-place-no-release]", "proxy fence", f"`{MAP_FENCE}.release.cta` after it"),
    ("tensormap/map-publish-replaced[narrow]", "scope", f"`{MAP_COPY}`"),
    ("tensormap/map-host[not-acquired]", "proxy fence", f"`{MAP_FENCE}.acquire.sys [D], 128` before it"),
    ("tensormap/map-host[narrow]", "scope", f"`{MAP_FENCE}.acquire.sys`"),
    ("tensormap/map-kernels[release-alone]", "proxy fence", f"`{MAP_FENCE}.acquire.cta [D], 128` before it"),
    ("tensormap/map-delegate[other-cta]", "proxy fence", f"`{MAP_FENCE}.acquire.gpu [D], 128` before it"),
    ("tensormap/map-in-flight[none]", "wait", "wait for the phase of `m` in which that completes"),
    (
        "tensormap/map-in-flight[relaxed-wait]",
        "acquire",
        "`mbarrier.try_wait.parity.acquire.cta.shared::cta.b64`",
    ),
    (
        "tensormap/map-in-flight-store[one-pending]",
        "wait",
        "write `cp.async.bulk.wait_group.read 0`, behind the `commit_group` of that",
    ),
    ("async/splitk-store[read]", "wait", "write `cp.async.bulk.wait_group 0`, behind the `commit_group` of that"),
    ("async/dependent-grid[no-wait]", "wait", "`griddepcontrol.wait` before it"),
    ("async/dependent-grid-copy[none]", "wait", "`griddepcontrol.wait` before it"),
    ("async/dependent-triggers[fence-before]", "wait", "`griddepcontrol.wait` before it"),
    ("cluster/remote-arrive[narrow-wait]", "scope", "`mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64`"),
]


@pytest.mark.parametrize(("name", "lacks", "instead"), ASYNCHRONOUS, ids=[name for name, _, _ in ASYNCHRONOUS])
def test_what_copies_and_mbarriers_lack_is_told(name: str, lacks: str, instead: str) -> None:
    path, _, variant = name.rstrip("]").partition("[")
    (test,) = (t for t in read_programs(LITMUS / f"{path}.lit") if t.variant == variant)
    (race,) = races(test).values()
    (missing,) = race.missing
    assert (missing.lacks, missing.instead) == ((lacks,), instead)


def test_of_two_scopes_that_are_too_narrow_both_are_told() -> None:
    (test,) = (t for t in read_programs(LITMUS / "cluster/remote-arrive.lit") if t.variant == "defaults")
    (race,) = races(test).values()
    assert [missing.lacks for missing in race.missing] == [("scope",), ("scope",)]


def test_both_halves_of_the_fence_of_a_tensor_map_may_be_missing() -> None:
    found = {t.variant: races(t) for t in read_programs(LITMUS / "tensormap/map-publish.lit")}
    assert not found["right"]
    missing = found["neither"]["D"].missing
    assert [one.instead for one in missing] == [
        f"`{MAP_FENCE}.release.gpu` after it",
        f"`{MAP_FENCE}.acquire.gpu [D], 128` before it",
    ]


def test_a_race_with_what_the_host_wrote_is_shown() -> None:
    (test,) = (t for t in read_programs(LITMUS / "tensormap/map-host.lit") if t.variant == "narrow")
    result = check(test, model("ptx-9.4"), ASKED)
    text = " ".join(evidence(result, 200).split())
    assert re.search(r"race on D: init and [a-z], read after write in this execution", text)
    assert "has the scope .gpu, which does not include the host; write" in text
    assert "init -> " in execution_dot(result.race.races[0].witness, test, result.race.races[0])
    assert execution_svg(result.race.races[0].witness, test, result.race.races[0])
    assert sarif_report([result])


# --- the hazard ------------------------------------------------------------------------------------------------------


def test_the_hazard_follows_the_order_that_the_synchronisation_was_to_give() -> None:
    assert races(message("st.relaxed.gpu.u32 [f], 1", ACQUIRE))["x"].hazard == "read after write"
    back = program("d0.c0.b0: ld.weak.u32 r1, [x]; st.relaxed.gpu.u32 [f], 1", f"d0.c1.b1: {ACQUIRE}; "
                   "@(r0 == 1) st.weak.u32 [x], 1")  # fmt: skip
    assert races(back)["x"].hazard == "write after read"
    both = program(WRITER + "st.relaxed.gpu.u32 [f], 1", f"d0.c1.b1: {ACQUIRE}; @(r0 == 1) st.weak.u32 [x], 2")
    assert races(both)["x"].hazard == "write after write"
    assert [races(t)["x"].witness.events[0].kind for t in (back,)]


def test_the_first_access_of_a_race_is_the_one_that_was_to_come_first() -> None:
    race = races(message("st.relaxed.gpu.u32 [f], 1", ACQUIRE))["x"]
    events = {event.id: event for event in race.witness.events}
    assert [(events[id].thread, events[id].kind) for id in (race.first, race.second)] == [("A", "W"), ("B", "R")]


def test_where_nothing_was_tried_the_race_says_so() -> None:
    race = races(program("d0.c0.b0: st.weak.u32 [x], 1", "d0.c1.b1: st.weak.u32 [x], 2"))["x"]
    (missing,) = race.missing
    assert missing.lacks == ()
    assert missing.why == "nothing orders them: neither thread reads anything that the other wrote after its access"


def test_a_word_that_is_there_to_synchronise_is_made_strong_itself() -> None:
    poll = program("d0.c0.b0: st.relaxed.gpu.u32 [f], 1", "d0.c1.b1: ld.weak.u32 r0, [f]")
    (missing,) = races(poll)["f"].missing
    assert (missing.lacks, missing.instead) == (("strength",), "`ld.relaxed.gpu.u32`")


# --- what is suggested is enough -------------------------------------------------------------------------------------


def written(mnemonic: str, statement: Statement) -> Statement:
    """An instruction with the order and scope of a mnemonic."""
    words = mnemonic.split(".")
    if words[0] == "atom" and isinstance(statement, Store):
        made = exchange(statement)
        assert made is not None
        statement = made
    assert isinstance(statement, Load | Store | Atomic | Fence)
    order = next((Order(word) for word in words if word in list(Order)), Order.WEAK)
    scope = next((Scope(word) for word in words if word in list(Scope)), None)
    text = mnemonic + " " + statement.text.partition(" ")[2]
    strength: dict[str, Any] = {"order": order, "scope": scope}
    changed = replace(statement, text=text, **strength)
    if isinstance(changed, Atomic) and words[0] == "atom":
        return replace(changed, reduction=False)
    return replace(changed, window=None) if isinstance(changed, Fence) and "sync_restrict" not in mnemonic else changed


def with_step(test: Program, step: Missing, *, fence: bool) -> Program | None:
    """The test with one missing step put in; None where it is no instruction of PTX. `fence`: the other spelling."""
    offers = re.findall(r"`([\w.:]+)`(?: (before|after) it)?", step.instead)
    if not offers or step.lacks in (("barrier",), ("wait",)) or "cluster.arrive" in step.instead:
        return None
    mnemonic, side = offers[-1] if fence else offers[0]
    body: list[Statement] = []
    thread = test.thread(step.thread)
    for statement in thread.body:
        text = " ".join(statement.text.split()).rstrip("; ")
        if (statement.at.line, text) != (step.line, step.text):
            body.append(statement)
        elif not side:
            body.append(written(mnemonic, statement))
        else:
            kind = mnemonic.rpartition(".")[2]
            new = ProxyFence(kind=kind) if "proxy" in mnemonic else Fence(order=Order.ACQ_REL, scope=Scope(kind))
            body += [new, statement] if side == "before" else [statement, new]
    threads = tuple(replace(t, body=tuple(body)) if t is thread else t for t in test.threads)
    return replace(test, threads=threads)


def repaired(test: Program, under: str, on: str, rounds: int, *, fence: bool) -> str:
    """`no race` where following what is missing, again and again, ends the race on an object; else why not."""
    for _ in range(rounds):
        race = races(test, under).get(on)
        if race is None:
            return "no race"
        for step in race.missing:
            after = with_step(test, step, fence=fence)
            if after is None:
                return "no single instruction"
            assert after != test
            test = after
    return (
        f"still races: {[step.why for step in races(test, under)[on].missing]}"
        if races(test, under).get(on)
        else "no race"
    )


def racing(paths: Iterable[Path]) -> list[Program]:
    found = [p for path in paths for p in read_programs(path)]
    return [p for p in found if any(word.word == "race" for e in p.expects for word in e.words)]


@pytest.mark.parametrize("fence", [False, True], ids=["instruction", "fence"])
@pytest.mark.parametrize("test", racing(sorted((LITMUS / "races").glob("*.lit"))), ids=lambda p: p.full_name)
def test_following_what_is_missing_ends_the_race(test: Program, fence: bool) -> None:
    for on in races(test):
        assert repaired(test, "ptx-9.4", on, 3, fence=fence) in ("no race", "no single instruction")


@pytest.mark.parametrize("under", ["ptx-9.4", "ptx-7.5", "ptx-6.0"])
@pytest.mark.parametrize("publish", ["st.relaxed.gpu.u32 [f], 1", "st.weak.u32 [f], 1", "st.release.cta.u32 [f], 1"])
@pytest.mark.parametrize("observe", ["ld.relaxed.gpu.u32 r0, [f]", "ld.weak.u32 r0, [f]", "ld.acquire.cta.u32 r0, [f]"])
def test_one_round_of_what_is_missing_is_enough_for_a_message(under: str, publish: str, observe: str) -> None:
    assert repaired(message(publish, observe), under, "x", 1, fence=False) == "no race"


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((LITMUS / "protocols").glob("*.lit")), ids=lambda path: path.stem)
def test_following_what_is_missing_ends_the_races_of_protocols(path: Path) -> None:
    for test in racing([path]):
        for on in races(test):
            assert repaired(test, "ptx-9.4", on, 6, fence=False) in ("no race", "no single instruction")


def still_races(test: Program, under: str, race: Race) -> bool:
    """Whether a test whose instructions are those of `race`, but stronger, has that race between the same reads."""
    encoding = encode(test, model(under), 4, Ending.PREFIX)
    wanted = [encoding.graph.events[event.id].guard for event in race.witness.events]
    for name in ("rf", "co"):
        relation = encoding.base.rel(name)
        wanted += [relation.lit(i, j) for i, j in race.witness.edges[name]]
    pairs = race_pairs(encoding) or []
    same = [pair.literal for pair in pairs if {pair.first, pair.second} == {race.first, race.second}]
    if not same:
        return False
    axioms = [literal for _, literal in encoding.axioms]
    here = session()
    prefix = here.prefix()
    text = smt_lib(encoding.formulas, [*encoding.asserted, *axioms, *wanted, same[0]], (), f"{prefix}v")
    with here.load(text, prefix) as loaded:
        return loaded.check([], Deadline.after(20)) is not Truth.UNSAT


def strengthened(test: Program, race: Race) -> Program | None:
    """The test with stronger orders and scopes where they are missing; None where something else is."""
    if any(set(one.lacks) - {"strength", "release", "acquire", "scope"} or not one.lacks for one in race.missing):
        return None
    for step in race.missing:
        after = with_step(test, step, fence=False)
        if after is None:
            return None
        test = after
    return test


def numbered(test: Program) -> Program:
    """A test whose statements stand on lines of their own."""
    lines = count(1)

    def line(statement: Statement) -> Statement:
        number = next(lines)
        return replace(statement, at=Span("", number, 1), text=f"statement {number}")

    return replace(test, threads=tuple(replace(t, body=tuple(map(line, t.body))) for t in test.threads))


@pytest.mark.parametrize("under", ["ptx-9.4", "ptx-7.5", "ptx-6.0"])
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(drawn=programs(ALL - {"mixed", "proxies", "vectors", "restricted", "lanes"}))
def test_with_what_is_missing_the_same_reads_do_not_race(under: str, drawn: Program) -> None:
    test = numbered(drawn)
    for race in races(test, under).values():
        assert race.missing
        after = strengthened(test, race)
        if after is not None:
            assert still_races(test, under, race)
            assert not still_races(after, under, race)


# --- reports ---------------------------------------------------------------------------------------------------------


def test_reports_tell_what_is_missing() -> None:
    test = message("st.relaxed.gpu.u32 [f], 1", ACQUIRE)
    result = check(test, model("ptx-9.4"), ASKED)
    (pair,) = json.loads(check_report([result]))["results"][0]["race"]["pairs"]
    assert pair["hazard"] == "read after write"
    (step,) = pair["missing"]
    assert (step["lacks"], step["thread"], step["line"]) == (["release"], "A", 5)
    assert step["instead"] == "`st.release.gpu.u32`, or `fence.acq_rel.gpu` before it"
    (found,) = json.loads(sarif_report([result]))["runs"][0]["results"]
    places = [(p["physicalLocation"]["region"]["startLine"], p["message"]["text"]) for p in found["relatedLocations"]]
    assert [line for line, _ in places] == [4, 8 + 1, 5]
    assert places[0][1] == "races on x (read after write in one execution)"
    assert "missing at b: `st.relaxed.gpu.u32 [f], 1` (A, line 5) releases nothing" in evidence(result, width=200)
    assert "missing at b" in execution_svg(result.race.races[0].witness, test, result.race.races[0])


def test_without_a_witness_nothing_is_worked_out() -> None:
    result = check(message("st.relaxed.gpu.u32 [f], 1", ACQUIRE), model("ptx-9.4"), replace(ASKED, witness=False))
    assert (result.race.verdict, result.race.on, result.race.races) == ("yes", ("x",), ())
