"""The second engine on the protocols of the library: hangs and waits included, it follows nearly all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.batch import Piece, decide
from ptxmm.cat import DEFAULT_MODEL
from ptxmm.options import Options
from ptxmm.report.text import Standing, standing
from ptxmm.request import Request
from ptxmm.verdict import Result

PROTOCOLS = Path(__file__).parent.parent / "litmus" / "protocols"
SMALL = ("wait-predicates", "wait-message", "residency", "publish-lane")


def results(name: str, seconds: float) -> list[Result]:
    """What the second engine says of all variants of a protocol, and whether they expect it."""
    request = Request(Options(timeout=seconds, engine="enumeration"), models=(DEFAULT_MODEL,))
    return [one for one in decide(Piece(PROTOCOLS / f"{name}.lit"), request) if isinstance(one, Result)]


@pytest.mark.parametrize("name", SMALL)
def test_the_second_engine_follows_small_protocols(name: str) -> None:
    for result in results(name, 20):
        assert standing(result) is Standing.EXPECTED, (result.name, result.why, result.surprises)


@pytest.mark.slow
def test_the_second_engine_contradicts_no_protocol_and_follows_four_in_five() -> None:
    found = [result for path in sorted(PROTOCOLS.glob("*.lit")) for result in results(path.stem, 20)]
    standings = [standing(result) for result in found]
    wrong = [result.name for result in found if standing(result) not in (Standing.EXPECTED, Standing.UNKNOWN)]
    assert not wrong
    assert standings.count(Standing.EXPECTED) >= 0.8 * len(standings)
