"""Measurements: arms that take turns, what repeated readings say, and what the numbers say of a claim."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count as counting
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from ptxmm.cli import cli
from ptxmm.errors import PtxmmError
from ptxmm.gpu.measure import alone as alone_module
from ptxmm.gpu.measure import catalogue, machine
from ptxmm.gpu.measure.alone import ENDLESS, LOST, alone
from ptxmm.gpu.measure.arms import LEAST, MOST, Arm, Plan, Reading, carry_out
from ptxmm.gpu.measure.claims import Judge, Stated, costs, every, grows, judged, never, rare, shows
from ptxmm.gpu.measure.measure import Measure
from ptxmm.gpu.measure.results import Claim, Device, Measurement, Role, Row, Series, Standing, from_json, to_json
from ptxmm.gpu.measure.statistics import Count, Spread, differs, orders
from ptxmm.report.measure import measure_report, measurement_text
from ptxmm.report.measure_svg import measurement_svg

MAIN = "from ptxmm.cli import main; main()"
H200 = Device("NVIDIA H200", "9.0", 132, "580.1", "14.2", "13.0")


def row(arm: str, role: Role = Role.SUBJECT, time: float | None = None, wrong: int = 0, tried: int = 1000) -> Row:
    return Row(arm, role, None if time is None else Spread(time, time, time, 9, 0.0), Count(wrong, tried))


def series(*rows: Row, reference: str | None = None, band: float = 0.0, setting: str = "left") -> Series:
    return Series("wait", setting, "ns", "stale reads", reference, band, rows)


CONTROL = row("no close", Role.POSITIVE, 0.9, wrong=990)
COMPARED = series(row("acquire", Role.NEGATIVE, 1.0), row("relaxed", time=1.3), CONTROL, reference="acquire", band=0.01)
CLAIMS = (Claim("It is sound.", Standing.CONFIRMED, "0 of 1000"), Claim("It is <free>.", Standing.REFUTED, "1.3 times"))
MEASURED = Measurement("wait-cost", H200, "2026-11-30", 1.5, (COMPARED,), CLAIMS, "0.1")


# --- arms that take turns ---------------------------------------------------------------------------------------------


def clock(step: float) -> Iterator[float]:
    return (step * n for n in counting())


def ticking(step: float) -> Callable[[], float]:
    times = clock(step)
    return lambda: next(times)


def arm(name: str, *times: float, wrong: int = 0, role: Role = Role.SUBJECT) -> Arm:
    coming = iter(times)
    return Arm(name, role, lambda: Reading(next(coming, times[-1]), Count(wrong, 10)))


def test_the_first_round_counts_for_no_time_and_all_rounds_for_what_was_wrong() -> None:
    found = carry_out(Plan("p", "", (arm("a", 100.0, 1.0, wrong=1),)), 0, 0, clock=ticking(1.0))
    time, count = found.row("a").time, found.row("a").count
    assert time is not None
    assert (time.median, time.high, time.runs) == (1.0, 1.0, LEAST)
    assert count == Count(LEAST + 1, 10 * (LEAST + 1))


def test_rounds_go_on_while_there_is_time_but_not_for_ever() -> None:
    still, slow = ticking(0.0), ticking(0.5)
    most = carry_out(Plan("p", "", (arm("a", 1.0),)), 1, 0, clock=still)
    some = carry_out(Plan("p", "", (arm("a", 1.0),)), 2, 0, clock=slow)
    assert [each.row("a").time.runs for each in (most, some)] == [MOST, 10]  # type: ignore[union-attr]


def test_a_plan_can_ask_for_few_rounds() -> None:
    found = carry_out(Plan("p", "", (arm("a", 1.0),), rounds=1), 60, 0)
    assert found.row("a").count == Count(0, 20)


def test_the_reference_runs_as_two_arms_and_the_band_is_how_far_they_are_apart() -> None:
    alternating = iter([1.0, 1.1] * 100)
    base = Arm("base", Role.NEGATIVE, lambda: Reading(next(alternating), Count(0, 1)))
    found = carry_out(Plan("p", "", (base, arm("b", 2.0)), reference="base"), 0, 0, clock=ticking(1.0))
    assert found.band is not None
    assert 0 <= found.band <= 0.101
    assert [each.arm for each in found.rows] == ["base", "b"]
    assert found.row("base").count == Count(0, 2 * (LEAST + 1))
    same = carry_out(Plan("p", "", (arm("base", 3.0),), reference="base"), 0, 0)
    assert same.band == 0


@given(st.lists(st.text(), min_size=1, max_size=6, unique=True), st.integers(0, 9))
def test_each_round_runs_every_arm_once(arms: list[str], seed: int) -> None:
    assert all(sorted(order) == sorted(arms) for order in orders(arms, 5, seed))


def test_arms_do_not_always_follow_each_other() -> None:
    found = orders(["a", "b", "c"], 50, seed=0)
    assert len(set(found)) == 6
    assert found == orders(["a", "b", "c"], 50, seed=0)


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=30))
def test_the_median_lies_between_the_extremes(readings: list[float]) -> None:
    found = Spread.of(readings)
    assert found.low <= found.median <= found.high
    assert found.runs == len(readings)


def test_a_reading_that_drifts_is_not_told_from_its_reference() -> None:
    steady, rising = Spread.of([1.0] * 8), Spread.of([1.0] * 4 + [1.2] * 4)
    assert rising.drift == pytest.approx(0.2)
    assert not differs(rising, steady, band=0.0)
    assert differs(Spread.of([1.1] * 8), steady, band=0.05)
    assert not differs(Spread.of([1.1] * 8), steady, band=0.15)


# --- claims -----------------------------------------------------------------------------------------------------------


def standing(judge: Judge, *found: Series) -> Standing:
    return judged([Stated("", judge)], found)[0].standing


def test_none_seen_is_evidence_only_next_to_a_control_that_shows_some() -> None:
    good, silent = row("good"), row("no close", Role.POSITIVE)
    assert standing(never("wait", "good"), series(good, CONTROL)) is Standing.CONFIRMED
    assert standing(never("wait", "good"), series(good, silent)) is Standing.OPEN
    assert standing(never("wait", "good"), series(good)) is Standing.OPEN
    assert standing(never("wait", "good"), series(replace(good, count=Count(1, 1000)), CONTROL)) is Standing.REFUTED
    assert standing(never("wait", "good"), series(replace(good, count=Count(0, 0)), CONTROL)) is Standing.OPEN
    assert standing(never("another", "good"), series(good, CONTROL)) is Standing.OPEN


def test_none_seen_needs_a_control_in_every_setting_that_it_speaks_of() -> None:
    shown, silent = series(row("good"), CONTROL), series(row("good"), row("no close", Role.POSITIVE), setting="right")
    assert standing(never("wait", "good"), shown, silent) is Standing.OPEN
    assert standing(never("wait", "good", "left"), shown, silent) is Standing.CONFIRMED


def test_what_shows_shows_in_every_setting_and_within_the_bounds() -> None:
    half, all_ = series(row("bad", wrong=500)), series(row("bad", wrong=1000), setting="right")
    assert standing(shows("wait", "bad", least=0.4), half, all_) is Standing.CONFIRMED
    assert standing(shows("wait", "bad", least=0.6), half, all_) is Standing.REFUTED
    assert standing(shows("wait", "bad", most=0.6), half, all_) is Standing.REFUTED
    assert standing(shows("wait", "bad"), series(row("bad"))) is Standing.REFUTED


def test_what_is_rare_in_one_setting_must_show_in_another() -> None:
    seldom, often = series(row("bad", wrong=1)), series(row("bad", wrong=900), setting="right")
    assert standing(rare("wait", "bad", "left", most=0.01), seldom, often) is Standing.CONFIRMED
    assert standing(rare("wait", "bad", "right", most=0.01), seldom, often) is Standing.REFUTED
    assert standing(rare("wait", "bad", "left", most=0.01), series(row("bad"))) is Standing.OPEN


def test_a_cost_is_a_ratio_to_the_reference_give_or_take_its_band() -> None:
    timed = series(row("base", time=100.0), row("slow", time=106.0), reference="base", band=0.02)
    assert standing(costs("wait", "slow", most=1.05), timed) is Standing.CONFIRMED
    assert standing(costs("wait", "slow", most=1.03), timed) is Standing.REFUTED
    assert standing(costs("wait", "slow", least=1.2), timed) is Standing.REFUTED
    assert standing(costs("wait", "slow"), series(row("slow"))) is Standing.OPEN


def test_what_grows_is_compared_across_settings_give_or_take_its_drift() -> None:
    before, after = series(row("fence", time=100.0)), series(row("fence", time=120.0), setting="right")
    assert standing(grows("wait", "fence", "left", "right", least=1.1), before, after) is Standing.CONFIRMED
    assert standing(grows("wait", "fence", "left", "right", most=1.1), before, after) is Standing.REFUTED
    assert standing(grows("wait", "fence", "left", "right"), before) is Standing.OPEN


def test_a_claim_of_several_parts_falls_with_the_first() -> None:
    found = series(row("good"), row("bad", wrong=5), CONTROL)
    assert standing(every(never("wait", "good"), never("wait", "bad")), found) is Standing.REFUTED
    assert standing(every(never("wait", "good"), never("another", "good")), found) is Standing.OPEN
    assert standing(every(never("wait", "good"), shows("wait", "bad")), found) is Standing.CONFIRMED


# --- results ----------------------------------------------------------------------------------------------------------


def test_a_measurement_reads_back_as_it_was_written() -> None:
    assert from_json(json.loads(json.dumps(to_json(MEASURED)))) == MEASURED


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 2"):
        from_json({**to_json(MEASURED), "format": 2})


def changed(**series: object) -> dict[str, object]:
    """The measurement with something else in its first series."""
    return {**WRITTEN, "series": [{**WRITTEN["series"][0], **series}]}


WRITTEN = json.loads(json.dumps(to_json(MEASURED)))
ROW = WRITTEN["series"][0]["rows"][0]
TIME = {"median": 2.0, "low": 1.0, "high": 3.0, "runs": 3, "drift": 0.0}


@pytest.mark.parametrize("found", [
    {**WRITTEN, "name": "../elsewhere"},
    {**WRITTEN, "name": ""},
    {**WRITTEN, "name": "a\nb"},
    changed(rows=[]),
    changed(rows=[ROW, ROW]),
    changed(reference="no arm"),
    changed(rows=[{**ROW, "time": {**TIME, "low": 0.0}}], reference=None),
    changed(rows=[{**ROW, "time": {**TIME, "high": 1.5}}], reference=None),
    changed(rows=[{**ROW, "count": {"wrong": 2, "tried": 1, "stuck": 0}}], reference=None),
    changed(rows=[{**ROW, "count": {"wrong": 0, "tried": 1, "stuck": -1}}], reference=None),
])  # fmt: skip
def test_a_measurement_that_contradicts_itself_or_names_another_folder_is_refused(found: dict[str, object]) -> None:
    assert from_json(changed(rows=[{**ROW, "time": TIME}], reference=None))
    with pytest.raises(ValueError, match=r"its name|arms|a time|more wrong"):
        from_json(found)


def test_a_negative_control_that_shows_something_is_a_failure() -> None:
    assert not MEASURED.failures()
    for count in (Count(1, 1000), Count(0, 1000, 1), Count(0, 0)):
        bad = series(Row("acquire", Role.NEGATIVE, None, count), Row("bad", Role.POSITIVE, None, Count(5, 9, 3)))
        assert len(replace(MEASURED, series=(bad,)).failures()) == 1


def test_a_positive_control_that_shows_nothing_is_told() -> None:
    assert not MEASURED.silent()
    silent = series(row("good"), row("no close", Role.POSITIVE))
    assert replace(MEASURED, series=(silent, series(row("good")))).silent() == ("wait, left",)


# --- reports ----------------------------------------------------------------------------------------------------------


def test_the_text_marks_controls_ratios_and_what_is_no_difference() -> None:
    text = measurement_text(MEASURED, 100)
    assert "acquire twice: 1.0 % apart" in text
    assert "+ no close" in text
    assert "1.300" in text
    assert "99 % stale reads" in text
    assert "refuted: It is <free>." in text
    near = series(row("base", time=100.0), row("near", time=100.5), reference="base", band=0.02)
    assert "~1.005" in measurement_text(replace(MEASURED, series=(near,)), 100)


def test_the_picture_has_a_row_for_each_arm_and_a_sentence_for_each_claim() -> None:
    root = ElementTree.fromstring(measurement_svg(MEASURED))
    texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"acquire", "relaxed", "no close", "confirmed", "refuted", "99 %"} <= set(texts)
    assert any("It is <free>." in text for text in texts)


# --- processes of their own -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "patience", "count"),
    [
        ("print('[0, 1, 0]')", 60.0, Count(0, 1)),
        ("import os; os._exit(3)", 60.0, LOST),
        ("import time; time.sleep(60)", 0.3, ENDLESS),
    ],
)
def test_a_process_that_is_lost_is_a_launch_that_went_wrong(
    script: str, patience: float, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone_module, "PATIENCE", patience)
    assert alone("", command=(sys.executable, "-c", script)) == count


def test_a_process_of_its_own_prints_what_its_function_counts(capfd: pytest.CaptureFixture[str]) -> None:
    assert alone_module.main(["ptxmm.gpu.measure.statistics:Count", "3", "4"]) == 0
    assert capfd.readouterr().out == '["3", "4", 0]\n'
    assert alone_module.main(["ptxmm.gpu.measure.multicast:armed", "no number", "2", "0"]) == 1


# --- the command ------------------------------------------------------------------------------------------------------


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["measure", *arguments])


def measured(name: str, *, wrong: int = 0, interrupt: bool = False) -> Measure:
    def stop() -> Reading:
        raise KeyboardInterrupt

    def plan(setting: str) -> Plan:
        good = Arm("good", Role.NEGATIVE, lambda: Reading(1.0, Count(wrong, 10)))
        bad = Arm("bad", Role.POSITIVE, lambda: Reading(1.0, Count(10, 10)))
        return Plan("wait", setting, (good, Arm("", Role.SUBJECT, stop)) if setting == "stop" else (good, bad), "ns")

    settings = ("one", "stop") if interrupt else ("one",)
    return Measure(name, "Is it?", settings, lambda _: plan, (Stated("It is.", never("wait", "good")),))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that runs nothing, for measurements of fixed readings."""

    class Fixed:
        capability, device = (9, 0), H200

        def __init__(self, number: int) -> None:
            assert number == 0

        def release(self) -> None:
            pass

    monkeypatch.setattr(machine, "Machine", Fixed)
    return monkeypatch


def test_measurements_are_listed_with_their_claims() -> None:
    result = invoke("--list")
    assert result.exit_code == 0
    for each in catalogue.MEASURES.values():
        assert f"\n{each.name}\n" in f"\n{result.output}"
        assert all(" ".join(claim.text.split()) in " ".join(result.output.split()) for claim in each.claims)


def test_a_measurement_whose_own_check_fails_says_so() -> None:
    machine.insist(0, "wrong words")
    with pytest.raises(PtxmmError, match="contradicts itself: 3 wrong words"):
        machine.insist(3, "wrong words")


def test_without_cupy_there_is_one_sentence_and_exit_2() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['cupy'] = None; {MAIN}", "measure", "wait-cost"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert "CuPy" in ended.stderr


@pytest.mark.parametrize("arguments", [(), ("nothing",), ("wait-cost", "--all"), ("--all", "--seconds", "0")])
def test_a_command_line_that_asks_for_nothing_that_there_is_is_refused(arguments: tuple[str, ...]) -> None:
    assert invoke(*arguments).exit_code == 2


def test_text_json_and_pictures_come_from_one_measurement(gpu: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gpu.setattr(catalogue, "MEASURES", {"sound": measured("sound")})
    result = invoke("sound", "--json", "--plot", str(tmp_path))
    assert result.exit_code == 0
    (found,) = map(from_json, json.loads(result.output))
    assert found.claims[0].standing is Standing.CONFIRMED
    assert (tmp_path / "sound.svg").read_text(encoding="utf-8") == measurement_svg(found)
    assert "confirmed: It is." in invoke("--all").output


def test_a_negative_control_that_shows_something_ends_with_1(gpu: pytest.MonkeyPatch) -> None:
    gpu.setattr(catalogue, "MEASURES", {"unsound": measured("unsound", wrong=1)})
    result = invoke("unsound")
    assert result.exit_code == 1
    assert "failed: wait, one: good: 41 of 410 wrong" in result.output


def test_an_older_gpu_is_told_what_is_needed(gpu: pytest.MonkeyPatch) -> None:
    gpu.setattr(catalogue, "MEASURES", {"new": replace(measured("new"), needs=(10, 0)), "old": measured("old")})
    result = invoke("--all")
    assert result.exit_code == 2
    assert "new needs compute capability 10.0, and NVIDIA H200 has 9.0" in result.output
    assert "old: NVIDIA H200" in result.output


def test_what_was_measured_until_ctrl_c_is_kept(gpu: pytest.MonkeyPatch) -> None:
    gpu.setattr(catalogue, "MEASURES", {"long": measured("long", interrupt=True), "next": measured("next")})
    result = invoke("--all")
    assert result.exit_code == 130
    assert "wait: one" in result.output
    assert "next:" not in result.output


def test_what_was_measured_before_a_launch_failed_is_kept(gpu: pytest.MonkeyPatch) -> None:
    def lost(_: object) -> NoReturn:
        raise RuntimeError("an illegal memory access")

    failing = replace(measured("failing"), prepare=lost)
    gpu.setattr(catalogue, "MEASURES", {"first": measured("first"), "failing": failing, "next": measured("next")})
    result = invoke("--all", "--json")
    assert result.exit_code == 2
    assert "ptxmm: failing: RuntimeError: an illegal memory access" in result.stderr
    assert [each["name"] for each in json.loads(result.stdout)] == ["first"]


def test_recorded_measurements_are_shown_without_a_gpu(tmp_path: Path) -> None:
    file, found = tmp_path / "recorded.json", replace(MEASURED, name="of another version")
    file.write_text(measure_report([found, found]), encoding="utf-8")
    result = invoke("--from", str(file), "--plot", str(tmp_path))
    assert result.exit_code == 0
    assert result.output == 2 * (measurement_text(found, 100) + "\n\n")
    assert (tmp_path / "of another version.svg").exists()
    assert json.loads(invoke("--from", str(file), "--json").output) == json.loads(file.read_text(encoding="utf-8"))


def test_recorded_measurements_are_held_against_the_claims_as_they_are_stated_now(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    file.write_text(measure_report([MEASURED]), encoding="utf-8")
    (found,) = map(from_json, json.loads(invoke("--from", str(file), "--json").output))
    assert [claim.text for claim in found.claims] == [claim.text for claim in catalogue.MEASURES["wait-cost"].claims]
    assert {claim.standing for claim in found.claims} == {Standing.OPEN}


@pytest.mark.parametrize("text", ["", "{}", "[]", "[{}]", "[1]", '[{"format": 9}]'])
def test_what_is_no_recorded_measurement_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    file.write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", MAIN, "measure", "--from", str(file)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    other = "this measurement has format 9, and this is read: 1"
    assert (other if "9" in text else "this is not what `ptxmm measure --json` writes") in ended.stderr
