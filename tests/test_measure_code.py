"""The machine code of measurements: what stands between quotes must be there; small kernels as they were compiled."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ptxmm.gpu.measure import machine
from ptxmm.gpu.measure.facts import facts
from ptxmm.gpu.measure.machine import Machine
from ptxmm.gpu.measure.results import Code, from_json, to_json
from ptxmm.report.measure import measure_report, measurement_text

RECORDED = Path(__file__).parent / "golden" / "measured"
PAGES = Path(__file__).parent.parent / "docs" / "measurements"
PTX, LISTING = ((RECORDED / f"small.{ending}").read_text(encoding="utf-8") for ending in ("ptx", "txt"))
GONE = "there is no such instruction in the machine code"


def code(listing: str = LISTING) -> dict[str, Code]:
    return {one.kernel: one for one in facts(PTX, listing)}


def test_a_release_is_a_barrier_and_a_strong_store() -> None:
    found = code()["published"]
    assert (found.label, found.remarks) == ("as written", ())
    assert {"MEMBAR.ALL.GPU": 1, "STG.E.STRONG.GPU": 1}.items() <= dict(found.instructions).items()


def test_an_acquire_whose_value_nobody_uses_is_what_it_orders() -> None:
    found = code()["closed"]
    assert (found.label, found.remarks) == ("as written", (f"`ld.acquire.gpu.global.u32`: {GONE}",))
    assert dict(found.instructions)["CCTL.IVALL"] == 1


def test_half_of_a_load_is_less_than_what_is_written() -> None:
    found = code()["halved"]
    assert (found.label, found.remarks) == ("merged", ("`ld.volatile.global.u64`: LDG.E.STRONG.SYS is narrower",))


@pytest.mark.parametrize(
    ("kernel", "there", "instead"),
    [
        ("published", "STG.E.STRONG.GPU", "STG.E"),
        ("published", "MEMBAR.ALL.GPU", "NOP"),
        ("closed", "CCTL.IVALL", "NOP"),
    ],
)
def test_nothing_between_quotes_can_be_weaker_without_notice(kernel: str, there: str, instead: str) -> None:
    assert code(LISTING.replace(there, instead))[kernel].label == "merged"


class Fake(Machine):
    """A machine whose CuPy compiles one text; the tools of the toolkit are replaced too."""

    def __init__(self, folder: Path) -> None:
        def loaded(**given: Any) -> Any:
            assert given.get("code") or Path(given["path"]).read_bytes() == b"cubin"
            return SimpleNamespace(get_function=lambda name: name, compile=lambda: None, **given)

        nvrtc = SimpleNamespace(
            createProgram=lambda text, name, headers, names: text,
            compileProgram=lambda program, options: None,
            getPTX=lambda program: PTX.encode() + b"\0",
        )
        self.cp: Any = SimpleNamespace(RawModule=loaded, cuda=SimpleNamespace(nvrtc=nvrtc))
        self.device: Any = SimpleNamespace(capability="9.0")
        self.folder: Any = SimpleNamespace(name=str(folder))
        self.modules, self.code = [], ()


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(machine, "tool", lambda name: name)
    monkeypatch.setattr(machine, "assembled", lambda tool, ptx, architecture: b"cubin")
    monkeypatch.setattr(machine, "disassembled", lambda code: LISTING)
    return monkeypatch


def test_what_is_audited_is_what_runs(tools: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    assert fake.module("text").path.endswith(".cubin")
    assert [one.kernel for one in fake.code] == ["published", "closed", "halved"]


@pytest.mark.parametrize("missing", ["tool", "assembled", "disassembled"])
def test_where_a_tool_is_missing_the_kernels_run_unaudited(
    tools: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    def fails(*_: object) -> Any:
        raise RuntimeError

    tools.setattr(machine, missing, fails)
    fake = Fake(tmp_path)
    assert fake.module("text").code == "text"
    assert fake.code == ()


def test_a_measurement_with_code_reads_back_and_tells_what_is_lacking() -> None:
    (recorded,) = map(from_json, json.loads((PAGES / "combine.json").read_text(encoding="utf-8")))
    old = replace(recorded, code=())
    new = from_json(json.loads(json.dumps({**to_json(old), "code": [*map(_as_json, code().values())]})))
    (again,) = map(from_json, json.loads(measure_report([new])))
    assert again == new
    text = measurement_text(new, 100)
    assert "machine code of 3 kernels: 2 as written, 1 merged" in text
    assert "merged: `ld.volatile.global.u64`: LDG.E.STRONG.SYS is narrower (in 1)" in text


def test_the_page_tells_of_every_kernel_that_did_not_run_as_written() -> None:
    found = [m for page in sorted(PAGES.glob("*.json")) for m in map(from_json, json.loads(page.read_text("utf-8")))]
    merged = {m.name: sum(one.label != "as written" for one in m.code) for m in found}
    number = sum(len(m.code) for m in found)
    assert {name: times for name, times in merged.items() if times} == {"grid-sync": 11, "wait-cost": 15}
    assert f"Of {number} kernels {number - 26} are as written" in (PAGES.parent / "measure.md").read_text("utf-8")


def _as_json(one: Code) -> dict[str, Any]:
    return {"kernel": one.kernel, "label": one.label, "instructions": one.instructions, "remarks": one.remarks}
