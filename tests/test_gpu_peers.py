"""Tests whose threads, or whose memory, are on several GPUs: on the machine, which has as many as it is told."""

from __future__ import annotations

import ctypes
import re
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from building import model
from machine import standin
from machine.device import Settings
from machine.devices import Event, Stream, current_stream
from machine.runs import allowed, device, seen, states

from ptxmm.errors import Unsupported
from ptxmm.gpu.child import _loaded
from ptxmm.gpu.counting import counted
from ptxmm.gpu.devices import Devices
from ptxmm.gpu.jobs import Job
from ptxmm.gpu.layout import Seat, layout
from ptxmm.gpu.prepared import prepared
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.reach import Reach, reach
from ptxmm.gpu.shape import PIECE, Chip, shape
from ptxmm.gpu.source import kernel
from ptxmm.gpu.turns import play
from ptxmm.program import Program
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read

LIBRARY = Path(__file__).parent.parent / "litmus"
MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.sys.u32 [f], 1; }
thread B @ d1.c1.b1 { ld.acquire.sys.u32 r0, [f]; ld.weak.u32 r1, [x]; }
exists (B.r0 == 1 && B.r1 == 0)
"""
THREE = """ptx three
.global .u32 x @ d2; .global .u32 y;
thread A @ d2.c0.b0 { st.relaxed.sys.u32 [x], 1; }
thread B @ d1.c0.b0 { ld.relaxed.sys.u32 r0, [x]; st.relaxed.sys.u32 [y], r0; }
thread C @ d0.c0.b0 { ld.relaxed.sys.u32 r0, [y]; }
thread D @ d0.c1.b1 { ld.relaxed.sys.u32 r0, [x]; }
exists (C.r0 == 1 && D.r0 == 0)
"""
KERNELS = """ptx kernels
.global .u32 x; .global .u32 y;
thread A @ k0.d0.c0.b0 { st.weak.global.u32 [x], 1; }
thread B @ k1.d1.c1.b1 { ld.weak.global.u32 r0, [x]; st.weak.global.u32 [y], 1; }
thread C @ k2.d0.c2.b2 { ld.weak.global.u32 r0, [y]; }
%s
exists (B.r0 == 1 && C.r0 == 1)
"""


def only(text: str) -> Program:
    (program,) = read(text, "test.lit")
    return program


# --- where threads and memory go -------------------------------------------------------------------------------------


def test_each_gpu_has_the_clusters_of_its_device() -> None:
    shape = layout(only(THREE))
    assert shape.devices == Devices((0, 1, 2), (2, 1, 1))
    assert [seat.cluster for seat in shape.seats] == [3, 2, 0, 1]


def test_ctas_of_one_number_on_two_devices_are_two() -> None:
    shape = layout(only(MP.replace("d1.c1.b1", "d1.c0.b0")))
    assert shape.seats == (Seat(0, 0, 0, 0), Seat(1, 0, 0, 0))


def test_a_test_of_one_device_is_that_of_one_gpu_whatever_its_number() -> None:
    here, there = (kernel(only(re.sub(r"d[01]\.", f"d{n}.", MP.replace(".sys", ".gpu")))) for n in (0, 1))
    assert here.text == there.text
    assert not re.search(r"\.sys\b|clusters_(?:here|before)", here.text)


def harness_scopes(program: Program) -> set[str]:
    """The scopes in which the harness itself meets, counts, fences and reads final values."""
    text = re.sub(r"(?s)(?<=\nROLE\d:).*?(?=\nPLAYED)", "", kernel(program).text)
    return set(re.findall(r"\.(?:relaxed|acq_rel|acquire|release)\.(cta|gpu|sys)", text))


@pytest.mark.parametrize(("before", "after"), [("", ""), ("exists (B.r0 == 1 && B.r1 == 0)", "locations [x; B.r0]")])
def test_the_harness_of_several_gpus_is_of_system_scope_and_that_of_one_is_not(before: str, after: str) -> None:
    several = only(MP.replace(before, after) if before else MP)
    assert harness_scopes(several) == {"sys"}
    assert harness_scopes(only((MP.replace(before, after) if before else MP).replace("d1", "d0"))) == {"gpu"}


def test_the_instructions_of_the_test_keep_their_scopes() -> None:
    made = kernel(only(MP.replace("acquire.sys", "acquire.gpu")))
    assert "ld.acquire.gpu.global.u32" in made.text
    assert "st.release.sys.global.u32" in made.text


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        (MP, ()),
        (MP.replace("u32 f;", "u32 f @ d1;"), (0, 1)),
        (MP.replace("u32 x;", "u32 x @ d1;"), (1, 0)),
        (MP.replace("d1", "d0").replace("u32 x;", "u32 x @ d1;"), (1, 0)),
        (MP.replace("d0", "d1").replace("u32 x;", "u32 x @ d1;"), ()),
    ],
)
def test_memory_lies_on_the_device_that_it_names(text: str, placed: tuple[int, ...]) -> None:
    assert kernel(only(text)).placed == placed


@pytest.mark.parametrize("profile", PROFILES)
def test_the_array_of_an_object_lies_in_the_piece_of_its_gpu(profile: str) -> None:
    made = kernel(only(THREE))
    size = shape(made, PROFILES[profile], Chip(132, 60 << 20), 4)
    piece = size.memory // made.objects
    assert piece % PIECE == 0
    for place in range(made.objects):
        start = place * size.stride
        assert place * piece <= start <= start + size.instances * size.slot <= (place + 1) * piece


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (KERNELS % "launch k1 dependent k0;", "a launch depends on launches of one GPU"),
        (MP.replace("exists", ".alias z = x; exists"), "views, which are of memory of one"),
    ],
)
def test_what_several_gpus_cannot_do_is_unsupported_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        kernel(only(text))


# --- what is seen ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["", " @ d1"])
def test_message_passing_between_two_gpus_shows_what_sequential_consistency_allows(where: str) -> None:
    program = only(MP.replace("u32 f;", f"u32 f{where};"))
    weaker = only(MP.replace("u32 f;", f"u32 f{where};").replace("release", "relaxed"))
    found = seen(program, weaker, devices=2, warps=2, passes=4, launches=3)
    assert [states(each) for each in found] == [allowed(program, model("sc"))] * 2
    assert all(each.adds_up for each in found)
    assert found[0].instances == found[1].instances > 0


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_counts_every_copy_once_on_two_gpus(profile: str) -> None:
    (test,) = seen(only(MP), profile=PROFILES[profile], devices=2, warps=2, passes=3, multiprocessors=2)
    assert test.adds_up
    assert test.instances == test.finished > 0


def test_three_gpus_each_play_their_threads_and_have_their_memory() -> None:
    program = only(THREE)
    (test,) = seen(program, devices=3, warps=1, passes=3)
    assert states(test) == allowed(program, model("sc"))
    assert set(standin.driver.lies_on.values()) >= {0, 2}
    assert all(opened == (0, 1, 2) for start, opened in standin.driver.opened.items() if start in standin.driver.ranges)


def test_a_gpu_that_has_memory_alone_is_launched_nothing_on() -> None:
    program = only(MP.replace("u32 x;", "u32 x @ d2;"))
    assert layout(program).spread == (1, 1, 0)
    (test,) = seen(program, warps=2, passes=6)
    assert states(test) == allowed(program, model("sc"))


def test_memory_on_another_gpu_serves_threads_that_are_all_on_the_first() -> None:
    program = only(MP.replace("d1", "d0").replace("u32 x;", "u32 x @ d1;"))
    (test,) = seen(program, devices=2, warps=2, passes=6)
    assert states(test) == allowed(program, model("sc"))


def test_kernels_of_a_stream_follow_each_other_over_two_gpus() -> None:
    (test,) = seen(only(KERNELS % ""), devices=2, warps=1)
    assert test.holding == test.instances > 0


QUICK = ("all-reduce-flags[right]", "simple-send[right]", "memory-device[peer-memory]", "memory-device[sys]",
         "MP+scopes[sys]", "work-queue[gpu-other-device]", "IRIW+scopes[other-device]")  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_tests_of_the_library_between_gpus_show_nothing_that_sequential_consistency_forbids(name: str) -> None:
    (path,) = LIBRARY.rglob(f"{name.partition('[')[0]}.lit")
    program = next(each for each in read_programs(path) if each.full_name == name)
    (test,) = seen(program, devices=3, warps=2)
    assert test.adds_up
    assert not test.stuck
    assert not test.holding


# --- the machine that it runs on -------------------------------------------------------------------------------------


def test_a_test_needs_as_many_gpus_as_it_has_devices_and_the_reason_says_so() -> None:
    assert prepared(only(MP), "9.0", with_controls=False).skipped == "it needs 2 GPUs, and this machine has 1"
    assert prepared(only(MP), "9.0", Reach(2), with_controls=False).skipped is None
    assert prepared(only(THREE), "9.0", Reach(2, "this machine has 2"), with_controls=False).skipped == (
        "it needs 3 GPUs, and this machine has 2"
    )


@pytest.mark.parametrize(
    ("settings", "number", "expected"),
    [
        ({}, 0, Reach(1, "this machine has 1")),
        ({"devices": 2}, 0, Reach(2, "this machine has 2")),
        ({"devices": 3}, 1, Reach(2, "this machine has 3, the first is 1")),
        ({"devices": 2, "apart": True}, 0, Reach(1, "GPU 0 does not reach the memory of GPU 1")),
        ({"devices": 2, "copied": True}, 0, Reach(1, "GPU 0 has no atomic operations on the memory of GPU 1")),
    ],
)
def test_gpus_that_reach_each_others_memory_are_those_on_which_one_test_runs(
    settings: dict[str, Any], number: int, expected: Reach
) -> None:
    with device(**settings):
        assert reach(number) == expected


def test_without_a_driver_there_is_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_name: str) -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", none)
    assert reach(0).gpus == 1


def test_a_job_runs_with_its_controls_on_all_gpus_that_it_needs() -> None:
    program = only(MP)
    here = prepared(program, "9.0", Reach(2), with_controls=True)
    assert here.entry is not None
    with device(devices=2, multiprocessors=6) as gpu:
        job = Job(0, here.entry, (PROFILES["few"],), 1e-6, 0)
        text = here.entry.text
        loader: Any = lambda _text: SimpleNamespace(result=lambda: (gpu.load(text.encode()), b""))  # noqa: E731
        function, _ = _loaded(gpu, job, loader)
        assert function.ptr == function.functions[0].ptr
        assert [each.device for each in function.functions] == [0, 1]
        found = play(gpu, job, function, PROFILES["few"], deque(range(1, len(here.entry.kernels))))
    test, control = (each for each in found.tallies[:2] if each is not None)
    assert counted(program, here.entry.kernels[0], test).adds_up
    assert counted(here.controls[0].program, here.entry.kernels[1], control).instances == test.expected
    assert found.beside[1]


def test_memory_in_pieces_is_kept_until_it_is_given_back() -> None:
    with device(devices=2) as gpu:
        made = gpu.pieces("pieces", PIECE, (0, 1), 2)
        start = made.data.ptr
        assert standin.driver.ranges[start] == 2 * PIECE
        assert gpu.pieces("pieces", PIECE, (0, 1), 2).data.ptr == start
        del made
        gpu.give_back()
        assert start not in standin.driver.ranges


def test_what_failed_on_another_gpu_is_asked_for_while_a_launch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with device(devices=2, hangs=True) as gpu:
        asked = list[int]()

        def record(_event: object, stream: Stream) -> None:
            asked.append(stream.device)
            if stream.device == 1:
                raise RuntimeError("cudaErrorIllegalAddress")

        gpu.peers(2)
        monkeypatch.setattr("ptxmm.gpu.device.ASK", 0.0)
        monkeypatch.setattr(Event, "record", lambda event, stream=None: record(event, stream or current_stream()))
        with pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"):
            gpu.wait(SimpleNamespace(done=False))
    assert asked == [0, 1]


def test_settings_of_the_machine_have_one_device_unless_they_say_so() -> None:
    assert Settings().devices == 1
