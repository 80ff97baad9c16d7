"""What did not end on a GPU, held against a model: whether the test may hang, and under which promises."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from building import model
from click.testing import CliRunner
from runs import Seen, mp, ran

from ptxmm.cli import cli
from ptxmm.compare import Comparison, Standing, compare
from ptxmm.errors import Span
from ptxmm.gpu.controls import controls
from ptxmm.gpu.lines import from_line, to_line
from ptxmm.gpu.log import Run, uncounted
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.report.compare import CompareReport, comparison_object, exit_code
from ptxmm.report.rates import rates_svg
from ptxmm.report.run import RunReport
from ptxmm.syntax.lit import read

POLL = """ptx poll .global .u32 x; .global .u32 y;
thread A @ d0.c0.b0 { st.relaxed.gpu.u32 [x], 1; ld.relaxed.gpu.u32 s, [y]; }
thread B @ d0.c1.b1 { do { ld$POLL.u32 r, [x]; } while (r != 1); st.relaxed.gpu.u32 [y], 1; }
exists (B.r == 2)
variants
    name  | POLL
    right | .relaxed.gpu
    weak  | .weak
end"""
TOO_MANY = """ptx too-many .shared @ d0.c0.b0 .mbarrier m(1);
thread A @ d0.c0.b0 { mbarrier.init.shared::cta.b64 [m], 1; mbarrier.arrive.shared::cta.b64 _, [m], 2; }
"""
KERNELS = """ptx kernels .global .u32 x; launch k1 with k0;
thread A @ k0.d0.c0.b0 { do { ld.relaxed.gpu.u32 r, [x]; } while (r != 1); }
thread B @ k1.d0.c1.b1 { st.relaxed.gpu.u32 [x], 1; }
exists (A.r == 1)
"""
ECHO = """ptx echo .global .u32 x; .global .u32 y;
thread A @ d0.c0.b0 { do { ld.relaxed.gpu.u32 r, [x]; st.relaxed.gpu.u32 [y], r; bar.sync 0; } while (r < 3); }
thread B @ d0.c1.b1 { st.relaxed.gpu.u32 [x], 1; st.relaxed.gpu.u32 [x], 3; }
exists (A.r == 1)
"""
DID_NOT_END = "a launch did not end in 1 second"
NOT_MET = "a thread was stuck while others waited for it at a barrier"
FAULT = "the launch failed: misaligned address"
WRONG = "the harness, the assembler, the model or the chip is wrong"
SLOW = "it was only slow, or the harness or the chip does not keep the promise of progress"
HANGS = "by the model this test may hang: B waits for ever in its loop at line 13 and reads x = 0"


def lit(text: str, variant: str | None = None) -> Program:
    return next(test for test in read(text, "test.lit") if test.variant == variant)


def poll(variant: str) -> Program:
    return lit(POLL, variant)


def hung(test: Program, why: str = DID_NOT_END, *, profile: str = "few") -> Run:
    return replace(ran(test, {}, profile=profile), counted=None, hung=why)


def failed(test: Program) -> Run:
    return replace(ran(test, {}), counted=None, failed=FAULT)


def compared(*runs: Run, options: Options | None = None) -> Comparison:
    return compare(runs, model("ptx-9.4"), options or Options())


@pytest.mark.parametrize("why", [DID_NOT_END, NOT_MET])
def test_a_launch_that_did_not_end_of_a_test_that_may_hang_says_who_waits_in_the_model(why: str) -> None:
    found = compared(hung(poll("weak"), why))
    assert (found.standing, found.told) == (Standing.HUNG, f"{why}; {HANGS}")
    assert (found.hung, found.profiles, found.device, found.verdict) == (1, ("few",), "GPU", "not asked")


def test_a_launch_that_did_not_end_of_a_test_that_always_ends_deserves_a_look_and_is_no_forbidden_state() -> None:
    found = compared(hung(poll("right")))
    assert found.standing is Standing.SHOULD_END
    assert found.told == f"{DID_NOT_END}; by the model it ends where all threads have started (fair): {SLOW}"
    assert exit_code([found]) == 3
    assert exit_code([found, compared(ran(mp("release"), {(1, 0): 1}))]) == 1


def test_a_test_in_which_nobody_waits_ends_under_the_weakest_promise_too() -> None:
    found = compared(hung(mp("relaxed")))
    assert found.told == f"{DID_NOT_END}; by the model it always ends (obe): {SLOW}"


def test_kernels_may_starve_each_other() -> None:
    found = compared(hung(lit(KERNELS)))
    assert found.hanging is not None
    assert (found.standing, found.hanging.progress) == (Standing.HUNG, "obe")


def test_nothing_is_promised_of_a_test_that_reaches_an_undefined_step() -> None:
    found = compared(hung(lit(TOO_MANY)))
    assert found.standing is Standing.UNDEFINED
    assert "; the test reaches an undefined step: thread A: `mbarrier.init" in found.told


def test_an_error_of_the_device_is_undefined_or_deserves_a_look() -> None:
    undefined = compared(failed(lit(TOO_MANY)))
    assert undefined.standing is Standing.UNDEFINED
    assert undefined.told.startswith(f"{FAULT}; the test reaches an undefined step: thread A: `mbarrier.init")
    defined = compared(failed(poll("right")))
    assert (defined.standing, exit_code([defined])) == (Standing.SHOULD_RUN, 3)
    assert defined.told == f"{FAULT}; by the model all its steps are defined: {WRONG}"
    waits = compared(failed(poll("weak")))
    assert waits.standing is Standing.UNKNOWN
    assert waits.told == f"{FAULT}; an error says nothing where a wait is given up before it; {HANGS}"
    somewhere = ECHO.replace("u32 y;", "u32 y[4];").replace("[y]", "[y + 4 * (r & 3)]")
    unknown = compared(failed(lit(somewhere)), options=Options(bound=2))
    assert unknown.standing is Standing.UNKNOWN
    assert unknown.told.startswith(f"{FAULT}; whether it reaches an undefined step is unknown: ")


def test_a_model_that_lacks_an_instruction_says_nothing_of_what_did_not_end() -> None:
    narrow = lit("ptx t .global .u32 x; thread A @ d0.c0.b0 { fence.acquire.cluster; ld.weak.u32 r0, [x]; }")
    found = [compare((run,), model("ptx-7.5"), Options()) for run in (hung(narrow), failed(narrow))]
    assert {each.standing for each in found} == {Standing.UNSUPPORTED}


def test_whether_a_test_may_hang_stays_unknown_where_a_loop_is_cut() -> None:
    found = compared(hung(lit(ECHO)), options=Options(bound=2))
    assert (found.standing, exit_code([found])) == (Standing.UNKNOWN, 3)
    assert found.told.startswith(f"{DID_NOT_END}; whether it may hang is unknown: ")


def test_stuck_instances_are_told_below_what_the_others_say() -> None:
    found = compared(ran(poll("weak"), {(1,): 10}, stuck=62_793))
    assert found.standing is Standing.NOT_EXERCISED
    assert found.notes == (f"62,793 stuck: a wait reached its bound; {HANGS}",)
    ends = compared(ran(poll("right"), {(1,): 10}, stuck=2))
    assert ends.standing is Standing.NOT_EXERCISED
    assert ends.notes[0].endswith(SLOW)


def test_where_all_instances_are_stuck_their_states_say_nothing() -> None:
    assert compared(ran(poll("weak"), {}, stuck=64)).told == f"all 64 stuck: a wait reached its bound; {HANGS}"
    standings = [compared(ran(poll(each), {}, stuck=64)).standing for each in ("weak", "right")]
    assert standings == [Standing.HUNG, Standing.SHOULD_END]


def test_a_forbidden_state_of_the_control_says_more_than_a_test_that_is_stuck() -> None:
    test = poll("weak")
    control = next(c.program for c in controls(test) if c.kind == "unwaited")
    found = compared(ran(test, {}, control=(control, {(7,): 1}), stuck=64))
    assert found.standing is Standing.FORBIDDEN_SEEN
    assert found.notes[0].startswith("all 64 stuck")


def test_a_profile_that_hung_is_named_beside_others_that_ended() -> None:
    seen: Seen = {(1,): 10**6}
    may = compared(ran(poll("weak"), seen, profile="hot"), hung(poll("weak"), profile="few"))
    assert (may.standing, may.profiles) == (Standing.NOT_EXERCISED, ("hot", "few"))
    assert may.notes == (f"few: {DID_NOT_END}; {HANGS}",)
    ends = compared(ran(poll("right"), seen, profile="hot"), hung(poll("right"), profile="few"))
    assert ends.standing is Standing.SHOULD_END
    assert ends.rate is not None


def test_nothing_is_asked_where_everything_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("ptxmm.compare.hanging", never)
    found = compared(ran(poll("weak"), {(1,): 10}))
    assert (found.standing, found.hanging) == (Standing.NOT_EXERCISED, None)


@pytest.mark.parametrize("why", [DID_NOT_END, "a launch did not end in 4 seconds", NOT_MET])
def test_an_older_log_has_skipped_tests_that_hung(why: str) -> None:
    old = replace(hung(poll("weak")), hung=None, skipped=why)
    run = from_line(to_line(old), Span("log", 1, 1))
    assert (run.hung, run.skipped) == (why, None)
    assert compared(run).standing is Standing.HUNG


def test_json_has_what_did_not_end_and_what_the_model_says_of_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(to_line(hung(poll(each))) + "\n" for each in ("weak", "right")), encoding="utf-8")
    done = CliRunner().invoke(cli, ["compare", str(log), "-j", "1", "--format", "json"])
    may, ends = json.loads(done.stdout)["results"]
    assert done.exit_code == 3
    assert (may["standing"], may["stuck"], may["hung"], may["rate"]) == ("hung, as it may", 0, 1, None)
    assert may["hang"] == {"verdict": "yes", "progress": "fair", "why": HANGS.partition(": ")[2]}
    assert ends["hang"] == {"verdict": "no", "progress": "fair", "why": None, "obe": "yes"}
    fault = comparison_object(compared(failed(poll("right"))))
    assert (fault["failed"], fault["undefined"]) == (1, {"verdict": "no", "why": None})
    whole = comparison_object(compared(ran(mp("relaxed"), {(0, 0): 1})))
    assert (whole["hang"], whole["failed"], whole["undefined"]) == (None, 0, None)


def test_text_and_picture_show_what_hung() -> None:
    results, lines = [compared(hung(poll(each))) for each in ("weak", "right")], list[str]()
    report = CompareReport(lines.append)
    for result in results:
        report.add(result)
    assert lines[0].startswith(f"✓ poll[weak]                   ptx-9.4  hung, as it may    {DID_NOT_END}; ")
    assert lines[1].startswith(f"! poll[right]                  ptx-9.4  hung, should end   {DID_NOT_END}; ")
    drawn = ElementTree.fromstring(rates_svg([*results, compared(ran(mp("relaxed"), {(1, 0): 9, (0, 0): 9}))]))
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"poll[weak]", "poll[right]", "MP[relaxed]", "nothing ended"} <= set(texts)
    dashes = [path for path in drawn.iter("{http://www.w3.org/2000/svg}path") if path.get("stroke-dasharray")]
    assert len(dashes) == len(results) + 1


def test_run_tells_what_hung_or_failed_from_what_was_skipped() -> None:
    lines = list[str]()
    report = RunReport(lines.append)
    for run in (hung(poll("weak")), failed(poll("right")), uncounted(hung(mp("relaxed")), "it needs several GPUs")):
        report.add([run])
    report.add([ran(mp("release"), {(0, 0): 5}), hung(mp("release"), NOT_MET)])
    report.end()
    assert lines[:-1] == [
        f"poll[weak]: hung: {DID_NOT_END}",
        f"poll[right]: failed: {FAULT}",
        "MP[relaxed]: skipped: it needs several GPUs",
        f"MP[release]: 0 of 5; {NOT_MET}",
    ]
    assert lines[-1].startswith("1 test, 1 hung, 1 failed, 1 skipped, 5 instances in ")
