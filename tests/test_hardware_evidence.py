"""What GPUs did, as recorded in `tests/hardware`, against the model as it is: nothing that was seen is forbidden."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from building import model
from recorded import (
    LOG,
    MODEL,
    ORDER,
    PRESUMED,
    ROOT,
    STANDINGS,
    Said,
    compared,
    crosses,
    digest,
    from_json,
    matches,
    problems,
    reasons,
    recorded,
    to_json,
)
from recorded_page import PAGE, PICTURES, page
from runs import Seen, mp, ran

from ptxmm.cat import read_model
from ptxmm.check import check
from ptxmm.compare import Comparison, Standing, by_test, compare
from ptxmm.gpu.lines import read_log, to_line
from ptxmm.gpu.log import Run
from ptxmm.options import Options
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read

LOGS = sorted((Path(__file__).parent / "hardware").glob("*.jsonl*"))
EVIDENCE = pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
FAILURES = (Standing.FORBIDDEN_SEEN, Standing.BROKEN)
QUICK_TESTS = 60
FOUND = json.loads((Path(__file__).parent / "hardware" / "findings.json").read_text())


def failures(tests: list[tuple[Run, ...]]) -> list[Comparison]:
    """The tests in which a state was seen that the model forbids, and those that are no evidence."""
    found = (compare(runs, model("ptx-9.4"), Options(timeout=20)) for runs in tests)
    return [result for result in found if result.standing in FAILURES]


@EVIDENCE
def test_no_state_that_a_gpu_reached_is_forbidden_in_a_sample_of_each_log(log: Path) -> None:
    tests = sorted(by_test(read_log(log)), key=lambda runs: runs[0].hash)
    assert tests
    assert {result.name for result in failures(tests[:QUICK_TESTS])} <= FOUND.keys()


@pytest.mark.slow
def test_a_comparison_of_the_recorded_log_says_what_the_standings_say() -> None:
    again = recorded(LOG, compared(LOG, MODEL), compared(LOG, PRESUMED))
    before = from_json(STANDINGS.read_text())
    assert {name: test for name, test in again.tests.items() if before.tests.get(name) != test} == {}
    assert again == before
    assert set(again.standing("FORBIDDEN BUT SEEN") + again.standing("no evidence")) <= FOUND.keys()


def test_the_standings_are_those_of_the_recorded_log_and_the_page_tells_them() -> None:
    found = from_json(STANDINGS.read_text())
    assert found.sha256 == digest(LOG), "scripts/hardware-page makes both anew"
    assert PAGE.read_text() == page(PAGE.read_text(), found), "scripts/hardware-page makes it anew"
    assert {test.folder for test in found.tests.values()} == {path.stem for path in PICTURES.glob("*.svg")}
    assert from_json(to_json(found)) == found


def test_what_is_allowed_across_ctas_by_the_generic_proxy_was_seen_or_a_reason_says_why_not() -> None:
    assert problems(from_json(STANDINGS.read_text())) == []


ALLOWED, GONE = Said("litmus/basic/x.lit", "allowed, not seen", crosses=True), "WRC[right]"


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (ALLOWED, [f"{GONE}: not seen, and no reason says why"]),
        (replace(ALLOWED, presumed="forbidden"), []),
        (replace(ALLOWED, crosses=False), []),
        (replace(ALLOWED, standing="allowed, seen"), []),
        (replace(ALLOWED, standing="allowed, seen", violated=True), [f"{GONE}: seen, and `h200.cat` forbids it"]),
        (replace(ALLOWED, standing="FORBIDDEN BUT SEEN"), [f"{GONE}: FORBIDDEN BUT SEEN, and no finding"]),
    ],
)
def test_what_nobody_explains_is_a_problem(test: Said, says: list[str]) -> None:
    found = from_json(STANDINGS.read_text())
    changed = replace(found, tests=found.tests | {GONE: test})
    assert problems(changed) == says


def test_a_reason_for_what_was_seen_is_a_problem_unless_it_is_only_rare() -> None:
    found = from_json(STANDINGS.read_text())
    for reason in reasons("not seen"):
        names = [name for name in reason.tests if name in found.unseen]
        seen = {name: replace(found.tests[name], standing="allowed, seen") for name in names}
        told = [f"{name}: seen, and a reason why not" for name in names if not reason.rare]
        assert problems(replace(found, tests=found.tests | seen)) == told


def test_the_page_has_a_column_for_every_standing() -> None:
    assert sorted(ORDER) == sorted(Standing)


def test_a_star_in_a_reason_stands_for_anything_and_brackets_for_themselves() -> None:
    assert matches("MP[*", "MP[weak]")
    assert matches("MP[weak]", "MP[weak]")
    assert not matches("MP[weak]", "MPw")
    assert not matches("MP[*", "LMP[weak]")


@pytest.mark.parametrize(
    ("code", "across"),
    [
        ("thread A @ d0.c0.b0 { st.weak.u32 [x], 1; } thread B @ d0.c1.b1 { ld.weak.u32 r, [x]; }", True),
        ("thread A @ d0.c0.b0 { st.weak.u32 [x], 1; } thread B @ d0.c0.b0 { ld.weak.u32 r, [x]; }", False),
        ("thread A @ d0.c0.b0 { fence.proxy.alias; } thread B @ d0.c1.b1 { ld.weak.u32 r, [x]; }", False),
        (
            ".alias y = x; thread A @ d0.c0.b0 { st.u32 [x], 1; } thread B @ d0.c1.b1 { ld.weak.u32 r, [y]; }",
            False,
        ),
    ],
)
def test_a_test_is_one_of_the_generic_proxy_across_ctas_or_not(code: str, across: bool) -> None:
    (test,) = read(f"ptx t\n.global .u32 x;\n{code}", "t.lit")
    assert crosses(test) is across


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("MP[relaxed]", "allowed"), ("LB[relaxed]", "allowed"), ("SB[fence.acq_rel]", "forbidden"),
     ("IRIW[release-acquire]", "forbidden"), ("R[release-acquire]", "allowed")],
)  # fmt: skip
def test_the_presumption_forbids_what_is_not_seen_and_allows_what_is(name: str, verdict: str) -> None:
    file, variant = name.rstrip("]").split("[")
    (test,) = [one for one in read_programs(ROOT / "litmus" / "basic" / f"{file}.lit") if one.variant == variant]
    assert check(test, read_model(str(PRESUMED)), Options()).verdict == verdict


def test_a_forbidden_state_in_a_recorded_log_is_found(tmp_path: Path) -> None:
    right: Seen = {(0, 0): 10**6, (0, 1): 10**6, (1, 1): 10**6}
    runs = [ran(mp("release"), right), ran(mp("relaxed"), {**right, (1, 0): 40}), ran(mp("release"), {(1, 0): 1})]
    path = tmp_path / "evidence.jsonl.gz"
    path.write_bytes(gzip.compress("".join(to_line(run) + "\n" for run in runs).encode()))
    tests = by_test(read_log(path))
    assert [result.name for result in failures(tests)] == ["MP[release]"]
    assert not failures(by_test(runs[:2]))
