"""Hangs on the command line: which progress model is asked, what is judged, and the evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptxmm.cli import main
from ptxmm.options import PROGRESS
from ptxmm.progress import ENDINGS
from ptxmm.syntax.lit_expect import PROGRESS as WRITTEN

SPIN = """\
ptx spin
"A thread waits for another CTA."

.global .u32 x = 0;

thread W @ d0.c0.b0 {
    do { ld.relaxed.gpu.global.u32 r, [x]; } while (r == 0);
}
thread S @ d0.c1.b1 {
    st.relaxed.gpu.global.u32 [x], $V;
}

exists (W.r == 2)

variants
    name  | V | expect
    set   | 1 | forbidden, no race, no hang, hang[hsa]
    never | 0 | forbidden, hang
end
"""


@pytest.fixture
def spin(tmp_path: Path) -> Path:
    path = tmp_path / "spin.lit"
    path.write_text(SPIN)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0), capsys.readouterr().out


def results(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(capsys, *arguments, "--format", "json")[1])["results"]
    return found


def test_everybody_knows_the_same_progress_models() -> None:
    assert set(PROGRESS) == set(ENDINGS) == set(WRITTEN)


def test_hangs_stand_among_the_verdicts(capsys: pytest.CaptureFixture[str], spin: Path) -> None:
    code, out = run(capsys, "check", spin)
    assert code == 0
    assert "forbidden, no race, no hang, hang[hsa]" in out.splitlines()[0]
    assert "forbidden, hang " in out.splitlines()[1]


def test_what_is_not_asked_is_not_judged(capsys: pytest.CaptureFixture[str], spin: Path) -> None:
    first, second = results(capsys, "check", spin, "--property", "hang")
    assert (first["verdict"], first["race"]["verdict"]) == ("not asked", "not asked")
    assert (first["expected"], first["ok"]) == (["no hang", "hang[hsa]"], True)
    assert (second["expected"], second["ok"]) == (["hang"], True)
    assert results(capsys, "check", spin, "--property", "outcome")[0]["expected"] == ["forbidden"]


def test_a_stated_hang_is_judged_under_the_progress_model_it_names(
    capsys: pytest.CaptureFixture[str], spin: Path
) -> None:
    (found,) = results(capsys, "check", spin, "-k", "set", "--progress", "obe")
    assert (found["hang"]["verdict"], found["hang"]["progress"]) == ("yes", "obe")
    assert [(h["progress"], h["verdict"]) for h in found["hangs"]] == [("fair", "no"), ("hsa", "yes")]
    assert found["ok"] is True
    assert found["hang"]["why"] == "W waits for ever in its loop at line 7 and reads x = 0; S never starts"


def test_a_loop_that_the_second_engine_has_to_cut_leaves_hangs_unknown(
    capsys: pytest.CaptureFixture[str], spin: Path
) -> None:
    counts = SPIN.replace("r, [x]; } while (r == 0)", "r, [x]; n = n + 1; } while (r == 0 || n < 9)")
    spin.write_text(counts, encoding="utf-8")
    code, out = run(capsys, "check", spin, "-k", "set", "--engine", "enumeration", "--property", "hang")
    assert code == 3
    assert out.startswith("? spin[set]")
    assert "expected no hang, got unknown" in out


def test_a_wrong_statement_about_hangs_is_a_surprise(capsys: pytest.CaptureFixture[str], spin: Path) -> None:
    spin.write_text(SPIN.replace("no hang, hang[hsa]", "no hang, no hang[hsa]"))
    code, out = run(capsys, "check", spin)
    assert code == 1
    assert "expected no hang[hsa], got hang" in out


def test_the_execution_that_never_ends_is_shown_and_drawn(
    capsys: pytest.CaptureFixture[str], spin: Path, tmp_path: Path
) -> None:
    _, out = run(capsys, "check", spin, "-k", "never", "--witness", tmp_path / "drawn")
    assert "    hang:  W waits for ever in its loop at line 7 and reads x = 0" in out
    assert "W @ d0.c0.b0" in out
    drawn = sorted(path.name for path in (tmp_path / "drawn").iterdir())
    assert drawn == ["spin-never.ptx-9.4.hang.dot", "spin-never.ptx-9.4.hang.svg"]
    (found,) = results(capsys, "check", spin, "-k", "never", "--witness")
    assert found["hang"]["witness"]["events"]
