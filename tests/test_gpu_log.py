"""Logs of runs on a GPU are read back as they were written."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmm.cat import read_model
from ptxmm.compare import compare
from ptxmm.errors import InputError, Span
from ptxmm.gpu.lines import from_line, read_log, to_line
from ptxmm.gpu.log import REASONS, Audit, Control, Counted, Device, Outcome, Profile, Run, uncounted
from ptxmm.options import Options

HERE = Span("log", 1, 1)
SEEN = Counted(
    instances=12,
    outcomes=(Outcome(values=(0, 0), holds=False, count=7), Outcome(values=(1, 0), holds=True, count=2)),
    stuck=1,
    filtered=1,
    unlisted=1,
    groups=3,
    squares=4,
    audit=Audit(label="as written", remarks=("all there",)),
)
RUN = Run(
    test="MP",
    variant="relaxed",
    path="MP.lit",
    text='ptx MP\n"a sentence\u2028in two"',
    condition="exists (B.r0 == 1 && B.r1 == 0)",
    columns=("B.r0", "B.r1"),
    types=("u32", "u32"),
    profile=Profile(name="pair"),
    seed=3,
    device=Device(name="GPU", capability="9.0", multiprocessors=132, driver="580", cupy="14", ptxas="13.0"),
    counted=SEEN,
    control=Control(change="the release is relaxed", text="ptx MP", counted=SEEN),
)


def test_a_run_reads_back_as_it_was_written() -> None:
    assert from_line(to_line(RUN), HERE) == RUN
    assert from_line(to_line(replace(RUN, gpus=2)), HERE).gpus == 2


def test_a_run_of_a_log_that_says_nothing_of_gpus_had_one() -> None:
    assert from_line(to_line(RUN).replace('"gpus":1,', ""), HERE) == RUN


def test_a_log_may_be_compressed(tmp_path: Path) -> None:
    skipped = replace(RUN, counted=None, control=None, device=None, skipped="two devices")
    text = f"{to_line(RUN)}\n{to_line(skipped)}\n"
    (tmp_path / "log.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_log(tmp_path / "log.jsonl")) == list(read_log(tmp_path / "log.jsonl.gz")) == [RUN, skipped]


@pytest.mark.parametrize(
    ("why", "field"),
    [
        ("a launch did not end in 1 second", "hung"),
        ("a launch did not end in 4 seconds", "hung"),
        ("a thread was stuck while others waited for it at a barrier", "hung"),
        ("the launch failed: the launch timed out and was terminated", "hung"),
        ("the launch failed: misaligned address", "failed"),
        ("the launch failed: an illegal memory access was encountered", "failed"),
        ("the launch failed: a CTA of this test does not fit on a multiprocessor", "skipped"),
        ("its kernels were not loaded in 60 seconds", "skipped"),
    ],
)
def test_what_hung_or_failed_is_told_from_what_did_not_run(why: str, field: str) -> None:
    nothing = replace(RUN, counted=None, control=None)
    run = uncounted(nothing, why)
    assert {name: getattr(run, name) for name in REASONS if getattr(run, name)} == {field: why}
    assert from_line(to_line(run), HERE) == run
    older = json.loads(to_line(replace(nothing, skipped=why)))
    del older["hung"], older["failed"]
    assert from_line(json.dumps(older), HERE) == run


def test_counts_add_up_or_not() -> None:
    assert SEEN.adds_up
    assert not replace(SEEN, stuck=0).adds_up
    assert (SEEN.holding, SEEN.finished) == (2, 9)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "no line of a log"),
        ("[1]", "no line of a log"),
        ("nonsense", "no line of a log"),
        (to_line(RUN).replace('"format":1', '"format":2'), "format 2"),
        (to_line(RUN).replace("ptx MP", "ptx LB"), "hash differs"),
        (to_line(RUN).replace('"seed"', '"sead"'), "no line of a log"),
        (to_line(RUN).replace('"gpus":1', '"gpus":0'), "no line of a log"),
        (to_line(RUN)[:-1] + ',"test":"another"}', "no line of a log"),
        (to_line(RUN).replace('"outcomes":[{', '"outcomes":[{"count":1,'), "no line of a log"),
        (to_line(replace(RUN, seconds=-0.5)), "no line of a log"),
        (to_line(replace(RUN, counted=None)), "no line of a log"),
        (to_line(replace(RUN, hung="a launch did not end")), "no line of a log"),
        (to_line(replace(RUN, counted=None, skipped="so", failed="a launch failed")), "no line of a log"),
        ("[" * 20_000, "no line of a log"),
    ],
)
def test_what_is_no_log_is_refused_with_its_place(line: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        from_line(line, HERE)


def test_a_log_of_another_format_says_which_version_reads_it() -> None:
    with pytest.raises(InputError) as caught:
        from_line(to_line(replace(RUN, format=7, ptxmm="9.1")), HERE)
    assert caught.value.hint == "ptxmm 9.1 wrote it, and reads it"


def test_a_log_may_be_larger_than_a_test(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(to_line(RUN) + " " * (17 << 20) + "\n", encoding="utf-8")
    assert list(read_log(tmp_path / "log.jsonl")) == [RUN]


def test_a_compressed_log_that_is_cut_damaged_endless_or_no_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gzip.compress((to_line(RUN) + "\n").encode())
    log = tmp_path / "log.jsonl.gz"
    for data in (whole[:-5], whole[:40] + bytes(40) + whole[80:], b"nonsense"):
        log.write_bytes(data)
        with pytest.raises(InputError, match="it is not a whole log compressed by gzip"):
            list(read_log(log))
    log.write_bytes(gzip.compress(whole))
    with pytest.raises(InputError, match="this log is compressed by gzip twice"):
        list(read_log(log))
    monkeypatch.setattr("ptxmm.gpu.lines.LARGEST", 1 << 20)
    log.write_bytes(gzip.compress(bytes(2 << 20)))
    with pytest.raises(InputError, match="the file is too large"):
        list(read_log(log))
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(InputError, match="this is a named pipe, not a file with a log"):
        list(read_log(log))


DAMAGE: tuple[object, ...] = (None, True, -1, 1e308, float("nan"), "x", "\ud800", [], {}, [[]], {"a": 1})


def damaged() -> Iterator[tuple[str, object]]:
    """Each value of a run in turn, as a path to it, and something else in its place."""
    whole = json.loads(to_line(RUN))
    yield from ((path, value) for path in _paths(whole, "") for value in DAMAGE)


def _paths(value: object, path: str) -> Iterator[str]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield f"{path}/{key}"
        yield from _paths(each, f"{path}/{key}")


def test_a_run_with_any_value_of_another_kind_is_refused_or_can_be_compared() -> None:
    for path, value in damaged():
        found = json.loads(to_line(RUN))
        inner, keys = found, path.split("/")[1:]
        for key in keys[:-1]:
            inner = inner[int(key) if isinstance(inner, list) else key]
        inner[int(keys[-1]) if isinstance(inner, list) else keys[-1]] = value
        try:
            run = from_line(json.dumps(found), HERE)
        except InputError:
            continue
        assert "mistake" not in compare((run,), read_model("sc"), Options(timeout=1)).told, (path, value)
