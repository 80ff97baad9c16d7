"""From tests to runs of a log, with a process that stands in for the GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from runs import mp, ran

from ptxmm.cli import cli
from ptxmm.cli_run import _Log
from ptxmm.errors import PtxmmError
from ptxmm.gpu import assembler, audit, child, device
from ptxmm.gpu.auditors import answered, asked, auditors
from ptxmm.gpu.counting import Tally, counted
from ptxmm.gpu.harness import COUNTERS
from ptxmm.gpu.jobs import Done, Job, Passed, Played, Started
from ptxmm.gpu.lines import to_line
from ptxmm.gpu.log import Audit, Device, Profile, Run
from ptxmm.gpu.prepared import prepared
from ptxmm.gpu.process import MISSING
from ptxmm.gpu.profiles import PROFILES, USUAL
from ptxmm.gpu.runs import Wish, runs
from ptxmm.gpu.session import SPARES, Process, Session
from ptxmm.gpu.shape import Chip, shape
from ptxmm.gpu.source import kernel
from ptxmm.program import Program
from ptxmm.report.run import RunReport
from ptxmm.syntax.lit import read

LIBRARY = Path(__file__).parent.parent / "litmus"
MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x]; }
exists (B.r0 == 1 && B.r1 == 0)
"""
H200 = Device(
    name="GPU", capability="9.0", multiprocessors=132, driver="580 (CUDA 13.0)", cupy="14.2.0", ptxas="13.0.88"
)
CHIP = Chip(132, 60 << 20)
WISH = Wish((PROFILES["cold"],), 0.01, 0)

Answer = Callable[[Job], Done | None]


HANDED_OVER = """ptx handed-over
.shared @ d0.c0.b0 .mbarrier m(1); .shared @ d0.c0.b0 .u32 s;
thread A @ d0.c0.b0 { st.weak.shared.u32 [s], 1; mbarrier.arrive.shared::cta.b64 _, [m]; }
thread B @ d0.c0.b0 {
    await mbarrier.try_wait.parity.shared::cta.b64 [m], 0; ld.weak.shared.u32 r, [s];
    mbarrier.arrive.shared::cta.b64 _, [m];
}
exists (B.r == 0)"""


def only(text: str) -> Program:
    (program,) = read(text, "test.lit")
    return program


def tally(*states: tuple[tuple[int, ...], int], holding: int = 0, **counters: int) -> Tally:
    total = sum(number for _, number in states) + sum(counters.values())
    whole = dict.fromkeys(COUNTERS, 0) | counters | {"instances": total, "holding": holding, "squares": holding}
    return Tally(states, whole, total, 0, 1)


class Patient:
    """A connection on which one waits as long as it takes, but no longer once the other side has fallen silent."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.silent = connection, Event()
        self.send, self.recv, self.close = connection.send, connection.recv, connection.close

    def poll(self, _seconds: float) -> bool:
        while not self.silent.is_set():
            if self.connection.poll(0.01):
                return True
        return self.connection.poll(0)


class Standing:
    """Stands in for the process that launches: answers jobs, or leaves them without an answer."""

    def __init__(self, answer: Answer, passes: Callable[[Job], bool] = lambda job: True) -> None:
        self.answer, self.passes, self.started, self.ended = answer, passes, 0, 0
        self.open: list[Connection] = []

    def start(self, _number: int) -> Process:
        here, there = Pipe()
        self.started += 1
        self.open.append(there)
        patient = Patient(here)
        Thread(target=self.serve, args=(there, patient.silent), daemon=True).start()
        return Process(self, cast("Connection", patient), H200)

    def serve(self, jobs: Connection, silent: Event) -> None:
        try:
            while (job := jobs.recv()) is not None:
                done = self.answer(job)
                if done is None or done.played or done.fatal:
                    jobs.send(Started(job.number))
                    if self.passes(job):
                        jobs.send(Passed(job.number))
                if done is None:
                    silent.set()
                    return
                jobs.send(done)
        except (EOFError, OSError):
            return

    def kill(self) -> None:
        self.ended += 1

    def wait(self, _seconds: float) -> None:
        pass


def counting(job: Job) -> Done:
    """Every kernel saw the weak outcome once in four."""
    return played(job, *(tally(((1, 0), 1), ((1, 1), 3), holding=1) for _ in job.kernels))


def played(job: Job, *tallies: Tally | None) -> Done:
    """The same tallies under each profile."""
    return Done(job.number, tuple(Played(tallies, (False, *(True for _ in tallies[1:])), 0.1) for _ in job.profiles))


def run_all(programs: list[Program], standing: Standing | Answer, wish: Wish = WISH) -> list[list[Run]]:
    session = Session(0, (standing if isinstance(standing, Standing) else Standing(standing)).start)
    try:
        with ThreadPoolExecutor(1) as readers:
            return list(runs(programs, session, wish, readers))
    finally:
        session.close()


def test_a_test_runs_under_each_profile_next_to_a_weaker_sibling() -> None:
    ((cold, hot),) = run_all([only(MP)], counting, replace(WISH, profiles=(PROFILES["cold"], PROFILES["hot"])))
    assert [cold.profile.name, hot.profile.name] == ["cold", "hot"]
    assert cold.counted is not None
    assert cold.control is not None
    assert (cold.columns, cold.counted.holding, cold.counted.instances) == (("B.r0", "B.r1"), 1, 4)
    assert cold.control.change.startswith("relaxed: A: st.release.gpu.u32 -> st.relaxed.gpu.u32")
    assert "st.relaxed.gpu.global.u32 [f], 1;" in cold.control.text


def test_runs_come_in_the_order_of_the_tests_with_those_that_are_skipped() -> None:
    elsewhere = only(MP.replace("ptx MP", "ptx two-devices").replace("d0.c1.b1", "d1.c1.b1"))
    newer = only(MP.replace("ptx MP", "ptx newer").replace("exists", "hardware { require sm_100; } exists"))
    found = run_all([elsewhere, only(MP), newer, only(MP), elsewhere], counting)
    assert [(each[0].test, each[0].skipped) for each in found] == [
        ("two-devices", "it needs 2 GPUs, and this machine has 1"),
        ("MP", None),
        ("newer", "it requires sm_100, and this device has compute capability 9.0"),
        ("MP", None),
        ("two-devices", "it needs 2 GPUs, and this machine has 1"),
    ]


def test_a_launch_that_does_not_end_costs_its_test_and_no_other() -> None:
    standing = Standing(lambda job: None if job.number == 1 else counting(job))
    found = run_all([only(MP)] * 3, standing)
    assert [each[0].hung is None for each in found] == [True, False, True]
    assert "did not end" in (found[1][0].hung or "")
    assert standing.started == standing.ended == 3 + SPARES, "one process, two that went on after it, and spare ones"


def test_a_control_that_does_not_end_costs_no_test() -> None:
    standing = Standing(lambda job: None if job.number == 1 and len(job.kernels) > 1 else counting(job))
    found = [run for (run,) in run_all([only(MP)] * 3, standing)]
    assert [run.skipped for run in found] == [None] * 3
    assert [run.control is None for run in found] == [False, True, False]
    assert "did not end" in (found[1].uncontrolled or "")


def test_where_the_boldest_control_fails_the_others_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    audited: list[str] = []

    def audit_of(text: str, _code: bytes) -> Audit:
        audited.append(text)
        return Audit()

    monkeypatch.setattr(audit, "audit_of", audit_of)
    test, ran = only(HANDED_OVER), list[int]()

    def answer(job: Job) -> Done:
        ran.append(len(job.kernels))
        if job.bold:
            return Done(job.number, failed="the launch failed: an illegal instruction", fatal=True)
        return played(job, *(tally(((r,), 100), holding=100 * (r == 0)) for r in [1] + [0] * (len(job.kernels) - 1)))

    ((run,),) = run_all([test], answer, replace(WISH, audit=True))
    kinds = [control.kind for control in prepared(test, "9.0", with_controls=True).controls]
    assert kinds[-1] == "headlong"
    assert ran == [len(kinds) + 1, len(kinds)]
    assert run.uncontrolled is None
    assert run.control is not None
    assert len(run.tried) == len(kinds) - 2
    assert [f"KERNEL{len(kinds)}:" in text for text in audited] == [False]


def test_a_test_whose_first_pass_does_not_end_is_not_asked_again() -> None:
    asked: list[int] = []

    def answer(job: Job) -> None:
        asked.append(job.number)

    ((run,),) = run_all([only(MP)], Standing(answer, lambda job: False))
    assert run.hung is not None
    assert run.hung.startswith("a launch did not end")
    assert asked == [0]


def test_a_test_that_fails_by_itself_is_not_asked_again() -> None:
    asked: list[int] = []

    def answer(job: Job) -> Done:
        asked.append(job.number)
        return Done(job.number, failed="an illegal address", fatal=True, alone=True)

    ((run,),) = run_all([only(MP)], answer)
    assert (run.skipped, asked) == ("an illegal address", [0])


def test_of_several_controls_the_log_has_the_one_that_showed_most() -> None:
    def answer(job: Job) -> Done:
        none, some, more = (tally(((1, 0), n), ((1, 1), 1000 - n), holding=n) for n in (0, 20, 300))
        return played(job, none, some, more, None)

    ((run,),) = run_all([only(MP)], answer)
    assert run.control is not None
    assert (run.control.change.split(":")[0], run.control.counted.holding) == ("narrowed", 300)
    assert [each.split(":")[0] for each in run.tried] == ["relaxed"]
    assert run.control.beside


def test_of_several_controls_that_showed_nothing_the_log_has_the_weakest() -> None:
    def answer(job: Job) -> Done:
        return played(job, *(tally(((1, 1), 1000)) for _ in job.kernels))

    ((run,),) = run_all([only(MP)], answer)
    assert run.control is not None
    kinds = [control.kind for control in prepared(only(MP), "9.0", with_controls=True).controls]
    assert run.control.change.split(":")[0] == kinds[-1]
    assert [each.split(":")[0] for each in run.tried] == kinds[:-1]


def test_where_forall_is_asked_the_control_counts_in_which_it_fails() -> None:
    asking = MP.replace("exists (B.r0 == 1 && B.r1 == 0)", "forall (B.r0 == 0 || B.r1 == 1)")

    def answer(job: Job) -> Done:
        assert job.failing
        none, some, more = (tally(((1, 0), n), ((1, 1), 1000 - n), holding=1000 - n) for n in (0, 300, 20))
        return played(job, none, some, more, None)

    ((run,),) = run_all([only(asking)], answer)
    assert run.control is not None
    assert run.control.counted.holding == 700


def loading(monkeypatch: pytest.MonkeyPatch, refused: Callable[[str], bool]) -> list[Started | Done]:
    """What the process says of a job where some texts do not load."""
    made = prepared(only(MP), "9.0", with_controls=True)
    assert made.entry is not None
    said: list[Started | Done] = []

    def loader(text: str) -> Future[tuple[str, bytes]]:
        coming = Future[tuple[str, bytes]]()
        if refused(text):
            coming.set_exception(RuntimeError("ptxas kernel.ptx, line 7; error: too new"))
        else:
            coming.set_result(("function", b"code"))
        return coming

    monkeypatch.setattr(child, "_played", lambda jobs, gpu, job, function: Done(job.number))
    job = Job(3, made.entry, (PROFILES["cold"],), 0.1, 0, audited=True)
    connection: Any = SimpleNamespace(send=said.append)
    child._answer(connection, cast("Any", None), job, cast("Any", loader))
    return said


def test_a_control_that_does_not_load_costs_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loading(monkeypatch, lambda text: False) == [Started(3, b"code"), Done(3)]
    spoilt = "a control does not load: line 7; error: too new"
    assert loading(monkeypatch, lambda text: "KERNEL1:" in text) == [Started(3, b"code"), Done(3, spoilt=spoilt)]
    failed = "its kernel does not load: line 7; error: too new"
    assert loading(monkeypatch, lambda text: True) == [Done(3, failed=failed)]


def test_what_is_audited_is_the_kernel_that_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    audited: list[str] = []

    def audit_of(text: str, _code: bytes) -> Audit:
        audited.append(text)
        return Audit(label="as written")

    monkeypatch.setattr(audit, "audit_of", audit_of)
    ways: tuple[Answer, ...] = (counting, lambda job: replace(counting(job), spoilt="a control does not load"))
    for answer in ways:
        ((run,),) = run_all([only(MP)], answer, replace(WISH, audit=True))
        assert run.counted is not None
        assert run.counted.audit.label == "as written"
    assert ["KERNEL1:" in text for text in audited] == [True, False]


def test_a_reader_of_machine_code_that_ends_costs_its_audits_alone() -> None:
    with auditors() as pool:
        dead = pool.submit(os._exit, 1)
        with pytest.raises(BrokenExecutor):
            dead.result(60)
        found = answered(asked(pool, "", b"code"))
    assert (found.label, found.remarks) == ("not audited", ("the process that read the machine code ended",))


def test_machine_code_is_read_in_a_process_of_its_own() -> None:
    with auditors() as pool:
        assert answered(asked(pool, "", b"")) == audit.audit_of("", b"")


def test_a_control_whose_counts_are_wrong_is_left_out() -> None:
    def answer(job: Job) -> Done:
        right = tally(((1, 1), 10))
        return played(job, right, replace(right, failed_meetings=1), right, None)

    ((run,),) = run_all([only(MP)], answer)
    assert run.control is not None
    assert run.control.change.startswith("narrowed")


def test_a_process_that_reads_no_more_is_noticed_too() -> None:
    standing = Standing(lambda job: None if job.number == 0 else counting(job))
    more = "".join(f"thread C{n} @ d0.c{n}.b{n} {{ st.weak.u32 [x], 2; }} " for n in range(2, 11))
    large = MP.replace("thread B", more + "thread B")
    found = run_all([only(large)] * 30, standing)
    assert [each[0].hung is None for each in found] == [False] + [True] * 29


def test_a_lost_process_is_replaced_and_a_kernel_that_does_not_load_is_told() -> None:
    failing = {0: Done(0, failed="an illegal address", fatal=True), 1: Done(1, failed="PTX 9.9 is too new")}
    standing = Standing(lambda job: failing.get(job.number) or counting(job))
    found = run_all([only(MP)] * 3, standing)
    assert [each[0].skipped for each in found] == ["an illegal address", "PTX 9.9 is too new", None]
    assert standing.started == standing.ended > 2, "the lost process, the one after it, and a spare; all ended"


def test_counts_that_do_not_add_up_are_refused() -> None:
    program = only(MP)
    made = kernel(program)
    assert counted(program, made, tally(((1, 0), 5), ((0, 0), 2), holding=5, stuck=1)).stuck == 1
    right = tally(((1, 0), 5), holding=5)
    for wrong, why in (
        (replace(right, expected=6), "do not add up"),
        (replace(right, counters=right.counters | {"holding": 4}), "the condition held 5 times here, and 4"),
        (replace(right, failed_meetings=1), "stuck while others waited"),
    ):
        with pytest.raises(PtxmmError, match=why):
            counted(program, made, wrong)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_all_ctas_of_a_launch_are_resident_and_the_working_set_is_as_large_as_the_profile_says(
    profile: Profile,
) -> None:
    made = kernel(only(MP))
    found = shape(made, profile, CHIP, 6)
    assert found.ctas <= 132 * min(6, profile.ctas_per_sm)
    assert found.ctas % 2 == 0
    assert found.stride >= found.instances * found.slot + 256
    size = found.instances * found.slot * 2
    assert (size > 2 * CHIP.l2) if profile.working_set == "cold" else (size <= 0.6 * CHIP.l2)


def test_a_line_says_how_often_the_condition_held_in_the_test_and_in_its_control() -> None:
    lines: list[str] = []
    report = RunReport(lines.append)
    for each in run_all([only(MP)], counting):
        report.add(each)
        assert '"hash"' in to_line(each[0])
    assert lines == ["MP: 1 of 4 (250,000 per million); control relaxed 1 of 4 (250,000 per million)"]


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mp.lit").write_text(MP, encoding="utf-8")
    for words in (["run", str(tmp_path / "mp.lit")], ["measure", "wait-cost"]):
        command = [sys.executable, "-m", "ptxmm", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"ptxmm: {MISSING}\n")


def test_emit_writes_the_kernels_without_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "mp.lit").write_text(MP, encoding="utf-8")
    done = CliRunner().invoke(cli, ["run", str(tmp_path / "mp.lit"), "--emit", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert (tmp_path / "out" / "MP.ptx").read_text(encoding="utf-8") == kernel(only(MP)).text
    assert done.output == f"MP: {tmp_path / 'out' / 'MP.ptx'} (PTX 7.0, sm_70)\n"


def test_emit_names_files_as_pictures_are_named(tmp_path: Path) -> None:
    words = ["run", str(LIBRARY / "basic" / "MP.lit"), "-k", "relaxed", "--emit", str(tmp_path)]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert [one.name for one in tmp_path.iterdir()] == ["MP-relaxed.ptx"]


def test_the_usual_profiles_are_profiles() -> None:
    assert set(USUAL) <= set(PROFILES)


def test_running_needs_neither_z3_nor_cupy_until_a_kernel_is_launched() -> None:
    code = "import sys, ptxmm.cli, ptxmm.gpu.runs, ptxmm.gpu.session; print({'z3', 'cupy', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_kernel_is_assembled_once_for_all_processes_that_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def counted_assembled(_assembler: str, text: str, architecture: str) -> bytes:
        texts.append(text)
        return f"{architecture} {text}".encode()

    monkeypatch.setattr(assembler, "assembled", counted_assembled)
    for _ in range(2):
        assert assembler.kept(tmp_path, "ptxas", "first", "sm_90a") == b"sm_90a first"
    assert assembler.kept(tmp_path, "ptxas", "second", "sm_90a") == b"sm_90a second"
    assert assembler.kept(tmp_path, "ptxas", "first", "sm_80") == b"sm_80 first"
    assert texts == ["first", "second", "first"]


class Moment:
    """An event of a launch that has failed: asked, it is never over; the next one tells."""

    made = 0

    def __init__(self) -> None:
        Moment.made += 1

    def record(self) -> None:
        if Moment.made > 2:
            raise RuntimeError("cudaErrorMisalignedAddress: misaligned address")

    done = False


def test_a_launch_that_failed_is_told_though_its_event_never_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "ASK", 0.0)
    monkeypatch.setattr(device, "LIMIT", 600.0)
    gpu = object.__new__(device.Gpu)
    gpu.cupy, gpu.beside = SimpleNamespace(cuda=SimpleNamespace(Event=Moment)), {}
    with pytest.raises(RuntimeError, match="misaligned address"):
        gpu.wait()


def test_a_process_whose_command_was_killed_ends_in_the_middle_of_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Pipe()
    here.close()
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    child._receive(there, cast("child.Loader", None), SimpleQueue())
    assert ended == [1]


def test_a_log_that_does_not_fit_is_told_with_its_name() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    log = _Log(Path("/dev/full"))
    with pytest.raises(PtxmmError, match="/dev/full: cannot be written"):
        log.add([ran(mp("relaxed"), {(1, 0): 3})])
    with pytest.raises(PtxmmError, match="/dev/full: cannot be written"):
        log.close()
