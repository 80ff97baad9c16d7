"""Bounds on rates hold for lanes that are alike, and a zero counts only where its control could have shown."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ptxmm.gpu.log import Counted, Outcome
from ptxmm.gpu.statistics import Rate, design_effect, exercised, rate_of, sentence, together

GROUPS, SIZE, TRUE = 400, 32, 0.02
Draw = Callable[[random.Random], int]


def counted(groups: list[int], size: int = SIZE) -> Counted:
    """A count in which the condition holds in so many instances of each group."""
    seen, instances = sum(groups), size * len(groups)
    outcomes = (
        Outcome(values=(1,), holds=True, count=seen),
        Outcome(values=(0,), holds=False, count=instances - seen),
    )
    return Counted(instances=instances, outcomes=outcomes, groups=len(groups), squares=sum(k * k for k in groups))


def alike(random: random.Random) -> int:
    return SIZE if random.random() < TRUE else 0


def independent(random: random.Random) -> int:
    return sum(random.random() < TRUE for _ in range(SIZE))


def by_four(random: random.Random) -> int:
    return sum(4 * (random.random() < TRUE) for _ in range(SIZE // 4))


@pytest.mark.parametrize(("draw", "effect"), [(independent, 1), (by_four, 4), (alike, 32)])
def test_the_interval_holds_the_true_rate_however_alike_lanes_are(draw: Draw, effect: float) -> None:
    chance = random.Random(7)
    rates = [rate_of(counted([draw(chance) for _ in range(GROUPS)])) for _ in range(200)]
    assert sum(rate.low <= TRUE <= rate.high for rate in rates) >= 180
    assert sum(rate.effect for rate in rates) / len(rates) == pytest.approx(effect, rel=0.15, abs=0.15)


def test_without_the_design_effect_the_interval_would_miss_it() -> None:
    chance = random.Random(7)
    seen = [sum(alike(chance) for _ in range(GROUPS)) for _ in range(200)]
    naive = [Rate(number, GROUPS * SIZE, 1.0) for number in seen]
    assert sum(rate.low <= TRUE <= rate.high for rate in naive) < 120


def test_none_in_n_is_bounded_by_three_over_the_number_of_warps() -> None:
    zero = rate_of(counted([0] * 1000))
    assert zero.high == pytest.approx(3 / 1000, rel=0.01)
    assert (zero.low, zero.effect) == (0.0, 32.0)


def test_without_groups_lanes_count_as_alike() -> None:
    assert rate_of(Counted(instances=6400, outcomes=(Outcome(values=(0,), holds=False, count=6400),))).effect == 32


@given(some.lists(some.integers(0, SIZE), min_size=1, max_size=40))
def test_a_rate_lies_in_its_interval_and_the_design_effect_between_one_and_the_size_of_a_group(
    groups: list[int],
) -> None:
    rate = rate_of(counted(groups))
    assert 1 <= design_effect(counted(groups)) <= SIZE
    assert 0 <= rate.low <= rate.rate + 1e-12
    assert rate.rate <= rate.high + 1e-12
    assert rate.high <= 1


@given(some.lists(some.tuples(some.integers(0, 10**6), some.integers(10**6, 10**9)), min_size=1, max_size=5))
def test_rates_of_several_profiles_add_up(pairs: list[tuple[int, int]]) -> None:
    total = together([Rate(seen, instances, 1.0) for seen, instances in pairs])
    assert (total.seen, total.instances) == (sum(s for s, _ in pairs), sum(n for _, n in pairs))


def test_what_fails_is_counted_for_a_condition_that_must_hold() -> None:
    few = counted([31, 32, 32, 32])
    assert (rate_of(few).seen, rate_of(few, failing=True).seen) == (127, 1)


def test_a_zero_next_to_a_zero_is_not_exercised() -> None:
    nothing = Rate(0, 5_000_000_000, 32.0)
    assert not exercised(nothing, nothing)
    assert sentence(nothing, nothing) == "not exercised: 0 of 5.0e9, control 0 of 5.0e9"
    assert sentence(nothing, None) == "not exercised: 0 of 5.0e9, no control"


def test_a_control_that_shows_rarely_says_something_only_of_a_test_that_ran_long() -> None:
    control = Rate(20, 10**6, 1.0)
    assert exercised(Rate(0, 10**6, 32.0), control)
    assert not exercised(Rate(0, 10**5, 32.0), control)
