"""Each output format, on hand-made answers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from executions import AS_EXPECTED, EVERY, MESSAGE, PROGRAM, RACE, SURPRISE, UNKNOWN, UNREADABLE, UNSUPPORTED

from ptxmm.arith import U32, Type
from ptxmm.report.columns import lay_out
from ptxmm.report.dot import execution_dot
from ptxmm.report.json import check_report, outcomes_report
from ptxmm.report.outcomes import outcomes_text
from ptxmm.report.sarif import sarif_report
from ptxmm.report.svg import execution_svg
from ptxmm.report.text import Standing, TextReport, exit_code, standing
from ptxmm.report.witness import evidence, execution_text
from ptxmm.verdict import Answer, Execution, Happening, Outcomes, Result, State


def text_of(*results: Result, colour: bool = False, unicode: bool = True) -> list[str]:
    lines: list[str] = []
    report = TextReport(lines.append, colour=colour, unicode=unicode)
    for result in results:
        report.add(result)
    report.end(1.5)
    return lines


# --- text ------------------------------------------------------------------------------------------------------------


def test_a_line_for_each_verdict_what_differs_below_and_a_summary() -> None:
    assert text_of(*EVERY) == [
        "✓ mp[right]                    ptx-9.4  forbidden, no race                  4 ms",
        "✗ mp                           ptx-9.4  allowed, race on x                  0 ms",
        "    expected forbidden, but it is allowed",
        "? mp                           sc       unknown                             0 ms",
        "    unknown: time-out after 60 s",
        "– tex                          ptx-9.4  unsupported                         0 ms",
        "    unsupported: no texture proxy",
        "! bad                                   error                               0 ms",
        "4 tests, 5 verdicts: 1 as expected, 1 not as expected, 1 unknown, 1 not readable, 1 unsupported; 1.50 s",
    ]


def test_a_terminal_without_unicode_gets_ascii_marks() -> None:
    assert "\n".join(text_of(*EVERY, unicode=False)).isascii()


def test_colours_are_only_on_the_mark() -> None:
    plain, coloured = text_of(SURPRISE), text_of(SURPRISE, colour=True)
    assert coloured[0] == plain[0].replace("✗", "\x1b[31;1m✗\x1b[0m")


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (AS_EXPECTED, Standing.EXPECTED),
        (SURPRISE, Standing.SURPRISE),
        (UNKNOWN, Standing.UNKNOWN),
        (replace(UNKNOWN, ok=False, surprises=("expected forbidden, but it is unknown",)), Standing.UNKNOWN),
        (replace(SURPRISE, race=Answer("unknown")), Standing.SURPRISE),
        (replace(AS_EXPECTED, ok=None, expected=()), Standing.UNSTATED),
        (replace(UNKNOWN, verdict="allowed", race=Answer("unknown")), Standing.UNKNOWN),
        (UNSUPPORTED, Standing.UNSUPPORTED),
        (replace(UNSUPPORTED, ok=True, expected=("unsupported",)), Standing.EXPECTED),
        (replace(UNSUPPORTED, ok=False, expected=("allowed",)), Standing.SURPRISE),
        (UNREADABLE, Standing.ERROR),
        (replace(SURPRISE, expected=("race on x, y",), race=Answer("yes", ("x",))), Standing.SURPRISE),
        (replace(SURPRISE, expected=("race on x, y",), race=Answer("yes", ("x",), why="time-out")), Standing.UNKNOWN),
        (replace(SURPRISE, expected=("race on y",), race=Answer("yes", ("x",), why="time-out")), Standing.SURPRISE),
        (replace(SURPRISE, expected=("no race",), race=Answer("yes", ("x",), why="time-out")), Standing.SURPRISE),
    ],
)
def test_what_is_unknown_is_no_surprise_and_what_differs_is(result: Result, kind: Standing) -> None:
    assert standing(result) is kind


def test_the_worst_standing_decides_the_exit_code() -> None:
    assert [exit_code(map(standing, EVERY[:n])) for n in (0, 1, 2, 5)] == [0, 0, 1, 2]
    assert exit_code([Standing.UNKNOWN, Standing.EXPECTED]) == 3
    assert exit_code([Standing.UNSUPPORTED, Standing.UNSTATED]) == 0


# --- executions ------------------------------------------------------------------------------------------------------

WIDE = """\
init x = 0, y = 0
P @ d0.c0.b0 | C @ d0.c1.b1 | D @ d0.c1.b2
a* st.weak.global.u32 [x], 1 x = 1 | d ld.acquire.gpu.u32 r0, [y] y = 1 | f st.weak.u32 [x], 2 x = 2
b fence.acq_rel.gpu | e* ld.weak.u32 r1, [x] x = 0 |
c atom.relaxed.gpu.global.add.u32 r0, [y], 1 y = 0 -> 1 | |

rf init -> c (y = 0), init -> e (x = 0), c -> d (y = 1)
co a -> f
fr e -> a
sync b -> d
final P.r0 = 0, C.r0 = 1, C.r1 = 0, x = 2, y = 1
race on x: a and e; nothing orders them"""


def test_an_execution_shows_the_threads_side_by_side_and_the_edges_below() -> None:
    shown = execution_text(MESSAGE, PROGRAM, RACE, width=160)
    assert [" ".join(line.split()) for line in shown.splitlines()] == WIDE.splitlines()
    assert len({line.find("|") for line in shown.splitlines() if "|" in line}) == 1


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_an_execution_fits_the_terminal_and_loses_nothing(width: int) -> None:
    shown = execution_text(MESSAGE, PROGRAM, RACE, width=width)
    assert max(map(len, shown.splitlines())) <= max(44, width)
    words = re.findall(r"[^\s|]+", execution_text(MESSAGE, PROGRAM, RACE, width=400))
    assert sorted(re.findall(r"[^\s|]+", shown)) == sorted(words)


def test_the_evidence_of_a_forbidden_is_the_axioms() -> None:
    assert evidence(AS_EXPECTED) == "    forbidden by causality"


def test_the_evidence_of_a_race_is_an_execution_with_the_pair_marked() -> None:
    assert evidence(SURPRISE).count("race on x: a and e") == 1


def test_the_reads_and_writes_of_a_loop_stay_apart() -> None:
    events = tuple(replace(EVERY_LOAD, id=n, step=n) for n in range(3))
    shown = execution_text(replace(MESSAGE, events=events, edges={}, registers={}, memory={}))
    assert shown.count("ld.weak.u32 r1, [x]") == 3


EVERY_LOAD = MESSAGE.events[7]


def test_a_picture_is_xml_and_shows_every_instruction_value_and_edge() -> None:
    root = ElementTree.fromstring(execution_svg(MESSAGE, PROGRAM, RACE, title="mp <a & b>"))
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    shown = " ".join(" ".join(texts).split())
    for part in ("P @ d0.c0.b0", "a: st.weak.global.u32 [x], 1", "y = 0 -> 1", "init: x = 0, y = 0", "final: P.r0 = 0"):
        assert part in shown
    assert [texts.count(name) for name in ("rf", "co", "fr", "sync", "race")] == [3, 1, 1, 1, 1]


def test_no_names_of_edges_overlap_in_a_picture() -> None:
    root = ElementTree.fromstring(execution_svg(MESSAGE, PROGRAM, RACE))
    areas = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("fill-opacity")]
    boxes = [tuple(float(a.get(k, "")) for k in ("x", "y", "width", "height")) for a in areas]
    assert len(boxes) == 7
    for n, (x, y, w, h) in enumerate(boxes):
        assert not any(x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h for x2, y2, w2, h2 in boxes[:n])


def test_a_picture_of_nothing_is_a_picture() -> None:
    nothing = replace(MESSAGE, events=(), edges={}, registers={}, memory={})
    assert ElementTree.fromstring(execution_svg(nothing)).tag.endswith("svg")
    assert execution_text(nothing) == ""


def test_dot_has_a_cluster_for_each_thread_and_an_arrow_for_each_edge() -> None:
    text = execution_dot(MESSAGE, PROGRAM, RACE)
    assert text.count("subgraph cluster_") == 3
    assert re.findall(r'(\w+) -> (\w+) \[label="(\w+)"', text) == [
        ("init", "c", "rf"), ("init", "e", "rf"), ("c", "d", "rf"), ("a", "f", "co"), ("e", "a", "fr"),
        ("b", "d", "sync"), ("a", "e", "race"),
    ]  # fmt: skip
    assert text.count("{") == text.count("}")


# --- JSON and SARIF --------------------------------------------------------------------------------------------------


def test_json_has_the_fields_that_the_documentation_names() -> None:
    printed = json.loads(check_report([AS_EXPECTED]))
    assert printed["ptxmm"]
    assert printed["z3"]
    (result,) = printed["results"]
    expected = {
        "test": "mp", "variant": "right", "path": "mp.lit", "model": "ptx-9.4", "condition": "~exists",
        "verdict": "forbidden", "expected": ["forbidden", "no race"], "ok": True, "bound": 0, "complete": True,
        "seconds": 0.0042, "error": None, "by": ["causality"],
    }  # fmt: skip
    assert {key: result[key] for key in expected} == expected
    assert result["race"] == {"verdict": "no", "on": [], "pairs": []}
    assert result["hang"] == {"verdict": "not asked", "progress": "fair"}
    assert result["undefined"] == {"verdict": "not asked", "why": []}


def test_json_carries_the_error_and_the_execution() -> None:
    shown = json.loads(check_report(EVERY))["results"]
    assert shown[4]["error"] == "bad.lit:3:1: error: what is this"
    assert shown[4]["model"] is None
    assert shown[2]["why"] == "time-out after 60 s"
    assert shown[1]["witness"]["edges"]["rf"] == [[0, 7], [1, 4], [5, 6]]
    assert shown[1]["race"]["pairs"][0]["first"] == 2
    assert shown[1]["witness"]["events"][0] == {
        "id": 0, "kind": "I", "step": 0, "text": "", "place": "x", "value": 0, "type": "u32", "order": "weak",
        "proxy": "generic",
    }  # fmt: skip


def test_sarif_fails_what_differs_and_what_cannot_be_read() -> None:
    (run,) = json.loads(sarif_report(EVERY))["runs"]
    found = [(r["ruleId"], r["kind"], r["level"]) for r in run["results"]]
    assert found == [
        ("as-expected", "pass", "none"),
        ("unexpected-verdict", "fail", "error"),
        ("unknown-verdict", "open", "none"),
        ("unsupported-test", "notApplicable", "none"),
        ("unreadable-input", "fail", "error"),
    ]
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    assert run["results"][1]["message"]["text"].endswith("race on x. expected forbidden, but it is allowed")
    assert run["results"][1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 20}


# --- outcomes --------------------------------------------------------------------------------------------------------


def outcomes(quantifier: str | None, *satisfies: bool, complete: bool = True) -> Outcomes:
    states = tuple(State((n, 0xFFFFFFFF), yes) for n, yes in enumerate(satisfies))
    types = (U32, Type("s", 32))
    condition = f"{quantifier} (…)" if quantifier else ""
    return Outcomes("sb.lit", "sb", None, "sc", condition, quantifier, ("A.r0", "x"), types, states, complete)


def test_outcomes_have_herd7s_shape() -> None:
    assert outcomes_text(outcomes("~exists", True, False, False)).splitlines() == [
        "Test sb Forbidden", "States 3", "A:r0=0; x=-1;", "A:r0=1; x=-1;", "A:r0=2; x=-1;", "No", "Witnesses",
        "Positive: 1 Negative: 2", "Condition ~exists (…)", "Observation sb Sometimes 1 2", "Model sc", "Time sb 0.00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("quantifier", "satisfies", "complete", "answer", "how_often"),
    [
        ("exists", (True, True), True, "Ok", "Always"),
        ("exists", (False,), True, "No", "Never"),
        ("exists", (False,), False, "Unknown", "Never"),
        ("exists", (True,), False, "Ok", "Always"),
        ("~exists", (False,), True, "Ok", "Never"),
        ("~exists", (False,), False, "Unknown", "Never"),
        ("forall", (True, False), True, "No", "Sometimes"),
        ("forall", (True, False), False, "No", "Sometimes"),
        ("forall", (True,), True, "Ok", "Always"),
    ],
)
def test_ok_no_and_how_often(
    quantifier: str, satisfies: tuple[bool, ...], complete: bool, answer: str, how_often: str
) -> None:
    lines = outcomes_text(outcomes(quantifier, *satisfies, complete=complete)).splitlines()
    assert answer in lines
    assert any(line.startswith(f"Observation sb {how_often} ") for line in lines)


def test_a_test_without_condition_has_states_only() -> None:
    assert outcomes_text(outcomes(None, False)).splitlines() == [
        "Test sb",
        "States 1",
        "A:r0=0; x=-1;",
        "Model sc",
        "Time sb 0.00",
    ]


def test_outcomes_in_json_keep_values_by_column() -> None:
    (found,) = json.loads(outcomes_report([outcomes("exists", True)]))["results"]
    assert (found["columns"], found["types"]) == (["A.r0", "x"], ["u32", "s32"])
    assert found["states"] == [{"values": [0, 0xFFFFFFFF], "satisfies": True}]


def test_edges_between_two_rows_come_in_the_order_of_the_accesses() -> None:
    copied = range(40)
    reads = tuple(Happening(n, "R", "A", n, "copy", f"s[{n}]", 0) for n in copied)
    first = tuple(Happening(100 + n, "I", None, 0, "", f"s[{n}]", 0) for n in copied)
    edges = {"rf": frozenset((100 + n, n) for n in reversed(copied))}
    notes = [edge.note for edge in lay_out(Execution((*first, *reads), edges)).edges]
    assert notes == [f"s[{n}] = 0" for n in copied]
