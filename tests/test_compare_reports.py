"""`ptxmm compare` and what it prints, on logs that nobody measured."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from building import model
from click.testing import CliRunner
from runs import Seen, mp, ran

from ptxmm.cli import cli
from ptxmm.compare import Standing, compare
from ptxmm.gpu.controls import controls
from ptxmm.gpu.lines import to_line
from ptxmm.gpu.log import Run
from ptxmm.options import Options
from ptxmm.report.compare import CompareReport
from ptxmm.report.rates import rates_svg
from ptxmm.syntax.lit import read
from ptxmm.syntax.print_lit import to_lit

STRONG: Seen = {(0, 0): 10**9, (0, 1): 10**9, (1, 1): 10**9}
WEAK: Seen = {**STRONG, (1, 0): 10**6}
RELAXED = controls(mp("release"))[0].program
AGREES = ran(mp("release"), STRONG, control=(RELAXED, WEAK))
SEEN = ran(mp("relaxed"), WEAK, stuck=7)
BROKEN = ran(replace(mp("release"), variant="broken"), {**STRONG, (1, 0): 3})
MERGED = ran(replace(mp("release"), variant="merged"), STRONG, control=(RELAXED, WEAK), label="merged")
SKIPPED = replace(ran(replace(mp("release"), variant="skipped"), STRONG), counted=None, skipped="needs sm_100a")


def log(folder: Path, *runs: Run, name: str = "log.jsonl") -> str:
    text = "".join(to_line(run) + "\n" for run in runs).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return str(folder / name)


def invoked(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["compare", *words])
    return done.exit_code, re.sub(r"\d+\.\d\d s$", "T s", done.stdout, flags=re.MULTILINE)


def test_an_older_model_is_asked_where_the_default_one_lacks_a_proxy_of_the_test(tmp_path: Path) -> None:
    text = """ptx texture
.global .u32 x; .texref t = x;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; tld.weak.u32 r0, [t]; }
exists (A.r0 == 0)"""
    (test,) = read(text, "texture.lit")
    runs = log(tmp_path, ran(test, {(0,): 5, (1,): 5}))
    for models, line in (
        ((), "✓ texture                      ptx-7.5  allowed, seen      5 of 10 (500,000 per million)"),
        (("-m", "ptx-9.4"), "– texture                      ptx-9.4  unsupported here   "),
    ):
        assert invoked(runs, "-j", "1", *models)[1].startswith(line)


def test_a_line_for_each_test_what_the_model_forbids_below_and_a_summary(tmp_path: Path) -> None:
    code, text = invoked(log(tmp_path, AGREES, SEEN, BROKEN, MERGED, SKIPPED), "-j", "1")
    assert code == 1
    assert text.splitlines() == [
        "✓ MP[release]                  ptx-9.4  agree              0 of 3.0e9 (below 0.032 per million), "
        "control relaxed 333 per million",
        "✓ MP[relaxed]                  ptx-9.4  allowed, seen      1,000,000 of 3.0e9 (333 per million)",
        "    7 stuck: a wait reached its bound; by the model it always ends (obe): it was only slow, "
        "or the harness or the chip does not keep the promise of progress",
        "✗ MP[broken]                   ptx-9.4  FORBIDDEN BUT SEEN 1 final state, 3 times",
        "    exists (B.r0 == 1 && B.r1 == 0): seen 3 times in the test; ptx-9.4: forbidden by causality",
        "· MP[merged]                   ptx-9.4  not exercised      the accesses of the test were merged, "
        "so it never ran; merged",
        "– MP[skipped]                  ptx-9.4  unsupported here   needs sm_100a",
        "5 tests, 5 runs: 1 FORBIDDEN BUT SEEN; 1 agree; 1 allowed, seen; 1 not exercised; 1 unsupported here; T s",
    ]


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        ([AGREES, SEEN, MERGED, SKIPPED], 0),
        ([AGREES, BROKEN], 1),
        ([replace(AGREES, columns=("B.r0", "B.r9")), BROKEN], 2),
    ],
)
def test_only_what_is_forbidden_and_seen_or_no_evidence_is_a_failure(
    tmp_path: Path, runs: list[Run], code: int
) -> None:
    assert invoked(log(tmp_path, *runs), "-j", "1")[0] == code


def test_several_logs_and_processes_give_what_one_gives(tmp_path: Path) -> None:
    one = log(tmp_path, AGREES, SEEN, BROKEN)
    two = log(tmp_path, MERGED, SKIPPED, name="more.jsonl.gz")
    assert invoked(one, two, "-j", "2") == invoked(one, two, "-j", "1")
    assert invoked(str(tmp_path / "*.jsonl*")) == invoked(one, two, one)


def test_a_log_is_read_as_it_was_written_or_not_at_all(tmp_path: Path) -> None:
    path = log(tmp_path, AGREES)
    Path(path).write_text(Path(path).read_text().replace("[x], 1", "[x], 2"), encoding="utf-8")
    assert invoked(path)[0] != 0
    assert invoked(str(tmp_path / "none.jsonl"))[0] != 0
    assert invoked(log(tmp_path, AGREES), "-k", "nothing")[0] == 2


def test_json_holds_every_state_with_its_verdict_and_the_question_for_those_that_are_forbidden(tmp_path: Path) -> None:
    code, text = invoked(log(tmp_path, BROKEN), "--format", "json")
    (found,) = json.loads(text)["results"]
    assert (code, found["standing"], found["verdict"]) == (1, "FORBIDDEN BUT SEEN", "forbidden")
    told: dict[tuple[int, ...], dict[str, Any]] = {tuple(state["values"]): state for state in found["states"]}
    assert {values: state["verdict"] for values, state in told.items()} == {
        (0, 0): "allowed", (0, 1): "allowed", (1, 1): "allowed", (1, 0): "forbidden"
    }  # fmt: skip
    assert told[1, 0]["by"] == ["causality"]
    assert told[1, 0]["question"].startswith("ptx MP\n")


def test_a_test_that_changed_since_it_ran_is_told(tmp_path: Path) -> None:
    (tmp_path / "now.lit").write_text(to_lit(mp("release")), encoding="utf-8")
    same = invoked(log(tmp_path, AGREES), "--tests", str(tmp_path / "now.lit"))[1]
    (tmp_path / "later.lit").write_text(to_lit(mp("release")).replace("[x], 1", "[x], 2"), encoding="utf-8")
    changed = invoked(log(tmp_path, AGREES), "--tests", str(tmp_path / "later.lit"))[1]
    gone = invoked(log(tmp_path, SEEN), "--tests", str(tmp_path / "now.lit"))[1]
    assert "by now" not in same
    assert "the test is another one by now" in changed
    assert "`--tests` has no test of this name" in gone


def test_a_picture_has_a_row_for_each_test_that_ran(tmp_path: Path) -> None:
    invoked(log(tmp_path, AGREES, SEEN, BROKEN, SKIPPED), "--picture", str(tmp_path / "rates.svg"), "-j", "1")
    drawn = ElementTree.parse(tmp_path / "rates.svg").getroot()
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [name for name in texts if name and name.startswith("MP[")] == ["MP[release]", "MP[relaxed]", "MP[broken]"]
    assert {"agree", "allowed, seen", "FORBIDDEN BUT SEEN"} <= set(texts)


def test_a_log_and_a_copy_of_it_count_once(tmp_path: Path) -> None:
    once = log(tmp_path, AGREES, SEEN, replace(SEEN, seconds=0.2))
    copy = tmp_path / "copy.jsonl"
    copy.write_text(Path(once).read_text(encoding="utf-8"), encoding="utf-8")
    assert invoked(once, str(copy), "-j", "1") == invoked(once, "-j", "1")
    assert "2 tests, 3 runs" in invoked(once, "-j", "1")[1]


@pytest.mark.parametrize("name", ["rates.png", "rates.PDF"])
def test_a_picture_of_another_kind_than_svg_is_refused_before_anything_is_asked(tmp_path: Path, name: str) -> None:
    refused = CliRunner().invoke(cli, ["compare", str(log(tmp_path, AGREES)), "--picture", str(tmp_path / name)])
    assert refused.exit_code == 2
    assert "pictures are SVG" in refused.output
    assert not (tmp_path / name).exists()
    (tmp_path / name).mkdir()
    assert invoked(log(tmp_path, AGREES), "--picture", str(tmp_path / name), "-j", "1")[0] == 0


def test_in_a_folder_there_is_a_picture_for_each_folder_of_tests(tmp_path: Path) -> None:
    runs = [replace(AGREES, path="litmus/basic/MP.lit"), replace(SEEN, path="litmus/fences/MP.lit")]
    invoked(log(tmp_path, *runs), "--picture", str(tmp_path / "rates"), "-j", "1")
    assert sorted(path.name for path in (tmp_path / "rates").iterdir()) == ["basic.svg", "fences.svg"]
    assert "MP[release]" in (tmp_path / "rates" / "basic.svg").read_text(encoding="utf-8")


def test_rates_stand_on_a_logarithmic_axis() -> None:
    results = [compare((run,), model("ptx-9.4"), Options()) for run in (SEEN, BROKEN)]
    drawn = ElementTree.fromstring(rates_svg(results))
    often, rarely = [float(disc.get("cx", 0)) for disc in drawn.iter("{http://www.w3.org/2000/svg}circle")][2:]
    lines = list(drawn.iter("{http://www.w3.org/2000/svg}line"))
    decade = float(lines[1].get("x1", 0)) - float(lines[0].get("x1", 0))
    assert (often - rarely) / decade == pytest.approx(5.5, abs=0.1)


def test_a_terminal_without_unicode_gets_ascii_marks() -> None:
    lines: list[str] = []
    report = CompareReport(lines.append, unicode=False)
    for run in (AGREES, SEEN, BROKEN, MERGED, SKIPPED):
        report.add(compare((run,), model("ptx-9.4"), Options()))
    assert "\n".join(lines).isascii()


def test_a_text_that_cannot_be_read_is_one_sentence() -> None:
    found = compare((replace(SEEN, text="ptx MP\nnonsense"),), model("sc"), Options())
    assert (found.standing, found.told) == (
        Standing.BROKEN,
        "a text cannot be read: line 2: expected a declaration, a thread or a condition, found `nonsense`",
    )


def test_a_model_that_says_nothing_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "none.cat").write_text("")
    done = CliRunner().invoke(cli, ["compare", log(tmp_path, SEEN), "-m", str(tmp_path / "none.cat")])
    assert "warning: the model has no axiom, so it allows everything" in done.output
