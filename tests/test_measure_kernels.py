"""The kernels of the measurements: every arm is written out, and NVIDIA's tools take every instruction."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ptxmm.gpu.measure import wait_cost
from ptxmm.gpu.measure.catalogue import MEASURES
from ptxmm.gpu.measure.sources import instructions, source

PTXAS, NVCC = shutil.which("ptxas"), shutil.which("nvcc")
KINDS = {"r": "b32", "l": "b64", "h": "b16", "f": "f32"}
OPERAND = re.compile(r"%(\d)(?!\w)")
HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"


class Written(Exception):
    """What a measurement would compile."""


@lru_cache(None)
def text(name: str) -> str:
    """The text that a measurement compiles on a GPU with 132 multiprocessors."""

    def module(text: str) -> Any:
        raise Written(text)

    machine: Any = SimpleNamespace(cp=None, np=SimpleNamespace(random=SimpleNamespace(default_rng=int)))
    machine.multiprocessors, machine.module = 132, module
    with pytest.raises(Written) as written:
        MEASURES[name].prepare(machine)
    return str(written.value)


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_is_left_to_fill_in(name: str) -> None:
    assert not re.findall(r"@\w+@|//@", text(name))


@pytest.mark.parametrize("name", MEASURES)
def test_every_kernel_has_a_name_of_its_own(name: str) -> None:
    kernels = re.findall(r"^KERNEL[^(]*?(?:__\w+__\([^)]*\) )*(\w+)\(", text(name), re.MULTILINE)
    assert len(kernels) > 3
    assert len(set(kernels)) == len(kernels)


def test_each_form_of_a_wait_is_written_with_its_own_poll_and_close() -> None:
    waits = re.findall(r"bool wait_(\d+)\(.*?^\}", text("wait-cost"), re.MULTILINE | re.DOTALL)
    assert len(waits) == len(wait_cost.FORMS)
    assert "ld.acquire.gpu.global.u32 %0, [%1];" in text("wait-cost")
    assert "__nanosleep(2000);" in text("wait-cost")


@pytest.mark.parametrize("name", MEASURES)
def test_every_instruction_between_quotes_is_found(name: str) -> None:
    assert sum(1 for _ in instructions(text(name))) == len(re.findall(r"\basm(?: volatile)?\(", text(name)))


@pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed")
def test_ptxas_takes_every_instruction(tmp_path: Path) -> None:
    found = {each for name in MEASURES for each in instructions(text(name))}
    assert len(found) > 50
    lines = [each for template, kinds in sorted(found) for each in wrapped(template, kinds)]
    registers = " ".join(f".reg .{kind} %{letter}<8>;" for letter, kind in KINDS.items())
    body = "\n".join([HEAD + ".visible .entry k() {", registers, *lines, "ret; }"])
    assembled(body, tmp_path)


def wrapped(template: str, kinds: tuple[str, ...]) -> list[str]:
    """An instruction with registers for its operands."""
    return ["{", OPERAND.sub(lambda found: f"%{kinds[int(found[1])]}{found[1]}", template), "}"]


def assembled(body: str, folder: Path) -> None:
    file = folder / "k.ptx"
    file.write_text(body, encoding="utf-8")
    ended = subprocess.run(
        [str(PTXAS), "-arch=sm_90a", str(file), "-o", str(folder / "k.cubin")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", MEASURES)
def test_nvcc_compiles_the_kernels(name: str, tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(text(name), encoding="utf-8")
    ended = subprocess.run(
        [str(NVCC), "-arch=sm_90a", "-std=c++17", "-cubin", "-o", str(tmp_path / "k.cubin"), str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr


def test_a_section_is_written_once_for_each_filling() -> None:
    written = source("combine", arms={"each": [{"K": "2"}, {"K": "4"}]})
    assert written.count("KERNEL gather_f32_") == 2
    assert "constexpr int K = 4;" in written


def test_a_filling_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        source("combine", arms={"each": [{}]})


def test_measuring_needs_neither_a_solver_nor_a_parser_to_be_imported() -> None:
    script = (
        "import sys, ptxmm.cli, ptxmm.gpu.measure.catalogue, ptxmm.gpu.measure.machine, ptxmm.report.measure_svg;"
        "print(sorted({'z3', 'lark', 'networkx', 'cupy', 'numpy'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
