"""`ptxmm run` as a whole on the machine: its process, its log, tests that cannot run, and launches that do not end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import machine
import pytest
from click.testing import CliRunner

from ptxmm.cli import cli
from ptxmm.gpu import process
from ptxmm.gpu import session as sessions
from ptxmm.gpu.lines import read_log
from ptxmm.gpu.log import Run
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.runs import Wish, runs
from ptxmm.gpu.session import NoGpu, Session
from ptxmm.syntax.lit import read

MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x]; }
~exists (B.r0 == 1 && B.r1 == 0)
expect forbidden;
"""
TICKETS = """ptx tickets
.global .u32 n;
thread A @ d0.c0.b0 { atom.acq_rel.gpu.global.add.u32 r0, [n], 1; }
thread B @ d0.c1.b1 { atom.acq_rel.gpu.global.add.u32 r0, [n], 1; }
~exists (A.r0 == B.r0)
"""
APART = """ptx apart
.global .u32 x;
thread A @ d0.c0.b0 { bar.sync 0, 64; st.weak.u32 [x], 1; }
thread B @ d0.c0.b0 { bar.sync 1, 64; st.weak.u32 [x], 2; }
exists (x == 1)
"""
CLUSTERED = MP.replace("ptx MP", "ptx clustered").replace("release.gpu", "release.cluster").replace("c1.b1", "c0.b1")
Start = Callable[..., Session]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No deadline that a slow machine would pass."""
    for module, name in ((process, "START"), (sessions, "LOADING"), (sessions, "GRACE")):
        monkeypatch.setattr(module, name, 600.0)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Sessions with a process that has the machine."""
    opened: list[Session] = []

    def started(number: int = 0, **settings: object) -> Session:
        for name, value in machine.environment(**settings).items():
            monkeypatch.setenv(name, value)
        opened.append(Session(number))
        return opened[-1]

    yield started
    for session in opened:
        session.close()


def told(session: Session, *texts: str, controls: bool = False) -> list[Run]:
    wish = Wish((PROFILES["hot"],), 1e-6, 0, controls)
    programs = [program for text in texts for program in read(text, "test.lit")]
    return [run for each in runs(programs, session, wish) for run in each]


def test_a_test_and_its_controls_are_counted_by_a_process_of_their_own(start: Start) -> None:
    (run, other) = told(start(seed=1, multiprocessors=5), MP, TICKETS, controls=True)
    assert run.device is not None
    assert (run.device.name, run.device.capability, run.device.multiprocessors) == ("Sequential machine", "9.0", 5)
    for one in (run, other):
        assert one.counted is not None
        assert one.counted.adds_up
        assert not one.counted.holding
    assert other.counted is not None
    assert {outcome.values for outcome in other.counted.outcomes} == {(0, 1), (1, 0)}


def test_a_device_that_is_too_old_or_is_not_there_is_told(start: Start) -> None:
    old = start(capability=[8, 0])
    (cluster, plain) = told(old, CLUSTERED, MP)
    assert cluster.skipped is not None
    assert "sm_90" in cluster.skipped
    assert plain.counted is not None
    with pytest.raises(NoGpu, match="invalid device ordinal"):
        told(start(number=1), MP)


def test_a_test_of_two_devices_runs_where_there_are_two_gpus(start: Start) -> None:
    apart = MP.replace("d0.c1", "d1.c1").replace(".gpu.", ".sys.")
    (run, plain) = told(start(devices=2, seed=2), apart, MP, controls=True)
    for one in (run, plain):
        assert one.counted is not None
        assert one.counted.adds_up
        assert not one.counted.holding
    assert run.control is not None
    assert [run.gpus, plain.gpus] == [2, 1]
    assert run.counted is not None
    assert run.control.counted.instances == run.counted.instances
    (alone,) = told(start(devices=1), apart)
    assert alone.skipped == "it needs 2 GPUs, and this machine has 1"


def test_a_launch_that_does_not_end_costs_its_process_and_the_others_go_on(start: Start) -> None:
    (apart, plain) = told(start(hangs=True), APART, MP)
    assert apart.counted is None
    assert apart.hung is not None
    assert apart.hung.startswith("a launch did not end")
    assert plain.counted is not None


def test_the_command_writes_a_log_that_compare_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in machine.environment().items():
        monkeypatch.setenv(name, value)
    (tmp_path / "mp.lit").write_text(MP)
    log = tmp_path / "runs.jsonl"
    command = ["run", str(tmp_path / "mp.lit"), "--log", str(log), "--seconds", "0.000001", "--profile", "few"]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    (run,) = read_log(log)
    assert (run.test, run.profile.name) == ("MP", "few")
    assert run.counted is not None
    compared = CliRunner().invoke(cli, ["compare", str(log)])
    assert compared.exit_code == 0, compared.output
