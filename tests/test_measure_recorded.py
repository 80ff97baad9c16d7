"""The recorded measurements: they contradict nothing, and the page and its pictures say what they say.

`PTXMM_REWRITE=1 pytest tests/test_measure_recorded.py` writes the sections and the pictures anew.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from ptxmm.gpu.measure.catalogue import MEASURES
from ptxmm.gpu.measure.claims import judged
from ptxmm.gpu.measure.results import Measurement, Role, from_json
from ptxmm.report.measure import measure_report
from ptxmm.report.measure_page import measurement_page
from ptxmm.report.measure_svg import measurement_svg

DOCS = Path(__file__).parent.parent / "docs"
RECORDED = sorted((DOCS / "measurements").glob("*.json"))
REWRITE = bool(os.environ.get("PTXMM_REWRITE"))


def recorded(path: Path) -> Measurement:
    (found,) = map(from_json, json.loads(path.read_text(encoding="utf-8")))
    return found


def test_every_measurement_is_recorded() -> None:
    assert {path.stem for path in RECORDED} == set(MEASURES)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_no_negative_control_shows_anything(path: Path) -> None:
    assert not recorded(path).failures()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_arm_that_is_measured_today_is_recorded(path: Path) -> None:
    found = recorded(path)
    assert found.name == path.stem
    assert len(found.series) == len(MEASURES[found.name].settings)
    assert any(row.role is Role.POSITIVE for series in found.series for row in series.rows)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_is_said_of_the_claims_follows_from_the_numbers(path: Path) -> None:
    found = recorded(path)
    assert found.claims == judged(MEASURES[found.name].claims, found.series)
    assert path.read_text(encoding="utf-8") == measure_report([found]) + "\n"


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_picture_shows_the_numbers(path: Path) -> None:
    picture = measurement_svg(recorded(path))
    if REWRITE:
        path.with_suffix(".svg").write_text(picture, encoding="utf-8")
    assert path.with_suffix(".svg").read_text(encoding="utf-8") == picture


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_page_tells_the_numbers(path: Path) -> None:
    page, found = DOCS / "measure.md", recorded(path)
    section = measurement_page(found, MEASURES[found.name].asks, f"measurements/{path.stem}.svg")
    text = page.read_text(encoding="utf-8")
    if REWRITE:
        written = f"<!-- {path.stem} -->\n{section}\n<!-- end -->"
        text = re.sub(rf"<!-- {path.stem} -->\n.*?<!-- end -->", lambda _: written, text, flags=re.DOTALL)
        page.write_text(text, encoding="utf-8")
    assert section in text
