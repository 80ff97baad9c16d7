"""Loops that go on for more rounds than are unrolled: what can be said of them without following each round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from building import model
from hypothesis import HealthCheck, assume, given, settings
from random_programs import programs

from ptxmm.check import check
from ptxmm.encode import encode
from ptxmm.encodings import Encodings
from ptxmm.errors import PtxmmError
from ptxmm.events import Ending
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.syntax.lit import read
from ptxmm.undefined import flags, is_defined
from ptxmm.verdict import Result

ROUND = "do { atom.relaxed.gpu.global.add.u32 r, [x], 1; bar.sync 0; } while (r < 90);"


def lit(*bodies: str, memory: str = "", places: tuple[str, ...] = ("w0", "w1")) -> Program:
    threads = [
        f"thread T{n} @ d0.c0.b0.{place} {{ {body} }}"
        for n, (body, place) in enumerate(zip(bodies, places, strict=False))
    ]
    (found,) = read("\n".join(["ptx counted", ".global .u32 x;", memory, *threads, "exists (x == 0)"]), "counted.lit")
    return found


def asked(program: Program, *properties: str, under: str = "ptx-9.4") -> Result:
    return check(program, model(under), Options(properties=frozenset(properties)))


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> list[Ending]:
    """The endings of the executions that are encoded, in their order."""
    found, of = list[Ending](), Encodings.of

    def noted(self: Encodings, ending: Ending, *rest: Any, **named: Any) -> Any:
        found.append(ending)
        return of(self, ending, *rest, **named)

    monkeypatch.setattr(Encodings, "of", noted)
    return found


def test_plain_accesses_and_barriers_of_warps_reach_no_undefined_step_in_any_round(endings: list[Ending]) -> None:
    found = asked(lit(ROUND, ROUND), "undefined")
    assert (found.undefined.verdict, found.complete, found.verdict) == ("no", True, "not asked")
    assert not endings


def test_a_hang_is_asked_without_following_a_counted_loop_to_its_end(endings: list[Ending]) -> None:
    found = asked(lit(ROUND, ROUND), "hang", "undefined")
    assert (found.hang.verdict, found.undefined.verdict, found.complete) == ("unknown", "no", False)
    assert "cut after 4 repetitions" in found.hang.why
    assert Ending.FINISHED not in endings


def test_a_counted_loop_that_interleavings_decide_is_not_unrolled(endings: list[Ending]) -> None:
    found = asked(lit(*(ROUND.replace("bar.sync 0;", "") for _ in range(2))), "hang")
    assert (found.hang.verdict, found.complete) == ("no", True)
    assert not endings


@pytest.mark.parametrize("properties", ["undefined", "race", "hang", "undefined,race"])
def test_only_an_outcome_needs_executions_that_end(properties: str, endings: list[Ending]) -> None:
    escapes = lit("ld.relaxed.gpu.u32 i, [x]; st.relaxed.gpu.u32 [x + 4 * i], 1;", "st.relaxed.gpu.u32 [x], 1;")
    found = asked(escapes, *properties.split(","))
    assert set(endings) == {Ending.PREFIX}
    together = asked(escapes, "outcome", *properties.split(","))
    assert (found.race, found.undefined, found.hang) == (together.race, together.undefined, together.hang)


def test_what_is_followed_beyond_the_bound_is_given_up_at_a_smaller_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = "do { atom.relaxed.gpu.global.add.u32 r, [x], 1; } while (r < 20);"
    polls = "do { ld.relaxed.gpu.u32 r, [x]; } while (r < 20);"
    monkeypatch.setattr("ptxmm.graph.LARGEST_LOOPS", 1000)
    found = asked(lit(rounds, rounds), "outcome", "race")
    assert (found.verdict, found.race.verdict) == ("unknown", "unknown")
    assert found.why == "the formulas have more than 1,000 parts"
    assert asked(lit("st.relaxed.gpu.u32 [x], 20;", polls), "outcome").verdict == "forbidden"


DIVIDED = ("w0.l0", "w0.l1")
SHARED = ".shared @ d0.c0.b1 .u32 s;"


@pytest.mark.parametrize(
    "program",
    [
        lit("ld.u32 i, [x]; st.u32 [x + 4 * i], 1;"),
        lit("ld.u32 i, [x]; @i bar.sync 0;", "bar.sync 0;", places=DIVIDED),
        lit("bar.warp.sync 1;"),
        lit("barrier.cluster.arrive;"),
        lit("ld.shared::cluster.u32 r, [s];", memory=SHARED),
        lit("mbarrier.inval.shared.b64 [m];", memory=".shared @ d0.c0.b0 .b64 m;"),
        lit("cp.async.wait_all;"),
    ],
    ids=lambda program: next(s.text for thread in program.threads for s in reversed(thread.body)),
)
def test_what_depends_on_values_order_or_time_may_be_undefined(program: Program) -> None:
    assert not is_defined(program, model("ptx-9.4"))


def test_a_model_of_the_user_may_call_any_step_undefined() -> None:
    assert is_defined(lit(ROUND), model("ptx-9.4"))
    assert not is_defined(lit(ROUND), replace(model("ptx-9.4"), name="mine"))


def test_a_test_that_the_model_does_not_know_is_unsupported_whatever_is_asked() -> None:
    textured = lit("ld.relaxed.gpu.u32 r, [x];", memory=".texref t = x;")
    assert asked(textured, "undefined").verdict == asked(textured, "hang").verdict == "unsupported"


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs(frozenset({"barriers", "branches", "lanes", "mixed"})))
def test_nothing_is_undefined_in_executions_of_a_test_that_is_defined(program: Program) -> None:
    assume(is_defined(program, model("ptx-9.4")))
    try:
        prefixes = encode(program, model("ptx-9.4"), 2, Ending.PREFIX)
    except PtxmmError:
        return
    assert prefixes.bad == -1
    assert {literal for _, literal in flags(prefixes)} <= {-1}
