"""The second engine against verdicts derived by hand from the PTX ISA and the models' text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from building import Options, add, atom, bar, bra, cta, equal, fence, final, label, ld, model, program, st, thread

from ptxmm.arith import U64, Type
from ptxmm.cat import read_model
from ptxmm.enumeration import check, outcomes
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    Bar,
    Barrier,
    Binary,
    ClusterBarrier,
    Condition,
    Const,
    Conventions,
    FinalReg,
    Load,
    Object,
    Order,
    Place,
    Program,
    Proxy,
    ProxyFence,
    Quantifier,
    Reg,
    Space,
    Statement,
    Store,
    Thread,
    View,
    WarpSync,
)  # fmt: skip

PTX = ("ptx-6.0", "ptx-7.5", "ptx-9.4")
A, B, C, D = cta(0), cta(1), cta(2), cta(3)
U16 = Type("u", 16)


def verdict(test: Program, under: str = "ptx-9.4", bound: int = 4) -> str:
    return check(test, model(under), Options(bound=bound)).verdict


def raced(test: Program, under: str = "ptx-9.4", bound: int = 4) -> tuple[str, ...]:
    answer = check(test, model(under), Options(bound=bound)).race
    assert answer.verdict in ("yes", "no")
    return answer.on


def message(publish: str = "release.gpu", observe: str = "acquire.gpu", there: Place = B) -> Program:
    """Message passing: B sees the flag and yet the old data."""
    return program(
        thread("A", A, st("x", 1), st("f", 1, publish)),
        thread("B", there, ld("r", "f", observe), ld("s", "x")),
        exists=final(B_r=1, B_s=0),
    )


@pytest.mark.parametrize("under", PTX)
def test_a_message_passes_only_by_release_and_acquire_that_reach_each_other(under: str) -> None:
    assert verdict(message(), under) == "forbidden"
    assert verdict(message("relaxed.gpu"), under) == "allowed"
    assert verdict(message(observe="relaxed.gpu"), under) == "allowed"
    assert verdict(message("release.cta"), under) == "allowed"
    assert verdict(message("release.cta", "acquire.cta", A), under) == "forbidden"
    assert verdict(message("release.gpu", "acquire.gpu", cta(1, device=1)), under) == "allowed"
    assert verdict(message("release.sys", "acquire.sys", cta(1, device=1)), under) == "forbidden"


@pytest.mark.parametrize("under", PTX)
def test_plain_data_races_where_the_flag_may_not_have_been_seen(under: str) -> None:
    assert raced(message(), under) == ("x",)
    guarded = program(
        thread("A", A, st("x", 1), st("f", 1, "release.gpu")),
        thread("B", B, ld("r", "f", "acquire.gpu"), bra("end", equal("r", 0)), ld("s", "x"), label("end")),
    )
    assert raced(guarded, under) == ()


def store_buffering(between: str | None) -> Program:
    middle = [fence(between)] if between else []
    return program(
        thread("A", A, st("x", 1, "relaxed.gpu"), *middle, ld("r", "y", "relaxed.gpu")),
        thread("B", B, st("y", 1, "relaxed.gpu"), *middle, ld("r", "x", "relaxed.gpu")),
        exists=final(A_r=0, B_r=0),
    )


@pytest.mark.parametrize("under", PTX)
def test_only_sc_fences_stop_store_buffering(under: str) -> None:
    assert verdict(store_buffering(None), under) == "allowed"
    assert verdict(store_buffering("acq_rel.gpu"), under) == "allowed"
    assert verdict(store_buffering("sc.gpu"), under) == "forbidden"
    assert verdict(store_buffering("sc.cta"), under) == "allowed"


def test_sequential_consistency_has_no_store_buffering() -> None:
    assert verdict(store_buffering(None), "sc") == "forbidden"


@pytest.mark.parametrize("under", PTX)
def test_load_buffering_needs_the_absence_of_dependencies(under: str) -> None:
    free = program(
        thread("A", A, ld("r", "x", "relaxed.gpu"), st("y", 1, "relaxed.gpu")),
        thread("B", B, ld("r", "y", "relaxed.gpu"), st("x", 1, "relaxed.gpu")),
        exists=final(A_r=1, B_r=1),
    )
    assert verdict(free, under) == "allowed"
    by_value = program(
        thread("A", A, ld("r", "x"), st("y", "r")), thread("B", B, ld("r", "y"), st("x", "r")), exists=final(A_r=1)
    )
    assert verdict(by_value, under) == "forbidden"
    by_branch = [
        thread(name, place, ld("r", one, "relaxed.gpu"), bra("end", equal("r", 0)), st(other, 1, "relaxed.gpu"),
               label("end"))
        for name, place, one, other in (("A", A, "x", "y"), ("B", B, "y", "x"))
    ]  # fmt: skip
    assert verdict(program(*by_branch, exists=final(A_r=1, B_r=1)), under) == "forbidden"


@pytest.mark.parametrize("under", PTX)
def test_a_branch_decides_nothing_after_its_ways_meet(under: str) -> None:
    meeting = [
        thread(name, place, ld("r", one, "relaxed.gpu"), bra("on", equal("r", 0)), label("on"),
               bra("end", equal("q", 1)), st(other, 1, "relaxed.gpu"), label("end"))
        for name, place, one, other in (("A", A, "x", "y"), ("B", B, "y", "x"))
    ]  # fmt: skip
    assert verdict(program(*meeting, exists=final(A_r=1, B_r=1)), under) == "allowed"


@pytest.mark.parametrize("under", PTX)
def test_reads_of_one_word_do_not_go_back_where_strong_writes_meet_them(under: str) -> None:
    def back(write: str, read: str) -> Program:
        return program(
            thread("A", A, st("x", 1, write)), thread("B", B, ld("r", "x", read), ld("s", "x", read)),
            exists=final(B_r=1, B_s=0),
        )  # fmt: skip

    assert verdict(back("relaxed.gpu", "relaxed.gpu"), under) == "forbidden"
    assert verdict(back("weak", "weak"), under) == "allowed"
    assert verdict(back("relaxed.cta", "relaxed.gpu"), under) == "allowed"


@pytest.mark.parametrize("under", PTX)
def test_independent_readers_may_disagree_unless_sc_fences_stand_between(under: str) -> None:
    def readers(*between: str) -> Program:
        middle = [fence(one) for one in between]
        return program(
            thread("A", A, st("x", 1, "relaxed.gpu")), thread("B", B, st("y", 1, "relaxed.gpu")),
            thread("C", C, ld("r", "x", "acquire.gpu"), *middle, ld("s", "y", "acquire.gpu")),
            thread("D", D, ld("r", "y", "acquire.gpu"), *middle, ld("s", "x", "acquire.gpu")),
            exists=final(C_r=1, C_s=0, D_r=1, D_s=0),
        )  # fmt: skip

    assert verdict(readers(), under) == "allowed"
    assert verdict(readers("sc.gpu"), under) == "forbidden"
    assert verdict(readers("sc.gpu"), "sc") == "forbidden"


@pytest.mark.parametrize("under", PTX)
def test_atomics_count_only_where_their_scopes_include_each_other(under: str) -> None:
    def count(first: str, second: str) -> Program:
        return program(
            thread("A", A, atom("add", "r", "x", 1, how=first)), thread("B", B, atom("add", "r", "x", 1, how=second)),
            exists=final(x=1),
        )  # fmt: skip

    assert verdict(count("relaxed.gpu", "relaxed.gpu"), under) == "forbidden"
    assert verdict(count("relaxed.gpu", "relaxed.cta"), under) == "allowed"
    assert raced(count("relaxed.gpu", "relaxed.gpu"), under) == ()
    assert raced(count("relaxed.gpu", "relaxed.cta"), under) == ("x",)


def test_a_failed_cas_writes_nothing() -> None:
    """T1's cas.release fails on the flag, so that it publishes nothing that the reader could acquire."""
    test = program(
        thread("A", A, st("x", 1), atom("cas", "r", "f", 5, 7, how="release.gpu")),
        thread("B", B, ld("r", "f", "acquire.gpu"), ld("s", "x")),
        exists=final(B_r=0, B_s=0),
    )
    assert raced(test) == ("x",)
    writers = program(thread("A", A, atom("cas", "r", "f", 5, 7)), thread("B", B, st("f", 0)))
    assert raced(writers) == ("f",)
    alone = program(thread("A", A, atom("cas", "r", "f", 5, 7)), thread("B", B, ld("r", "f")))
    assert raced(alone) == ()
    dialect = replace(alone, conventions=Conventions(failed_cas_writes=True))
    assert raced(dialect) == ("f",)


def test_a_reduction_acquires_nothing_through_a_fence() -> None:
    def reader(dst: str | None) -> Program:
        return program(
            thread("A", A, st("x", 1), st("f", 1, "release.gpu")),
            thread("B", B, atom("add", dst, "f", 1), fence("acq_rel.gpu"), ld("s", "x")),
            exists=Binary("&&", final(f=2), final(B_s=0)),
        )  # fmt: skip

    assert verdict(reader("r")) == "forbidden"
    assert verdict(reader(None)) == "allowed"


@pytest.mark.parametrize("under", PTX)
def test_a_barrier_orders_the_threads_of_its_cta(under: str) -> None:
    def passing(*between: Barrier) -> Program:
        there = [thread("B", A, bar(), ld("r", "x")), thread("C", A, *between)] if between else []
        return program(
            thread("A", A, st("x", 1), bar()),
            *(there or [thread("B", A, bar(), ld("r", "x"))]), exists=final(B_r=0),
        )  # fmt: skip

    assert verdict(passing(), under) == "forbidden"
    assert raced(passing(), under) == ()
    assert verdict(passing(bar(number=1)), under) == "forbidden"


def test_a_thread_that_waits_elsewhere_blocks_a_barrier_without_count() -> None:
    crossed = program(
        thread("A", A, bar(number=0), bar(number=1)), thread("B", A, bar(number=1), bar(number=0), ld("r", "x")),
        exists=final(B_r=0),
    )  # fmt: skip
    assert verdict(crossed) == "forbidden"
    ended = program(thread("A", A, bar(), ld("r", "x")), thread("B", A, st("x", 1)), exists=final(A_r=0))
    assert verdict(ended) == "allowed"


def test_arrivals_are_counted_in_ptx_threads() -> None:
    def with_count(count: int) -> Program:
        return program(
            thread("A", A, st("x", 1), bar("arrive", 1, count)), thread("B", A, bar("sync", 1, count), ld("r", "x")),
            exists=final(B_r=0),
        )  # fmt: skip

    assert verdict(with_count(64)) == "forbidden"
    assert raced(with_count(64)) == ()
    reached = program(
        thread("A", A, bar("arrive", 1, 96)), thread("B", A, bar("sync", 1, 96), ld("r", "x")), exists=final(B_r=0)
    )
    assert verdict(reached) == "forbidden"
    alone = program(thread("B", A, bar("sync", 1, 32), ld("r", "x")), exists=final(B_r=0))
    assert verdict(alone) == "allowed"


def test_a_barrier_reduction_counts_the_true_predicates() -> None:
    def counting(own: int, total: int) -> Program:
        def counter(name: str, pred: int, register: str) -> Thread:
            item = Barrier(kind=Bar.RED, id=Const(0), op="popc", pred=Const(pred), dst=register)
            return thread(name, A, item)

        return program(counter("A", 1, "r"), counter("B", own, "r"), exists=final(A_r=total, B_r=total))

    assert [verdict(counting(1, total)) for total in (0, 32, 64)] == ["forbidden", "forbidden", "allowed"]
    assert [verdict(counting(0, total)) for total in (0, 32, 64)] == ["forbidden", "allowed", "forbidden"]


def test_a_relaxed_cluster_arrive_publishes_nothing_without_a_release_fence() -> None:
    def passing(order: Order, *before: object) -> Program:
        arrive, wait = ClusterBarrier(wait=False, order=order), ClusterBarrier(wait=True, order=Order.ACQUIRE)
        first, second = cta(0, cluster=0), cta(1, cluster=0)
        publish = [fence("release.cluster")] if before else []
        return program(
            thread("A", first, st("x", 1), *publish, arrive, wait),
            thread("B", second, ClusterBarrier(wait=False, order=Order.RELEASE), wait, ld("r", "x")),
            exists=final(B_r=0),
        )  # fmt: skip

    assert verdict(passing(Order.RELEASE)) == "forbidden"
    assert verdict(passing(Order.RELAXED)) == "allowed"
    assert verdict(passing(Order.RELAXED, "fence")) == "forbidden"


def test_the_lanes_of_a_mask_meet_at_a_warp_barrier() -> None:
    def lanes(mask: int) -> Program:
        one, other = (Place(warp=0, lane=lane) for lane in (0, 1))
        meet = WarpSync(mask=Const(mask))
        return program(
            thread("A", one, st("x", 1), meet), thread("B", other, meet, ld("r", "x")), exists=final(B_r=0)
        )  # fmt: skip

    assert verdict(lanes(3)) == "forbidden"
    assert verdict(lanes(0xFFFFFFFF)) == "forbidden"


def test_bytes_of_a_race_of_two_sizes_void_the_axioms() -> None:
    mixed = program(
        thread("A", A, st("x", 0x10001, "relaxed.gpu")),
        thread("B", B, ld("r", "x", "relaxed.gpu", type=U16)),
        exists=final(B_r=1),
    )
    result = check(mixed, model("ptx-9.4"), Options())
    assert (result.verdict, result.race.on) == ("unknown", ("x",))
    one_thread = program(
        thread("A", A, st("x", 0x20001), ld("r", Addr("x", 2), type=U16), ld("s", "x", type=U16)),
        exists=final(A_r=2, A_s=1),
    )
    assert verdict(one_thread) == "allowed"


def test_an_alias_needs_its_fence() -> None:
    def aliased(*between: ProxyFence) -> Program:
        return program(
            thread("A", A, st("x", 1), *between, ld("r", "y")), exists=final(A_r=0), views=(View("y", "x"),)
        )  # fmt: skip

    for under in ("ptx-7.5", "ptx-9.4"):
        assert verdict(aliased(), under) == "allowed"
        assert verdict(aliased(ProxyFence(kind="alias")), under) == "forbidden"
    assert verdict(aliased(), "ptx-6.0") == "unsupported"


def test_a_texture_load_needs_the_texture_fence() -> None:
    def textured(*between: ProxyFence) -> Program:
        return program(
            thread("A", A, st("x", 1), *between, ld("r", "t", proxy=Proxy.TEXTURE)), exists=final(A_r=0),
            views=(View("t", "x", Proxy.TEXTURE),),
        )  # fmt: skip

    assert verdict(textured(), "ptx-7.5") == "allowed"
    assert verdict(textured(ProxyFence(kind="texture")), "ptx-7.5") == "forbidden"
    assert raced(textured(), "ptx-7.5") == ("x",)
    assert raced(textured(ProxyFence(kind="texture")), "ptx-7.5") == ()
    assert verdict(textured(), "ptx-9.4") == "unsupported"


def waiting(*body: Statement) -> Program:
    """B polls a flag that A sets after the data, and does something else in each repetition."""
    return program(
        thread("A", A, st("x", 1), st("f", 1, "release.gpu")),
        thread("B", B, label("again"), *body, ld("r", "f", "acquire.gpu"), bra("again", equal("r", 0)), ld("s", "x")),
        exists=final(B_s=0),
    )


def test_a_loop_that_is_cut_leaves_forbidden_unknown() -> None:
    result = check(waiting(add("n", "n", 1)), model("ptx-9.4"), Options(bound=1))
    assert (result.verdict, result.complete, result.race.verdict) == ("unknown", False, "unknown")
    found = outcomes(waiting(), model("ptx-9.4"), Options(bound=1), waits=False)
    assert (found.states[0].values, found.complete) == ((1,), False)


@pytest.mark.parametrize("bound", [0, 1, 4])
def test_a_loop_that_leaves_nothing_behind_is_never_cut(bound: int) -> None:
    result = check(waiting(), model("ptx-9.4"), Options(bound=bound))
    assert (result.verdict, result.complete, result.race.verdict) == ("forbidden", True, "no")


def test_a_repetition_that_writes_or_meets_others_is_seen() -> None:
    for effect in (st("z", 1), atom("add", "q", "z", 1), bar()):
        assert not check(waiting(effect), model("ptx-9.4"), Options(bound=1)).complete
    assert check(waiting(atom("cas", "q", "z", 5, 1)), model("ptx-9.4"), Options(bound=1)).complete


def test_a_load_from_a_register_may_go_astray() -> None:
    objects = (Object("x"), Object("p", U64, 1, (Const(0),)))
    thrower = Thread(
        "A", A, (Load(dst=("a",), address=Addr("p"), type=U64), ld("r", Reg("a"))), {"a": U64, "r": objects[0].type}
    )
    giver = Thread("B", B, (Store(values=(Addr("x"),), address=Addr("p"), type=U64),))
    options = Options(properties=frozenset({"outcome", "undefined"}))
    result = check(program(thrower, giver, objects=objects, exists=final(A_r=1)), model("ptx-9.4"), options)
    assert (result.verdict, result.undefined.verdict) == ("forbidden", "yes")
    assert "thread A" in result.undefined.why


def test_a_store_to_constant_memory_is_undefined() -> None:
    objects = (Object("k", space=Space.CONST),)
    test = program(thread("A", A, st("k", 1)), objects=objects, exists=final(k=1))
    result = check(test, model("ptx-9.4"), Options(properties=frozenset({"outcome", "undefined"})))
    assert (result.verdict, result.undefined.verdict) == ("forbidden", "yes")


def test_a_non_coherent_load_of_what_is_written_is_not_supported() -> None:
    read = Load(dst=("r",), address=Addr("x"), type=Type("u", 32), readonly=True)
    assert verdict(program(thread("A", A, read), thread("B", B, st("x", 1)), exists=final(A_r=1))) == "unsupported"
    assert verdict(program(thread("A", A, read), exists=final(A_r=0))) == "allowed"


def test_final_values_are_those_of_any_unordered_last_write() -> None:
    test = program(thread("A", A, st("x", 1), st("x", 2)), thread("B", B, st("x", 3)), exists=final(x=1))
    found = outcomes(test, model("ptx-9.4"), Options())
    assert [state.values for state in found.states] == [(2,), (3,)]
    assert not any(state.satisfies for state in found.states)


def test_a_universal_condition_fails_by_one_state() -> None:
    body = thread("A", A, st("x", 1)), thread("B", B, ld("r", "x"))
    formula = Binary("==", FinalReg("B", "r"), Const(1))
    test = program(*body)
    asked = replace(test, condition=Condition(Quantifier.FORALL, formula))
    assert verdict(asked) == "fails"
    assert verdict(asked, "sc") == "fails"


def test_registers_carry_arithmetic_between_memory_places() -> None:
    test = program(
        thread("A", A, ld("r", "x"), add("s", "r", 5), st("y", "s")),
        thread("B", B, st("x", 1)),
        exists=final(y=6),
    )
    found = outcomes(test, model("ptx-9.4"), Options())
    assert [state.values for state in found.states] == [(5,), (6,)]


def test_values_out_of_thin_air_are_not_guessed() -> None:
    """A model that lets reads-from follow dependencies in a cycle may give any value, which enumeration cannot list."""
    from ptxmm.model import Model

    lax = Model("lax", "no axioms", (), model("ptx-9.4").supports)
    copy = program(thread("A", A, ld("r", "x"), st("y", "r")), thread("B", B, ld("r", "y"), st("x", "r")),
                   exists=final(A_r=1))  # fmt: skip
    assert verdict(copy, "ptx-9.4") == "forbidden"
    assert check(copy, lax, Options()).verdict == "unknown"


def test_what_a_predicate_skips_leaves_the_register_as_it_was() -> None:
    skipped = Assign(dst="r", value=Const(1), guard=equal("q", 1))
    test = program(thread("A", A, ld("q", "x"), skipped), thread("B", B, st("x", 1)), exists=final(A_q=0, A_r=1))
    assert verdict(test) == "forbidden"


def test_a_lane_and_a_warp_arrive_with_their_own_weights() -> None:
    lane, warp = Place(warp=0, lane=0), Place(warp=1)
    waiting = program(
        thread("A", lane, ld("r", "x"), bar("sync", 1, 64)), thread("B", warp, bar("sync", 1, 64), st("x", 1)),
        exists=final(A_r=0),
    )  # fmt: skip
    assert (verdict(waiting), raced(waiting)) == ("forbidden", ())
    meeting = program(
        thread("A", lane, st("x", 1), bar("sync", 1, 33)), thread("B", warp, bar("sync", 1, 33), ld("r", "x")),
        exists=final(B_r=1),
    )  # fmt: skip
    assert (verdict(meeting), raced(meeting)) == ("allowed", ())


def chosen(name: str, place: Place, one: str, other: str, *after: Assign) -> Thread:
    """Copies whether a word is set, by a branch: both ways write the register that is stored."""
    return thread(
        name, place, ld("r", one, "relaxed.gpu"), bra("zero", equal("r", 0)),
        Assign(dst="s", value=Const(1)), bra("met"), label("zero"), Assign(dst="s", value=Const(0)), label("met"),
        *after, st(other, "s", "relaxed.gpu"),
    )  # fmt: skip


@pytest.mark.parametrize("under", PTX)
def test_a_register_that_both_arms_write_depends_on_the_branch(under: str) -> None:
    circle = program(chosen("A", A, "x", "y"), chosen("B", B, "y", "x"), exists=final(A_r=1))
    assert verdict(circle, under) == "forbidden"
    afresh = Assign(dst="s", value=Const(1))
    free = program(chosen("A", A, "x", "y", afresh), chosen("B", B, "y", "x", afresh), exists=final(A_r=1, B_r=1))
    assert verdict(free, under) == "allowed"


def test_what_precedes_a_failed_assumption_may_make_it_hold() -> None:
    both = [
        thread(name, place, atom("add", None, "n", 1), ld("r", "n", "relaxed.gpu"), Assume(cond=equal("r", 2)))
        for name, place in (("A", A), ("B", B))
    ]
    assert verdict(program(*both, exists=final(A_r=2, B_r=2))) == "allowed"


def test_an_atomic_operation_takes_part_once_in_a_value() -> None:
    both = [thread(name, place, atom("add", "r", "n", 1)) for name, place in (("A", A), ("B", B))]
    found = outcomes(program(*both), model("ptx-9.4"), Options())
    assert sorted(state.values for state in found.states) == [(0, 1, 2), (1, 0, 2)]


def test_what_no_path_does_makes_no_difference_to_what_a_model_says(tmp_path: Path) -> None:
    """A complement of nothing is everything: here no read may take an initial value."""
    axiom = "empty ([some] ; rf ; [some]) & (IW * _)"
    lines = ('"odd"', "acyclic rf | addr | data | ctrl", "let none = SC & W", "let some = ~none", axiom)
    (tmp_path / "odd.cat").write_text("\n".join(lines))
    odd = read_model(str(tmp_path / "odd.cat"))
    test = program(thread("A", A, st("x", 1)), thread("B", B, ld("r", "x")))
    assert [state.values for state in outcomes(test, odd, Options()).states] == [(1, 1)]
