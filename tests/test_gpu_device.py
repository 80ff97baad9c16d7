"""What runs on a GPU shows: controls that must be seen, outcomes that must not be, and arithmetic as PTX has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from ptxmm.gpu.log import Run
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.runs import Wish, runs
from ptxmm.gpu.session import NoGpu, Session
from ptxmm.syntax import read_programs

LITMUS = Path(__file__).parent.parent / "litmus"

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(find_spec("cupy") is None, reason="CuPy is not installed"),
]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    try:
        found = Session(0)
    except NoGpu as none:
        pytest.skip(str(none))
    yield found
    found.close()


def run(session: Session, name: str, profile: str, seconds: float = 0.2) -> dict[str | None, Run]:
    """The runs of a file by variant."""
    wish = Wish((PROFILES[profile],), seconds, 0)
    return {one.variant: one for (one,) in runs(read_programs(LITMUS / f"{name}.lit"), session, wish)}


def rate(one: Run) -> float:
    """How often the condition held, per million."""
    assert one.counted is not None, one.skipped
    return 1e6 * one.counted.holding / one.counted.instances


def test_message_passing_is_weak_without_release_and_acquire_and_never_with_them(
    session: Session,
) -> None:
    found = run(session, "basic/MP", "few")
    assert rate(found["relaxed"]) > 3000
    assert rate(found["release-acquire"]) == 0


def test_a_second_address_is_stale_without_the_alias_fence(session: Session) -> None:
    found = run(session, "proxies/CoWR+alias", "cold")
    assert rate(found["none"]) > 10_000
    assert rate(found["alias-fence"]) == 0


def test_a_tensor_map_is_stale_without_the_acquire_half_of_its_fence(session: Session) -> None:
    found = run(session, "tensormap/map-publish", "cold")
    assert rate(found["no-acquire"]) > 10_000
    assert rate(found["right"]) == 0


def test_atomic_operations_and_arithmetic_give_what_their_tests_say(session: Session) -> None:
    for one in run(session, "atomics/atom-values", "few", 0.05).values():
        assert one.condition.startswith("forall")
        assert one.counted is not None, one.skipped
        assert all(outcome.holds for outcome in one.counted.outcomes)


def test_a_wait_for_a_copy_is_what_keeps_its_reader_from_old_bytes(session: Session) -> None:
    found = run(session, "async/bulk-load", "few")["right"]
    assert rate(found) == 0
    assert found.control is not None
    assert found.control.beside
    assert found.control.change.startswith("unwaited")
    assert found.control.counted.holding > 1000


def test_a_dependent_grid_sees_what_it_waited_for(session: Session) -> None:
    found = run(session, "async/dependent-grid", "few")
    assert rate(found["wait"]) == 0
    assert rate(found["wait-no-trigger"]) == 0


def test_kernels_of_a_stream_see_what_those_before_them_wrote(session: Session) -> None:
    for name, one in run(session, "async/kernel-boundary", "few", 0.1).items():
        assert rate(one) == 0 or (name or "").startswith("side-by-side")


def test_system_scope_reaches_another_gpu(session: Session) -> None:
    if session.reach.lacking(2):
        pytest.skip(session.reach.why)
    for file, name in (("protocols/peer-flag", "right"), ("scopes/MP+scopes", "sys")):
        one = run(session, file, "few")[name]
        assert rate(one) == 0
        assert one.counted is not None
        assert not one.counted.stuck
        assert one.control is not None
        assert one.control.counted.holding > 1000


def test_message_passing_is_weak_under_stress(session: Session) -> None:
    found = run(session, "basic/MP", "stress")
    assert rate(found["relaxed"]) > 300
    assert rate(found["release-acquire"]) == 0


def test_load_buffering_shows_beside_its_controls(session: Session) -> None:
    found = run(session, "basic/LB", "few")
    assert rate(found["relaxed"]) > 30_000
    for name in ("release-acquire", "one-release"):
        control = found[name].control
        assert rate(found[name]) == 0
        assert control is not None
        assert control.counted.holding > 30_000 * 1e-6 * control.counted.instances


def test_message_passing_is_fast(session: Session) -> None:
    """Instances a second: 5e9 with slots of 128 bytes that are not in L2, 15e9 with those that are."""
    (relaxed,) = (each for each in read_programs(LITMUS / "basic" / "MP.lit") if each.variant == "relaxed")
    for profile, least in ((PROFILES["cold"], 5e9), (replace(PROFILES["hot"], slot=128), 15e9)):
        wish = Wish((profile,), 1.0, 0, controls=False)
        ((one,),) = runs([relaxed], session, wish)
        assert one.counted is not None
        assert one.counted.instances / one.seconds > least
